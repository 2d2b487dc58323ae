//! Replies with code, and how many of them pass: what of a pass rate is format.
//!
//! ```text
//! code rate         c = mean over tasks of the share of replies with a program
//! pass given code   p = (mean over tasks of the share of replies that pass) / c        so pass@1 = c · p
//! ```
//!
//! `p` is a ratio of two means over the same tasks. Its interval is that of the mean of each task's
//! `p + (passing share - p · share with code) / c`: values with the mean `p` and, but for terms of the order 1/tasks,
//! its variance (Taylor linearisation; Cochran, *Sampling Techniques*, chapter 6). So it has the bootstrap over tasks
//! and, for few tasks, the Wilson interval of every other figure. How a gain is divided is in
//! [`whetstone_algo::format_gain`].
//!
//! A reply that could not be judged counts as one with code that did not pass: there was something to run.

use serde::{Deserialize, Serialize};
use whetstone_algo::format_gain::{CodeRates, GainParts};

use crate::bootstrap::{RESAMPLES, mean, number};
use crate::compared::Compared;
use crate::estimate::{Difference, Estimate, around, difference};
use crate::results::TaskCount;
use crate::sign_flip::FLIPS;

/// Replies without code of a task that asks for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoCode {
    /// Of its samples.
    pub samples: u64,
    /// Whether the greedy one is such a reply.
    pub greedy: bool,
}

/// The code rate of a suite, and the pass rate among the replies with code.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CodeFigures {
    /// The share of replies with a program.
    pub code_rate: Estimate,
    /// pass@1 among these; none if there are none.
    pub pass_given_code: Option<Estimate>,
}

/// The code rates of two evaluations, and how they divide the difference of pass@1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComparedCode {
    /// The share of replies with a program.
    pub code_rate: Compared,
    /// pass@1 among these, if both sides have such replies.
    pub pass_given_code: Option<Compared>,
    /// What more replies with code add to pass@1.
    pub format: f64,
    /// What better programs add.
    pub rest: f64,
    /// Whether the code rate clearly rose, and more than half of a gain comes from that.
    pub mostly_format: bool,
}

/// The replies of a task that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    Sampled,
    Greedy,
}

/// The replies of one task, as shares of all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CodeShares {
    pub(crate) with_code: f64,
    pub(crate) passed: f64,
}

/// pass@1 among replies with code.
pub(crate) struct PassGivenCode {
    pub(crate) ratio: f64,
    /// Of each task with code; they vary as the ratio does.
    pub(crate) values: Vec<f64>,
}

impl NoCode {
    /// Counts a judged reply.
    pub(crate) fn add(&mut self, replies: Replies, has_code: bool) {
        match replies {
            Replies::Sampled => self.samples += u64::from(!has_code),
            Replies::Greedy => self.greedy |= !has_code,
        }
    }
}

impl CodeFigures {
    /// The figures of a suite; none if no task says which replies have code.
    pub(crate) fn of(tasks: &[TaskCount], replies: Replies) -> Option<Self> {
        let shares: Vec<CodeShares> =
            tasks.iter().filter_map(|task| replies.shares(task)).collect();
        Self::of_shares(&shares, tasks.len() - shares.len())
    }

    fn of_shares(shares: &[CodeShares], left_out: usize) -> Option<Self> {
        if shares.is_empty() {
            return None;
        }
        let rates: Vec<f64> = shares.iter().map(|task| task.with_code).collect();
        let code_rate = Estimate { left_out, ..estimate(mean(&rates), &rates) };
        let pass_given_code = PassGivenCode::of(shares).map(|PassGivenCode { ratio, values }| {
            let left_out = left_out + shares.len() - values.len();
            Estimate { left_out, ..estimate(ratio, &values) }
        });
        Some(Self { code_rate, pass_given_code })
    }
}

impl PassGivenCode {
    /// Over the tasks that have replies with code; none if no task has.
    pub(crate) fn of(tasks: &[CodeShares]) -> Option<Self> {
        let with_code: Vec<CodeShares> =
            tasks.iter().copied().filter(|task| task.with_code > 0.0).collect();
        let ratio = rates_of(&with_code).pass_given_code()?;
        Some(Self { ratio, values: linearised(&with_code, ratio) })
    }
}

