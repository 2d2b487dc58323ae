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
