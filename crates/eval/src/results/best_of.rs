//! From scored samples to the figures of a reward model's choices.

use whetstone_algo::best_of::{ScoredSample, best_of};

use super::Results;
use crate::best_of::{BestOf, ScoredTasks};
use crate::bootstrap::{RESAMPLES, mean, number};
use crate::estimate::{Difference, Estimate, around, difference};
use crate::sign_flip::FLIPS;
use crate::task_count::TaskCount;

impl Results {
    /// Adds the figures of a reward model's choices.
    pub fn add_best_of(&mut self, counts: &[u32], scored: &ScoredTasks) {
        for task in &mut self.by_task {
            let samples = scored.get(&task.id).map_or(&[][..], Vec::as_slice);
            let of = |&count: &u32| Some((count, best_of(samples, u64::from(count)).ok()?));
            task.best_of = counts.iter().filter_map(of).collect();
        }
        let of = |&count: &u32| Some((count, BestOf::of(&self.by_task, count, scored)?));
        self.best_of = counts.iter().filter_map(of).collect();
    }
}

impl BestOf {
    fn of(tasks: &[TaskCount], count: u32, scored: &ScoredTasks) -> Option<Self> {
        let gain = |task: &TaskCount| Some(task.best_of.get(&count)? - rate(scored.get(&task.id)?));
        let gains: Vec<f64> = tasks.iter().filter_map(gain).collect();
        let value = estimate(tasks, count)?;
        let gain = difference(&gains, RESAMPLES, FLIPS);
        Some(Self { value, gain: Difference { left_out: value.left_out, ..gain } })
    }
}

/// The mean over tasks of the best of `count`; `None` if no task has it.
pub(crate) fn estimate(tasks: &[TaskCount], count: u32) -> Option<Estimate> {
    let values: Vec<f64> = tasks.iter().filter_map(|task| value(task, count)).collect();
    if values.is_empty() {
        return None;
    }
    let ((low, high), value) = (around(&values, RESAMPLES), mean(&values));
    let left_out = tasks.len() - values.len();
    Some(Estimate { value, low, high, tasks: values.len(), left_out })
}

/// A task's figure. A file of results may say anything.
pub(crate) fn value(task: &TaskCount, count: u32) -> Option<f64> {
    let value = *task.best_of.get(&count)?;
    value.is_finite().then(|| value.clamp(0.0, 1.0))
}

/// The share of samples that pass; `samples` are not empty where there is a best one.
fn rate(samples: &[ScoredSample]) -> f64 {
    number(samples.iter().filter(|sample| sample.passed).count()) / number(samples.len().max(1))
}

#[cfg(test)]
mod tests {
    use whetstone_core::task::TaskId;

    use super::*;

    fn id(name: &str) -> TaskId {
        TaskId::try_from(name.to_owned()).unwrap()
    }

    /// One task whose only right sample has the highest score, one in which it has the lowest, one without enough.
    #[test]
    fn a_reward_model_is_worth_what_it_gains_over_chance() {
        let samples = |right: usize, count: usize| -> Vec<ScoredSample> {
            (0..count).map(|at| ScoredSample { score: -number(at), passed: at == right }).collect()
        };
        let scored: ScoredTasks =
            [(id("a"), samples(0, 4)), (id("b"), samples(3, 4)), (id("c"), samples(0, 1))].into();
        let by_task = ["a", "b", "c"]
            .map(|name| TaskCount { samples: 4, passed: 1, ..TaskCount::none(&id(name)) })
            .to_vec();
        let mut results = Results { by_task, ..Results::default() };
        results.add_best_of(&[2, 4], &scored);
        assert_eq!(results.by_task[0].best_of, [(2, 0.5), (4, 1.0)].into());
        assert_eq!(results.by_task[1].best_of, [(2, 0.0), (4, 0.0)].into());
        let BestOf { value, gain } = results.best_of[&4];
        assert_eq!((value.value, value.tasks, value.left_out), (0.5, 2, 1));
        assert!((gain.value - 0.25).abs() < 1e-12 && gain.left_out == 1, "{gain:?}");
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    }
}
