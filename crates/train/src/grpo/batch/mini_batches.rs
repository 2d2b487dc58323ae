//! Mini-batches of a step: the parts of its batch that each make an update.
//!
//! A group is never split. Its advantages have a mean of 0, so every update sees what was better beside what
//! was worse on the same task; with half of a group, an update would raise or lower all that it sees. (The
//! papers' tools split at random over sequences, of batches with hundreds of groups.) So there are at most
//! as many mini-batches as groups. Dead groups that count are spread over them like the others, and each
//! mini-batch divides by its own totals.
//!
//! Groups are shuffled anew in each pass, by the run's seed and the step: a run that goes on makes the same.
//! The rows of the other sources are divided as well, so that a step learns from each of them once a pass.

use std::collections::BTreeMap;
use std::ops::Range;

use whetstone_algo::Totals;
use whetstone_core::config::Config;
use whetstone_core::seed::Seed;

use super::super::distill::DistillSequence;
use super::Batch;
use crate::example::Example;
use crate::order::shuffled;
use crate::rollouts::sequences::RolloutIndex;

/// A part of a step's batch.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::grpo) struct MiniBatch {
    /// The places of its sequences in the batch, of those that have a signal.
    pub(in crate::grpo) places: Vec<usize>,
    /// Its totals, for the normalisers.
    pub(in crate::grpo) totals: Totals,
    teacher: Range<usize>,
    self_sft: Range<usize>,
    /// The places of its sequences of distillation.
    distill: Vec<usize>,
}

/// A pass over a step's batch.
#[derive(Clone, Copy)]
pub(in crate::grpo) struct MiniBatchPass {
    pub(in crate::grpo) step: u64,
    /// The number of the pass in its step, from 0.
    pub(in crate::grpo) pass: u64,
    /// Whether dead groups have a signal, by their divergence from the reference.
    pub(in crate::grpo) is_divergence_measured: bool,
}

impl MiniBatch {
    /// Its part of the teacher's rows.
    pub(in crate::grpo) fn teacher<'b>(&self, batch: &'b Batch) -> &'b [Example] {
        &batch.teacher[self.teacher.clone()]
    }

    /// Its part of the self-SFT rows.
    pub(in crate::grpo) fn self_sft<'b>(&self, batch: &'b Batch) -> &'b [Example] {
        &batch.self_sft[self.self_sft.clone()]
    }

    /// Its sequences of distillation.
    pub(in crate::grpo) fn distill<'b>(&self, batch: &'b Batch) -> Vec<&'b DistillSequence> {
        self.distill.iter().map(|&at| &batch.distill[at]).collect()
    }
}

impl Batch {
    /// The mini-batches of a pass, at least one.
    pub(in crate::grpo) fn mini_batches(
        &self,
        config: &Config,
        pass: MiniBatchPass,
    ) -> Vec<MiniBatch> {
        let learnt = self.learnt(pass.is_divergence_measured);
        let groups = self.groups();
        let count = (config.grpo.mini_batches as usize).min(groups.len()).max(1);
        if count == 1 {
            let (teacher, self_sft) = (0..self.teacher.len(), 0..self.self_sft.len());
            let (places, totals) = (learnt, self.totals);
            let distill = (0..self.distill.len()).collect();
            return vec![MiniBatch { places, totals, teacher, self_sft, distill }];
        }
        let seed = Seed::new(config.seed).derive("mini-batches", pass.step);
        let order = shuffled(seed, pass.pass, groups.len());
        let mini_batch = |index: usize| {
            let part = |all: usize| all * index / count..all * (index + 1) / count;
            let mut own: Vec<usize> =
                order[part(order.len())].iter().map(|&at| groups[at]).collect();
            own.sort_unstable();
            let is_own = |place: &usize| own.contains(&self.sequences[*place].rollout.group);
            MiniBatch {
                places: learnt.iter().copied().filter(is_own).collect(),
                totals: self.totals_of(&own),
                teacher: part(self.teacher.len()),
                self_sft: part(self.self_sft.len()),
                distill: (0..self.distill.len())
                    .filter(|&at| own.contains(&self.distill[at].group))
                    .collect(),
            }
        };
        (0..count).map(mini_batch).collect()
    }

    /// The groups that have a sequence in the loss, or in that of distillation.
    fn groups(&self) -> Vec<usize> {
        let learnt = self.sequences.iter().map(|sequence| sequence.rollout.group);
        let distilled = self.distill.iter().map(|sequence| sequence.group);
        let mut groups: Vec<usize> = learnt.chain(distilled).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The totals of some groups.
    fn totals_of(&self, groups: &[usize]) -> Totals {
        let mut tokens: BTreeMap<RolloutIndex, u64> = BTreeMap::new();
        for sequence in self.sequences.iter().filter(|one| groups.contains(&one.rollout.group)) {
            *tokens.entry(sequence.rollout).or_default() +=
                sequence.example.trained_tokens() as u64;
        }
        tokens.into_values().map(Totals::episode).sum()
    }
}

#[cfg(test)]
mod tests {
    use whetstone_rollout::collect::Group;

