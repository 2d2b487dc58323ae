//! `cargo xtask gpu`: what only a GPU can show, in one command.
//!
//! `--bundle DIR` builds the tests and benchmarks that use a GPU, `whet` and this program into a folder, and
//! packs it as `DIR.tar.gz` for a machine with a GPU and no Rust. `--run DIR`, there `DIR/xtask gpu --run DIR`,
//! runs such a folder, leaves a log of each in it, all results in `gpu.json`, and writes a table. Without
//! either, it does both in `target/gpu-bundle`.

mod files;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::built::{Program, executables};
pub(crate) use files::strip;
use files::{copy_folder, pack};

/// A program of the bundle.
#[derive(Debug, Clone, Copy)]
struct Part {
    program: Program,
    /// Its name in the bundle.
    name: &'static str,
}

const fn part(
    folder: &'static str,
    kind: &'static str,
    target: &'static str,
    name: &'static str,
) -> Part {
    Part { program: Program { kind, name: target, folder }, name }
}

const PARTS: [Part; 8] = [
    part("crates/kernels", "test", "cuda", "cuda-tests"),
    part("crates/model", "test", "cuda", "model-tests"),
    part("crates/infer", "test", "cuda", "infer-tests"),
    part("crates/train", "test", "loops", "loops-tests"),
    part("benches", "bench", "cuda", "cuda-bench"),
    part("benches", "bench", "gpu", "gpu-bench"),
    part("crates/cli", "bin", "whet", "whet"),
    part("xtask", "bin", "xtask", THIS),
];

/// All parts in one call, with the flags of the test step: what the tests have built is not built again. Crates
/// that a step of training or decoding spends host time in are optimised.
const BUILD: [&str; 9] = [
    "build",
    "--locked",
    "--workspace",
    "--test=cuda",
    "--test=loops",
    "--bench=cuda",
    "--bench=gpu",
    "--bin=whet",
    "--bin=xtask",
];
const OPTIMISED: [&str; 4] =
    ["whetstone-infer", "whetstone-train", "whetstone-model", "whetstone-benches"];

/// This program, which runs the others.
const THIS: &str = "xtask";

/// What is run, in this order: a program, its words, and the file of its output. The benchmark of the
/// kernels comes twice, with an empty cache and with a full one.
const RUNS: [(&str, &[&str], &str); 9] = [
    ("cuda-bench", &[], "cold.json"),
    ("cuda-tests", &[], "tests.log"),
    ("model-tests", &[], "model.log"),
    ("infer-tests", &[], "infer.log"),
    ("loops-tests", &["cuda::"], "loops.log"),
    ("cuda-bench", &[], "warm.json"),
    ("gpu-bench", &[], "models.json"),
    ("whet", &["bench", "--device", "cuda:0", "--json"], "bench.json"),
    ("whet", &["quickstart", "--device", "cuda:0", "--json"], "quickstart.json"),
];

/// All results, in the bundle's folder.
const RESULTS: &str = "gpu.json";

/// Figures that the table repeats.
const FIGURES: [&str; 9] = [
    SEQUENCES,
    "step_ms",
    "tokens_per_s",
    "held_gib",
    "other_bits_than_training",
    "model",
    "other_bits_in_training",
    "other_bits_alone",
    "all_seconds",
];
const SEQUENCES: &str = "sequences";

/// Models that tests load, and where a bundle has them.
const GOLDEN: &str = "crates/model/tests/golden";
const TESTDATA: &str = "testdata";

/// The most that a packed bundle may weigh.
const LIMIT_BYTES: u64 = 64 << 20;

/// Runs the command with its arguments; `Err` is what to tell the reader.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> Result<(), String> {
    let own = root.join("target/gpu-bundle");
    match words {
        [] => bundle(root, &own, out).and_then(|()| execute(&own, out)),
        ["--bundle", dir] => bundle(root, Path::new(dir), out),
        ["--run", dir] => execute(Path::new(dir), out),
        _ => Err("usage: cargo xtask gpu [--bundle DIR | --run DIR]".to_owned()),
    }
}

fn bundle(root: &Path, dir: &Path, out: &mut dyn Write) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|err| format!("cannot make {}: {err}", dir.display()))?;
    for (part, built) in PARTS.iter().zip(build(root)?) {
        let target = dir.join(part.name);
        strip(&built, &target)?;
        say(out, &format!("{} -> {}", built.display(), target.display()))?;
    }
    copy_folder(&root.join(GOLDEN), &dir.join(TESTDATA))
        .map_err(|err| format!("cannot copy {GOLDEN}: {err}"))?;
    let (packed, bytes) = pack(dir)?;
    if bytes > LIMIT_BYTES {
        return Err(format!("{} has {bytes} bytes; {LIMIT_BYTES} are allowed", packed.display()));
    }
    let (packed, dir) = (packed.display(), dir.display());
    say(out, &format!("{packed}: {bytes} bytes; there, unpacked: `{dir}/{THIS} gpu --run {dir}`"))
}

