//! Do the kernels compile? NVRTC needs no GPU, so a syntax error is found on any machine that has it.

use std::path::Path;
use std::process::Command;

use crate::built::{self, Program};
use crate::ci::Outcome;

const PROGRAM: &str = "kernel_sources";
const BUILD: &[&str] = &["build", "--workspace", "--locked", "--example", PROGRAM];

/// Where the program leaves what it has to say.
const REPORT: &str = "target/kernel_sources.txt";

/// How to get the compiler.
const HOW: &str = "NVRTC is not installed, so kernels were not compiled; `pip install \
                   nvidia-cuda-nvrtc` into a virtual environment and VIRTUAL_ENV get it, or CUDA_HOME";

/// Compiles every source of a kernel for two chips.
pub fn compile(root: &Path) -> Outcome {
    let path = root.join(REPORT);
    // An old report would speak for a program that did not start.
    let _ = std::fs::remove_file(&path);
    let program = match built::executable(
        root,
        BUILD,
        Program { kind: "example", name: PROGRAM, folder: "" },
    ) {
        Ok(program) => program,
        Err(problem) => return Outcome::Failed(problem),
    };
    let status = Command::new(program).arg(&path).current_dir(root).status();
    let report = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes());
    match status {
        Ok(status) => outcome(status.code()),
        Err(err) => Outcome::Failed(format!("cannot start `{PROGRAM}`: {err}")),
    }
}

fn outcome(code: Option<i32>) -> Outcome {
    match code {
        Some(0) => Outcome::Passed,
        Some(2) => Outcome::Skipped(HOW.to_owned()),
        _ => Outcome::Failed("a kernel does not compile".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_skipped_and_a_wrong_kernel_is_not() {
        assert_eq!(outcome(Some(0)), Outcome::Passed);
        assert!(matches!(outcome(Some(2)), Outcome::Skipped(why) if why.contains("pip install")));
        for code in [Some(1), Some(3), Some(101), None] {
            assert!(matches!(outcome(code), Outcome::Failed(_)), "{code:?}");
        }
    }
}
