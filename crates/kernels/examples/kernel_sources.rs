//! Compiles every kernel for an Ampere and a Hopper chip; no GPU is needed, only NVRTC.
//!
//! What `cargo xtask cuda` runs, which prints the report that is written to the file named by the
//! first argument. Ends with 0 if all compile, 1 if one does not, 2 if there is no compiler, and 3 if
//! the report cannot be written.

use std::process::ExitCode;

use whetstone_kernels::DeviceError;
use whetstone_kernels::cuda::{check_sources, source_names};

fn main() -> ExitCode {
    let (report, code) = compiled();
    let Some(path) = std::env::args_os().nth(1) else { return ExitCode::from(3) };
    if std::fs::write(path, report).is_err() {
        return ExitCode::from(3);
    }
    ExitCode::from(code)
}

fn compiled() -> (String, u8) {
    let (mut report, count) = (String::new(), source_names().count());
    for architecture in ["sm_80", "sm_90a"] {
        match check_sources(architecture) {
            Ok(version) => {
                let line =
                    format!("{count} sources compile for {architecture} with NVRTC {version}\n");
                report.push_str(&line);
            }
            Err(error) => {
                let missing = matches!(error, DeviceError::NoLibrary { .. });
                return (format!("{report}{error}\n"), if missing { 2 } else { 1 });
            }
        }
    }
    (report, 0)
}
