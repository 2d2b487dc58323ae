//! Two evaluations of the same tasks beside each other: `whet eval compare`.
//!
//! A task *flips* if more than half of its samples pass on one side and at most half on the other.

// size: the figures of two evaluations, each compared over the tasks that have it on both sides, with a test of each.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use whetstone_core::task::TaskId;
use whetstone_rollout::measure::Tally;

use crate::better_temperature::BetterTemperature;
use crate::bootstrap::RESAMPLES;
use crate::code::ComparedCode;
use crate::compared::Compared;
use crate::decoding::Decoding;
use crate::episodes::{ComparedEpisodes, TaskPair};
use crate::error::EvalError;
use crate::estimate::{Difference, difference};
use crate::figure::{Figure, TaskFigures};
use crate::results::{Results, best_of as chosen};
use crate::sign_flip::FLIPS;
use crate::task_count::{Replies, TaskCount};

/// Two evaluations beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of the format.
    pub v: u64,
    /// The model of the first.
    pub before: String,
    /// The model of the second.
    pub after: String,
    /// Tasks of each.
    pub tasks: usize,
    /// Whether the tasks and their tests were the same to the byte.
    pub same_suite: bool,
    /// Settings that differ, with the value of each side.
    pub settings: BTreeMap<String, [Option<String>; 2]>,
    /// The temperature of pass@k, if it is the same on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoding: Option<Decoding>,
    /// By k.
    pub pass_at_k: BTreeMap<u32, Compared>,
    /// pass@1 with greedy decoding, if both sides have it.
    pub greedy: Option<Compared>,
    /// pass@1 at each temperature that both sides have.
    pub by_temperature: BTreeMap<Decoding, Compared>,
    /// pass@1 at the better temperature of each side, if both have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better_temperature: Option<BetterTemperature>,
    /// The mean reward of episodes at each temperature that both sides have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reward_by_temperature: BTreeMap<Decoding, Compared>,
    /// The mean reward at the better temperature of each side, if both have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better_reward: Option<BetterTemperature>,
    /// Replies with code, and what they add to pass@1, if both sides count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ComparedCode>,
    /// The same for greedy samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greedy_code: Option<ComparedCode>,
    /// The second against the first with its best prompt, greedily, if the first was measured with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_best_prompt: Option<OverBestPrompt>,
    /// Figures of the programs that both sides have.
    pub figures: BTreeMap<Figure, Compared>,
    /// Figures of episodes, if both sides have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episodes: Option<ComparedEpisodes>,
    /// The best of N by a reward model, for those N that both sides have.
    pub best_of: BTreeMap<u32, Compared>,
    /// Tasks that the second solves and the first does not, those that changed most first.
    pub gained: Vec<Flipped>,
    /// Tasks that the first solves and the second does not.
    pub lost: Vec<Flipped>,
}

/// A gain over the best prompt of the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverBestPrompt {
    /// Name and digest of that prompt.
    pub prompt: String,
    /// pass@1 with greedy decoding.
    pub greedy: Compared,
}

/// A task that one side solves and the other does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flipped {
    /// The task.
    pub id: TaskId,
    /// Samples of the first that pass, and all of its samples.
    pub before: (u64, u64),
    /// Samples of the second that pass, and all of its samples.
    pub after: (u64, u64),
}

