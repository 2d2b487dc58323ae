//! Files of a user, looked at before a command reads them: what each is, which lines are right, and what is wrong
//! with the others. Behind `whet data check`.
//!
//! ```text
//! path ─► kind (by --as, name, or fields of the first line) ─► reader of that kind ─► report
//! ```
//!
//! Lines are read by the readers that the commands use, so a file that is right here is accepted there. One line is
//! in memory at a time, and of each id a digest. Not here: whether tests can be run and references pass them, which
//! `whet data validate` shows, and whether the tasks of a file of rollouts are there, which `whet score` says.

mod detect;
mod fix;
mod ids;
mod kind;
mod line;
mod lines;
mod report;
mod whole;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use whetstone_core::lines::next_line;
use whetstone_data::source::open_text;
use whetstone_record::error::ReadError;

pub use self::kind::FileKind;
use self::lines::LineCheck;
pub use self::report::{
    CheckReport, FileReport, ForeignField, IdCounts, LineIssue, RepeatedId, UnreadableFile,
};

/// Bytes of the first line that decide how a file is read.
const HEAD_BYTES: usize = 64 << 10;
/// What is said beside a compressed file.
const PACKED: &str = "compressed: `whet data prepare` and `whet data pairs --pairs` read it so, other commands need \
                      `gunzip`";

/// Files to check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Their paths.
    pub files: Vec<PathBuf>,
    /// What they are; found out if it is not given.
    pub kind: Option<FileKind>,
    /// Bad lines of a file that are named.
    pub shown: usize,
}

/// Checks files. One that cannot be read does not keep others from being checked.
pub fn check(request: &CheckRequest) -> CheckReport {
    let mut report = CheckReport { v: 1, ..CheckReport::default() };
    for file in &request.files {
        match check_file(file, request) {
            Ok(checked) => report.files.push(checked),
            Err(err) => report.unreadable.push(unreadable(file, request.kind, &err)),
        }
    }
    report
}

fn check_file(path: &Path, request: &CheckRequest) -> io::Result<FileReport> {
    let (kind, shown) = (request.kind, request.shown);
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let mut head = Vec::new();
    next_line(&mut open_text(path)?, &mut head, HEAD_BYTES)?;
    match kind.or_else(|| kind_by_head(path, &head)) {
        Some(FileKind::Events) => whole::events(path, shown).map_err(read_error),
        Some(FileKind::Results) => Ok(whole::results(path)),
        Some(FileKind::Settings | FileKind::Stages) => Ok(whole::settings(path, kind, shown)),
        kind => {
            if kind.is_none()
                && let Some(report) = no_lines(path, &head)
            {
                return Ok(report);
            }
            let mut report = LineCheck::new(path, kind, shown).run(open_text(path)?)?;
            if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz")) {
                report.notes.push(PACKED.to_owned());
            }
            Ok(report)
        }
    }
}

/// The kind of a file that is not read line by line, by its name and its first line.
fn kind_by_head(path: &Path, head: &[u8]) -> Option<FileKind> {
    let has_end = |end: &str| path.extension().is_some_and(|known| known.eq_ignore_ascii_case(end));
    if has_end("toml") || has_end("yaml") || has_end("yml") {
        return Some(FileKind::Settings);
    }
    if head.trim_ascii() == b"{" && has_end("json") {
        return Some(FileKind::Results);
    }
    let line = std::str::from_utf8(head).ok()?;
    let detect::Look::Kind(kind) = detect::look(&serde_json::from_str(line).ok()?) else { return None };
    (kind.is_whole() || kind == FileKind::Events).then_some(kind)
}

/// The report on a file that has no lines of JSON.
fn no_lines(path: &Path, head: &[u8]) -> Option<FileReport> {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let (title, note) = if head.starts_with(b"PAR1") {
        ("a Parquet file", "`whet data prepare` and `whet data pairs --pairs` read those of data sets")
    } else if start.starts_with(b"[") {
        ("one JSON list", "whet reads one object a line: `jq -c '.[]' FILE > FILE.jsonl`")
    } else if head.trim_ascii() == b"{" {
        ("JSON over several lines", "whet reads one object a line: `jq -c . FILE > FILE.jsonl`")
    } else {
        return None;
    };
    let mut report = FileReport { title: title.to_owned(), ..FileReport::new(path) };
    report.notes.push(note.to_owned());
    Some(report)
}

/// A file that cannot be read, with what to do about it.
fn unreadable(file: &Path, kind: Option<FileKind>, err: &io::Error) -> UnreadableFile {
    let hint = match err.kind() {
        io::ErrorKind::NotFound => match kind.or_else(|| FileKind::by_file_name(file)) {
            Some(kind) => kind.made_by().to_owned(),
            None => "check the path".to_owned(),
        },
        io::ErrorKind::IsADirectory => "name a file in it".to_owned(),
        _ => "check the path and its permissions".to_owned(),
    };
    UnreadableFile { file: file.to_owned(), problem: format!("cannot read: {err}"), hint }
}

fn read_error(err: ReadError) -> io::Error {
    match err {
        ReadError::Open { source, .. } | ReadError::Read { source, .. } => source,
        other => io::Error::other(other.to_string()),
    }
}
