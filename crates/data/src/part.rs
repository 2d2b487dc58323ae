//! Which half of a split a task belongs to.

/// A half of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Tasks to learn from.
    Train,
    /// Tasks to look at while learning.
    Validation,
}
