//! The part of the data, training, development or validation, that a task belongs to.

/// A part of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partition {
    /// To learn from.
    Train,
    /// To choose settings and checkpoints by, while training.
    Development,
    /// For the final figure.
    Validation,
}
