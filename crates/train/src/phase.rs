//! Phases of a training, and how far a phase has come.

/// A phase of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The longest batch goes through once, to see whether it fits into memory.
    MemoryCheck,
    /// Tasks that are not learnt from are solved.
    HeldOut,
    /// Completions are sampled, and programs judged beside it.
    Sampling,
    /// The last programs are judged.
    Judging,
    /// The reference's log-probabilities are computed.
    Reference,
    /// The teacher of distillation scores what was sampled.
    Teacher,
    /// Forward, backward and the update.
    Learning,
    /// A GPU times algorithms of matrix products whose sizes are new to it, while a phase goes on.
    ChoosingAlgorithms,
    /// A checkpoint is written.
    Saving,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryCheck => "memory check",
            Self::HeldOut => "held-out",
            Self::Sampling => "sampling",
            Self::Judging => "judging",
            Self::Reference => "reference",
            Self::Teacher => "teacher",
            Self::Learning => "learning",
            Self::ChoosingAlgorithms => "choosing algorithms",
            Self::Saving => "saving",
        }
    }
}

/// The part of a phase that is done; of 0 where that is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// Done.
    pub done: usize,
    /// In all.
    pub all: usize,
}
