//! The report of a preparation: what was read, dropped (and why) and written.
//!
//! Written beside the tasks as `prepare.json`. It is deterministic: no times, no machine. It holds
//! the checksums of inputs and outputs, so that an interrupted run, or tasks edited by hand, can be
//! detected.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::split::Split;
use crate::solver::LeftOutKind;
use crate::source::{InputFile, MbppVariant};

/// Findings of one sort that are named; the rest are counted.
pub(super) const NAMED: usize = 10_000;

/// The report of a preparation.
#[derive(Debug, Clone, Serialize)]
pub struct PrepareSummary {
    /// Version of the report.
    pub v: u32,
    /// The seed.
    pub seed: u64,
    /// The origin of the split of data sets.
    pub split: Split,
    /// The part of each source that is for validation, where none is published.
    pub val_fraction: f64,
    /// The part of the other tasks of such a source that is for development.
    pub dev_fraction: f64,
    /// Maximal number of tasks per source.
    pub limit: Option<usize>,
    /// The inputs.
    pub inputs: Vec<InputFile>,
    /// The benchmarks for decontamination.
    pub benchmarks: Vec<InputFile>,
    /// Words that had to be the same for contamination, if there were benchmarks.
    pub ngram: Option<usize>,
    /// Row counts per source.
    pub sources: BTreeMap<String, Counts>,
    /// Tasks of MBPP by publication, where some are of the sanitized set.
    #[serde(skip_serializing_if = "MbppCounts::is_first_only")]
    pub mbpp: MbppCounts,
    /// The tasks to learn from.
    pub train: PartFile,
    /// The tasks to choose settings and checkpoints by.
    pub dev: PartFile,
    /// The tasks for the final figure.
    pub val: PartFile,
    /// The first rows that are not tasks.
    pub bad: Vec<BadRow>,
    /// Models of files that make no task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
    /// Tasks that are like a task that was kept, the first of them.
    pub duplicates: Vec<Duplicate>,
    /// Tasks that a benchmark would recognise, the first of them.
    pub contaminated: Vec<Contaminated>,
}

/// Row counts of a source. The others add up to `rows`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows that were read; a file that could not be read on counts as one more.
    pub rows: u64,
    /// Rows that are not tasks.
    pub bad: u64,
    /// Tasks of a difficulty that was not asked for, models that make no task, and rows of MBPP
    /// whose task was made from the other publication.
    pub left_out: u64,
    /// Tasks that a benchmark would recognise.
    pub contaminated: u64,
    /// Tasks that are like a task that was kept.
    pub duplicates: u64,
    /// Tasks past the limit.
    pub over_limit: u64,
    /// Tasks to learn from.
    pub train: u64,
    /// Tasks to choose settings and checkpoints by.
    pub dev: u64,
    /// Tasks for the final figure.
    pub val: u64,
}

/// Tasks of MBPP that were written, by the publication of their statement and tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MbppCounts {
    /// As in the full set.
    pub first: u64,
    /// As in the sanitized set.
    pub sanitized: u64,
}

impl MbppCounts {
    /// Counts one task.
    pub(super) fn add(&mut self, variant: Option<MbppVariant>) {
        match variant {
            Some(MbppVariant::First) => self.first += 1,
            Some(MbppVariant::Sanitized) => self.sanitized += 1,
            None => {}
        }
    }

    fn is_first_only(&self) -> bool {
        self.sanitized == 0
    }
}

/// One of the files of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartFile {
    /// Its name.
    pub file: &'static str,
    /// Number of tasks.
    pub tasks: u64,
    /// BLAKE3 of its bytes.
    pub blake3: String,
}

/// A row that is not a task, or a file that could not be read further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadRow {
    /// The file.
    pub file: PathBuf,
    /// The row, counted from 1; 0 for the file as a whole.
    pub row: u64,
    /// The problem.
    pub reason: String,
}

/// A model of a file that makes no task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutFile {
    /// The file.
    pub file: PathBuf,
    /// The sort of reason.
    pub kind: LeftOutKind,
    /// The reason.
    pub reason: String,
}

/// A task that is like another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Duplicate {
    /// The one that was dropped.
    pub dropped: String,
    /// The one that was kept.
    pub kept: String,
    /// The kind of similarity.
    pub by: By,
    /// Runs of tokens in common over runs in either.
    pub similarity: f64,
}

/// A task that a benchmark would recognise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contaminated {
    /// The one that was dropped.
    pub dropped: String,
    /// The benchmark's task.
    pub benchmark: String,
    /// The kind of similarity.
    pub by: By,
    /// The words in common, or how alike they are.
    pub evidence: String,
}

/// The kind of similarity between two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The statement, word for word.
    SameStatement,
    /// Most of the statement.
    LikeStatement,
    /// The reference, token for token.
    SameSolution,
    /// Most of the reference.
    LikeSolution,
    /// A run of words in the statement.
    Words,
}

impl PrepareSummary {
    /// The counts of all sources together.
    pub fn total(&self) -> Counts {
        self.sources.values().fold(Counts::default(), |sum, one| Counts {
            rows: sum.rows + one.rows,
            bad: sum.bad + one.bad,
            left_out: sum.left_out + one.left_out,
            contaminated: sum.contaminated + one.contaminated,
            duplicates: sum.duplicates + one.duplicates,
            over_limit: sum.over_limit + one.over_limit,
            train: sum.train + one.train,
            dev: sum.dev + one.dev,
            val: sum.val + one.val,
        })
    }
}

impl BadRow {
    pub(super) fn new(file: &Path, row: u64, reason: String) -> Self {
        Self { file: file.to_owned(), row, reason }
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            0 => write!(f, "{}: {}", self.file.display(), self.reason),
            row => write!(f, "{}:{row}: {}", self.file.display(), self.reason),
        }
    }
}

impl By {
    /// The kind of similarity, as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::SameStatement => "same statement",
            Self::LikeStatement => "like statement",
            Self::SameSolution => "same solution",
            Self::LikeSolution => "like solution",
            Self::Words => "words in common",
        }
    }
}