impl Comparison {
    /// Compares two evaluations, for the given values of k or those that both have.
    ///
    /// # Errors
    ///
    /// If they are of different tasks, or lack samples for a k.
    pub fn new(before: &Results, after: &Results, k: &[u32]) -> Result<Self, EvalError> {
        let common = before.pass_at_k.keys().filter(|k| after.pass_at_k.contains_key(k));
        let wanted: Vec<u32> = if k.is_empty() { common.copied().collect() } else { k.to_vec() };
        if wanted.is_empty() {
            return Err(EvalError::NoCommonK);
        }
        let sides = [before, after].map(|side| tallies(side, TaskCount::tally));
        let of = |k: u32| Ok((k, Compared::of([&sides[0], &sides[1]], u64::from(k))?));
        let pass_at_k = wanted.into_iter().map(of).collect::<Result<_, EvalError>>()?;
        let greedy = [before, after].map(|side| tallies(side, TaskCount::greedy_tally));
        let over_best_prompt =
            before.best_prompt().filter(|_| after.greedy.is_some()).map(|best| {
                let greedy = Compared::of([&best.tallies, &greedy[1]], 1)?;
                Ok::<_, EvalError>(OverBestPrompt { prompt: best.prompt, greedy })
            });
        let over_best_prompt = over_best_prompt.transpose()?;
        let both = before.greedy.is_some() && after.greedy.is_some();
        let greedy = both.then(|| Compared::of([&greedy[0], &greedy[1]], 1)).transpose()?;
        let (gained, lost) = flipped(before, after);
        let passes = [before, after].map(Results::passes);
        let rewards = [before, after].map(Results::rewards);
        let pairs = paired(before, after);
        Ok(Self {
            v: 1,
            before: before.model.clone(),
            after: after.model.clone(),
            tasks: before.by_task.len(),
            same_suite: before.suite == after.suite,
            settings: other_settings(before, after),
            decoding: before.decoding().filter(|own| after.decoding() == Some(*own)),
            pass_at_k,
            greedy,
            by_temperature: passes[0].compare(&passes[1]),
            better_temperature: BetterTemperature::of(&passes[0], &passes[1]),
            reward_by_temperature: rewards[0].compare(&rewards[1]),
            better_reward: BetterTemperature::of(&rewards[0], &rewards[1]),
            code: ComparedCode::of(&pairs, Replies::Sampled),
            greedy_code: ComparedCode::of(&pairs, Replies::Greedy),
            over_best_prompt,
            figures: figures(&pairs),
            episodes: episodes(before, after),
            best_of: best_of(before, after),
            gained,
            lost,
        })
    }
}

impl Comparison {
    /// pass@1 at the temperatures that neither `pass_at_k` nor `greedy` is of.
    pub fn at_other_temperatures(&self) -> impl Iterator<Item = (Decoding, &Compared)> {
        let own = self.decoding.filter(|_| self.pass_at_k.contains_key(&1));
        let greedy = self.greedy.map(|_| Decoding::GREEDY);
        let all = self.by_temperature.iter().map(|(decoding, found)| (*decoding, found));
        all.filter(move |(decoding, _)| ![own, greedy].contains(&Some(*decoding)))
    }
}

impl Flipped {
    /// Additional samples that pass, per thousand.
    fn change(&self) -> i64 {
        let rate = |(passed, samples): (u64, u64)| 1000 * passed / samples.max(1);
        rate(self.after).cast_signed() - rate(self.before).cast_signed()
    }
}

/// Each task of the first with the same of the second.
fn paired<'r>(before: &'r Results, after: &'r Results) -> Vec<(&'r TaskCount, &'r TaskCount)> {
    let later: HashMap<&TaskId, &TaskCount> =
        after.by_task.iter().map(|count| (&count.id, count)).collect();
    let paired = |count: &'r TaskCount| Some((count, *later.get(&count.id)?));
    before.by_task.iter().filter_map(paired).collect()
}

fn tallies(side: &Results, tally: impl Fn(&TaskCount) -> Tally) -> Vec<Tally> {
    side.by_task.iter().map(tally).collect()
}

/// Settings of sampling and judging that differ, without what says which model it was.
fn other_settings(before: &Results, after: &Results) -> BTreeMap<String, [Option<String>; 2]> {
    let names = before.settings.keys().chain(after.settings.keys());
    let sides = |name: &String| [before, after].map(|side| side.settings.get(name).cloned());
    let pairs = names.map(|name| (name.clone(), sides(name)));
    let differs = |(name, [first, second]): &(String, [Option<String>; 2])| {
        first != second && !setting_is_identity(name)
    };
    pairs.filter(differs).collect()
}

/// Whether a setting says which model was measured, and not how.
pub(crate) fn setting_is_identity(name: &str) -> bool {
    name.starts_with("the ") || ["--model", "--adapter"].contains(&name)
}

