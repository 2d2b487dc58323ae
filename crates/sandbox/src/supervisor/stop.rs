//! Why a child is stopped.

/// Why there will be no further answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It used up its time.
    Timeout,
    /// It wrote too much.
    Output,
    /// It holds too much memory.
    Memory,
    /// It has too many threads.
    Threads,
    /// Its channel is closed.
    Closed,
    /// It sent bytes that are not a frame.
    Garbled,
    /// The machine broke.
    Broken(String),
}

impl Stop {
    /// What happened to a program, in words.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Timeout => "it used up its time",
            Self::Output => "it wrote too much",
            Self::Memory => "it holds too much memory",
            Self::Threads => "it has too many threads",
            Self::Closed => "it ended at once",
            Self::Garbled => "it sent bytes that are not an answer",
            Self::Broken(problem) => problem,
        }
    }
}
