//! A file of one JSON object a line, checked in one pass with one line in memory.

use std::collections::BTreeMap;
use std::io::{self, BufRead, ErrorKind};
use std::path::Path;

use whetstone_core::jsonl::{LineError, LineProblem, Numbered, Records};
use whetstone_core::wire::{Object, Wire, WireError};

use super::detect::{Look, look};
use super::fix::{brief, fix, meant};
use super::ids::{MAX_IDS, SeenIds};
use super::kind::FileKind;
use super::line::{self, LineFault};
use super::report::{FileReport, ForeignField, LineIssue};
use crate::text::{many, plain};

/// Foreign fields that are counted apart.
const MAX_FOREIGN: usize = 50;
/// Characters of a reason that are kept.
const MAX_REASON: usize = 300;

/// Any JSON object.
struct AnyLine(Object);

/// A check of one file.
pub(super) struct LineCheck {
    report: FileReport,
    shown: usize,
    ids: SeenIds,
    foreign: BTreeMap<String, u64>,
    scored: u64,
    /// Lines that use another tool's names of fields.
    other_names: BTreeMap<&'static str, u64>,
}

impl Wire for AnyLine {
    const NOUN: &'static str = "record";

    fn from_object(object: Object) -> Result<Self, WireError> {
        Ok(Self(object))
    }

    fn to_object(&self) -> Object {
        self.0.clone()
    }
}

impl LineCheck {
    /// A check that keeps the first `shown` problems.
    pub(super) fn new(file: &Path, kind: Option<FileKind>, shown: usize) -> Self {
        let report = FileReport { kind, ..FileReport::new(file) };
        let (foreign, other_names) = (BTreeMap::new(), BTreeMap::new());
        Self { report, shown, ids: SeenIds::default(), foreign, scored: 0, other_names }
    }

    /// Reads every line. If the first one shows that nothing reads the file, the rest is left unread.
    ///
    /// # Errors
    ///
    /// If the file cannot be read on.
    pub(super) fn run(mut self, reader: impl BufRead) -> io::Result<FileReport> {
        let file = self.report.file.clone();
        for read in Records::<AnyLine, _>::new(file, reader) {
            self.report.lines += 1;
            match read {
                Ok(Numbered { line, record }) => {
                    if self.report.kind.is_none() && !self.find_kind(&record.0) {
                        return Ok(self.report);
                    }
                    self.check(line, &record.0);
                }
                Err(LineError { problem: LineProblem::Io(err), line, .. }) => {
                    if !is_broken_pack(&err) {
                        return Err(err);
                    }
                    let reason = format!("the compressed data breaks off: {err}");
                    self.bad(line, None, &reason, Some("fetch or pack the file again".to_owned()));
                }
                Err(LineError { problem, line, .. }) => {
                    let fix = fix_of_text(&problem);
                    self.bad(line, None, &problem.to_string(), fix);
                }
            }
        }
        Ok(self.finish())
    }

    /// Takes the kind from a line; says why there is none.
    fn find_kind(&mut self, line: &Object) -> bool {
        match look(line) {
            // Known by its first line alone, and then not read here.
            Look::Kind(kind) if kind.is_whole() => {
                self.report.title = format!("{}, behind lines that are not", kind.title());
                self.report.notes.push(format!("`--as {}` reads it as such a file", kind.name()));
            }
            Look::Kind(kind) => {
                self.report.kind = Some(kind);
                return true;
            }
            Look::DataSet(set) => {
                let name = set.name();
                self.report.title = format!("a file of the data set {name}, not yet tasks");
                let note = format!("`whet data prepare --{name} FILE` makes tasks of it");
                self.report.notes.push(note);
            }
            Look::Chat => {
                "conversations in a form that whet does not read"
                    .clone_into(&mut self.report.title);
                self.report.notes.push(
                    "SFT rows have `instruction`, `input`, `output`, and `history` for earlier turns"
                        .to_owned(),
                );
            }
            Look::Journal => {
                "a journal of whet's own work, not for reading".clone_into(&mut self.report.title);
                self.report.notes.push("run the command that was stopped again".to_owned());
            }
            Look::Unknown => {
                let names: Vec<String> =
                    line.fields().take(12).map(|(name, _)| brief(name)).collect();
                "nothing that whet reads".clone_into(&mut self.report.title);
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                self.report.notes.push(format!(
                    "its fields are {names}; `--as KIND` says what is missing in them for a kind"
                ));
            }
        }
        false
    }

