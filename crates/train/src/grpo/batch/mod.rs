//! The training batch of a step: rollouts with their advantages, the teacher's rows, self-SFT rows.
//!
//! Every judged rollout of the step counts in the normaliser, also where its group is dead: it has an
//! advantage of 0 and keeps its divergence from the reference (`grpo.dead_groups`). Groups in whose place
//! dynamic sampling drew others count nowhere: a step has as many groups after ten rounds as after one,
//! and its gradient the same length. A completion that the
//! length limit cut off counts nowhere, if the settings mask it (DAPO, arXiv:2503.14476, section 3.4); its
//! reward is still part of the mean that its group is measured against.
//!
//! An episode of several turns is one sequence, in which only what the model said is trained, if each prompt
//! begins with the tokens of the turns before it. A turn for which that does not hold, because the chat
//! template rewrites earlier turns, begins another sequence. With `grpo.advantage_by = "step"` a turn's tokens
//! have an advantage of their own ([`turns`]).

mod mini_batches;
mod turns;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use whetstone_algo::advantage::{self, GroupRule};
use whetstone_algo::kl::{self, Penalty};
use whetstone_algo::{Advantages, Mean, OwnedAdvantages, Totals};
use whetstone_core::config::{Config, DeadGroups};
use whetstone_rollout::collect::{Group, Turn};

pub(super) use self::mini_batches::{MiniBatch, MiniBatchPass};
use self::turns::turn_advantages;
use super::best::best;
use super::budget;
use super::distill::DistillSequence;
use crate::error::TrainError;
use crate::example::Example;
use crate::rollouts::sequences::{RolloutIndex, SampledSequence, TurnTokens, sampled_sequences};
use crate::rollouts::tasks::StepRollouts;

/// An episode, or turns of one, as a sequence to train on, with its advantage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrainSequence {
    pub(super) example: Example,
    /// The log-probabilities that it was sampled with; 0 for tokens that the model did not say.
    pub(super) sampled: Vec<f64>,
    pub(super) advantage: OwnedAdvantages,
    /// Trained tokens of its episode, where that is several sequences.
    pub(super) episode_tokens: Option<u64>,
    /// The rollout that it is of.
    rollout: RolloutIndex,
    is_dead: bool,
}

/// A group with the advantages of its rollouts.
struct GroupAdvantages<'a> {
    /// The group's index in the step.
    at: usize,
    group: &'a Group,
    advantages: &'a [f64],
    /// Those of the turns of each, where turns have their own.
    turns: Option<&'a [Vec<f64>]>,
    is_dead: bool,
}

/// The advantage of an episode's tokens.
#[derive(Clone, Copy)]
enum EpisodeAdvantage<'a> {
    Whole(f64),
    /// One for each turn.
    Turns(&'a [f64]),
}

/// The training batch of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Batch {
    /// Sequences that count in the loss, in the order of the groups.
    pub(super) sequences: Vec<TrainSequence>,
    /// Totals of the step, for the normalisers.
    pub(super) totals: Totals,
    /// One list for each group that was judged, dead ones included.
    pub(super) advantages: Vec<Vec<f64>>,
    pub(super) teacher: Vec<Example>,
    /// The student's own best rollouts of the step, and behind them replayed ones of earlier steps.
    pub(super) self_sft: Vec<Example>,
    /// What the teacher of distillation scored.
    pub(super) distill: Vec<DistillSequence>,
    pub(super) dead_groups: usize,
    /// Of these, groups in which every rollout passes, and groups in which none does.
    pub(super) solved_groups: usize,
    pub(super) unsolved_groups: usize,
    /// Of dead groups that are left out, if there is a budget of divergence that they could show the
    /// use of.
    pub(super) idle: Vec<TrainSequence>,
    /// Completions that the length limit cut off and that are not learnt from.
    pub(super) masked: Vec<TrainSequence>,
    /// The mean KL charge of rollouts, if rewards are charged.
    pub(super) charge: Option<f64>,
}

/// Log-probabilities under the reference.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reference {
    /// Of the sequences that count in the loss.
    pub(super) sequences: Vec<Vec<f64>>,
    /// Of the masked ones, where rewards are charged.
    pub(super) masked: Vec<Vec<f64>>,
}

