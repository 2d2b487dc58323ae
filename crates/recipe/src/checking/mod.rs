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

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use whetstone_core::lines::next_line;
use whetstone_data::source::open_text;
use whetstone_eval::RESULTS;
use whetstone_record::error::ReadError;

pub use self::kind::FileKind;
use self::lines::{LineCheck, is_broken_pack};
pub use self::report::{
    CheckReport, FileReport, ForeignField, IdCounts, LineIssue, RepeatedId, UnreadableFile,
};

/// Bytes of the first line that decide how a file is read.
const HEAD_BYTES: usize = 64 << 10;
/// The note on a compressed file.
const PACKED: &str = "compressed: `whet data prepare` and `whet data pairs --pairs` read it so, other commands need \
                      `gunzip`";

/// Files to check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Their paths.
    pub files: Vec<PathBuf>,
    /// Their kind; found out if it is not given.
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
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !found.is_file() {
        return Err(io::Error::other("it is not a file, and is read twice"));
    }
    let mut head = Vec::new();
    match next_line(&mut open_text(path)?, &mut head, HEAD_BYTES) {
        Err(err) if !is_broken_pack(&err) => return Err(err),
        _ => {}
    }
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
        return holds_results(path).then_some(FileKind::Results);
    }
    let line = std::str::from_utf8(head).ok()?;
    let detect::Look::Kind(kind) = detect::look(&serde_json::from_str(line).ok()?) else {
        return None;
    };
    kind.is_whole().then_some(kind)
}

/// Whether a JSON document has the name or the figures of an evaluation.
fn holds_results(path: &Path) -> bool {
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut start));
    let has_figures = read.is_ok() && String::from_utf8_lossy(&start).contains("\"pass_at_k\"");
    has_figures || path.file_name().is_some_and(|name| name == RESULTS)
}

/// The report on a file that has no lines of JSON.
fn no_lines(path: &Path, head: &[u8]) -> Option<FileReport> {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let (title, note) = if head.starts_with(b"PAR1") {
        (
            "a Parquet file",
            "`whet data prepare` and `whet data pairs --pairs` read those of data sets",
        )
    } else if start.starts_with(b"[") {
        (
            "one JSON list",
            "`whet data prepare` and `whet data pairs --pairs` read those of data sets; for others, one object a line: \
             `jq -c '.[]' FILE > FILE.jsonl`",
        )
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
