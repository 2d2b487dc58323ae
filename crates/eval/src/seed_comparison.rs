//! Evaluations of several seeds of training on both sides: `whet eval compare --seeds`.
//!
//! Evaluation `i` of one side is paired with evaluation `i` of the other, and all have the same tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use whetstone_core::task::TaskId;
use whetstone_rollout::measure::Tally;

use crate::better_temperature::DecodedSide;
use crate::bootstrap::mean;
use crate::comparison::setting_is_identity;
use crate::decoding::Decoding;
use crate::error::EvalError;
use crate::estimate::figures;
use crate::over_seeds::{OverSeeds, SeedValues};
use crate::results::Results;
use crate::task_count::TaskCount;

/// The version of the document.
const VERSION: u64 = 1;

/// The results of an evaluation, with the name that messages call it by.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedResults {
    /// The name: the path that was given.
    pub name: String,
    /// Its results.
    pub results: Results,
}

/// Evaluations of several seeds beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedComparison {
    /// The version of the format.
    pub v: u64,
    /// The evaluations of the first side.
    pub before: Vec<String>,
    /// Those of the second, in the same order.
    pub after: Vec<String>,
    /// Tasks of each.
    pub tasks: usize,
    /// Whether the tasks and their tests were the same to the byte in all of them.
    pub same_suite: bool,
    /// Settings that are not the same in all of them, with each value; the seed is not one of these.
    pub settings: BTreeMap<String, Vec<Option<String>>>,
    /// The temperature of pass@k, if it is the same in all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoding: Option<Decoding>,
    /// By k.
    pub pass_at_k: BTreeMap<u32, OverSeeds>,
    /// pass@1 with greedy decoding, if all have it.
    pub greedy: Option<OverSeeds>,
    /// pass@1 at each temperature that all have.
    pub by_temperature: BTreeMap<Decoding, OverSeeds>,
    /// pass@1 at the better temperature of each side, if all have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better_temperature: Option<BetterOverSeeds>,
}

/// A gain over seeds, with the decoding that each side is measured at: one for all of its seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BetterOverSeeds {
    /// The decoding with the highest mean over the seeds of the first side.
    pub before: Decoding,
    /// That of the second.
    pub after: Decoding,
    /// The second at its decoding against the first at its own.
    pub gain: OverSeeds,
}

impl SeedComparison {
    /// Compares the evaluations of two sides, for the given values of k or those that all have.
    ///
    /// # Errors
    ///
    /// If the sides have different lengths or only one evaluation, a pair is given twice, tasks differ, or there are not
    /// enough samples for a k.
    pub fn new(
        before: &[NamedResults],
        after: &[NamedResults],
        k: &[u32],
    ) -> Result<Self, EvalError> {
        check_pairs(before, after)?;
        let all: Vec<&NamedResults> = before.iter().chain(after).collect();
        check_tasks(&all)?;
        let pass_at_k = wanted(&all, k)?.into_iter().map(|k| {
            let side = |side: &[NamedResults]| values(side, TaskCount::tally, u64::from(k));
            Ok((k, over_seeds(&side(before)?, &side(after)?, u64::from(k))?))
        });
        let pass_at_k = pass_at_k.collect::<Result<_, EvalError>>()?;
        let has_greedy = all.iter().all(|named| named.results.greedy.is_some());
        let greedy = has_greedy.then(|| {
            let side = |side: &[NamedResults]| values(side, TaskCount::greedy_tally, 1);
            over_seeds(&side(before)?, &side(after)?, 1)
        });
        let decoded = [before, after].map(decoded);
        let at = |before: Decoding, after: Decoding| {
            over_seeds(&decoded[0][&before], &decoded[1][&after], 1)
        };
        let common = decoded[0].keys().filter(|decoding| decoded[1].contains_key(decoding));
        let common: Vec<Decoding> = common.copied().collect();
        let by_temperature = common.iter().map(|&decoding| Ok((decoding, at(decoding, decoding)?)));
        let by_temperature = by_temperature.collect::<Result<BTreeMap<_, _>, EvalError>>()?;
        let better_temperature = (common.len() > 1).then(|| {
            let [before, after] = [0, 1].map(|side| best(&decoded[side], &common));
            Ok::<_, EvalError>(BetterOverSeeds { before, after, gain: at(before, after)? })
        });
        let names = |side: &[NamedResults]| side.iter().map(|named| named.name.clone()).collect();
        let first = &all[0].results;
        Ok(Self {
            v: VERSION,
            before: names(before),
            after: names(after),
            tasks: first.by_task.len(),
            same_suite: all.iter().all(|named| named.results.suite == first.suite),
            settings: other_settings(&all),
            decoding: first
                .decoding()
                .filter(|own| all.iter().all(|named| named.results.decoding() == Some(*own))),
            pass_at_k,
            greedy: greedy.transpose()?,
            by_temperature,
            better_temperature: better_temperature.transpose()?,
        })
    }
}

