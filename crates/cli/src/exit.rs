//! Exit codes.

use std::process::ExitCode;

/// The exit code of a command, which scripts can rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// The command worked, and the answer is no: a check failed, a task was dropped under
    /// `--strict`.
    No,
    /// The command line or the config is wrong.
    Usage,
    /// The machine or a file broke.
    Broken,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Broken => 3,
        })
    }
}
