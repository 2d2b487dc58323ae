//! The input of a judge: a program, its tests and its limits.

use std::time::Duration;

use whetstone_core::judgement::{Infrastructure, Judgement};
use whetstone_core::program::Program;
use whetstone_core::tests::Tests;

/// One program to judge.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The program.
    pub program: &'a Program,
    /// Code of the task that the tests need, such as imports.
    pub setup: &'a str,
    /// The tests.
    pub tests: &'a Tests,
    /// The limits.
    pub limits: Limits,
}

/// The limits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// CPU time of the whole program. Where each test is a run of its own: of each run, and four
    /// times as much for all of them.
    pub cpu: Duration,
    /// Bytes of memory.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu: Duration::from_secs(5), memory: 512 << 20 }
    }
}

/// A program could not be judged: never a reward.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// The machine broke, twice.
    #[error(transparent)]
    Machine(#[from] Infrastructure),
    /// The task's own tests or setup are at fault: no program can be judged by them.
    #[error("cannot judge: {0}")]
    BrokenTests(String),
}

/// For callers that only need to know that there is no verdict.
impl From<Unjudged> for Infrastructure {
    fn from(unjudged: Unjudged) -> Self {
        match unjudged {
            Unjudged::Machine(broken) => broken,
            Unjudged::BrokenTests(problem) => Self(problem),
        }
    }
}

/// Anything that judges programs: the sandbox, or a stand-in in a test.
pub trait Judging: Send + Sync {
    /// Judges one program; blocks until it is done.
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged>;
}
