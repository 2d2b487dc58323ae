//! The measurements that alarms look at, of every step so far.

use std::collections::BTreeMap;

use whetstone_core::metric::{self, Metric};

use crate::rollouts::values::flag;

/// Steps whose mean stands for a time: single steps have different tasks, and jump.
pub(super) const WINDOW: usize = 10;

/// Steps that are needed before their mean is compared with the first step.
const LEAST_AFTER_START: usize = 3;

pub(super) const REWARD: &str = metric::GRPO_MEAN_REWARD.name;
pub(super) const PASS: &str = metric::GRPO_PASS_RATE.name;
pub(super) const ENTROPY: &str = metric::GRPO_ENTROPY.name;
pub(super) const KL: &str = metric::GRPO_KL_DIVERGENCE.name;
pub(super) const GAP: &str = metric::GRPO_SAMPLER_GAP.name;
pub(super) const CLAMPED: &str = metric::GRPO_CLAMPED_FRACTION.name;
pub(super) const PAID_LENGTH: &str = metric::REWARD_MODEL_LENGTH_CORRELATION.name;
pub(super) const TIMEOUTS: &str = metric::CODE_TIMEOUTS.name;
pub(super) const CUT_OFF: &str = metric::ROLLOUT_TRUNCATED.name;
pub(super) const NO_CODE: &str = metric::CODE_NO_CODE.name;
pub(super) const IN_THINKING: &str = metric::CODE_IN_THINKING.name;
pub(super) const HELD_OUT_NO_CODE: &str = metric::HELD_OUT_NO_CODE.name;
pub(super) const HELD_OUT: &str = metric::HELD_OUT_PASS_RATE.name;
pub(super) const HELD_OUT_TASKS: &str = metric::HELD_OUT_TASKS.name;
pub(super) const RM_ACCURACY: &str = metric::RM_HELD_OUT_ACCURACY.name;
pub(super) const RM_ACCURACY_LOW: &str = metric::RM_HELD_OUT_ACCURACY_LOW.name;
pub(super) const RM_PAIRS: &str = metric::RM_HELD_OUT_PAIRS.name;
pub(super) const RM_LENGTH: &str = metric::RM_LENGTH_CORRELATION.name;
pub(super) const RM_LABEL_LENGTH: &str = metric::RM_LABEL_LENGTH_CORRELATION.name;
pub(super) const RM_SHORTER: &str = metric::RM_ACCURACY_CHOSEN_SHORTER.name;
pub(super) const RM_SHORTER_PAIRS: &str = metric::RM_CHOSEN_SHORTER_PAIRS.name;
pub(super) const DPO_MARGIN: &str = metric::DPO_MARGIN.name;
pub(super) const DPO_CHOSEN_REWARD: &str = metric::DPO_CHOSEN_REWARD.name;
pub(super) const DPO_CHOSEN_LOGP: &str = metric::DPO_CHOSEN_LOGP.name;
/// The part of groups that are dead; made of the two below.
pub(super) const DEAD: &str = "dead part";
/// The parts that are dead since all rollouts pass, and since none does.
pub(super) const SOLVED: &str = "solved part";
pub(super) const UNSOLVED: &str = "unsolved part";
pub(super) const HELD_OUT_AT_N: &str = metric::HELD_OUT_PASS_AT_N.name;
pub(super) const REPETITION: &str = metric::ROLLOUT_REPETITION.name;
pub(super) const GRAD_NORM: &str = metric::TRAIN_GRAD_NORM.name;
pub(super) const UPDATE_KL: &str = metric::GRPO_UPDATE_KL.name;
pub(super) const CLIPPED: &str = metric::GRPO_CLIP_FRACTION.name;
pub(super) const EFFECTIVE_SAMPLE: &str = metric::GRPO_EFFECTIVE_SAMPLE_SIZE.name;
/// Whether a step had no group that is alive, as 1 or 0.
pub(super) const NO_GRADIENT: &str = "no gradient";
/// Whether the gradient of the cross-entropies was more than [`LEAD`] times as long as that of the rollouts, in steps
/// with a group that is alive.
pub(super) const SFT_LEADS: &str = "sft leads";
/// The logarithm of the ratio of the tokens of completions that fail to those of completions that pass.
pub(super) const LENGTH_GAP: &str = "length gap";
/// The part of rollouts that could not be judged.
pub(super) const LOST: &str = "lost part";
/// How many times longer a gradient is that leads.
const LEAD: f64 = 5.0;
/// Prefix of the metrics of the reward's terms among rollouts that do not pass.
const TERMS_OF_FAILING: &str = metric::REWARD_TERMS_OF_FAILING;

