//! What a step learns from: rollouts with their advantages, the teacher's rows, the student's best.

use serde::Serialize;
use whetstone_algo::advantage::{self, Advantage};
use whetstone_core::completion::Finish;
use whetstone_core::config::{AdvantageBy, Config};
use whetstone_rollout::collect::{Gathered, Rolled, Turn};

use super::tasks::Drawn;
use crate::error::TrainError;
use crate::example::Example;

/// A completion of the student with what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    pub(super) example: Example,
    /// The log-probabilities that it was sampled with.
    pub(super) sampled: Vec<f64>,
    pub(super) advantage: f64,
}

/// What a step learns from.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Batch {
    /// Of groups with variance, in their order.
    pub(super) played: Vec<Played>,
    /// One list for each group that was judged, dead ones included.
    pub(super) advantages: Vec<Vec<f64>>,
    pub(super) teacher: Vec<Example>,
    pub(super) own: Vec<Example>,
    pub(super) dead_groups: usize,
    /// Completions that the length limit cut off and that are not learnt from.
    pub(super) masked: usize,
}

impl Batch {
    pub(super) fn new(config: &Config, drawn: &Drawn) -> Result<Self, TrainError> {
        let how = match config.grpo.advantage {
            AdvantageBy::StandardScore => Advantage::StandardScore,
            AdvantageBy::Mean => Advantage::Mean,
            AdvantageBy::LeaveOneOut => Advantage::LeaveOneOut,
        };
        let mut batch = Self { teacher: drawn.teacher.clone(), ..Self::default() };
        for group in &drawn.groups {
            let advantages = advantage::group(&group.rewards(), how)?;
            if group.is_dead() {
                batch.dead_groups += 1;
            } else {
                batch.add(config, group, &advantages);
            }
            batch.advantages.push(advantages);
            batch.own.extend(best(group, config.dual_source.self_sft_top_k as usize));
        }
        Ok(batch)
    }

    fn add(&mut self, config: &Config, group: &Gathered, advantages: &[f64]) {
        for (rolled, &advantage) in group.rollouts.iter().zip(advantages) {
            for turn in &rolled.turns {
                let cut = turn.completion.finish == Finish::Length;
                if cut && config.grpo.mask_truncated_completions {
                    self.masked += 1;
                } else {
                    self.played.extend(played(turn, advantage));
                }
            }
        }
    }

    /// What is kept of a batch that could not be learnt from.
    pub(super) fn kept(&self) -> Kept<'_> {
        fn row(example: &Example) -> (&[u32], usize) {
            (example.tokens.as_slice(), example.first)
        }
        Kept {
            rollouts: self.played.iter().map(|it| (row(&it.example), it.advantage)).collect(),
            sampled: self.played.iter().map(|it| it.sampled.as_slice()).collect(),
            teacher: self.teacher.iter().map(row).collect(),
            own: self.own.iter().map(row).collect(),
        }
    }
}

/// A batch as JSON.
#[derive(Serialize)]
pub(super) struct Kept<'a> {
    rollouts: Vec<((&'a [u32], usize), f64)>,
    sampled: Vec<&'a [f64]>,
    teacher: Vec<(&'a [u32], usize)>,
    own: Vec<(&'a [u32], usize)>,
}

/// A turn as a sequence to learn from; none if nothing was sampled.
fn played(turn: &Turn, advantage: f64) -> Option<Played> {
    let tokens = turn.completion.tokens.as_ref().filter(|tokens| !tokens.ids().is_empty())?;
    let sampled = tokens.logps().iter().copied().map(f64::from).collect();
    Some(Played { example: Example::new(&turn.prompt, tokens.ids()), sampled, advantage })
}

/// The best rollouts of a group that pass, as sequences to repeat.
fn best(group: &Gathered, count: usize) -> impl Iterator<Item = Example> {
    let passes = |rolled: &&Rolled| rolled.outcome.judgement.verdict().is_pass();
    let mut passing: Vec<&Rolled> = group.rollouts.iter().filter(passes).collect();
    let worth = |rolled: &Rolled| rolled.outcome.reward.total();
    passing.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let turns = passing.into_iter().take(count).flat_map(|rolled| &rolled.turns);
    turns.filter_map(|turn| played(turn, 0.0)).map(|it| it.example)
}
