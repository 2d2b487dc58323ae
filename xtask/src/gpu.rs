//! `cargo xtask gpu`: what only a GPU can show, in one command.
//!
//! `--bundle DIR` builds the tests and benchmarks that use a GPU into a folder that runs on a machine with
//! a GPU and no Rust; `--run DIR` runs such a folder and leaves a log of each in it. Without either, it
//! does both in `target/gpu-bundle`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::ci::cargo;

/// A program of the bundle.
struct Part {
    package: &'static str,
    /// The flag that builds it, and its target.
    kind: &'static str,
    target: &'static str,
    /// Its name in the bundle.
    name: &'static str,
}

const fn part(
    package: &'static str,
    kind: &'static str,
    target: &'static str,
    name: &'static str,
) -> Part {
    Part { package, kind, target, name }
}

const PARTS: [Part; 6] = [
    part("whetstone-kernels", "--test", "cuda", "cuda-tests"),
    part("whetstone-model", "--test", "cuda", "model-tests"),
    part("whetstone-infer", "--test", "cuda", "infer-tests"),
    part("whetstone-train", "--test", "loops", "loops-tests"),
    part("whetstone-benches", "--bench", "cuda", "cuda-bench"),
    part("whetstone-benches", "--bench", "gpu", "gpu-bench"),
];

/// What is run, in this order: a program, its words, and the file of its output. The benchmark of the
/// kernels comes twice, with an empty cache and with a full one.
const RUNS: [(&str, &[&str], &str); 7] = [
    ("cuda-bench", &[], "cold.json"),
    ("cuda-tests", &[], "tests.log"),
    ("model-tests", &[], "model.log"),
    ("infer-tests", &[], "infer.log"),
    ("loops-tests", &["cuda::"], "loops.log"),
    ("cuda-bench", &[], "warm.json"),
    ("gpu-bench", &[], "models.json"),
];

/// Models that tests load, and where a bundle has them.
const GOLDEN: &str = "crates/model/tests/golden";
const TESTDATA: &str = "testdata";

/// The most that a bundle may weigh.
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
    let mut bytes = 0;
    for part in &PARTS {
        let built = build(root, part)?;
        let target = dir.join(part.name);
        bytes += fs::copy(&built, &target)
            .map_err(|err| format!("cannot copy {}: {err}", built.display()))?;
        say(out, &format!("{} -> {}", built.display(), target.display()))?;
    }
    bytes += copy_folder(&root.join(GOLDEN), &dir.join(TESTDATA))
        .map_err(|err| format!("cannot copy {GOLDEN}: {err}"))?;
    if bytes > LIMIT_BYTES {
        return Err(format!("the bundle has {bytes} bytes; {LIMIT_BYTES} are allowed"));
    }
    say(out, &format!("{bytes} bytes; there: `cargo xtask gpu --run DIR`, or each file by itself"))
}

/// A folder with all that is in it; says how many bytes.
fn copy_folder(from: &Path, to: &Path) -> io::Result<u64> {
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        bytes += if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target)?
        };
    }
    Ok(bytes)
}

/// Builds one part and says where it lies.
fn build(root: &Path, part: &Part) -> Result<PathBuf, String> {
    let Part { package, kind, target, .. } = part;
    let args = ["build", "--locked", "--profile", "gpu", "-p", package, kind, target];
    let output = cargo(root, &[&args[..], &["--message-format", "json"]].concat())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|err| format!("cannot start cargo: {err}"))?;
    if !output.status.success() {
        return Err(format!("`cargo {}` ended with {}", args.join(" "), output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    executable(&text).ok_or_else(|| "cargo named no executable".to_owned())
}

/// The last executable that cargo names in its messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let named = messages.lines().filter_map(|line| line.split_once("\"executable\":\""));
    named.filter_map(|(_, rest)| Some(PathBuf::from(rest.split_once('"')?.0))).next_back()
}

/// Runs everything to its end, whatever fails, and says how each ended and how long it took.
fn execute(dir: &Path, out: &mut dyn Write) -> Result<(), String> {
    let dir = dir.canonicalize().map_err(|err| format!("{}: {err}", dir.display()))?;
    let cache = dir.join("cache");
    let _ = fs::remove_dir_all(&cache);
    let mut failed = Vec::new();
    for (program, words, log) in RUNS {
        let path = dir.join(log);
        let file = fs::File::create(&path).map_err(|err| format!("{}: {err}", path.display()))?;
        let begin = Instant::now();
        let run = Command::new(dir.join(program))
            .args(words)
            .env("XDG_CACHE_HOME", &cache)
            .env("WHET_TESTDATA", dir.join(TESTDATA))
            .stdout(file)
            .status();
        let good = run.as_ref().is_ok_and(std::process::ExitStatus::success);
        let how = run.map_or_else(|err| err.to_string(), |status| status.to_string());
        let (passed, took) =
            (if good { "passed" } else { "FAILED" }, begin.elapsed().as_secs_f64());
        say(out, &format!("{program:<12} {passed:<8} {took:6.1} s  {log:<12} {how}"))?;
        if !good {
            failed.push(log);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("failed, see {} in {}", failed.join(", "), dir.display()))
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    let written: io::Result<()> = writeln!(out, "{line}");
    written.map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_executable_is_read_from_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"target\":{},\"executable\":\"/a/b c/cuda-1f\",\"fresh\":true}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/b c/cuda-1f")));
        assert_eq!(executable("{\"executable\":null}"), None);
    }

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
        program(dir.path(), "cuda-tests", "exit 0");
        execute(dir.path(), &mut said).unwrap();
    }

    #[test]
    fn what_is_run_is_in_the_bundle_and_what_is_in_it_is_run() {
        for (program, _, _) in RUNS {
            assert!(PARTS.iter().any(|part| part.name == program), "{program}");
        }
        for part in &PARTS {
            assert!(RUNS.iter().any(|(program, _, _)| *program == part.name), "{}", part.name);
        }
    }

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/one"), "1").unwrap();
        fs::write(dir.path().join("a/b/two"), "22").unwrap();
        let to = dir.path().join("c");
        assert_eq!(copy_folder(&dir.path().join("a"), &to).unwrap(), 3);
        assert_eq!(fs::read_to_string(to.join("b/two")).unwrap(), "22");
    }

    #[test]
    fn other_words_are_refused() {
        let error = run(Path::new("."), &["--fast"], &mut Vec::new()).unwrap_err();
        assert!(error.starts_with("usage: cargo xtask gpu"), "{error}");
    }
}
