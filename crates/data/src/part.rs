//! The part of the data, training or validation, that a task belongs to.

/// A half of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partition {
    /// To learn from.
    Train,
    /// To measure with.
    Validation,
}
