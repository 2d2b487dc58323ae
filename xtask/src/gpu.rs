//! `cargo xtask gpu`: what only a GPU can show, in one command.
//!
//! `--bundle DIR` builds the tests and the benchmark of the kernels into a folder that runs on a
//! machine with a GPU and no Rust; `--run DIR` runs such a folder and leaves `tests.log`,
//! `cold.json` and `warm.json` in it. Without either, it does both in `target/gpu`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ci::cargo;

/// The tests and the benchmark: the package and the flag that build one, and its name in the bundle.
const PARTS: [(&str, &str, &str); 2] =
    [("whetstone-kernels", "--test", "cuda-tests"), ("whetstone-benches", "--bench", "cuda-bench")];

/// The most that a bundle may weigh.
const LIMIT_BYTES: u64 = 64 << 20;

/// Runs the command with its arguments; `Err` is what to tell the reader.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> Result<(), String> {
    let own = root.join("target/gpu");
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
    for (package, flag, name) in PARTS {
        let built = build(root, package, flag)?;
        let target = dir.join(name);
        bytes += fs::copy(&built, &target)
            .map_err(|err| format!("cannot copy {}: {err}", built.display()))?;
        say(out, &format!("{} -> {}", built.display(), target.display()))?;
    }
    if bytes > LIMIT_BYTES {
        return Err(format!("the bundle has {bytes} bytes; {LIMIT_BYTES} are allowed"));
    }
    say(out, &format!("{bytes} bytes; there: `cargo xtask gpu --run DIR`, or each file by itself"))
}

/// Builds one part and says where it lies.
fn build(root: &Path, package: &str, flag: &str) -> Result<PathBuf, String> {
    let args = ["build", "--locked", "--profile", "gpu", "-p", package, flag, "cuda"];
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

/// Runs the benchmark with an empty cache, the tests, and the benchmark again.
fn execute(dir: &Path, out: &mut dyn Write) -> Result<(), String> {
    let dir = dir.canonicalize().map_err(|err| format!("{}: {err}", dir.display()))?;
    let cache = dir.join("cache");
    let _ = fs::remove_dir_all(&cache);
    let mut failed = Vec::new();
    for (program, log) in
        [("cuda-bench", "cold.json"), ("cuda-tests", "tests.log"), ("cuda-bench", "warm.json")]
    {
        let path = dir.join(log);
        let file = fs::File::create(&path).map_err(|err| format!("{}: {err}", path.display()))?;
        let run =
            Command::new(dir.join(program)).env("XDG_CACHE_HOME", &cache).stdout(file).status();
        let good = run.as_ref().is_ok_and(std::process::ExitStatus::success);
        let how = run.map_or_else(|err| err.to_string(), |status| status.to_string());
        say(out, &format!("{program:<12} {:<8} {how}", if good { "passed" } else { "FAILED" }))?;
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
        program(dir.path(), "cuda-bench", "echo \"$XDG_CACHE_HOME\"");
        program(dir.path(), "cuda-tests", "echo one failed; exit 1");
        let mut said = Vec::new();
        let error = execute(dir.path(), &mut said).unwrap_err();
        assert!(error.contains("tests.log") && !error.contains("warm.json"), "{error}");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(read("warm.json").trim().ends_with("/cache"), "{}", read("warm.json"));
        assert_eq!(read("tests.log"), "one failed\n");
        program(dir.path(), "cuda-tests", "exit 0");
        execute(dir.path(), &mut said).unwrap();
    }

    #[test]
    fn other_words_are_refused() {
        let error = run(Path::new("."), &["--fast"], &mut Vec::new()).unwrap_err();
        assert!(error.starts_with("usage: cargo xtask gpu"), "{error}");
    }
}