/// Refuses sides that cannot be paired, and pairs that are none of several.
fn check_pairs(before: &[NamedResults], after: &[NamedResults]) -> Result<(), EvalError> {
    let names = |side: &[NamedResults]| -> Vec<String> {
        side.iter().map(|named| named.name.clone()).collect()
    };
    if before.len() != after.len() {
        return Err(EvalError::SeedCounts { before: names(before), after: names(after) });
    }
    if before.len() < 2 {
        return Err(EvalError::OneSeed);
    }
    let mut seen = BTreeSet::new();
    for pair in names(before).into_iter().zip(names(after)) {
        if let Some((before, after)) = seen.replace(pair) {
            return Err(EvalError::SeedTwice { before, after });
        }
    }
    Ok(())
}

/// Refuses evaluations of other tasks than the first one's.
fn check_tasks(all: &[&NamedResults]) -> Result<(), EvalError> {
    let ids = |named: &NamedResults| -> BTreeSet<TaskId> {
        named.results.by_task.iter().map(|count| count.id.clone()).collect()
    };
    let first = ids(all[0]);
    for named in &all[1..] {
        let other = ids(named);
        let pairs = [
            (first.difference(&other), all[0], *named),
            (other.difference(&first), *named, all[0]),
        ];
        for (mut tasks, with, without) in pairs {
            if let Some(task) = tasks.next() {
                let (with, without) = (with.name.clone(), without.name.clone());
                return Err(EvalError::SeedTasks { task: task.clone(), with, without });
            }
        }
    }
    Ok(())
}

/// Values of k to compare.
fn wanted(all: &[&NamedResults], k: &[u32]) -> Result<Vec<u32>, EvalError> {
    let first = all[0].results.pass_at_k.keys().copied();
    let common = first.filter(|k| all.iter().all(|named| named.results.pass_at_k.contains_key(k)));
    let wanted: Vec<u32> = if k.is_empty() { common.collect() } else { k.to_vec() };
    if wanted.is_empty() { Err(EvalError::NoCommonK) } else { Ok(wanted) }
}

/// The values of each evaluation's tasks, in the order of their names.
fn values(
    side: &[NamedResults],
    tally: impl Fn(&TaskCount) -> Tally,
    k: u64,
) -> Result<Vec<Vec<Option<f64>>>, EvalError> {
    let of = |named: &NamedResults| {
        let tallies: Vec<Tally> = named.results.by_task.iter().map(&tally).collect();
        Ok(figures(&tallies, k)?.into_values().collect())
    };
    side.iter().map(of).collect()
}

/// The values of each evaluation's tasks, by a decoding that all of them have.
fn decoded(side: &[NamedResults]) -> BTreeMap<Decoding, Vec<Vec<Option<f64>>>> {
    let sides: Vec<DecodedSide> = side.iter().map(|named| named.results.passes()).collect();
    let values = |decoding: Decoding| {
        sides.iter().map(|side| side.values(decoding)).collect::<Option<Vec<_>>>()
    };
    let Some(first) = sides.first() else { return BTreeMap::new() };
    let all = first.common(first).into_iter();
    all.filter_map(|decoding| Some((decoding, values(decoding)?))).collect()
}

/// The decoding with the highest mean over seeds; of equal ones that with the highest temperature.
fn best(side: &BTreeMap<Decoding, Vec<Vec<Option<f64>>>>, among: &[Decoding]) -> Decoding {
    let mean_at = |decoding: Decoding| {
        let seed = |values: &Vec<Option<f64>>| {
            mean(&values.iter().copied().flatten().collect::<Vec<f64>>())
        };
        mean(&side[&decoding].iter().map(seed).collect::<Vec<f64>>())
    };
    let better = |one: Decoding, other: Decoding| {
        if mean_at(other) > mean_at(one) + 1e-12 { other } else { one }
    };
    among.iter().copied().reduce(better).unwrap_or(Decoding::GREEDY)
}