impl ComparedCode {
    /// Two evaluations, as pairs of the same task; none if no task has the figures on both sides.
    pub(crate) fn of(pairs: &[(&TaskCount, &TaskCount)], replies: Replies) -> Option<Self> {
        let both = |(before, after): &(&TaskCount, &TaskCount)| {
            Some((replies.shares(before)?, replies.shares(after)?))
        };
        let (before, after): (Vec<CodeShares>, Vec<CodeShares>) =
            pairs.iter().filter_map(both).unzip();
        let left_out = pairs.len() - before.len();
        let sides = [&before, &after];
        let [earlier, later] = sides.map(|side| CodeFigures::of_shares(side, left_out));
        let (earlier, later) = (earlier?, later?);
        let changes = before.iter().zip(&after).map(|(one, other)| other.with_code - one.with_code);
        let code_rate = Compared {
            before: earlier.code_rate,
            after: later.code_rate,
            difference: paired(changes.collect(), left_out),
        };
        let of_ratios = |(first, second): (Estimate, Estimate)| {
            let sides = [(&before, first), (&after, second)];
            let [earlier, later] = sides.map(|(side, ratio)| linearised(side, ratio.value));
            let changes = earlier.iter().zip(&later).map(|(one, other)| other - one);
            let difference = paired(changes.collect(), left_out);
            Compared { before: first, after: second, difference }
        };
        let ratios = earlier.pass_given_code.zip(later.pass_given_code);
        let [first, second] = sides.map(|side| rates_of(side));
        let parts = GainParts::between(first, second);
        Some(Self {
            code_rate,
            pass_given_code: ratios.map(of_ratios),
            format: parts.format,
            rest: parts.rest,
            mostly_format: parts.is_mostly_format() && code_rate.difference.is_clear(),
        })
    }
}

impl Replies {
    /// The shares of a task; a file of results may say anything.
    fn shares(self, task: &TaskCount) -> Option<CodeShares> {
        let no_code = task.no_code?;
        let (all, without, passed) = match self {
            Self::Sampled => (task.samples, no_code.samples, task.passed),
            Self::Greedy => {
                (u64::from(task.greedy.is_some()), no_code.greedy.into(), u64::from(task.greedy?))
            }
        };
        let share = |count: u64| share(count.min(all), all);
        let with_code = share(all.saturating_sub(without));
        (all > 0).then(|| CodeShares { with_code, passed: share(passed).min(with_code) })
    }
}

fn share(part: u64, all: u64) -> f64 {
    let [part, all] = [part, all].map(|count| number(usize::try_from(count).unwrap_or(usize::MAX)));
    part / all
}

/// The rates of all tasks.
fn rates_of(tasks: &[CodeShares]) -> CodeRates {
    let mean_of = |of: fn(&CodeShares) -> f64| mean(&tasks.iter().map(of).collect::<Vec<_>>());
    CodeRates { code_rate: mean_of(|task| task.with_code), pass_rate: mean_of(|task| task.passed) }
}

/// Values of tasks whose mean varies as the ratio does.
fn linearised(tasks: &[CodeShares], ratio: f64) -> Vec<f64> {
    let code_rate = rates_of(tasks).code_rate;
    let of = |task: &CodeShares| ratio + (task.passed - ratio * task.with_code) / code_rate;
    tasks.iter().map(of).collect()
}

fn estimate(value: f64, values: &[f64]) -> Estimate {
    let (low, high) = around(values, RESAMPLES);
    Estimate { value, low, high, tasks: values.len(), left_out: 0 }
}

fn paired(changes: Vec<f64>, left_out: usize) -> Difference {
    Difference { left_out, ..difference(&changes, RESAMPLES, FLIPS) }
}

#[cfg(test)]
mod tests {
    use whetstone_core::task::TaskId;

    use super::*;