    fn check(&mut self, number: u64, object: &Object) {
        let Some(kind) = self.report.kind else { return };
        match line::read(kind, object.clone()) {
            Ok(good) => {
                let id = good.id.as_deref();
                let earlier = id.and_then(|id| self.ids.note(id, number));
                if let (Some(earlier), Some(id), true) = (earlier, id, kind.has_unique_ids()) {
                    let reason = format!("`{}` stands already in line {earlier}", plain(id, 100));
                    let fix = "give each line an id of its own, or remove one of them".to_owned();
                    return self.bad(number, Some("id".to_owned()), &reason, Some(fix));
                }
                self.report.good += 1;
                self.scored += u64::from(good.is_scored);
                self.note_fields(kind, object);
            }
            Err(fault) => {
                let fix = other_kind(kind, object).or_else(|| fix(kind, object, &fault));
                let LineFault { field, reason, .. } = fault;
                self.bad(number, field, &reason, fix);
            }
        }
    }

    /// Counts the fields that are not of the kind, and names of other tools.
    fn note_fields(&mut self, kind: FileKind, object: &Object) {
        let ours = line::fields(kind);
        for (name, _) in object.fields().filter(|(name, _)| !ours.contains(name)) {
            if let Some(count) = self.foreign.get_mut(name) {
                *count += 1;
            } else if self.foreign.len() < MAX_FOREIGN {
                self.foreign.insert(name.to_owned(), 1);
            }
        }
        if matches!(kind, FileKind::Rollouts | FileKind::Scored) {
            for (theirs, note) in OTHER_NAMES {
                if object.get(theirs).is_some() {
                    *self.other_names.entry(note).or_default() += 1;
                }
            }
        }
    }

    fn bad(&mut self, line: u64, field: Option<String>, reason: &str, fix: Option<String>) {
        let reason = plain(reason, MAX_REASON);
        self.report.add_bad(LineIssue { line, field, reason, fix }, self.shown);
    }

    fn finish(mut self) -> FileReport {
        let Some(kind) = self.report.kind else {
            let is_empty = self.report.lines == 0;
            let title = if is_empty { "an empty file" } else { "no line is a JSON object" };
            return FileReport { title: title.to_owned(), ..self.report };
        };
        kind.title().clone_into(&mut self.report.title);
        if self.scored > 0 && kind == FileKind::Rollouts {
            self.report
                .notes
                .push(format!("{} of {} lines are scored", self.scored, self.report.good));
        }
        let renamed = self.other_names.iter();
        self.report
            .notes
            .extend(renamed.map(|(note, count)| format!("{note} ({})", many(*count, "line"))));
        if self.ids.is_full() {
            self.report.notes.push(format!("ids are compared with the first {MAX_IDS} alone"));
        }
        let foreign = self.foreign.iter();
        self.report.foreign = foreign
            .map(|(name, &lines)| ForeignField {
                name: brief(name),
                lines,
                meant: meant(kind, name),
            })
            .collect();
        FileReport { ids: self.ids.counts(), ..self.report }
    }
}

/// Whether compressed data is at fault, and not the disk.
pub(super) fn is_broken_pack(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData
    )
}

/// Names of other tools that are read as ours.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("task_id", "another tool's `task_id` is read as `prompt_id`"),
    ("completion", "another tool's `completion` is read as `text`"),
    ("response", "another tool's `response` is read as `text`"),
];

/// The fix of a line that is not a JSON object.
fn fix_of_text(problem: &LineProblem) -> Option<String> {
    Some(match problem {
        LineProblem::Truncated { .. } => "write the file again, or delete its last line".to_owned(),
        LineProblem::NotUtf8 { .. } => "save the file as UTF-8".to_owned(),
        LineProblem::TooLong { .. } => "write one JSON object a line".to_owned(),
        LineProblem::Json { .. } => {
            "write one JSON object a line, with double quotes: `jq -c . FILE` does it".to_owned()
        }
        _ => return None,
    })
}

/// The fix of a line that is one of another kind.
fn other_kind(kind: FileKind, line: &Object) -> Option<String> {
    let Look::Kind(other) = look(line) else { return None };
    let are_replies =
        [kind, other].iter().all(|of| matches!(of, FileKind::Rollouts | FileKind::Scored));
    (other != kind && !are_replies).then(|| {
        let (name, title) = (other.name(), other.title());
        format!("it looks like a line of another kind, {title}: move it to a file of its own, or use `--as {name}`")
    })
}