pub(super) const EXPLAINED: &str = metric::PPO_EXPLAINED_VARIANCE.name;
/// The part of a step's mini-batches that was left out; made of the two below.
pub(super) const SKIPPED: &str = "skipped part";

const WATCHED: [&str; 31] = [
    REWARD,
    PASS,
    ENTROPY,
    KL,
    GAP,
    CLAMPED,
    TIMEOUTS,
    CUT_OFF,
    NO_CODE,
    IN_THINKING,
    HELD_OUT_NO_CODE,
    HELD_OUT,
    HELD_OUT_TASKS,
    RM_ACCURACY,
    RM_ACCURACY_LOW,
    RM_PAIRS,
    RM_LENGTH,
    RM_LABEL_LENGTH,
    RM_SHORTER,
    RM_SHORTER_PAIRS,
    PAID_LENGTH,
    EXPLAINED,
    HELD_OUT_AT_N,
    REPETITION,
    GRAD_NORM,
    UPDATE_KL,
    CLIPPED,
    EFFECTIVE_SAMPLE,
    DPO_MARGIN,
    DPO_CHOSEN_REWARD,
    DPO_CHOSEN_LOGP,
];

/// Metrics of other trainings that mean what one of GRPO's does.
const SAME: [(&str, &str); 10] = [
    (metric::SFT_GRAD_NORM.name, GRAD_NORM),
    (metric::RM_GRAD_NORM.name, GRAD_NORM),
    (metric::PRM_GRAD_NORM.name, GRAD_NORM),
    (metric::PPO_KL_DIVERGENCE.name, UPDATE_KL),
    (metric::PPO_CLIP_FRACTION.name, CLIPPED),
    (metric::PPO_MEAN_REWARD.name, REWARD),
    (metric::PPO_PASS_RATE.name, PASS),
    (metric::PPO_ENTROPY.name, ENTROPY),
    (metric::PPO_REFERENCE_KL.name, KL),
    (metric::PPO_SAMPLER_GAP.name, GAP),
];

/// The name under which a metric is looked at.
fn common_name(name: &str) -> &str {
    SAME.iter().find(|(own, _)| *own == name).map_or(name, |(_, common)| common)
}

/// A mean with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) mean: f64,
    pub(super) error: f64,
}

/// The levels of the first and of the last steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ends {
    pub(super) first: Level,
    pub(super) last: Level,
}

impl Ends {
    /// The difference of the last level from the first, with its standard error.
    pub(super) fn rise(self) -> Level {
        let Self { first, last } = self;
        Level { mean: last.mean - first.mean, error: first.error.hypot(last.error) }
    }
}

/// Values by name, each with its step.
#[derive(Debug, Default)]
pub(super) struct History(BTreeMap<String, Vec<(u64, f64)>>);

impl History {
    /// Adds the values of a step. Non-finite values are left out: the loop reports those.
    pub(super) fn add(&mut self, step: u64, values: &BTreeMap<String, f64>) {
        for (name, &value) in values {
            let name = common_name(name);
            if WATCHED.contains(&name) || name.starts_with(TERMS_OF_FAILING) {
                self.put(name, step, value);
            }
        }
        for (name, value) in made(values) {
            self.put(name, step, value);
        }
    }