impl Batch {
    pub(super) fn new(config: &Config, step_rollouts: &StepRollouts) -> Result<Self, TrainError> {
        let rule = GroupRule::new(config);
        let mut batch = Self { teacher: step_rollouts.teacher.clone(), ..Self::default() };
        let counting = step_rollouts.counting();
        for (at, group) in step_rollouts.groups.iter().enumerate() {
            let turns = turn_advantages(config, step_rollouts, at)?;
            let advantages = match &turns {
                Some(turns) => turns.iter().map(|turns| mean(turns)).collect(),
                None => advantage::of_group(&group.compared(), rule)?,
            };
            let is_dead = match &turns {
                Some(turns) => turns.iter().flatten().all(|&advantage| advantage == 0.0),
                None => group.is_dead(rule.floor),
            };
            batch.dead_groups += usize::from(is_dead);
            batch.solved_groups += usize::from(is_dead && group.is_solved());
            batch.unsolved_groups += usize::from(is_dead && group.is_unsolved());
            if at < counting && (!is_dead || config.grpo.dead_groups == DeadGroups::Keep) {
                let (advantages, turns) = (&advantages, turns.as_deref());
                batch.add(config, &GroupAdvantages { at, group, advantages, turns, is_dead });
            } else if budget::is_set(config) {
                batch.idle.extend(group.rollouts.iter().enumerate().flat_map(
                    |(index, rollout)| {
                        let index = RolloutIndex { group: at, rollout: index };
                        let turns = rollout.turns.iter().enumerate();
                        train_sequences(turns, index, EpisodeAdvantage::Whole(0.0))
                    },
                ));
            }
            batch.advantages.push(advantages);
        }
        let top_k = config.dual_source.self_sft_top_k as usize;
        let best = best(&step_rollouts.groups, top_k);
        batch.self_sft = best.flat_map(|rollout| examples(&rollout.turns)).collect();
        Ok(batch)
    }

    fn add(&mut self, config: &Config, of_group: &GroupAdvantages<'_>) {
        let GroupAdvantages { at, group, advantages, turns, is_dead } = *of_group;
        for ((index, rollout), &advantage) in group.rollouts.iter().enumerate().zip(advantages) {
            let index = RolloutIndex { group: at, rollout: index };
            let advantage = match turns {
                Some(turns) => EpisodeAdvantage::Turns(&turns[index.rollout]),
                None => EpisodeAdvantage::Whole(advantage),
            };
            let is_masked = |(_, turn): &(usize, &Turn)| {
                config.grpo.mask_truncated_completions && turn.is_cut_off()
            };
            let (masked, whole): (Vec<_>, Vec<_>) =
                rollout.turns.iter().enumerate().partition(is_masked);
            self.masked.extend(train_sequences(masked, index, advantage));
            let mut counts = train_sequences(whole, index, advantage);
            let tokens = counts.iter().map(|part| part.example.trained_tokens() as u64).sum();
            let is_split = counts.len() > 1;
            for part in &mut counts {
                part.is_dead = is_dead;
                part.episode_tokens = is_split.then_some(tokens);
            }
            self.totals = self.totals + Totals::episode(tokens);
            self.sequences.append(&mut counts);
        }
    }

    /// The places of what has a signal. Rollouts of dead groups have one only where their divergence
    /// costs something or is measured.
    pub(super) fn learnt(&self, is_divergence_measured: bool) -> Vec<usize> {
        let has = |sequence: &TrainSequence| {
            !sequence.is_dead || !sequence.advantage.is_zero() || is_divergence_measured
        };
        (0..self.sequences.len()).filter(|&at| has(&self.sequences[at])).collect()
    }

    /// Rollouts that count or were masked: whether they have a signal, or were masked. Those of dead groups
    /// are not among them.
    pub(super) fn counted(&self) -> BTreeMap<RolloutIndex, bool> {
        let masked = self.masked.iter().map(|sequence| (sequence.rollout, false));
        let learnt = self.learnt(false).into_iter().map(|at| (self.sequences[at].rollout, true));
        // One turn that counts is enough.
        masked.chain(learnt).collect()
    }

    /// Charges every rollout for its divergence from the reference, and computes advantages anew.
    pub(super) fn charge(
        &mut self,
        config: &Config,
        step_rollouts: &StepRollouts,
        reference: &Reference,
    ) -> Result<(), TrainError> {
        let penalty = Penalty::new(&config.grpo);
        let mut charges: Vec<Vec<f64>> =
            self.advantages.iter().map(|group| vec![0.0; group.len()]).collect();
        let both = [(&self.sequences, &reference.sequences), (&self.masked, &reference.masked)];
        for (sequences, reference) in both {
            for (sequence, reference) in sequences.iter().zip(reference) {
                let RolloutIndex { group, rollout } = sequence.rollout;
                let of_trained = |values: &[f64]| sequence.example.of_trained(values);
                let (sampled, reference) = (of_trained(&sequence.sampled), of_trained(reference));
                charges[group][rollout] += kl::charge(penalty, &sampled, &reference)?;
            }
        }
        let rule = GroupRule::new(config);
        let counting = step_rollouts.counting();
        for ((at, group), charges) in step_rollouts.groups.iter().enumerate().zip(&charges) {
            let is_left_out = at >= counting
                || config.grpo.dead_groups == DeadGroups::LeaveOut && group.is_dead(rule.floor);
            if !is_left_out {
                let compared = group.compared();
                self.advantages[at] = advantage::of_charged_group(&compared, charges, rule)?;
            }
        }
        for sequence in &mut self.sequences {
            let RolloutIndex { group, rollout } = sequence.rollout;
            sequence.advantage = OwnedAdvantages::Whole(self.advantages[group][rollout]);
        }
        let mut mean = Mean::default();
        charges.iter().flatten().for_each(|&charge| mean.add(charge));
        self.charge = mean.get();
        Ok(())
    }