/// The figure over the tasks that every evaluation has it of.
fn over_seeds(
    before: &[Vec<Option<f64>>],
    after: &[Vec<Option<f64>>],
    k: u64,
) -> Result<OverSeeds, EvalError> {
    let tasks = before[0].len();
    let is_whole = |&task: &usize| before.iter().chain(after).all(|values| values[task].is_some());
    let whole: Vec<usize> = (0..tasks).filter(is_whole).collect();
    if whole.is_empty() {
        return Err(EvalError::NoCommonTask { k });
    }
    let of = |values: &Vec<Option<f64>>| whole.iter().filter_map(|&task| values[task]).collect();
    let seeds = before.iter().zip(after);
    let seeds: Vec<SeedValues> =
        seeds.map(|(before, after)| SeedValues { before: of(before), after: of(after) }).collect();
    Ok(OverSeeds::of(&seeds, tasks - whole.len()))
}

/// Settings that are not the same in all evaluations.
fn other_settings(all: &[&NamedResults]) -> BTreeMap<String, Vec<Option<String>>> {
    let names: BTreeSet<&String> =
        all.iter().flat_map(|named| named.results.settings.keys()).collect();
    let values = |name: &String| -> Vec<Option<String>> {
        all.iter().map(|named| named.results.settings.get(name).cloned()).collect()
    };
    let differing = names.into_iter().filter(|name| !setting_is_identity(name) && *name != "seed");
    let all = differing.map(|name| (name.clone(), values(name)));
    all.filter(|(_, values)| values.iter().any(|value| *value != values[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::pass_at_k;

    /// An evaluation of tasks with these numbers of passes out of four samples.
    fn named(name: &str, passed: &[u64]) -> NamedResults {
        let by_task: Vec<TaskCount> = (0..)
            .zip(passed)
            .map(|(at, &passed): (u32, _)| {
                let id = TaskId::try_from(format!("t/{at}")).unwrap();
                let greedy = Some(passed > 2);
                TaskCount { samples: 4, passed, greedy, ..TaskCount::none(&id) }
            })
            .collect();
        let tallies: Vec<Tally> = by_task.iter().map(TaskCount::tally).collect();
        let greedy: Vec<Tally> = by_task.iter().map(TaskCount::greedy_tally).collect();
        let pass_at_k = [1, 4].map(|k| (k, self::pass_at_k(&tallies, k.into()).unwrap())).into();
        let greedy = self::pass_at_k(&greedy, 1).ok();
        let results = Results { v: 1, pass_at_k, greedy, by_task, ..Results::default() };
        NamedResults { name: name.to_owned(), results }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// Differences of pass@1: 3/8, 1/8 and 2/8. Their mean is 1/4, their standard deviation 1/8, and t/√3 = 2.4841.
    #[test]
    fn each_k_and_greedy_have_a_difference_for_each_seed() {
        let before = [named("a1", &[0, 1]), named("a2", &[2, 1]), named("a3", &[0, 0])];
        let after = [named("b1", &[3, 1]), named("b2", &[3, 1]), named("b3", &[0, 2])];
        let found = SeedComparison::new(&before, &after, &[]).unwrap();
        assert_eq!(found.pass_at_k.keys().copied().collect::<Vec<_>>(), [1, 4]);
        let one = &found.pass_at_k[&1];
        let differences: Vec<f64> = one.by_seed.iter().map(|seed| seed.difference).collect();
        assert_eq!(differences, [0.375, 0.125, 0.25]);
        near(one.value, 0.25);
        let over_seeds = one.over_seeds.unwrap();
        assert!((over_seeds.high - 0.25 - 0.125 * 2.4841).abs() < 1e-4, "{over_seeds:?}");
        near(over_seeds.low + over_seeds.high, 0.5);
        // Greedy: 1/2, 1/2 and 0 more.
        near(found.greedy.as_ref().unwrap().value, 1.0 / 3.0);
        assert_eq!(
            (found.tasks, found.before, found.after.len()),
            (2, vec!["a1".into(), "a2".into(), "a3".into()], 3)
        );
        let given = SeedComparison::new(&before, &after, &[2]).unwrap();
        assert_eq!(given.pass_at_k.keys().copied().collect::<Vec<_>>(), [2]);
    }

    /// Means over seeds before: 7/16 at T=1 and 1/2 greedily; after: 9/16 and 1/4. Gains of greedy to T=1: 0 and 1/8.
    #[test]
    fn each_side_has_one_better_temperature_for_all_of_its_seeds() {
        let at_one = |name, passed: &[u64]| {
            let mut named = named(name, passed);
            named.results.settings.insert("eval.temperature".to_owned(), "1".to_owned());
            named
        };
        let before = [at_one("a1", &[3, 0]), at_one("a2", &[3, 1])];
        let after = [at_one("b1", &[2, 2]), at_one("b2", &[3, 2])];
        let found = SeedComparison::new(&before, &after, &[]).unwrap();
        let better = found.better_temperature.unwrap();
        assert_eq!([better.before, better.after].map(|at| at.to_string()), ["greedy", "T=1"]);
        let gains: Vec<f64> = better.gain.by_seed.iter().map(|seed| seed.difference).collect();
        assert_eq!(gains, [0.0, 0.125]);
        assert_eq!(found.by_temperature[&Decoding::at(1.0).unwrap()], found.pass_at_k[&1]);
        let unknown = [named("b1", &[2, 2]), named("b2", &[3, 2])];
        let found = SeedComparison::new(&before, &unknown, &[]).unwrap();
        assert_eq!(found.better_temperature, None, "greedy decoding alone is no choice");
    }

    #[test]
    fn a_task_that_one_evaluation_lacks_is_left_out_of_all() {
        let mut after = [named("b1", &[4, 4]), named("b2", &[4, 2])];
        after[1].results.by_task[0].samples = 0;
        after[1].results.by_task[0].passed = 0;
        let before = [named("a", &[0, 0]), named("a", &[0, 0])];
        let one = &SeedComparison::new(&before, &after, &[1]).unwrap().pass_at_k[&1];
        assert_eq!((one.tasks, one.left_out), (1, 1));
        near(one.value, 0.75);
    }

    #[test]
    fn what_is_no_comparison_of_seeds_is_refused_in_words() {
        let [one, two] = [named("a1", &[1, 2]), named("a2", &[1, 2])];
        let [other, more] = [named("b1", &[1, 2]), named("b2", &[1, 2, 3])];
        let said = |before: &[&NamedResults], after: &[&NamedResults]| {
            let side = |side: &[&NamedResults]| -> Vec<NamedResults> {
                side.iter().map(|named| (*named).clone()).collect()
            };
            let err = SeedComparison::new(&side(before), &side(after), &[]).unwrap_err();
            assert!(err.is_usage() && err.hint().is_some(), "{err}");
            err.to_string()
        };
        assert_eq!(
            said(&[&one, &two], &[&other]),
            "as many evaluations are needed on both sides: A has 2 (`a1`, `a2`), B has 1 (`b1`)"
        );
        assert_eq!(
            said(&[&one], &[&other]),
            "one seed has no interval over seeds: it says nothing of the next one"
        );
        assert_eq!(said(&[&one, &two], &[&other, &more]), "task `t/2` is in `b2` and not in `a1`");
        assert_eq!(
            said(&[&more, &two], &[&other, &other]),
            "task `t/2` is in `b2` and not in `a2`"
        );
        assert_eq!(
            said(&[&one, &one], &[&other, &other]),
            "`a1` and `b1` are given twice, and count as one seed"
        );
    }

    #[test]
    fn settings_that_are_not_the_same_are_named_and_seeds_may_differ() {
        let with = |name: &str, settings: &[(&str, &str)]| {
            let mut named = named(name, &[1]);
            let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            named.results.settings = settings.collect();
            named
        };
        let before = [with("a1", &[("seed", "1"), ("--model", "a")]), with("a2", &[("seed", "2")])];
        let after = [with("b1", &[("eval.temperature", "0.5")]), with("b2", &[])];
        let found = SeedComparison::new(&before, &after, &[]).unwrap();
        let expected = vec![None, None, Some("0.5".to_owned()), None];
        assert_eq!(found.settings, [("eval.temperature".to_owned(), expected)].into());
    }
}
