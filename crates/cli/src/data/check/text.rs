//! The report on files as a person reads it.

use whetstone_recipe::checking::{CheckReport, FileKind, FileReport, LineIssue};
use whetstone_recipe::text::{many, plain};

use crate::printer::{Printer, Tone};
use crate::summary::Lines;

/// Foreign fields that are shown.
const FOREIGN: usize = 10;
/// Characters of a reason that are shown.
const REASON: usize = 300;

/// The whole text.
pub(super) fn text(report: &CheckReport, printer: Printer) -> String {
    let mut text = Lines::new();
    for file in &report.files {
        about(&mut text, file, printer);
    }
    if text.is_empty() { String::new() } else { text.join("\n") + "\n" }
}

fn about(text: &mut Lines, file: &FileReport, printer: Printer) {
    let (word, tone) = if file.is_right() { ("ok", Tone::Good) } else { ("wrong", Tone::Bad) };
    let word = printer.toned(word, tone);
    text.push(format!("{}: {}, {word}", file.file.display(), file.title));
    if let Some(kind) = file.kind {
        counts(text, file, kind);
    }
    for issue in &file.problems {
        problem(text, issue);
    }
    let more = file.bad.saturating_sub(file.problems.len() as u64);
    if more > 0 {
        text.push(format!("    and {more} more; `--show N` shows more of them"));
    }
    ids(text, file);
    foreign(text, file);
    text.extend(file.notes.iter().map(|note| format!("  {note}")));
    if file.bad > 0
        && let Some(line) = file.kind.and_then(FileKind::good_line)
    {
        text.push(format!("  a line that is right: {line}"));
    }
}

fn counts(text: &mut Lines, file: &FileReport, kind: FileKind) {
    match kind {
        FileKind::Settings | FileKind::Stages => {
            text.push(format!("  {}", many(file.bad, "problem")));
        }
        FileKind::Results => text.push(format!("  {}", many(file.good, "task"))),
        _ => {
            let (lines, good, bad) = (many(file.lines, "line"), file.good, file.bad);
            text.push(format!("  {lines}: {good} right, {bad} wrong"));
        }
    }
}

fn problem(text: &mut Lines, issue: &LineIssue) {
    let place =
        if issue.line == 0 { "the file".to_owned() } else { format!("line {}", issue.line) };
    let field = issue.field.as_ref().map(|field| format!("`{field}`: ")).unwrap_or_default();
    text.push(format!("    {place}: {field}{}", plain(&issue.reason, REASON)));
    if let Some(fix) = &issue.fix {
        text.push(format!("      fix: {fix}"));
    }
}

fn ids(text: &mut Lines, file: &FileReport) {
    let Some(ids) = &file.ids else { return };
    text.push(match &ids.first {
        None => format!("  ids: {}, none stands twice", ids.distinct),
        Some(first) => format!(
            "  ids: {}, and {} with an id of an earlier line; the first is `{}` in line {}, as in line {}",
            ids.distinct,
            many(ids.repeated, "line"),
            first.id,
            first.line,
            first.earlier
        ),
    });
}

fn foreign(text: &mut Lines, file: &FileReport) {
    if file.foreign.is_empty() {
        return;
    }
    let shown = file.foreign.iter().take(FOREIGN).map(|field| {
        let meant = field.meant.map(|meant| format!(", did you mean `{meant}`?"));
        format!("{} ({}{})", field.name, many(field.lines, "line"), meant.unwrap_or_default())
    });
    let more = file.foreign.len().saturating_sub(FOREIGN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let shown = shown.collect::<Vec<_>>().join(", ");
    text.push(format!(
        "  fields that are not of this kind, and pass through unread: {shown}{more}"
    ));
}
