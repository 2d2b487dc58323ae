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
    /// The user stopped it (Ctrl-C, SIGTERM) before it was done, and it can be resumed: the code of a program that
    /// SIGINT ended, so that what follows `&&` does not run.
    Stopped,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Broken => 3,
            Exit::Stopped => 130,
        })
    }
}
