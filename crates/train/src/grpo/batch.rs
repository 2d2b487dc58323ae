//! What a step learns from: rollouts with their advantages, the teacher's rows, the student's best.

use serde::Serialize;
use whetstone_algo::advantage::{self, Advantage};
use whetstone_core::completion::Finish;
use whetstone_core::config::{AdvantageBy, Config};
use whetstone_rollout::collect::{Gathered, Rolled, Turn};

use super::budget;
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
    /// Of groups that are alive, in their order.
    pub(super) played: Vec<Played>,
    /// One list for each group that was judged, dead ones included.
    pub(super) advantages: Vec<Vec<f64>>,
    pub(super) teacher: Vec<Example>,
    pub(super) own: Vec<Example>,
    pub(super) dead_groups: usize,
    /// Of dead groups, if there is a budget of divergence that they could show the use of.
    pub(super) idle: Vec<Played>,
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
            let advantages = advantage::of_group(&group.compared(), how)?;
            if group.is_dead() {
                batch.dead_groups += 1;
                if budget::is_set(config) {
                    let turns = group.rollouts.iter().flat_map(|rolled| &rolled.turns);
                    batch.idle.extend(turns.filter_map(|turn| played(turn, 0.0)));
                }
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

/// The best rollouts of a group that pass, as sequences to repeat. One that the length limit cut off
/// is none: it would teach not to come to an end.
fn best(group: &Gathered, count: usize) -> impl Iterator<Item = Example> {
    let is_cut = |turn: &Turn| turn.completion.finish == Finish::Length;
    let passes = |rolled: &&Rolled| {
        rolled.outcome.judgement.verdict().is_pass() && !rolled.turns.iter().any(is_cut)
    };
    let mut passing: Vec<&Rolled> = group.rollouts.iter().filter(passes).collect();
    let worth = |rolled: &Rolled| rolled.outcome.reward.total();
    passing.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let turns = passing.into_iter().take(count).flat_map(|rolled| &rolled.turns);
    turns.filter_map(|turn| played(turn, 0.0)).map(|it| it.example)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use whetstone_core::verdict::Verdict;

    use super::*;
    use crate::testing::{group, rolled, rolled_as, settings};

    fn batch(config: &Config, groups: Vec<Gathered>) -> Batch {
        Batch::new(config, &Drawn { groups, ..Drawn::default() }).unwrap()
    }

    /// The completions and their advantages.
    fn played(batch: &Batch) -> Vec<(&[u32], f64)> {
        batch
            .played
            .iter()
            .map(|it| (&it.example.tokens[it.example.first..], it.advantage))
            .collect()
    }

    fn own(batch: &Batch) -> Vec<&[u32]> {
        batch.own.iter().map(|it| &it.tokens[it.first..]).collect()
    }

    #[test]
    fn advantages_are_of_the_group_and_as_the_settings_say() {
        let mut config = settings();
        let groups = || vec![group("a", vec![rolled(0, &[7], 1.0), rolled(1, &[8, 9], 0.0)])];
        assert_eq!(played(&batch(&config, groups())), [(&[7][..], 1.0), (&[8, 9][..], -1.0)]);
        config.grpo.advantage = AdvantageBy::Mean;
        assert_eq!(played(&batch(&config, groups())), [(&[7][..], 0.5), (&[8, 9][..], -0.5)]);
        config.grpo.advantage = AdvantageBy::LeaveOneOut;
        let found = batch(&config, groups());
        assert_eq!(found.advantages, [[1.0, -1.0]]);
        assert_eq!(found.played[1].example.tokens, [1, 2, 8, 9], "the prompt comes first");
        assert_eq!(found.played[1].sampled, [-0.5, -0.5]);
    }

    #[test]
    fn a_dead_group_is_counted_and_teaches_nothing_but_its_best() {
        let dead = group("a", vec![rolled(0, &[7], 1.0), rolled(1, &[8], 1.0)]);
        let alone = group("b", vec![rolled(0, &[9], 0.0)]);
        let none = group("c", Vec::new());
        let found = batch(&settings(), vec![dead, alone, none]);
        assert_eq!((found.dead_groups, found.played.len()), (3, 0));
        assert_eq!(found.advantages, [vec![0.0, 0.0], vec![0.0], vec![]]);
        assert_eq!(own(&found), [&[7]]);
        assert!(found.idle.is_empty(), "nobody asked for it");
    }

    #[test]
    fn with_a_budget_dead_groups_are_kept_to_be_measured() {
        let mut config = settings();
        config.dual_source.kl_budget = 0.1;
        let dead = group("a", vec![rolled(0, &[7], 0.0), rolled(1, &[8], 0.0)]);
        let live = group("b", vec![rolled(0, &[9], 0.0), rolled(1, &[10], 0.5)]);
        let found = batch(&config, vec![dead, live]);
        let idle: Vec<u32> = found.idle.iter().map(|it| it.example.tokens[2]).collect();
        assert_eq!(idle, [7, 8]);
    }

    #[test]
    fn the_best_that_pass_are_learnt_by_heart() {
        let mut config = settings();
        let pass = |sample, ids: &[u32], worth| {
            rolled_as(sample, (ids, Finish::Stop), (Verdict::Pass, worth))
        };
        let groups = || {
            let wrong = rolled_as(3, (&[6], Finish::Stop), (Verdict::Wrong { test: 0 }, 0.95));
            let first = vec![pass(0, &[7], 0.8), pass(1, &[8], 0.9), pass(2, &[9], 0.9), wrong];
            vec![group("a", first), group("b", vec![pass(0, &[10], 0.7), rolled(1, &[11], 0.0)])]
        };
        assert_eq!(own(&batch(&config, groups())), [&[8], &[10]], "of equals the first");
        config.dual_source.self_sft_top_k = 2;
        assert_eq!(own(&batch(&config, groups())), [&[8], &[9], &[10]]);
        config.dual_source.self_sft_top_k = 9;
        assert_eq!(own(&batch(&config, groups())), [&[8], &[9], &[7], &[10]]);
    }

    #[test]
    fn what_the_length_limit_cut_off_is_masked_if_asked_and_never_learnt_by_heart() {
        let mut config = settings();
        let groups = || {
            let cut = rolled_as(0, (&[7, 7], Finish::Length), (Verdict::Pass, 1.0));
            vec![group("a", vec![cut, rolled(1, &[8], 0.0)])]
        };
        let found = batch(&config, groups());
        assert_eq!((found.played.len(), found.masked), (2, 0));
        assert!(own(&found).is_empty());
        config.grpo.mask_truncated_completions = true;
        let found = batch(&config, groups());
        assert_eq!(played(&found), [(&[8][..], -1.0)], "against the whole group");
        assert_eq!(found.masked, 1);
    }

    #[test]
    fn what_says_nothing_is_no_sequence() {
        let found =
            batch(&settings(), vec![group("a", vec![rolled(0, &[], 1.0), rolled(1, &[8], 0.0)])]);
        assert_eq!(played(&found), [(&[8][..], -1.0)]);
        assert!(own(&found).is_empty());
    }

    #[test]
    fn a_batch_is_kept_with_everything_that_a_replay_needs() {
        let groups = vec![group("a", vec![rolled(0, &[7], 1.0), rolled(1, &[8], 0.0)])];
        let teacher = vec![Example::new(&[3], &[4])];
        let drawn = Drawn { groups, teacher, ..Drawn::default() };
        let found = Batch::new(&settings(), &drawn).unwrap();
        let expected = json!({
            "rollouts": [[[[1, 2, 7], 2], 1.0], [[[1, 2, 8], 2], -1.0]],
            "sampled": [[-0.5], [-0.5]],
            "teacher": [[[3, 4], 1]],
            "own": [[[1, 2, 7], 2]],
        });
        assert_eq!(serde_json::to_value(found.kept()).unwrap(), expected);
    }
}