/// Each figure over the tasks that have it on both sides.
fn figures(pairs: &[(&TaskCount, &TaskCount)]) -> BTreeMap<Figure, Compared> {
    let pairs: Vec<(&TaskFigures, &TaskFigures)> =
        pairs.iter().map(|(before, after)| (&before.figures, &after.figures)).collect();
    let of = |figure: Figure| {
        let difference = figure.difference(&pairs)?;
        // Both sides over the tasks of the difference, so that the three agree.
        let both =
            || pairs.iter().filter(|(before, after)| figure.is_in(before) && figure.is_in(after));
        let before = figure.estimate(both().map(|(before, _)| *before))?;
        let after = figure.estimate(both().map(|(_, after)| *after))?;
        Some((figure, Compared { before, after, difference }))
    };
    Figure::ALL.into_iter().filter_map(of).collect()
}

/// Figures of episodes over the tasks that have them on both sides.
fn episodes(before: &Results, after: &Results) -> Option<ComparedEpisodes> {
    let later: HashMap<&TaskId, &TaskCount> =
        after.by_task.iter().map(|count| (&count.id, count)).collect();
    let later = |id: &TaskId| later.get(id).and_then(|count| count.episodes.as_ref());
    let pairs = before
        .by_task
        .iter()
        .map(|count| TaskPair { before: count.episodes.as_ref(), after: later(&count.id) });
    let pairs: Vec<TaskPair<'_>> = pairs.collect();
    let max_turns = before.episodes.as_ref()?.max_turns.max(after.episodes.as_ref()?.max_turns);
    ComparedEpisodes::of(&pairs, max_turns)
}

/// The best of N over the tasks that have it on both sides.
fn best_of(before: &Results, after: &Results) -> BTreeMap<u32, Compared> {
    let later: HashMap<&TaskId, &TaskCount> =
        after.by_task.iter().map(|count| (&count.id, count)).collect();
    let of = |&count: &u32| {
        let change = |task: &TaskCount| {
            Some(chosen::value(later.get(&task.id)?, count)? - chosen::value(task, count)?)
        };
        let changes: Vec<f64> = before.by_task.iter().filter_map(change).collect();
        let left_out = before.by_task.len() - changes.len();
        let (first, second) =
            (chosen::estimate(&before.by_task, count)?, chosen::estimate(&after.by_task, count)?);
        let difference = (!changes.is_empty()).then(|| difference(&changes, RESAMPLES, FLIPS))?;
        let difference = Difference { left_out, ..difference };
        Some((count, Compared { before: first, after: second, difference }))
    };
    before.best_of.keys().filter_map(of).collect()
}

