//! The training batch of a step: rollouts with their advantages, the teacher's rows, self-SFT rows.
//!
//! Every judged rollout of the step counts in the normaliser, also where its group is dead: it has an
//! advantage of 0 and keeps its divergence from the reference (`grpo.dead_groups`). A completion that the
//! length limit cut off counts nowhere, if the settings mask it (DAPO, arXiv:2503.14476, section 3.4); its
//! reward is still part of the mean that its group is measured against.

use std::collections::BTreeMap;

use serde::Serialize;
use whetstone_algo::Totals;
use whetstone_algo::advantage::{self, GroupRule};
use whetstone_algo::kl::{self, Penalty};
use whetstone_core::completion::Finish;
use whetstone_core::config::{Config, DeadGroups};
use whetstone_core::outcome::Evidence;
use whetstone_rollout::collect::{Group, Rollout, Turn};

use super::best::best;
use super::budget;
use super::tasks::StepRollouts;
use crate::error::TrainError;
use crate::example::Example;

/// One turn of a rollout as a sequence to train on, with its advantage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrainSequence {
    pub(super) example: Example,
    /// The log-probabilities that it was sampled with.
    pub(super) sampled: Vec<f64>,
    pub(super) advantage: f64,
    /// Trained tokens of all turns of its episode, where it has several.
    pub(super) episode_tokens: Option<u64>,
    /// The rollout it is a turn of.
    member: Member,
    is_dead: bool,
}

/// A rollout by the places of its group and of itself there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    group: usize,
    rollout: usize,
}

/// A group with the advantages of its rollouts.
struct Judged<'a> {
    /// Its place in the step.
    at: usize,
    group: &'a Group,
    advantages: &'a [f64],
    is_dead: bool,
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
    /// The student's own best rollouts of the step.
    pub(super) self_sft: Vec<Example>,
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
        for (at, group) in step_rollouts.groups.iter().enumerate() {
            let advantages = advantage::of_group(&group.compared(), rule)?;
            let is_dead = group.is_dead(rule.floor);
            batch.dead_groups += usize::from(is_dead);
            batch.solved_groups += usize::from(is_dead && is_solved(group));
            batch.unsolved_groups += usize::from(is_dead && is_unsolved(group));
            if !is_dead || config.grpo.dead_groups == DeadGroups::Keep {
                let judged = Judged { at, group, advantages: &advantages, is_dead };
                batch.add(config, &judged);
            } else if budget::is_set(config) {
                batch.idle.extend(group.rollouts.iter().enumerate().flat_map(
                    |(index, rollout)| turns(rollout, Member { group: at, rollout: index }, 0.0),
                ));
            }
            batch.advantages.push(advantages);
        }
        let top_k = config.dual_source.self_sft_top_k as usize;
        batch.self_sft = best(&step_rollouts.groups, top_k).filter_map(example).collect();
        Ok(batch)
    }

    fn add(&mut self, config: &Config, judged: &Judged<'_>) {
        let Judged { at, group, advantages, is_dead } = *judged;
        for ((index, rollout), &advantage) in group.rollouts.iter().enumerate().zip(advantages) {
            let member = Member { group: at, rollout: index };
            let mut counts = Vec::new();
            for turn in &rollout.turns {
                let cut = turn.completion.finish == Finish::Length;
                let sequence = train_sequence(turn, member, advantage);
                if cut && config.grpo.mask_truncated_completions {
                    self.masked.extend(sequence);
                } else {
                    counts.extend(sequence.map(|sequence| TrainSequence { is_dead, ..sequence }));
                }
            }
            let tokens = counts.iter().map(|turn| turn.example.trained() as u64).sum();
            if counts.len() > 1 {
                for turn in &mut counts {
                    turn.episode_tokens = Some(tokens);
                }
            }
            self.totals = self.totals + Totals::episode(tokens);
            self.sequences.append(&mut counts);
        }
    }

    /// The places of what has a signal. Rollouts of dead groups have one only where their divergence
    /// costs something or is measured.
    pub(super) fn learnt(&self, is_divergence_measured: bool) -> Vec<usize> {
        let has =
            |turn: &TrainSequence| !turn.is_dead || turn.advantage != 0.0 || is_divergence_measured;
        (0..self.sequences.len()).filter(|&at| has(&self.sequences[at])).collect()
    }

    /// Rollouts that count or were masked, by the places of their group and of themselves there: whether they have a
    /// signal, or were masked. Those of dead groups are not among them.
    pub(super) fn members(&self) -> BTreeMap<(usize, usize), bool> {
        let masked = self.masked.iter().map(|turn| (turn.member, false));
        let learnt = self.learnt(false).into_iter().map(|at| (self.sequences[at].member, true));
        // One turn that counts is enough.
        masked
            .chain(learnt)
            .map(|(Member { group, rollout }, counts)| ((group, rollout), counts))
            .collect()
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
        for (turns, reference) in both {
            for (turn, reference) in turns.iter().zip(reference) {
                let Member { group, rollout } = turn.member;
                charges[group][rollout] += kl::charge(penalty, &turn.sampled, reference)?;
            }
        }
        let rule = GroupRule::new(config);
        for ((at, group), charges) in step_rollouts.groups.iter().enumerate().zip(&charges) {
            let is_left_out =
                config.grpo.dead_groups == DeadGroups::LeaveOut && group.is_dead(rule.floor);
            if !is_left_out {
                let compared = group.compared();
                self.advantages[at] = advantage::of_charged_group(&compared, charges, rule)?;
            }
        }
        for turn in &mut self.sequences {
            turn.advantage = self.advantages[turn.member.group][turn.member.rollout];
        }
        let mut mean = whetstone_algo::Mean::default();
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
                .map(|sequence| (row(&sequence.example), sequence.advantage))
                .collect(),
            sampled: self.sequences.iter().map(|sequence| sequence.sampled.as_slice()).collect(),
            teacher: self.teacher.iter().map(row).collect(),
            own: self.self_sft.iter().map(row).collect(),
        }
    }
}

