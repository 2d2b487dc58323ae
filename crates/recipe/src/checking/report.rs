//! The report on files that were checked.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::kind::FileKind;

/// The report on all files.
#[derive(Debug, Default, Serialize)]
pub struct CheckReport {
    /// Version of the report.
    pub v: u32,
    /// The files that could be read.
    pub files: Vec<FileReport>,
    /// The files that could not.
    pub unreadable: Vec<UnreadableFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileReport {
    /// Its path as given.
    pub file: PathBuf,
    /// Its kind; `None` if that is not known.
    pub kind: Option<FileKind>,
    /// The same as a person says it, or why nothing reads it.
    pub title: String,
    /// Lines with something on them; tasks of an evaluation.
    pub lines: u64,
    /// Lines that are right.
    pub good: u64,
    /// Lines that are not; for a file of settings, problems.
    pub bad: u64,
    /// The first bad lines.
    pub problems: Vec<LineIssue>,
    /// Ids of lines, where a kind has them.
    pub ids: Option<IdCounts>,
    /// Fields that are not of this kind. They pass through unread.
    pub foreign: Vec<ForeignField>,
    /// Further remarks.
    pub notes: Vec<String>,
}

/// A bad line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineIssue {
    /// Counted from 1; 0 for the file as a whole.
    pub line: u64,
    /// The field that is at fault, if one is.
    pub field: Option<String>,
    /// The problem.
    pub reason: String,
    /// A way to mend it.
    pub fix: Option<String>,
}

/// Ids of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IdCounts {
    /// Ids that differ.
    pub distinct: u64,
    /// Lines whose id an earlier line has.
    pub repeated: u64,
    /// The first of them.
    pub first: Option<RepeatedId>,
}

/// An id that stands twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepeatedId {
    /// The id.
    pub id: String,
    /// The line that repeats it.
    pub line: u64,
    /// The line that had it first.
    pub earlier: u64,
}

/// A field that is not of the kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForeignField {
    /// Its name.
    pub name: String,
    /// Lines that have it.
    pub lines: u64,
    /// The field that was probably meant.
    pub meant: Option<&'static str>,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableFile {
    /// Its path as given.
    pub file: PathBuf,
    /// Why not.
    pub problem: String,
    /// A suggestion for the user.
    pub hint: String,
}

impl CheckReport {
    /// Whether every line of every file is right.
    pub fn is_right(&self) -> bool {
        self.unreadable.is_empty() && self.files.iter().all(FileReport::is_right)
    }
}

impl FileReport {
    /// A file of which nothing was read yet.
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            kind: None,
            title: String::new(),
            lines: 0,
            good: 0,
            bad: 0,
            problems: Vec::new(),
            ids: None,
            foreign: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether every line is right, and there is one.
    pub fn is_right(&self) -> bool {
        self.kind.is_some() && self.bad == 0 && self.good > 0
    }

    /// Counts a bad line, and keeps it if it is one of the first.
    pub(super) fn add_bad(&mut self, issue: LineIssue, shown: usize) {
        self.bad += 1;
        if self.problems.len() < shown {
            self.problems.push(issue);
        }
    }
}
