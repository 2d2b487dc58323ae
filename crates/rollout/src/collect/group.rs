//! The rollouts of one task, as they were collected.
//!
//! A turn keeps the very tokens that the model saw and chose; training never makes them again from
//! text. Nothing here depends on when something happened: times are in the `Timeline`.

use std::sync::Arc;

use whetstone_core::completion::Completion;
use whetstone_core::group::{GroupReward, Spread};
use whetstone_core::judgement::Infrastructure;
use whetstone_core::task::TaskId;
use whetstone_env::environment::Outcome;

/// One completion, and the prompt it completes.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The tokens that the model saw; samples of one prompt share them.
    pub prompt: Arc<[u32]>,
    /// What it said.
    pub completion: Completion,
}

/// How an episode came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Done,
    /// It was cut short after as many turns as it may have.
    OutOfTurns,
    /// It was cut short because its conversation is longer than a prompt may be.
    OutOfContext,
}

impl End {
    /// The end's name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::OutOfTurns => "out_of_turns",
            Self::OutOfContext => "out_of_context",
        }
    }
}

/// An episode that is over, with its log-probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// Which of its group, from 0.
    pub sample: usize,
    /// What was said, in order; at least one.
    pub turns: Vec<Turn>,
    /// What the judge saw and what that is worth.
    pub outcome: Outcome,
    /// How it came to its end.
    pub end: End,
}

/// An episode that the machine broke: it has no reward.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// Which of its group, from 0.
    pub sample: usize,
    /// What was said until then.
    pub turns: Vec<Turn>,
    /// Why.
    pub reason: Infrastructure,
}

/// The rollouts of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The task.
    pub task: TaskId,
    /// Those that were judged, by number.
    pub rollouts: Vec<Rollout>,
    /// Those that could not be, by number.
    pub dropped: Vec<Dropped>,
}

impl Rollout {
    /// Tokens that were sampled, as far as the generator says them.
    pub fn sampled_tokens(&self) -> usize {
        sampled_tokens(&self.turns)
    }
}

impl Group {
    /// What the judged rollouts are worth, in their order.
    pub fn rewards(&self) -> Vec<f64> {
        self.rollouts.iter().map(|rollout| rollout.outcome.reward.total()).collect()
    }

    /// The same as an advantage needs it: each total with its tests term.
    pub fn compared(&self) -> Vec<GroupReward> {
        self.rollouts.iter().map(|rollout| GroupReward::from(&rollout.outcome.reward)).collect()
    }

    /// Whether it gives no gradient: see [`Spread::is_alive`], which also says what `floor` is.
    pub fn is_dead(&self, floor: f64) -> bool {
        !Spread::of(&self.compared()).is_alive(floor)
    }
}

/// Tokens that were sampled in all of `turns`.
pub(super) fn sampled_tokens(turns: &[Turn]) -> usize {
    let of = |turn: &Turn| turn.completion.tokens.as_ref().map_or(0, |tokens| tokens.ids().len());
    turns.iter().map(of).sum()
}