/// A batch as JSON.
#[derive(Serialize)]
pub(super) struct SavedSequences<'a> {
    rollouts: Vec<((&'a [u32], usize), f64)>,
    sampled: Vec<&'a [f64]>,
    teacher: Vec<(&'a [u32], usize)>,
    own: Vec<(&'a [u32], usize)>,
}

/// Whether every rollout of a group passes.
fn is_solved(group: &Group) -> bool {
    !group.rollouts.is_empty() && group.rollouts.iter().all(|rollout| rollout.outcome.is_solved())
}

/// Whether no rollout of a group passes. One that was not run says nothing.
fn is_unsolved(group: &Group) -> bool {
    let fails = |rollout: &Rollout| {
        rollout.outcome.evidence != Evidence::NotRun && !rollout.outcome.is_solved()
    };
    !group.rollouts.is_empty() && group.rollouts.iter().all(fails)
}

/// The turns of a rollout as sequences.
fn turns(rollout: &Rollout, member: Member, advantage: f64) -> impl Iterator<Item = TrainSequence> {
    rollout.turns.iter().filter_map(move |turn| train_sequence(turn, member, advantage))
}

/// A turn as a sequence to learn from; none if nothing was sampled.
fn train_sequence(turn: &Turn, member: Member, advantage: f64) -> Option<TrainSequence> {
    let example = example(turn)?;
    let tokens = turn.completion.tokens.as_ref()?;
    let sampled = tokens.logps().iter().copied().map(f64::from).collect();
    Some(TrainSequence {
        example,
        sampled,
        advantage,
        episode_tokens: None,
        member,
        is_dead: false,
    })
}

/// The tokens of a turn; none if nothing was sampled.
fn example(turn: &Turn) -> Option<Example> {
    let tokens = turn.completion.tokens.as_ref().filter(|tokens| !tokens.ids().is_empty())?;
    Some(Example::new(&turn.prompt, tokens.ids()))
}

#[cfg(test)]
mod tests;
