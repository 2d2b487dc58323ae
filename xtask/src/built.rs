//! Programs of the workspace, built with the flags of the test step.
//!
//! `cargo run -p CRATE` would build what the crate depends on a second time, with the features that this one
//! crate asks for. Building the whole workspace builds nothing that the tests have not built already.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ci::cargo;

/// A program to be built.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The kind of its target: `bin`, `example`, `test`, `bench`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The folder of its package, where several have a target of this name; else empty.
    pub folder: &'static str,
}

/// Runs `cargo` with these arguments and says where the program lies that it built.
pub fn executable(root: &Path, args: &[&str], program: Program) -> Result<PathBuf, String> {
    executables(root, args, &[program]).map(|mut all| all.remove(0))
}

/// The same of several programs that one call builds.
pub fn executables(
    root: &Path,
    args: &[&str],
    programs: &[Program],
) -> Result<Vec<PathBuf>, String> {
    built_by(cargo(root, args), args, programs)
}

/// The same for a call of cargo with an environment of its own; `args` are its arguments.
pub fn built_by(
    mut cargo: Command,
    args: &[&str],
    programs: &[Program],
) -> Result<Vec<PathBuf>, String> {
    let output = cargo
        .args(["--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|err| format!("cannot start cargo: {err}"))?;
    if !output.status.success() {
        return Err(format!("`cargo {}` ended with {}", args.join(" "), output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let found = programs.iter().map(|&program| {
        find(&messages, program).ok_or_else(|| format!("cargo built no program `{}`", program.name))
    });
    found.collect()
}

/// The executable in cargo's messages. Integration tests may have its name, and its unit tests have its kind
/// too: they come as a test.
fn find(messages: &str, program: Program) -> Option<PathBuf> {
    let name = format!("\"name\":\"{}\"", program.name);
    let kind = format!("\"kind\":[\"{}\"]", program.kind);
    let folder = match program.folder {
        "" => String::new(),
        folder => format!("/{folder}/"),
    };
    let is_program = |line: &&str| {
        let is_unit_test = program.kind == "bin" && line.contains("\"test\":true},\"features\"");
        line.contains(&name) && line.contains(&kind) && line.contains(&folder) && !is_unit_test
    };
    let path = |line: &str| Some(line.split_once("\"executable\":\"")?.1.split_once('"')?.0.into());
    messages.lines().filter(is_program).find_map(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, kind: &str, test: bool, executable: &str) -> String {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"{name}\",\"test\":true}},\
             \"profile\":{{\"opt_level\":\"0\",\"test\":{test}}},\"features\":[],\"executable\":{executable}}}\n"
        )
    }

    #[test]
    fn the_program_is_told_from_its_unit_tests_and_from_others() {
        let messages = [
            line("whet", "bin", true, "\"/t/deps/whet-1\""),
            line("whet", "test", true, "\"/t/deps/whet-2\""),
            line("whet", "bin", false, "\"/t/whet\""),
            line("whet", "test", true, "\"/t/deps/whet-3\""),
            line("other", "bin", false, "\"/t/other\""),
            line("lib", "lib", false, "null"),
            line("cuda", "test", true, "\"/a/b c/cuda-1f\""),
            "{\"reason\":\"build-finished\",\"success\":true}\n".to_owned(),
        ]
        .concat();
        let found = |kind, name| find(&messages, Program { kind, name, folder: "" });
        assert_eq!(found("bin", "whet"), Some(PathBuf::from("/t/whet")));
        assert_eq!(found("test", "whet"), Some(PathBuf::from("/t/deps/whet-2")));
        assert_eq!(found("example", "whet"), None);
        assert_eq!(found("test", "cuda"), Some(PathBuf::from("/a/b c/cuda-1f")));
        assert_eq!(found("lib", "lib"), None);
    }
}
