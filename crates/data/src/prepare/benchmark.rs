//! Tasks that a benchmark would recognise.
//!
//! A task is contaminated if its statement shares an n-gram of words (13 by default) with the
//! statement of a benchmark's task. A shorter statement of the benchmark is compared as a whole, if
//! it has at least [`SHORTEST`] words: a match of fewer may be chance. A task is also contaminated
//! if its statement or reference duplicates the benchmark's by the rule for duplicates.

use std::collections::HashMap;

use super::tokens::words;

/// The shortest statement that is looked for as a whole.
const SHORTEST: usize = 6;

/// The statements of benchmarks, by their runs of words.
#[derive(Debug)]
pub(super) struct Benchmark {
    run: usize,
    /// For each length of n-gram, its position: the index of the benchmark's task.
    runs: HashMap<usize, HashMap<blake3::Hash, usize>>,
}

impl Benchmark {
    /// Nothing to recognise; runs are of `run` words.
    pub(super) fn new(run: usize) -> Self {
        Self { run: run.max(1), runs: HashMap::new() }
    }

    /// Adds the statement of a task under a number.
    pub(super) fn add(&mut self, statement: &str, name: usize) {
        let words = words(statement);
        let length = if words.len() >= self.run { self.run } else { words.len() };
        if length < self.run.min(SHORTEST) {
            return;
        }
        let runs = self.runs.entry(length).or_default();
        for run in words.windows(length) {
            runs.entry(hash(run)).or_insert(name);
        }
    }

    /// The benchmark's task that shares a run of words with a statement, and the run. The longest
    /// runs are tried first.
    pub(super) fn find(&self, statement: &str) -> Option<(usize, String)> {
        let words = words(statement);
        let mut lengths: Vec<_> = self.runs.keys().copied().collect();
        lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
        lengths.into_iter().find_map(|length| {
            let runs = &self.runs[&length];
            words.windows(length).find_map(|run| Some((*runs.get(&hash(run))?, run.join(" "))))
        })
    }
}

fn hash(run: &[String]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for word in run {
        hasher.update(word.as_bytes());
        hasher.update(b" ");
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_words_is_recognised_whatever_stands_around_it() {
        let mut benchmark = Benchmark::new(4);
        benchmark.add("Return the sum of all even numbers.", 3);
        let found = benchmark.find("Please: THE sum of\nall, and more");
        assert_eq!(found, Some((3, "the sum of all".to_owned())));
        assert_eq!(benchmark.find("the sum of every even number"), None);
    }

    #[test]
    fn a_short_statement_counts_as_a_whole_and_a_very_short_one_not_at_all() {
        let mut benchmark = Benchmark::new(13);
        benchmark.add("Find the area of a small cube", 0);
        benchmark.add("Add two numbers", 1);
        let found = benchmark.find("Task: find the area of a small cube, quickly");
        assert_eq!(found, Some((0, "find the area of a small cube".to_owned())));
        assert_eq!(benchmark.find("find the area of a small cone"), None);
        assert_eq!(benchmark.find("add two numbers"), None);
    }
}