    fn put(&mut self, name: &str, step: u64, value: f64) {
        if value.is_finite() {
            self.0.entry(name.to_owned()).or_default().push((step, value));
        }
    }

    /// The values of a name.
    pub(super) fn values(&self, name: &str) -> &[(u64, f64)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The terms of the reward that are measured among rollouts that do not pass.
    pub(super) fn terms_of_failing(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(|name| name.strip_prefix(TERMS_OF_FAILING))
    }

    /// The value of the step that was taken in last.
    pub(super) fn newest(&self, name: &str) -> Option<f64> {
        let last = self.0.values().filter_map(|values| values.last()).map(|value| value.0).max()?;
        self.values(name).last().filter(|value| value.0 == last).map(|value| value.1)
    }

    /// The level of the last steps, if there are enough.
    pub(super) fn last(&self, name: &str) -> Option<Level> {
        let values = self.values(name);
        values.len().checked_sub(WINDOW).map(|from| level(&values[from..]))
    }

    /// The level of the last steps, of as many as there are if those are at least `least`.
    pub(super) fn last_of(&self, name: &str, least: usize) -> Option<Level> {
        let values = self.values(name);
        (values.len() >= least.max(1))
            .then(|| level(&values[values.len().saturating_sub(WINDOW)..]))
    }

    /// The levels of the first and of the last steps, if they do not share any.
    pub(super) fn ends(&self, name: &str) -> Option<Ends> {
        let values = self.values(name);
        (values.len() >= 2 * WINDOW).then_some(())?;
        Some(Ends { first: level(&values[..WINDOW]), last: self.last(name)? })
    }

    /// The first step by itself, and the last ones. The error of the first is that of any single step.
    pub(super) fn since_start(&self, name: &str) -> Option<Ends> {
        let (first, later) = self.values(name).split_first()?;
        let last = &later[later.len().saturating_sub(WINDOW)..];
        (last.len() >= LEAST_AFTER_START).then_some(())?;
        let last_level = level(last);
        #[expect(clippy::cast_precision_loss, reason = "a few steps")]
        let error = last_level.error * (last.len() as f64).sqrt();
        Some(Ends { first: Level { mean: first.1, error }, last: last_level })
    }

    /// The mean around a step, of as many steps as there are.
    pub(super) fn around(&self, name: &str, step: u64) -> Option<f64> {
        let values = self.values(name);
        let at = values.partition_point(|value| value.0 < step);
        let from = at.saturating_sub(WINDOW / 2);
        let near = &values[from..(from + WINDOW).min(values.len())];
        (!near.is_empty()).then(|| level(near).mean)
    }
}

/// What is made of several measurements of a step, as far as it has them.
fn made(values: &BTreeMap<String, f64>) -> impl Iterator<Item = (&'static str, f64)> {
    let get = |metric: Metric| values.get(metric.name).copied();
    let part = |of, all| Some(get(of)? / get(all)?);
    let dead = part(metric::GRPO_DEAD_GROUPS, metric::ROLLOUT_TASKS);
    let skipped = get(metric::PPO_SKIPPED_MINI_BATCHES).zip(get(metric::PPO_UPDATES));
    let lost = get(metric::ROLLOUT_DROPPED).zip(get(metric::ROLLOUT_JUDGED));
    let sft = [metric::TEACHER_SFT_GRAD_NORM, metric::SELF_SFT_GRAD_NORM].map(get);
    // Without a group that is alive, all that is left is that of the divergence.
    let is_idle = dead.is_some_and(|part| part >= 1.0);
    let policy = get(metric::GRPO_GRAD_NORM).filter(|&norm| norm > 0.0 && !is_idle);
    let sft = sft.into_iter().flatten().fold(0.0, f64::hypot);
    [
        (DEAD, dead),
        (SOLVED, part(metric::GRPO_SOLVED_GROUPS, metric::ROLLOUT_TASKS)),
        (UNSOLVED, part(metric::GRPO_UNSOLVED_GROUPS, metric::ROLLOUT_TASKS)),
        (NO_GRADIENT, dead.map(|part| flag(part >= 1.0))),
        (SFT_LEADS, policy.map(|norm| flag(sft > LEAD * norm))),
        (SKIPPED, skipped.map(|(skipped, made)| skipped / (skipped + made))),
        (LOST, lost.map(|(lost, judged)| lost / (lost + judged))),
        (
            LENGTH_GAP,
            part(metric::ROLLOUT_TOKENS_FAILING, metric::ROLLOUT_TOKENS_PASSING).map(f64::ln),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}

fn level(values: &[(u64, f64)]) -> Level {
    #[expect(clippy::cast_precision_loss, reason = "a few steps")]
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value.1).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value.1 - mean).powi(2)).sum();
    Level { mean, error: (squares / (count - 1.0).max(1.0) / count).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: &[f64]) -> History {
        let mut history = History::default();
        for (step, &value) in (1..).zip(values) {
            history.add(step, &BTreeMap::from([(REWARD.to_owned(), value)]));
        }
        history
    }

