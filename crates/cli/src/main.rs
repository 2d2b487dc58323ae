//! The `whet` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    whetstone_cli::run().into()
}
