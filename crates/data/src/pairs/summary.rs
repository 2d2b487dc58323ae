//! What became of the replies and pairs of some files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::PairError;

/// Bad lines that are named; the rest are counted.
const NAMED: usize = 100;

/// The share of pairs from which on length alone tells the better reply.
const MOST_BY_LENGTH: f64 = 0.65;

/// Pairs from which on that share is worth a warning.
const ENOUGH_PAIRS: u64 = 50;

/// The report on some pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PairSummary {
    /// The version of the format.
    pub v: u32,
    /// Pairs that were written.
    pub pairs: u64,
    /// Those of them that are held out.
    pub pairs_held_out: u64,
    /// Tasks that they are of.
    pub tasks: u64,
    /// Held-out tasks.
    pub tasks_held_out: u64,
    /// Pairs by where they come from.
    pub by_origin: BTreeMap<String, u64>,
    /// Replies that pairs could be made of.
    pub replies: u64,
    /// Lines of replies that are of no use, by reason.
    pub replies_left_out: BTreeMap<&'static str, u64>,
    /// Pairs of replies, or rows, that were left out, by reason.
    pub pairs_left_out: BTreeMap<&'static str, u64>,
    /// Lines and rows that are no replies or pairs, by reason.
    pub bad: BTreeMap<&'static str, u64>,
    /// The first of them.
    pub bad_lines: Vec<BadPairLine>,
    /// How long the replies of pairs are.
    pub lengths: LengthCounts,
    /// Seconds that it took.
    pub wall_seconds: f64,
}

/// A line that is not a reply or a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadPairLine {
    /// Its file.
    pub file: PathBuf,
    /// The line or row, from 1; 0 for the file as a whole.
    pub line: u64,
    /// The problem with it.
    pub reason: String,
}

/// Lengths of both sides, in characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LengthCounts {
    /// The mean length of preferred replies.
    pub chosen_mean: f64,
    /// The mean length of the others.
    pub rejected_mean: f64,
    /// The share of pairs in which the preferred one is longer; equal lengths count half.
    pub chosen_longer: f64,
    #[serde(skip)]
    pairs: u64,
    #[serde(skip)]
    sums: [u64; 2],
    /// Twice the pairs in which the preferred one is longer.
    #[serde(skip)]
    halves: u64,
}

impl PairSummary {
    pub(super) fn unused(&mut self, reason: &'static str) {
        *self.replies_left_out.entry(reason).or_default() += 1;
    }

    pub(super) fn left_out(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.pairs_left_out.entry(reason).or_default() += count;
        }
    }

    pub(super) fn bad(&mut self, name: &'static str, file: &Path, line: u64, reason: String) {
        *self.bad.entry(name).or_default() += 1;
        if self.bad_lines.len() < NAMED {
            self.bad_lines.push(BadPairLine { file: file.to_owned(), line, reason });
        }
    }

    /// Lines and rows that are no replies or pairs.
    pub fn bad_count(&self) -> u64 {
        self.bad.values().sum()
    }

    /// Refuses bad lines if none is allowed.
    pub(super) fn check(&self, strict: bool) -> Result<(), PairError> {
        match self.bad_count() {
            count if count > 0 && strict => {
                Err(PairError::BadLines { count, first: self.bad_lines.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Why there is no pair.
    pub(super) fn nothing(&self) -> PairError {
        let listed = |counts: &BTreeMap<&'static str, u64>| -> Vec<String> {
            counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect()
        };
        let mut parts = vec![format!("{} replies", self.replies)];
        for (what, counts) in [
            ("lines left out", &self.replies_left_out),
            ("pairs left out", &self.pairs_left_out),
            ("bad lines", &self.bad),
        ] {
            if !counts.is_empty() {
                parts.push(format!("{what}: {}", listed(counts).join(", ")));
            }
        }
        let unused = |reason: &str| self.replies_left_out.get(reason).copied().unwrap_or(0);
        let hint = if unused("not_scored") > 0 {
            "`whet score ROLLOUTS --prompts TASKS` judges rollouts; give its output"
        } else if unused("no_prompt") > 0 {
            "name the tasks that the rollouts answer with `--tasks`"
        } else {
            "pairs need two replies to one task with different results: sample more of each task, or lower \
             `--min-gap`"
        };
        PairError::NoPairs { why: parts.join("; "), hint }
    }

    /// What makes these pairs doubtful.
    pub fn warnings(&self) -> Vec<String> {
        let by_length = self.lengths.chosen_longer.max(1.0 - self.lengths.chosen_longer);
        if self.pairs < ENOUGH_PAIRS || by_length <= MOST_BY_LENGTH {
            return Vec::new();
        }
        let word = if self.lengths.chosen_longer > 0.5 { "longer" } else { "shorter" };
        vec![format!(
            "the chosen reply is the {word} one in {:.0} % of the pairs: a reward model can learn length instead \
             of what is right; `whet train rm` measures that",
            100.0 * by_length
        )]
    }
}

impl LengthCounts {
    pub(super) fn add(&mut self, chosen: u64, rejected: u64) {
        self.pairs += 1;
        self.sums[0] += chosen;
        self.sums[1] += rejected;
        self.halves += 1 + u64::from(chosen > rejected) - u64::from(chosen < rejected);
        self.chosen_mean = share(self.sums[0], self.pairs);
        self.rejected_mean = share(self.sums[1], self.pairs);
        self.chosen_longer = share(self.halves, 2 * self.pairs);
    }
}

#[expect(clippy::cast_precision_loss, reason = "characters of pairs are far below 2^53")]
fn share(count: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { count as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_means_and_ties_count_half() {
        let mut lengths = LengthCounts::default();
        for (chosen, rejected) in [(10, 4), (10, 10), (1, 4), (11, 2)] {
            lengths.add(chosen, rejected);
        }
        assert_eq!((lengths.chosen_mean, lengths.rejected_mean), (8.0, 5.0));
        assert!((lengths.chosen_longer - 0.625).abs() < 1e-12);
    }

    #[test]
    fn pairs_that_length_alone_tells_apart_are_warned_of() {
        let warned = |longer: u64, pairs: u64| {
            let mut lengths = LengthCounts::default();
            (0..pairs).for_each(|at| lengths.add(5, if at < longer { 4 } else { 6 }));
            let summary = PairSummary { pairs, lengths, ..PairSummary::default() };
            summary.warnings().first().map(|text| text[..44].to_owned())
        };
        assert_eq!(warned(70, 100).unwrap(), "the chosen reply is the longer one in 70 % o");
        assert_eq!(warned(20, 100).unwrap(), "the chosen reply is the shorter one in 80 % ");
        assert_eq!(warned(60, 100), None);
        assert_eq!(warned(9, 10), None, "too few to tell");
    }
}