    /// A task by its samples: all, without code, passed.
    fn task(samples: u64, no_code: u64, passed: u64) -> TaskCount {
        let id = TaskId::try_from("t".to_owned()).unwrap();
        let no_code = Some(NoCode { samples: no_code, greedy: false });
        TaskCount { samples, passed, no_code, ..TaskCount::none(&id) }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    fn figures(tasks: &[TaskCount]) -> CodeFigures {
        CodeFigures::of(tasks, Replies::Sampled).unwrap()
    }

    /// Shares with code 1, 1/2, 0, 3/4 and passing 1/2, 1/2, 0, 1/4: 2.25 and 1.25 of 4 tasks. The fifth has no
    /// figures.
    #[test]
    fn passes_are_of_the_replies_with_code_and_both_multiply_to_pass_at_1() {
        let id = TaskId::try_from("old".to_owned()).unwrap();
        let old = TaskCount { samples: 4, passed: 4, ..TaskCount::none(&id) };
        let found = figures(&[task(4, 0, 2), task(4, 2, 2), task(2, 2, 0), task(4, 1, 1), old]);
        let given = found.pass_given_code.unwrap();
        near(found.code_rate.value, 2.25 / 4.0);
        near(given.value, 1.25 / 2.25);
        assert_eq!((found.code_rate.tasks, found.code_rate.left_out), (4, 1));
        assert_eq!((given.tasks, given.left_out), (3, 2), "one task has no reply with code");
        assert!(given.low < given.value && given.value < given.high, "{given:?}");
    }

    /// With one reply a task the ratio is the share of tasks with code that pass, and its interval theirs.
    #[test]
    fn the_interval_of_single_replies_is_that_of_the_tasks_with_code() {
        let all: Vec<TaskCount> =
            (0..60).map(|at| task(1, u64::from(at >= 20), u64::from(at < 5))).collect();
        let given = figures(&all).pass_given_code.unwrap();
        let coins: Vec<f64> = (0..20).map(|at| f64::from(u8::from(at < 5))).collect();
        let (low, high) = crate::wilson::interval(&coins);
        near(given.value, 0.25);
        near(given.low, low);
        near(given.high, high);
    }

    #[test]
    fn without_code_there_is_nothing_to_pass_and_claims_of_a_file_are_bounded() {
        let found = figures(&[task(4, 4, 0), task(2, 9, 0)]);
        near(found.code_rate.value, 0.0);
        assert_eq!(found.pass_given_code, None);
        let lies = figures(&[task(4, 3, 4)]);
        near(lies.pass_given_code.unwrap().value, 1.0);
        assert_eq!(CodeFigures::of(&[], Replies::Greedy), None);
    }

    /// Before: code in 1/4 of the replies, half of which pass. After: code in all, half of which pass.
    #[test]
    fn a_gain_by_more_code_alone_is_format() {
        let before: Vec<TaskCount> = (0..20).map(|_| task(8, 6, 1)).collect();
        let after: Vec<TaskCount> = (0..20).map(|_| task(8, 0, 4)).collect();
        let pairs = |after: &'_ [TaskCount]| -> Option<ComparedCode> {
            let pairs: Vec<_> = before.iter().zip(after).collect();
            ComparedCode::of(&pairs, Replies::Sampled)
        };
        let found = pairs(&after).unwrap();
        near(found.code_rate.difference.value, 0.75);
        near(found.format, 0.375);
        near(found.rest, 0.0);
        near(found.pass_given_code.unwrap().difference.value, 0.0);
        assert!(found.mostly_format);
        // As much code as before, and all of it passes: nothing is format.
        let better: Vec<TaskCount> = (0..20).map(|_| task(8, 6, 2)).collect();
        let found = pairs(&better).unwrap();
        near(found.format, 0.0);
        near(found.rest, 0.125);
        assert!(!found.mostly_format);
        near(found.pass_given_code.unwrap().difference.value, 0.5);
    }

    /// Of 20 tasks one has code more: the gain is all format, and may be chance.
    #[test]
    fn a_rise_of_the_code_rate_by_chance_is_no_format() {
        let tasks = |with: usize| -> Vec<TaskCount> {
            (0..20).map(|at| task(1, u64::from(at >= with), u64::from(at < with))).collect()
        };
        let compared = |with| {
            let (before, after) = (tasks(10), tasks(with));
            let pairs: Vec<_> = before.iter().zip(&after).collect();
            ComparedCode::of(&pairs, Replies::Sampled).unwrap()
        };
        assert!(compared(11).format > 0.04 && !compared(11).mostly_format);
        assert!(compared(20).mostly_format);
    }

    #[test]
    fn greedy_replies_are_looked_at_by_themselves() {
        let id = TaskId::try_from("t".to_owned()).unwrap();
        let of = |greedy: Option<bool>, without: bool| TaskCount {
            greedy,
            no_code: Some(NoCode { samples: 0, greedy: without }),
            ..TaskCount::none(&id)
        };
        let tasks = [of(Some(true), false), of(Some(false), true), of(None, false)];
        let found = CodeFigures::of(&tasks, Replies::Greedy).unwrap();
        near(found.code_rate.value, 0.5);
        near(found.pass_given_code.unwrap().value, 1.0);
        assert_eq!(found.code_rate.left_out, 1);
        assert_eq!(CodeFigures::of(&tasks, Replies::Sampled), None, "there are no samples");
    }
}
