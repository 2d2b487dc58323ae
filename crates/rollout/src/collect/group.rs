//! The rollouts of one task, as they were collected.
//!
//! A turn keeps the very tokens that the model saw and chose; training never makes them again from
//! text. Nothing here depends on when something happened: times are in the `Timeline`.

use std::sync::Arc;

use whetstone_core::completion::{Completion, Finish};
use whetstone_core::group::{GroupReward, Spread};
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_core::outcome::Evidence;
use whetstone_core::task::TaskId;
use whetstone_env::environment::Outcome;

/// One completion, and the prompt it completes.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The tokens that the model saw; samples of one prompt share them.
    pub prompt: Arc<[u32]>,
    /// The messages that are new in this turn: at first the whole prompt, later the environment's answer.
    pub asked: Arc<[Message]>,
    /// The completion.
    pub completion: Completion,
}

impl Turn {
    /// Whether the length limit cut the completion off.
    pub fn is_cut_off(&self) -> bool {
        self.completion.finish == Finish::Length
    }
}

/// The reason that an episode ended.
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
    /// Its number in the group, from 0.
    pub sample: usize,
    /// Its turns, in order; at least one.
    pub turns: Vec<Turn>,
    /// What the environment saw, and what that is worth.
    pub outcome: Outcome,
    /// The reason that it ended.
    pub end: End,
}

/// An episode that the machine broke: it has no reward.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// Its number in the group, from 0.
    pub sample: usize,
    /// Its turns until then.
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
    /// A group of no rollouts yet.
    pub fn of(task: TaskId) -> Self {
        Self { task, rollouts: Vec::new(), dropped: Vec::new() }
    }

    /// Total rewards of the judged rollouts, in their order.
    pub fn rewards(&self) -> Vec<f64> {
        self.rollouts.iter().map(|rollout| rollout.outcome.reward.total()).collect()
    }

    /// Rewards as advantages need them: each total with its tests term.
    pub fn compared(&self) -> Vec<GroupReward> {
        self.rollouts.iter().map(|rollout| GroupReward::from(&rollout.outcome.reward)).collect()
    }

    /// Whether every rollout solved the task.
    pub fn is_solved(&self) -> bool {
        !self.rollouts.is_empty() && self.rollouts.iter().all(|rollout| rollout.outcome.is_solved())
    }

    /// Whether no rollout solved the task. One that was not run says nothing.
    pub fn is_unsolved(&self) -> bool {
        let fails = |rollout: &Rollout| {
            rollout.outcome.evidence != Evidence::NotRun && !rollout.outcome.is_solved()
        };
        !self.rollouts.is_empty() && self.rollouts.iter().all(fails)
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