/// The tasks that were gained, and those that were lost.
fn flipped(before: &Results, after: &Results) -> (Vec<Flipped>, Vec<Flipped>) {
    let earlier: HashMap<&TaskId, &TaskCount> =
        before.by_task.iter().map(|count| (&count.id, count)).collect();
    let counts = |count: &TaskCount| (count.passed, count.samples);
    let solved = |(passed, samples): (u64, u64)| passed.saturating_mul(2) > samples;
    let (mut gained, mut lost) = (Vec::new(), Vec::new());
    for count in &after.by_task {
        let Some(before) = earlier.get(&count.id) else { continue };
        let flipped =
            Flipped { id: count.id.clone(), before: counts(before), after: counts(count) };
        match (solved(flipped.before), solved(flipped.after)) {
            (false, true) => gained.push(flipped),
            (true, false) => lost.push(flipped),
            _ => {}
        }
    }
    gained.sort_by_key(|task| (-task.change(), task.id.clone()));
    lost.sort_by_key(|task| (task.change(), task.id.clone()));
    (gained, lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Baseline;
    use crate::estimate::{Estimate, pass_at_k};

    /// Only its N matters here.
    const BEST: crate::best_of::BestOf = {
        let value = Estimate { value: 0.0, low: 0.0, high: 0.0, tasks: 1, left_out: 0 };
        let gain = Difference { value: 0.0, low: 0.0, high: 0.0, tasks: 1, left_out: 0, p: 1.0 };
        crate::best_of::BestOf { value, gain }
    };

    /// Results of tasks with these numbers of passes out of four samples.
    fn results(passed: &[u64], k: &[u32]) -> Results {
        let by_task: Vec<TaskCount> = (0..)
            .zip(passed)
            .map(|(at, &passed): (u32, _)| {
                let id = TaskId::try_from(format!("t/{at}")).unwrap();
                let rate = f64::from(u32::try_from(passed).unwrap()) / 4.0;
                let figures = [(Figure::SyntaxRate, rate)].into();
                let best_of = [(2, rate)].into();
                let greedy = Some(passed > 2);
                let counts = TaskCount { samples: 4, passed, greedy, ..TaskCount::none(&id) };
                TaskCount { figures, best_of, ..counts }
            })
            .collect();
        let tallies: Vec<Tally> = by_task.iter().map(TaskCount::tally).collect();
        let greedy: Vec<Tally> = by_task.iter().map(TaskCount::greedy_tally).collect();
        let figure = |&k: &u32| (k, pass_at_k(&tallies, k.into()).unwrap());
        Results {
            pass_at_k: k.iter().map(figure).collect(),
            greedy: pass_at_k(&greedy, 1).ok(),
            best_of: [(2, BEST)].into(),
            by_task,
            ..Results::default()
        }
    }

    #[test]
    fn settings_that_differ_are_named_and_figures_are_over_tasks_of_both() {
        let with = |passed: &[u64], settings: &[(&str, &str)]| {
            let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Results { settings: settings.collect(), ..results(passed, &[1]) }
        };
        let same = ("eval.num_samples", "4");
        let before =
            with(&[4, 0], &[same, ("--model", "a"), ("the model's files", "1"), ("seed", "1")]);
        let mut after =
            with(&[4, 4], &[same, ("--model", "b"), ("eval.temperature", "0.5"), ("seed", "2")]);
        after.by_task[1].figures.clear();
        let found = Comparison::new(&before, &after, &[]).unwrap();
        let value = |text: &str| Some(text.to_owned());
        let expected = [
            ("eval.temperature".to_owned(), [None, value("0.5")]),
            ("seed".to_owned(), [value("1"), value("2")]),
        ];
        assert_eq!(found.settings, expected.into());
        let rate = &found.figures[&Figure::SyntaxRate];
        assert_eq!((rate.before.tasks, rate.after.tasks, rate.difference.tasks), (1, 1, 1));
        assert!(
            (rate.before.value - rate.after.value).abs() < 1e-12,
            "the second task counts on no side"
        );
    }

    /// pass@1 of tasks with 4, 2 and 0 of four, and greedily 1, 0 and 0: `results` calls more than two a greedy pass.
    #[test]
    fn the_better_temperature_is_named_where_both_sides_have_several() {
        let with = |passed: &[u64], temperature: &str| {
            let settings = [("eval.temperature".to_owned(), temperature.to_owned())].into();
            Results { settings, ..results(passed, &[1]) }
        };
        let (before, after) = (with(&[4, 2, 0], "1"), with(&[4, 3, 1], "1.0"));
        let found = Comparison::new(&before, &after, &[]).unwrap();
        let decodings: Vec<String> = found.by_temperature.keys().map(Decoding::to_string).collect();
        assert_eq!(decodings, ["T=1", "greedy"], "1 and 1.0 are the same");
        assert_eq!(found.at_other_temperatures().count(), 0, "both have a row of their own");
        let better = found.better_temperature.unwrap();
        assert_eq!([better.before, better.after].map(|of| of.to_string()), ["T=1", "T=1"]);
        assert_eq!(better.gain, found.pass_at_k[&1], "the same values, the same figures");
        let other = Comparison::new(&before, &with(&[4, 3, 1], "0.6"), &[]).unwrap();
        assert_eq!(other.better_temperature, None, "only greedy is of both");
        assert_eq!(found.better_reward, None);
    }

    #[test]
    fn a_gain_is_over_the_best_prompt_of_the_start() {
        let mut before = results(&[4, 0, 0, 0], &[1]);
        let after = results(&[4, 4, 4, 0], &[1]);
        assert_eq!(Comparison::new(&before, &after, &[]).unwrap().over_best_prompt, None);
        let other = results(&[1, 1, 0, 0], &[1]);
        let by_task = other.by_task.iter().map(|task| TaskCount { samples: 1, ..task.clone() });
        let other = Results { by_task: by_task.collect(), ..other };
        let tallies: Vec<Tally> = other.by_task.iter().map(TaskCount::tally).collect();
        let settings = BTreeMap::from([("prompt".to_owned(), "evalplus-1".to_owned())]);
        let pass_at_k = [(1, pass_at_k(&tallies, 1).unwrap())].into();
        let other = Results { pass_at_k, settings, ..other };
        before.baseline_prompts = vec![Baseline::of(other, "evalplus").unwrap()];
        let found = Comparison::new(&before, &after, &[]).unwrap().over_best_prompt.unwrap();
        assert_eq!(found.prompt, "evalplus-1");
        let Compared { before, after, difference } = found.greedy;
        assert_eq!(
            (before.value.to_bits(), after.value.to_bits()),
            (0.5_f64.to_bits(), 0.75_f64.to_bits())
        );
        assert!((difference.value - 0.25).abs() < 1e-12);
    }

    #[test]
    fn tasks_that_flip_are_named_with_what_changed_most_first() {
        let (before, after) =
            (results(&[0, 2, 4, 3, 1], &[1, 4]), results(&[4, 3, 2, 0, 2], &[1, 2]));
        let found = Comparison::new(&before, &after, &[]).unwrap();
        let named = |tasks: &[Flipped]| -> Vec<String> {
            tasks
                .iter()
                .map(|task| format!("{} {:?} {:?}", task.id, task.before, task.after))
                .collect()
        };
        assert_eq!(named(&found.gained), ["t/0 (0, 4) (4, 4)", "t/1 (2, 4) (3, 4)"]);
        assert_eq!(named(&found.lost), ["t/3 (3, 4) (0, 4)", "t/2 (4, 4) (2, 4)"]);
        assert_eq!(found.pass_at_k.keys().copied().collect::<Vec<_>>(), [1], "both have it");
        let difference = found.pass_at_k[&1].difference;
        assert!((difference.value - 1.0 / 20.0).abs() < 1e-12, "{difference:?}");
        let greedy = found.greedy.unwrap();
        assert!(greedy.difference.value.abs() < 1e-12 && greedy.difference.tasks == 5);
        let syntax = found.figures[&Figure::SyntaxRate];
        assert_eq!(syntax.difference, difference, "the same values, the same figures");
        assert_eq!(found.figures.len(), 1, "those that both have");
        assert_eq!(found.best_of[&2].difference, difference);
    }

    #[test]
    fn results_from_before_there_were_figures_are_compared_without_them() {
        let after = results(&[4, 3, 2], &[1]);
        let mut before = after.clone();
        before.by_task.iter_mut().for_each(|task| task.figures.clear());
        let text = serde_json::to_string(&before).unwrap().replace(r#""figures":{},"#, "");
        assert!(!text.contains("figures"), "{text}");
        let before: Results = serde_json::from_str(&text).unwrap();
        let found = Comparison::new(&before, &after, &[]).unwrap();
        assert!(found.figures.is_empty() && found.pass_at_k.len() == 1);
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let (few, more) = (results(&[1], &[1]), results(&[1, 2], &[2]));
        let said = |found: Result<Comparison, EvalError>| {
            let err = found.unwrap_err();
            assert!(
                err.is_usage() && (err.hint().is_some() || err.to_string().contains("smaller k"))
            );
            err.to_string()
        };
        let other = said(Comparison::new(&few, &more, &[1]));
        assert_eq!(other, "task `t/1` was measured on one side only");
        let none = said(Comparison::new(&few, &more, &[]));
        assert_eq!(none, "there is no k for which both sides have pass@k");
        let large = said(Comparison::new(&few, &few, &[9]));
        assert_eq!(
            large,
            "pass@9 needs 9 samples and there are 4; sample more or ask for a smaller k"
        );
    }
}
