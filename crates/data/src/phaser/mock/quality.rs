//! Qualities that are planted in mock replies.

use whetstone_core::Task;

/// The quality of a mock reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quality {
    /// The reference program.
    Good,
    /// The reference without its last statement, so that some checks fail.
    HalfGood,
    /// A valid game that does something else, in place of the two above where a task has no reference.
    Plain,
    /// A scene that shows nothing.
    Idle,
    /// The reference with a call that Phaser does not have.
    Hallucinating,
    /// A program that does not parse.
    Broken,
    /// Words without a program.
    NoCode,
    /// The reference behind a plan of a thousand words.
    LongPlan,
    /// A program against the judge.
    Hostile(Trick),
}

/// The means of a hostile program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trick {
    /// Replaces parts of the engine or of the language.
    Tampering,
    /// Never returns.
    EndlessLoop,
}

impl Quality {
    /// Its name in `meta.mock`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::HalfGood => "half_good",
            Self::Plain => "plain",
            Self::Idle => "idle",
            Self::Hallucinating => "hallucinating",
            Self::Broken => "broken",
            Self::NoCode => "no_code",
            Self::LongPlan => "long_plan",
            Self::Hostile(_) => "hostile",
        }
    }

    /// What this quality is for a task: without a reference, nothing is known to be good.
    pub(super) fn of_task(self, task: &Task) -> Self {
        match self {
            Self::Good | Self::HalfGood if task.reference.is_none() => Self::Plain,
            _ => self,
        }
    }
}

impl Trick {
    /// Its name in `meta.mock_trick`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tampering => "tampering",
            Self::EndlessLoop => "endless_loop",
        }
    }
}
