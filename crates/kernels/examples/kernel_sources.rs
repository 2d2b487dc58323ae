//! Compiles every kernel for an Ampere and a Hopper chip; no GPU is needed, only NVRTC.
//!
//! What `cargo xtask cuda` runs. Ends with 0 if all compile, 1 if one does not, and 2 if there is no
//! compiler.

#![expect(clippy::print_stderr, reason = "a program for a terminal")]

use std::process::ExitCode;

use whetstone_kernels::DeviceError;
use whetstone_kernels::cuda::{check_sources, source_names};

fn main() -> ExitCode {
    for architecture in ["sm_80", "sm_90a"] {
        match check_sources(architecture) {
            Ok(version) => {
                let sources = source_names().count();
                eprintln!("{sources} sources compile for {architecture} with NVRTC {version}");
            }
            Err(error) => {
                eprintln!("{error}");
                let missing = matches!(error, DeviceError::NoLibrary { .. });
                return ExitCode::from(if missing { 2 } else { 1 });
            }
        }
    }
    ExitCode::SUCCESS
}
