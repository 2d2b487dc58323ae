//! The second pass: the output in the order of the input, and the lines that were set aside.
//!
//! A scored line is its own text with three fields behind; only a line that was scored before is
//! taken apart, to cut the old scores out.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use whetstone_core::wire::Wire;
use whetstone_record::atomic;
use whetstone_record::error::FileError;

use super::candidate::{self, Bad, Line};
use super::error::ScoreError;
use super::lines::{Lines, Took};
use super::records::{Found, InOrder};
use super::report::{BadLine, Report};
use super::table::{Entry, State, Table};
use super::tasks::Tasks;

/// Rejected lines that are named in the report.
const NAMED: usize = 100;

/// What the second pass reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Second<'a> {
    pub(super) rollouts: &'a Path,
    pub(super) digest: blake3::Hash,
    pub(super) journal: &'a Path,
    pub(super) tasks: &'a Tasks,
    pub(super) table: &'a Table,
}

impl Second<'_> {
    /// Writes the scored lines to `output` and counts them.
    pub(super) fn scored(&self, output: &Path, report: &mut Report) -> Result<(), ScoreError> {
        let mut results = InOrder::open(self.journal)?;
        replace(output, |out| {
            self.each_line(|at, took, bytes| {
                let entry = self.table.get(at);
                let scored = match entry.state {
                    State::Open => return Err(ScoreError::Lost { line: at + 1 }),
                    State::Aside | State::Rejected => return Ok(()),
                    State::Scored => true,
                    State::Failed => false,
                };
                let found = results.next(at, scored)?.ok_or(ScoreError::Lost { line: at + 1 })?;
                let own = self.own_fields(at, took, bytes, entry)?;
                report.lines += 1;
                self.count(&found, entry, report)?;
                write_line(out, &own, &found, entry.value).map_err(failed_at(output))
            })
        })
    }

    /// Writes the rejected lines to `output`, if there are any, and names them in the report.
    pub(super) fn rejected(&self, output: &Path, report: &mut Report) -> Result<(), ScoreError> {
        report.rejected = self.table.count(State::Rejected);
        report.lines += report.rejected;
        if report.rejected == 0 {
            // Those of an earlier run would be taken for this one's.
            return match std::fs::remove_file(output) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    Err(FileError { step: "remove", path: output.to_owned(), source }.into())
                }
                _ => Ok(()),
            };
        }
        replace(output, |out| {
            self.each_line(|at, took, bytes| {
                if self.table.get(at).state != State::Rejected {
                    return Ok(());
                }
                let Err(Bad(reason)) = candidate::read(took, bytes, at, self.tasks) else {
                    return Err(self.changed());
                };
                write_rejected(out, at + 1, &reason, bytes).map_err(failed_at(output))?;
                if report.rejected_lines.len() < NAMED {
                    report.rejected_lines.push(BadLine { line: at + 1, reason });
                }
                Ok(())
            })
        })
    }

    fn count(&self, found: &Found, entry: Entry, report: &mut Report) -> Result<(), ScoreError> {
        if let Some(error) = &found.error {
            report.count_failed(error);
            return Ok(());
        }
        let id = &self.tasks.get(entry.task).id;
        report.count_scored(found, id).map_err(|_| ScoreError::Lost { line: found.line + 1 })
    }

    /// The line's own fields: an object without its closing brace.
    fn own_fields<'b>(
        &self,
        at: u64,
        took: Took,
        bytes: &'b [u8],
        entry: Entry,
    ) -> Result<std::borrow::Cow<'b, str>, ScoreError> {
        if !entry.rescored {
            return candidate::own_text(bytes).map(Into::into).ok_or_else(|| self.changed());
        }
        match candidate::read(took, bytes, at, self.tasks) {
            Ok(Line::Rollout(candidate, _)) => {
                let mut line = candidate.to_line();
                line.pop();
                Ok(line.into())
            }
            _ => Err(self.changed()),
        }
    }

    /// Calls `each` with every line of the rollouts, and checks that they are still the same.
    fn each_line(
        &self,
        mut each: impl FnMut(u64, Took, &[u8]) -> Result<(), ScoreError>,
    ) -> Result<(), ScoreError> {
        let path = self.rollouts;
        let unreadable = |source| ScoreError::Rollouts { path: path.to_owned(), source };
        let mut lines = Lines::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        for at in 0.. {
            match lines.next_into(&mut bytes).map_err(unreadable)? {
                Took::End => break,
                took => each(at, took, &bytes)?,
            }
        }
        if lines.digest() == self.digest { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> ScoreError {
        ScoreError::Changed { path: self.rollouts.to_owned() }
    }
}

fn write_line(out: &mut impl Write, own: &str, found: &Found, advantage: f64) -> io::Result<()> {
    write!(out, "{own},\"validation\":")?;
    if let Some(error) = &found.error {
        #[derive(Serialize)]
        struct Failed<'a> {
            error: &'a str,
        }
        serde_json::to_writer(&mut *out, &Failed { error })?;
        return out.write_all(b"}\n");
    }
    let raw = |part: &Option<Box<serde_json::value::RawValue>>| {
        part.as_deref().map_or("null", serde_json::value::RawValue::get).to_owned()
    };
    write!(out, "{},\"reward\":{}", raw(&found.validation), raw(&found.reward))?;
    out.write_all(b",\"advantage\":")?;
    serde_json::to_writer(&mut *out, &advantage)?;
    out.write_all(b"}\n")
}

/// A rejected line: its text as it stood, or its bytes in hexadecimal if it is no text.
fn write_rejected(out: &mut impl Write, line: u64, reason: &str, bytes: &[u8]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Rejected<'a> {
        line: u64,
        reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
    }
    let text = std::str::from_utf8(bytes).ok();
    let hex = text.is_none().then(|| hex_of(bytes));
    serde_json::to_writer(&mut *out, &Rejected { line, reason, text, hex })?;
    out.write_all(b"\n")
}

fn hex_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Replaces a file whole, or leaves it as it was; an error of `write` is the one that is returned.
fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<std::fs::File>) -> Result<(), ScoreError>,
) -> Result<(), ScoreError> {
    let mut stopped = None;
    let written = atomic::replace_with(path, |out| {
        write(out).map_err(|err| {
            stopped = Some(err);
            io::Error::other("stopped")
        })
    });
    match stopped {
        Some(err) => Err(err),
        None => Ok(written?),
    }
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> ScoreError {
    move |source| FileError { step: "write", path: path.to_owned(), source }.into()
}
