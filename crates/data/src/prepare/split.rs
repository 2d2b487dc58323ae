//! The split into training, development and validation, and the order of tasks.
//!
//! Both follow from the seed and the task's id alone, so the order in which files were read, and
//! the tasks of other sources, change nothing. The tasks of a source are put in a seeded order; the
//! first of them, by the fraction asked for, are for validation, the next for development, which is
//! a fraction of those that are left. A data set with a published split keeps it, so that figures
//! can be compared with others' ([`Split`]).

use std::cmp::Ordering;

use serde::Serialize;
use whetstone_core::Seed;
use whetstone_core::task::TaskId;

use crate::part::Partition;
use crate::source::DataSet;

/// The origin of the split of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// As published, where the data set has a published split; otherwise by the seed.
    Official,
    /// By the seed.
    Seed,
}

impl Split {
    /// The part that is published for a task, if it has one.
    ///
    /// MBPP's paper measures on its tasks 11 to 510; 1 to 10 are shown as examples and are to learn
    /// from here, 511 to 600 are for validation while tuning, 601 to 974 for training.
    pub(super) fn part(self, kind: Option<DataSet>, id: &TaskId) -> Option<Partition> {
        if self == Self::Seed || kind != Some(DataSet::Mbpp) {
            return None;
        }
        match id.as_str().strip_prefix("mbpp/")?.parse().ok()? {
            11..=510 => Some(Partition::Validation),
            511..=600 => Some(Partition::Development),
            1..=10 | 601..=974 => Some(Partition::Train),
            0 | 975..=u64::MAX => None,
        }
    }
}

/// Places in a seeded order, one for each task.
pub(super) fn place(seed: Seed, stage: &str, id: &TaskId) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(id.as_str().as_bytes()).as_bytes()[..8]);
    seed.derive(stage, u64::from_le_bytes(first)).get()
}

/// Fractions of a source's tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fractions {
    /// The part of all tasks that is for validation.
    pub(super) val: f64,
    /// The part of the other tasks that is for development.
    pub(super) dev: f64,
}

/// The parts of `count` tasks in their seeded order.
pub(super) fn parts(count: usize, fractions: Fractions) -> impl Iterator<Item = Partition> {
    let validation = validation_count(count, fractions.val);
    let development = part_of(count - validation, fractions.dev);
    (0..count).map(move |at| match at {
        _ if at < validation => Partition::Validation,
        _ if at < validation + development => Partition::Development,
        _ => Partition::Train,
    })
}

/// How many of `count` items are for validation. Two or more give something to both sides.
pub(crate) fn validation_count(count: usize, fraction: f64) -> usize {
    if count < 2 { 0 } else { part_of(count, fraction).clamp(1, count - 1) }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count far below 2^53, and a fraction between 0 and 1"
)]
fn part_of(count: usize, fraction: f64) -> usize {
    (count as f64 * fraction).round() as usize
}

/// Ids in the order a person expects: numbers by their value.
pub(super) fn natural(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (one, other);
    while let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (first, rest_a) = digits(a);
            let (second, rest_b) = digits(b);
            let order = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (rest_a, rest_b);
        } else if x != y {
            return x.cmp(&y);
        } else {
            (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
        }
    }
    // Ids that differ in zeros before a number still have one order.
    a.len().cmp(&b.len()).then_with(|| one.cmp(other))
}

/// The number that `text` starts with, without zeros before it, and what follows.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_rounded_and_leaves_no_half_empty() {
        assert_eq!(validation_count(974, 0.2), 195);
        assert_eq!(validation_count(140, 0.2), 28);
        assert_eq!(validation_count(2, 0.2), 1);
        assert_eq!(validation_count(3, 0.99), 2);
        assert_eq!(validation_count(1, 0.5), 0);
        assert_eq!(validation_count(0, 0.5), 0);
    }

    #[test]
    fn development_is_a_part_of_what_validation_leaves() {
        let counts = |count, dev| {
            let found: Vec<_> = parts(count, Fractions { val: 0.2, dev }).collect();
            [Partition::Train, Partition::Development, Partition::Validation]
                .map(|part| found.iter().filter(|one| **one == part).count())
        };
        assert_eq!(counts(5000, 0.1), [3600, 400, 1000]);
        assert_eq!(counts(10, 0.1), [7, 1, 2], "0.8 of a task is one");
        assert_eq!(counts(5, 0.1), [4, 0, 1], "0.4 of a task is none");
        assert_eq!(counts(5000, 0.0), [4000, 0, 1000]);
    }

    #[test]
    fn mbpp_has_published_parts_to_measure_and_to_tune_with() {
        let part = |split: Split, kind, id: &str| {
            split.part(Some(kind), &TaskId::try_from(id.to_owned()).unwrap())
        };
        let official = |id: &str| part(Split::Official, DataSet::Mbpp, id);
        let measured =
            (0..1200).filter(|n| official(&format!("mbpp/{n}")) == Some(Partition::Validation));
        assert_eq!(measured.collect::<Vec<_>>(), (11..=510).collect::<Vec<_>>());
        let learned =
            (0..1200).filter(|n| official(&format!("mbpp/{n}")) == Some(Partition::Train));
        assert_eq!(learned.count(), 384);
        let tuned =
            (0..1200).filter(|n| official(&format!("mbpp/{n}")) == Some(Partition::Development));
        assert_eq!(tuned.collect::<Vec<_>>(), (511..=600).collect::<Vec<_>>());
        assert_eq!(official("mbpp/x"), None);
        assert_eq!(part(Split::Official, DataSet::Apps, "apps/11"), None);
        assert_eq!(part(Split::Seed, DataSet::Mbpp, "mbpp/11"), None);
    }

    #[test]
    fn ids_are_ordered_by_the_value_of_their_numbers() {
        let mut ids = ["mbpp/10", "mbpp/9", "apps/1", "mbpp/09", "mbpp/9a", "mbpp/"];
        ids.sort_by(|a, b| natural(a, b));
        assert_eq!(ids, ["apps/1", "mbpp/", "mbpp/09", "mbpp/9", "mbpp/9a", "mbpp/10"]);
    }

    #[test]
    fn a_place_depends_on_seed_stage_and_id() {
        let id = |text: &str| TaskId::try_from(text.to_owned()).unwrap();
        let base = place(Seed::new(1), "a", &id("x"));
        assert_eq!(base, place(Seed::new(1), "a", &id("x")));
        assert_ne!(base, place(Seed::new(2), "a", &id("x")));
        assert_ne!(base, place(Seed::new(1), "b", &id("x")));
        assert_ne!(base, place(Seed::new(1), "a", &id("y")));
    }
}