/// Builds all parts and says where each lies.
fn build(root: &Path) -> Result<Vec<PathBuf>, String> {
    let optimised: Vec<String> = OPTIMISED
        .iter()
        .flat_map(|name| ["--config".to_owned(), format!("profile.dev.package.{name}.opt-level=2")])
        .collect();
    let args: Vec<&str> = BUILD.into_iter().chain(optimised.iter().map(String::as_str)).collect();
    executables(root, &args, &PARTS.map(|part| part.program))
}

/// How a program of the bundle ended.
struct Ended {
    program: &'static str,
    log: &'static str,
    passed: bool,
    seconds: f64,
    how: String,
}

/// Runs everything to its end, whatever fails, and says how each ended and how long it took.
fn execute(dir: &Path, out: &mut dyn Write) -> Result<(), String> {
    let dir = dir.canonicalize().map_err(|err| format!("{}: {err}", dir.display()))?;
    let cache = dir.join("cache");
    let _ = fs::remove_dir_all(&cache);
    fs::create_dir_all(&cache).map_err(|err| format!("{}: {err}", cache.display()))?;
    let mut all = Vec::new();
    for (program, words, log) in RUNS {
        let path = dir.join(log);
        let file = fs::File::create(&path).map_err(|err| format!("{}: {err}", path.display()))?;
        let begin = Instant::now();
        // What a program leaves behind is gone before the next run.
        let run = Command::new(dir.join(program))
            .args(words)
            .current_dir(&cache)
            .env("XDG_CACHE_HOME", &cache)
            .env("WHET_TESTDATA", dir.join(TESTDATA))
            .stdout(file)
            .status();
        let passed = run.as_ref().is_ok_and(std::process::ExitStatus::success);
        let how = run.map_or_else(|err| err.to_string(), |status| status.to_string());
        let ended = Ended { program, log, passed, seconds: begin.elapsed().as_secs_f64(), how };
        say(out, &line(&ended))?;
        all.push(ended);
    }
    let read = |log: &str| fs::read_to_string(dir.join(log)).unwrap_or_default();
    let results = dir.join(RESULTS);
    fs::write(&results, results_of(&all, read))
        .map_err(|err| format!("{}: {err}", results.display()))?;
    for ended in all.iter().filter(|ended| ended.passed) {
        for figure in figures(&read(ended.log)) {
            say(out, &format!("{:<16} {figure}", ended.log))?;
        }
    }
    say(out, &format!("all of it: {}", results.display()))?;
    let failed: Vec<&str> =
        all.iter().filter(|ended| !ended.passed).map(|value| value.log).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("failed, see {} in {}", failed.join(", "), dir.display()))
}

fn line(ended: &Ended) -> String {
    let Ended { program, log, passed, seconds, how } = ended;
    let passed = if *passed { "passed" } else { "FAILED" };
    format!("{program:<12} {passed:<8} {seconds:6.1} s  {log:<16} {how}")
}

/// One JSON object: how each program ended, and what those that passed wrote as JSON.
fn results_of(all: &[Ended], read: impl Fn(&str) -> String) -> String {
    let run = |Ended { program, log, passed, seconds, .. }: &Ended| {
        format!(
            "    {{ \"program\": \"{program}\", \"log\": \"{log}\", \"passed\": {passed}, \
             \"seconds\": {seconds:.1} }}"
        )
    };
    let runs: Vec<String> = all.iter().map(run).collect();
    let result = |ended: &Ended| {
        let name = ended.log.strip_suffix(".json").filter(|_| ended.passed)?;
        Some(format!("    \"{name}\": {}", read(ended.log).trim().replace('\n', "\n    ")))
    };
    let results: Vec<String> = all.iter().filter_map(result).collect();
    let (runs, results) = (runs.join(",\n"), results.join(",\n"));
    format!("{{\n  \"runs\": [\n{runs}\n  ],\n  \"results\": {{\n{results}\n  }}\n}}\n")
}