    /// The batch as it is saved after an error, for a replay.
    pub(super) fn saved(&self) -> SavedSequences<'_> {
        fn row(example: &Example) -> (&[u32], usize) {
            (example.tokens.as_slice(), example.first)
        }
        SavedSequences {
            rollouts: self
                .sequences
                .iter()
                .map(|sequence| (row(&sequence.example), sequence.advantage.view().into()))
                .collect(),
            sampled: self.sequences.iter().map(|sequence| sequence.sampled.as_slice()).collect(),
            untrained: self
                .sequences
                .iter()
                .enumerate()
                .filter(|(_, sequence)| !sequence.example.untrained.is_empty())
                .map(|(at, sequence)| (at, sequence.example.untrained.as_slice()))
                .collect(),
            teacher: self.teacher.iter().map(row).collect(),
            own: self.self_sft.iter().map(row).collect(),
        }
    }
}

/// A batch as JSON.
#[derive(Serialize)]
pub(super) struct SavedSequences<'a> {
    rollouts: Vec<((&'a [u32], usize), SavedAdvantages<'a>)>,
    sampled: Vec<&'a [f64]>,
    /// Ranges of tokens that the model did not say, by the place of the rollout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    untrained: Vec<(usize, &'a [Range<usize>])>,
    teacher: Vec<(&'a [u32], usize)>,
    own: Vec<(&'a [u32], usize)>,
}

/// Advantages as JSON: a number, or a list of them.
#[derive(Serialize)]
#[serde(untagged)]
enum SavedAdvantages<'a> {
    Whole(f64),
    Tokens(&'a [f64]),
}

impl<'a> From<Advantages<'a>> for SavedAdvantages<'a> {
    fn from(advantages: Advantages<'a>) -> Self {
        match advantages {
            Advantages::Whole(advantage) => Self::Whole(advantage),
            Advantages::Tokens(advantages) => Self::Tokens(advantages),
        }
    }
}

/// Turns of a rollout as sequences to learn from.
fn train_sequences<'t>(
    turns: impl IntoIterator<Item = (usize, &'t Turn)>,
    rollout: RolloutIndex,
    advantage: EpisodeAdvantage<'_>,
) -> Vec<TrainSequence> {
    let with_advantage = |sequence: SampledSequence| TrainSequence {
        advantage: advantage.of(&sequence),
        example: sequence.example,
        sampled: sequence.sampled,
        episode_tokens: None,
        rollout,
        is_dead: false,
    };
    sampled_sequences(turns).into_iter().map(with_advantage).collect()
}

/// The same without what is known of their sampling.
fn examples(turns: &[Turn]) -> impl Iterator<Item = Example> {
    let rollout = RolloutIndex { group: 0, rollout: 0 };
    let turns = turns.iter().enumerate();
    let sequences = train_sequences(turns, rollout, EpisodeAdvantage::Whole(0.0));
    sequences.into_iter().map(|sequence| sequence.example)
}

impl EpisodeAdvantage<'_> {
    /// The advantages of a sequence. Tokens that the model did not say have none.
    fn of(self, sequence: &SampledSequence) -> OwnedAdvantages {
        match self {
            Self::Whole(advantage) => OwnedAdvantages::Whole(advantage),
            Self::Turns(turns) => {
                let mut tokens = vec![0.0; sequence.sampled.len()];
                for TurnTokens { turn, tokens: range } in &sequence.turns {
                    tokens[range.clone()].fill(turns[*turn]);
                }
                OwnedAdvantages::Tokens(tokens)
            }
        }
    }
}

/// The mean advantage of an episode's turns, as it is recorded.
fn mean(turns: &[f64]) -> f64 {
    let mut mean = Mean::default();
    for &advantage in turns {
        mean.add(advantage);
    }
    mean.get().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
