//! A second process for tests: this test binary again, running one ignored test that plays the child.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PATH: &str = "WHET_TEST_PATH";

/// The path that the parent gave to this process.
pub(crate) fn path() -> PathBuf {
    PathBuf::from(env::var_os(PATH).expect("the parent names a path"))
}

/// Starts the test `name` of this binary to work on `path`, after the shell commands `before`.
///
/// The shell becomes the test binary, so the child's number and its death are the writer's own.
pub(crate) fn command(before: &str, name: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("a running test has a path"));
    command.args(["--ignored", "--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(PATH, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}
