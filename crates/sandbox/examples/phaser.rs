//! Runs Phaser programs: one file, one file many times with the time it takes, or a folder of them by
//! class of outcome.
//!
//! ```text
//! phaser PACKAGE.tgz DATA run GAME.js
//! phaser PACKAGE.tgz DATA time GAME.js
//! phaser PACKAGE.tgz DATA survey FOLDER EVERY
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it found")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{
    Installation, PlayJob, Run, Settings, SourceKind, Version, install,
};
use whetstone_sandbox::{Judge, Options};

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("__judge", rest)) = arguments.split_first().map(|(first, rest)| (&**first, rest)) {
        return whetstone_sandbox::entry::run(rest).map_err(Into::into);
    }
    let [package, data, command, path, rest @ ..] = arguments.as_slice() else {
        return Err("write: phaser PACKAGE.tgz DATA run|time|survey PATH".into());
    };
    let judge = judge(Path::new(package), Path::new(data))?;
    match command.as_str() {
        "run" => {
            let run = play(&judge, &std::fs::read_to_string(path)?)?;
            println!("{}", serde_json::to_string(&run)?);
        }
        "time" => time(&judge, &std::fs::read_to_string(path)?)?,
        "survey" => {
            let every = rest.first().map_or(Ok(6), |every| every.parse())?;
            survey(&judge, Path::new(path), every)?;
        }
        other => return Err(format!("`{other}` is none of run, time and survey").into()),
    }
    Ok(())
}

fn judge(package: &Path, data: &Path) -> Result<Judge, Failed> {
    let version =
        if package.to_string_lossy().contains("phaser-4") { Version::V4 } else { Version::V3 };
    let installed = match Installation::find(data, version) {
        Ok(Some(found)) => found,
        _ => install(package, data)?,
    };
    let me = std::env::current_exe()?.to_string_lossy().into_owned();
    let mut options = Options::new(vec![me, "__judge".to_owned()]);
    options.phaser = Some(installed);
    Ok(Judge::start(&options)?)
}

fn play(judge: &Judge, source: &str) -> Result<Run, Failed> {
    let import =
        source.lines().any(|line| line.starts_with("import ") || line.starts_with("export "));
    let kind = if import { SourceKind::Module } else { SourceKind::Script };
    let settings = Settings { kind, ..Settings::default() };
    Ok(judge.play(PlayJob { source, settings: &settings, limits: Limits::default() })?)
}

/// CPU time of 50 runs.
fn time(judge: &Judge, source: &str) -> Result<(), Failed> {
    let runs = (0..50).map(|_| play(judge, source)).collect::<Result<Vec<_>, _>>()?;
    let mut times: Vec<f64> = runs.iter().map(|run| run.cpu_ms).collect();
    times.sort_by(f64::total_cmp);
    println!("cpu ms: least {:.1}, median {:.1}, most {:.1}", times[0], times[25], times[49]);
    println!("ok {} frames {} memory {}", runs[0].ok, runs[0].frames, runs[0].memory);
    Ok(())
}

fn survey(judge: &Judge, folder: &Path, every: usize) -> Result<(), Failed> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut classes = BTreeMap::<&str, u32>::new();
    for file in files.iter().step_by(every.max(1)) {
        let run = play(judge, &std::fs::read_to_string(file)?)?;
        let class = run.class.map_or("clean", |class| class.name());
        *classes.entry(class).or_default() += 1;
        if let Some(error) = run.error {
            let (file, line) = (file.strip_prefix(folder)?.display(), run.line.unwrap_or(0));
            println!("{class}\t{file}:{line}\t{}", error.replace('\n', " "));
        }
    }
    let all: u32 = classes.values().sum();
    for (class, count) in classes {
        println!("{class}: {count} of {all}, {:.1} %", 100.0 * f64::from(count) / f64::from(all));
    }
    Ok(())
}

/// Programs in a folder, without those that need more than Phaser.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Failed> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let skipped = ["_wip", "spine", "plugins", "3d"]
            .iter()
            .any(|word| name.to_lowercase().contains(word));
        if path.is_dir() && !skipped {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "js") {
            into.push(path);
        }
    }
    Ok(())
}