    #[test]
    fn a_level_is_a_mean_with_its_standard_error() {
        let Level { mean, error } = level(&[(1, 1.0), (2, 2.0), (3, 6.0)]);
        assert_eq!(mean.to_bits(), 3.0_f64.to_bits());
        // Squares 4 + 1 + 9, over 2 for the variance, over 3 for that of the mean.
        assert!((error - (14.0_f64 / 6.0).sqrt()).abs() < 1e-15, "{error}");
        assert_eq!(level(&[(1, 5.0)]), Level { mean: 5.0, error: 0.0 });
    }

    #[test]
    fn the_ends_share_no_step() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert!(history(&values[..19]).ends(REWARD).is_none());
        let Ends { first, last } = history(&values).ends(REWARD).unwrap();
        assert!((first.mean - 5.5).abs() < 1e-12 && (last.mean - 15.5).abs() < 1e-12);
        assert!(history(&values[..9]).last(REWARD).is_none());
    }

    #[test]
    fn the_start_is_the_first_step_with_the_error_of_a_single_one() {
        assert!(history(&[0.1, 1.0, 2.0]).since_start(REWARD).is_none(), "two steps are too few");
        let Ends { first, last } = history(&[0.1, 1.0, 2.0, 6.0]).since_start(REWARD).unwrap();
        assert_eq!(
            (first.mean.to_bits(), last.mean.to_bits()),
            (0.1_f64.to_bits(), 3.0_f64.to_bits())
        );
        // The variance of 1, 2 and 6 is 14 / 2.
        assert!((first.error - 7.0_f64.sqrt()).abs() < 1e-12, "{first:?}");
        let values: Vec<f64> = (0..=20).map(f64::from).collect();
        let Ends { first, last } = history(&values).since_start(REWARD).unwrap();
        assert!(first.mean.abs() < 1e-12 && (last.mean - 15.5).abs() < 1e-12, "{last:?}");
    }

    #[test]
    fn around_a_step_are_as_many_as_there_are() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let history = history(&values);
        // Steps 1 to 10, 6 to 15, and 15 to 20.
        for (step, expected) in [(1, 5.5), (11, 10.5), (20, 17.5)] {
            let found = history.around(REWARD, step).unwrap();
            assert!((found - expected).abs() < 1e-12, "{step}: {found}");
        }
        assert_eq!(history.around(PASS, 1), None);
    }

    #[test]
    fn what_is_no_number_is_left_out_and_an_old_value_is_not_the_newest() {
        let mut history = history(&[1.0, f64::NAN]);
        assert_eq!(history.values(REWARD), [(1, 1.0)]);
        assert_eq!(history.newest(REWARD), Some(1.0));
        let dead = [("grpo/dead_groups", 3.0), ("rollout/tasks", 4.0)];
        history.add(3, &dead.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!((history.newest(DEAD), history.newest(REWARD)), (Some(0.75), None));
    }
}
