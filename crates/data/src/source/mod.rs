//! Readers of published data sets.
//!
//! [`table`] reads rows from any file, as JSON objects; each data set has a small file that maps
//! its columns. A row that is not a task is reported with its file, its number and the reason, and
//! reading continues; the same holds for a truncated file or one with other columns. Only a path
//! that does not exist or cannot be read ends the reading.
//!
//! Visible tests: if a data set makes no distinction, all its tests are hidden, and those that its
//! prompt shows are repeated as visible. MBPP shows its first test (the statement alone does not
//! name the function); the statements of APPS, HumanEval and LeetCode contain their own examples.
//!
//! Not here: downloads (a path is local), and whether a reference passes its own tests.

mod apps;
mod apps_folder;
mod apps_tests;
mod error;
mod evalplus;
mod files;
mod humaneval;
mod leetcode;
mod livecodebench;
mod mbpp;
mod packed;
mod plain;
mod read;
mod row;
pub(crate) mod table;

pub use apps::Difficulty;
pub use error::SourceError;
pub use mbpp::{MbppTests, MbppVariant, ShownTests};
pub(crate) use read::digest;
pub use read::{InputFile, SourceRow, TaskSource, What, read};
pub(crate) use row::brief;
pub use table::{open_text, panic_is_caught};

use std::path::Path;

/// Whether a file is named as one that rows can be read from.
pub fn is_table(path: &Path) -> bool {
    table::Encoding::of(path).is_some()
}

/// A data set with known columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataSet {
    /// Mostly Basic Python Problems, the full set or the sanitized one.
    Mbpp,
    /// APPS: problems of contests and practice sites.
    Apps,
    /// HumanEval, and sets with its columns.
    HumanEval,
    /// `LeetCodeDataset`: methods of a class, with helpers for lists and trees.
    LeetCode,
    /// `EvalPlus`: HumanEval and sanitized MBPP with more inputs.
    EvalPlus,
    /// `LiveCodeBench`: problems of contests by date.
    LiveCodeBench,
    /// Tasks in our own line format.
    Tasks,
}

impl DataSet {
    /// Every kind, in the order in which a file's columns are tried. HumanEval comes before MBPP:
    /// both may have a `prompt`. LeetCode has all columns of HumanEval, and more; so has `EvalPlus`, and its
    /// table on the hub those of MBPP.
    const ALL: [Self; 7] = [
        Self::Tasks,
        Self::LeetCode,
        Self::EvalPlus,
        Self::HumanEval,
        Self::LiveCodeBench,
        Self::Apps,
        Self::Mbpp,
    ];

    /// The name in ids, reports and counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mbpp => "mbpp",
            Self::Apps => "apps",
            Self::HumanEval => "humaneval",
            Self::LeetCode => "leetcode",
            Self::EvalPlus => "evalplus",
            Self::LiveCodeBench => "livecodebench",
            Self::Tasks => "tasks",
        }
    }

    /// The columns by which a file is known as one of this data set: any one of these lists.
    fn columns(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Mbpp => mbpp::COLUMNS,
            Self::Apps => apps::COLUMNS,
            Self::HumanEval => humaneval::COLUMNS,
            Self::LeetCode => leetcode::COLUMNS,
            Self::EvalPlus => evalplus::COLUMNS,
            Self::LiveCodeBench => livecodebench::COLUMNS,
            Self::Tasks => plain::COLUMNS,
        }
    }

    /// Whether a file with these columns can be one of this data set.
    fn fits(self, has: impl Fn(&str) -> bool) -> bool {
        self.columns().iter().any(|list| list.iter().all(|column| has(column)))
    }

    /// The data set that has these columns.
    pub fn guess(has: impl Fn(&str) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.fits(&has))
    }

    /// The columns as text: `text, code, test_list or prompt, code, test_list`.
    fn wanted(self) -> String {
        let lists: Vec<_> = self.columns().iter().map(|list| list.join(", ")).collect();
        lists.join(" or ")
    }
}