    use super::*;
    use crate::rollouts::tasks::StepRollouts;
    use crate::testing::{group, rollout, settings};

    /// Seven groups of two completions, group `n` with `n + 1` and one token; the last two are dead.
    fn batch(config: &Config) -> Batch {
        let of = |at: usize| -> Group {
            let worth = if at < 5 { 0.0 } else { 1.0 };
            let rollouts = vec![rollout(0, &vec![7; at + 1], 1.0), rollout(1, &[8], worth)];
            group(&format!("t/{at}"), rollouts)
        };
        let groups = (0..7).map(of).collect();
        let teacher = (0..6).map(|at| Example::new(&[1], &[at])).collect();
        let step_rollouts = StepRollouts { groups, teacher, ..StepRollouts::default() };
        Batch::new(config, &step_rollouts).unwrap()
    }

    fn pass(step: u64, pass: u64) -> MiniBatchPass {
        MiniBatchPass { step, pass, is_divergence_measured: true }
    }

    fn config(mini_batches: u32) -> Config {
        let mut config = settings();
        config.grpo.mini_batches = mini_batches;
        config
    }

    fn groups_of(batch: &Batch, part: &MiniBatch) -> Vec<usize> {
        let mut groups: Vec<usize> =
            part.places.iter().map(|&at| batch.sequences[at].rollout.group).collect();
        groups.dedup();
        groups
    }

    #[test]
    fn every_group_is_in_one_mini_batch_as_a_whole_with_its_totals() {
        for count in [2, 3, 4, 7, 100] {
            let config = config(count);
            let batch = batch(&config);
            let parts = batch.mini_batches(&config, pass(1, 0));
            assert_eq!(parts.len(), 7.min(count as usize));
            let mut places: Vec<usize> =
                parts.iter().flat_map(|part| part.places.clone()).collect();
            places.sort_unstable();
            assert_eq!(places, (0..14).collect::<Vec<_>>());
            for part in &parts {
                let groups = groups_of(&batch, part);
                assert_eq!(part.places.len(), 2 * groups.len(), "whole groups: {part:?}");
                let tokens: usize = groups.iter().map(|group| group + 2).sum();
                let expected = Totals { tokens: tokens as u64, episodes: 2 * groups.len() as u64 };
                assert_eq!(part.totals, expected);
                assert!((1..=7_usize.div_ceil(count as usize)).contains(&groups.len()));
            }
            assert_eq!(parts.iter().map(|part| part.totals).sum::<Totals>(), batch.totals);
            let rows: Vec<Example> =
                parts.iter().flat_map(|part| part.teacher(&batch)).cloned().collect();
            assert_eq!(rows, batch.teacher);
            let own: usize = parts.iter().map(|part| part.self_sft(&batch).len()).sum();
            assert_eq!(own, batch.self_sft.len());
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed_the_step_and_the_pass() {
        let config = config(3);
        let batch = batch(&config);
        let of = |step, number| batch.mini_batches(&config, pass(step, number));
        assert_eq!(of(4, 1), of(4, 1));
        assert!(of(4, 1) != of(5, 1) && of(4, 1) != of(4, 0));
        let mut other = config.clone();
        other.seed += 1;
        assert_ne!(batch.mini_batches(&other, pass(4, 1)), of(4, 1));
    }

    #[test]
    fn one_mini_batch_is_the_batch_in_its_order_and_dead_groups_count_without_a_signal() {
        let config = config(1);
        let whole = batch(&config);
        let [only] = &whole.mini_batches(&config, pass(3, 0))[..] else { panic!("one") };
        assert_eq!((only.places.len(), only.totals), (14, whole.totals));
        let unmeasured = MiniBatchPass { is_divergence_measured: false, ..pass(3, 0) };
        assert_eq!(whole.mini_batches(&config, unmeasured)[0].places, (0..10).collect::<Vec<_>>());
        let parts = whole.mini_batches(&self::config(7), unmeasured);
        assert_eq!(parts.iter().filter(|part| part.places.is_empty()).count(), 2);
        assert_eq!(parts.iter().map(|part| part.totals).sum::<Totals>(), whole.totals);
        let nothing = Batch::default();
        assert_eq!(nothing.mini_batches(&self::config(4), unmeasured).len(), 1, "of no group");
    }
}
