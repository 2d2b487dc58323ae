//! CPU time of a game of 120 frames, and the outcomes of a folder of programs by class.
//!
//! Phaser is no part of this repository: its package, as `npm pack` makes it, and a folder to install it
//! in are arguments. Without them nothing is measured.
//!
//! ```text
//! cargo bench --bench phaser -- phaser-3.90.0.tgz DATA time [GAME.js]
//! cargo bench --bench phaser -- phaser-3.90.0.tgz DATA run GAME.js
//! cargo bench --bench phaser -- phaser-3.90.0.tgz DATA survey FOLDER EVERY
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{
    Installation, PlayJob, Run, Settings, SourceKind, Version, install,
};
use whetstone_sandbox::{Judge, Options};

type Failed = Box<dyn std::error::Error>;

/// A box that falls, a text and the arrow keys.
const GAME: &str = "class Main extends Phaser.Scene {
  create() {
    this.box = this.add.rectangle(100, 50, 32, 32, 0xff0000);
    this.physics.add.existing(this.box);
    this.box.body.setCollideWorldBounds(true);
    this.add.text(16, 16, 'Score: 0');
    this.cursors = this.input.keyboard.createCursorKeys();
  }
  update() { this.box.body.setVelocityX(this.cursors.right.isDown ? 160 : 0); }
}
new Phaser.Game({ width: 800, height: 600, physics: { default: 'arcade', arcade: { gravity: { y: 300 } } }, scene: Main });";

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (package, data, command) = match words.as_slice() {
        ["__judge", ..] => {
            return whetstone_sandbox::entry::run(&arguments[1..]).map_err(Into::into);
        }
        [package, data, command @ ..] if !command.is_empty() => (package, data, command),
        _ => {
            println!("phaser: skipped, as there is no package of Phaser among the arguments");
            return Ok(());
        }
    };
    let judge = judge(Path::new(package), Path::new(data))?;
    match command {
        ["time"] => time(&judge, GAME),
        ["time", path] => time(&judge, &std::fs::read_to_string(path)?),
        ["run", path] => {
            let run = play(&judge, &std::fs::read_to_string(path)?)?;
            println!("{}", serde_json::to_string(&run)?);
            Ok(())
        }
        ["survey", folder, every] => survey(&judge, Path::new(folder), every.parse()?),
        _ => Err("write `time`, `time GAME.js`, `run GAME.js` or `survey FOLDER EVERY`".into()),
    }
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