/// Lines of a table: the figures of a JSON text that has a line for each, as they follow each other. A line
/// begins where one comes again, and with a number of sequences.
fn figures(text: &str) -> Vec<String> {
    let mut lines: Vec<Vec<(&str, &str)>> = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.trim().trim_end_matches(',').split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim_matches('"'), value.trim().trim_matches('"'));
        if !FIGURES.contains(&key) {
            continue;
        }
        match lines.last_mut() {
            Some(last) if key != SEQUENCES && last.iter().all(|(other, _)| *other != key) => {
                last.push((key, value));
            }
            _ => lines.push(vec![(key, value)]),
        }
    }
    let one = |(key, value): &(&str, &str)| format!("{key} {value}");
    lines.iter().map(|line| line.iter().map(one).collect::<Vec<_>>().join("  ")).collect()
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    let written: io::Result<()> = writeln!(out, "{line}");
    written.map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(dir: &Path, name: &str, script: &str) {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_bundle_is_run_to_its_end_and_what_failed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["model-tests", "infer-tests", "gpu-bench"] {
            program(dir.path(), name, "echo \"$WHET_TESTDATA\"");
        }
        program(dir.path(), "loops-tests", "echo \"$@\"");
        program(dir.path(), "whet", "pwd; echo \"$@\"");
        program(dir.path(), "cuda-bench", "echo \"$XDG_CACHE_HOME\"");
        program(dir.path(), "cuda-tests", "echo one failed; exit 1");
        let mut said = Vec::new();
        let error = execute(dir.path(), &mut said).unwrap_err();
        assert!(error.contains("tests.log") && !error.contains("warm.json"), "{error}");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(read("warm.json").trim().ends_with("/cache"), "{}", read("warm.json"));
        assert_eq!(read("tests.log"), "one failed\n");
        assert_eq!(read("loops.log"), "cuda::\n");
        assert!(read("models.json").trim().ends_with("/testdata"), "{}", read("models.json"));
        // What `whet` leaves behind is in the folder that is emptied.
        let said_by_whet = read("quickstart.json");
        assert!(said_by_whet.contains("/cache\nquickstart --device"), "{said_by_whet}");
        assert!(read(RESULTS).contains("\"log\": \"tests.log\", \"passed\": false"));
        program(dir.path(), "cuda-tests", "exit 0");
        execute(dir.path(), &mut said).unwrap();
    }

    #[test]
    fn what_is_run_is_in_the_bundle_and_what_is_in_it_is_run() {
        for (program, _, _) in RUNS {
            assert!(PARTS.iter().any(|part| part.name == program), "{program}");
        }
        for part in PARTS.iter().filter(|part| part.name != THIS) {
            assert!(RUNS.iter().any(|(program, _, _)| *program == part.name), "{}", part.name);
        }
    }

    fn ended(program: &'static str, log: &'static str, passed: bool) -> Ended {
        Ended { program, log, passed, seconds: 1.25, how: String::new() }
    }

    #[test]
    fn results_are_one_object_without_what_failed() {
        let all = [
            ended("cuda-tests", "tests.log", true),
            ended("gpu-bench", "models.json", true),
            ended("cuda-bench", "warm.json", false),
        ];
        let read = |log: &str| match log {
            "models.json" => "{\n  \"a\": 1\n}\n".to_owned(),
            _ => "{ not ended".to_owned(),
        };
        let expected = r#"{
  "runs": [
    { "program": "cuda-tests", "log": "tests.log", "passed": true, "seconds": 1.2 },
    { "program": "gpu-bench", "log": "models.json", "passed": true, "seconds": 1.2 },
    { "program": "cuda-bench", "log": "warm.json", "passed": false, "seconds": 1.2 }
  ],
  "results": {
    "models": {
      "a": 1
    }
  }
}
"#;
        assert_eq!(results_of(&all, read), expected);
    }

    #[test]
    fn a_table_has_a_line_for_each_measurement() {
        let text = "{\n  \"lora\": {\n    \"load_s\": 11.8,\n    \"step_ms\": 130.5,\n    \"held_gib\": 16.7\n  },\n\
                    \"rows\": [\n{\n\"sequences\": 64,\n\"step_ms\": 2.36,\n\
                    \"other_bits_than_training\": \"0 of 4096\"\n}\n";
        assert_eq!(
            figures(text),
            [
                "step_ms 130.5  held_gib 16.7",
                "sequences 64  step_ms 2.36  other_bits_than_training 0 of 4096",
            ]
        );
        assert!(figures("no JSON\n").is_empty());
    }

    #[test]
    fn other_words_are_refused() {
        let error = run(Path::new("."), &["--fast"], &mut Vec::new()).unwrap_err();
        assert!(error.starts_with("usage: cargo xtask gpu"), "{error}");
    }
}
