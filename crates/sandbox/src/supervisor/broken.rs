//! Why a program has no judgement.

use crate::protocol::Outcome;

/// Why a program has no judgement.
#[derive(Debug)]
pub(super) enum Broken {
    Machine(String),
    Tests(String),
}

impl Broken {
    /// A test at fault, by its index; people count from 1.
    pub(super) fn test(index: u32, problem: &str) -> Self {
        Self::Tests(format!("hidden test {} is broken: {problem}", index + 1))
    }
}

impl From<String> for Broken {
    fn from(problem: String) -> Self {
        Self::Machine(problem)
    }
}

impl From<Broken> for Outcome {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Machine(problem) => Self::Failed(problem),
            Broken::Tests(problem) => Self::BrokenTests(problem),
        }
    }
}
