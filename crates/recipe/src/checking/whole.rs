//! Files that are read whole: events of a run, results of an evaluation, settings and stages.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use whetstone_config::{CheckedConfig, Place, Problem, Sources, StageFile};
use whetstone_core::{TaskId, with_causes};
use whetstone_eval::{EvalError, Results};
use whetstone_record::error::ReadError;
use whetstone_record::event::read_events;

use super::ids::SeenIds;
use super::kind::FileKind;
use super::report::{FileReport, LineIssue};
use crate::failure::Failure;
use crate::stages::plan::Plan;
use crate::text::many;

/// Bytes of a file of settings in which stages are looked for.
const MAX_TOML_BYTES: u64 = 1 << 20;

/// Checks the events of a run. Nothing behind a damaged line can be trusted, so reading ends there.
pub(super) fn events(path: &Path, shown: usize) -> Result<FileReport, ReadError> {
    let mut report = of_kind(path, FileKind::Events);
    for event in read_events(path)? {
        report.lines += 1;
        let Err(err) = event else {
            report.good += 1;
            continue;
        };
        if let ReadError::Read { .. } = err {
            return Err(err);
        }
        let (line, reason) = (report.lines, without_place(&err));
        let fix = matches!(err, ReadError::Torn { .. })
            .then(|| "`--resume` cuts an unfinished last event off".to_owned());
        report.add_bad(LineIssue { line, field: None, reason, fix }, shown);
    }
    Ok(report)
}

/// Checks the results of an evaluation.
pub(super) fn results(path: &Path) -> FileReport {
    let report = of_kind(path, FileKind::Results);
    match Results::read(path) {
        Ok(results) => {
            let mut ids = SeenIds::default();
            let names = results.by_task.iter().map(|task| TaskId::as_str(&task.id));
            for (at, name) in (1..).zip(names) {
                ids.note(name, at);
            }
            let ids = ids.counts();
            let repeated = ids.as_ref().map_or(0, |ids| ids.repeated);
            let lines = results.by_task.len() as u64;
            let mut report = FileReport { lines, good: lines - repeated, ids, ..report };
            if repeated > 0 {
                let reason = format!("counted twice: {}", many(repeated, "task"));
                let fix = Some("measure again: `whet eval --fresh`".to_owned());
                report.add_bad(
                    LineIssue { line: 0, field: Some("by_task".to_owned()), reason, fix },
                    1,
                );
            }
            report
        }
        Err(err) => {
            let reason = match err {
                EvalError::NotResults { problem, .. } => problem,
                err => with_causes(&err),
            };
            let fix = Some("measure again: `whet eval`".to_owned());
            let mut report = FileReport { lines: 1, ..report };
            report.add_bad(LineIssue { line: 0, field: None, reason, fix }, 1);
            report
        }
    }
}

/// Checks settings, or stages, which have settings.
pub(super) fn settings(path: &Path, kind: Option<FileKind>, shown: usize) -> FileReport {
    let kind = kind.unwrap_or_else(|| toml_kind(path));
    let (problems, warnings) = if kind == FileKind::Stages {
        (stage_problems(path), Vec::new())
    } else {
        let sources = Sources { files: vec![path.to_owned()], ..Sources::default() };
        let checked = CheckedConfig::of(sources.load(&[]));
        (checked.problems, checked.warnings)
    };
    let good = u64::from(problems.is_empty());
    let mut report = FileReport { lines: 1, good, ..of_kind(path, kind) };
    report.notes = warnings.iter().map(|warning| format!("warning: {}", warning.message)).collect();
    for problem in problems {
        report.add_bad(issue(problem), shown);
    }
    report
}

/// Everything that is wrong with a file of stages; its inputs need not be there.
fn stage_problems(path: &Path) -> Vec<Problem> {
    let plan = match StageFile::read(path) {
        Ok(file) => Plan::new(file, &[]),
        Err(problems) => return problems,
    };
    match plan {
        Ok(_) => Vec::new(),
        Err(Failure::Config(problems)) => problems,
        Err(other) => vec![Problem {
            place: None,
            key: None,
            message: other.to_string(),
            hint: other.hint().map(Cow::into_owned),
        }],
    }
}

fn issue(problem: Problem) -> LineIssue {
    let line = match problem.place {
        Some(Place::File { line, .. }) => line as u64,
        _ => 0,
    };
    LineIssue { line, field: problem.key, reason: problem.message, fix: problem.hint }
}

/// Stages if a line opens one, else settings.
fn toml_kind(path: &Path) -> FileKind {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_TOML_BYTES).read_to_end(&mut text));
    let opens = |line: &[u8]| line.trim_ascii_start().starts_with(b"[[stage]]");
    if read.is_ok() && text.split(|&byte| byte == b'\n').any(opens) {
        return FileKind::Stages;
    }
    FileKind::Settings
}

fn of_kind(path: &Path, kind: FileKind) -> FileReport {
    let title = kind.title().to_owned();
    FileReport { kind: Some(kind), title, ..FileReport::new(path) }
}

/// An error without its file and line, which stand elsewhere.
fn without_place(err: &ReadError) -> String {
    let text = with_causes(err);
    match text.split_once("` ") {
        Some((place, rest)) if place.starts_with("line ") => rest.to_owned(),
        _ => text,
    }
}
