//! The second pass: the output in the order of the input, and the lines that were set aside.
//!
//! A scored line is its own text with three fields behind; only a line that was scored before is
//! taken apart, to cut the old scores out.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use whetstone_core::extract::Cause;
use whetstone_core::rejected::RejectedLine;
use whetstone_core::rollout::cause_of;
use whetstone_core::wire::Wire;
use whetstone_record::batch::{Input, InputDigest, Line, replace_output};
use whetstone_record::error::FileError;

use super::candidate::{self, Bad, Content};
use super::error::ScoreError;
use super::records::Found;
use super::report::{BadLine, ScoreSummary};
use super::results::Results;
use super::table::{Entry, EntryState};
use crate::tasks::Tasks;

/// Rejected lines that are named in the report.
const NAMED: usize = 100;

/// What the second pass reads.
#[derive(Clone, Copy)]
pub(super) struct Second<'a> {
    pub(super) input: Input<'a>,
    pub(super) digest: &'a InputDigest,
    pub(super) tasks: &'a Tasks,
    pub(super) results: &'a Results,
}

impl Second<'_> {
    /// Writes the scored lines to `output` and counts them.
    pub(super) fn scored(
        &self,
        output: &Path,
        report: &mut ScoreSummary,
    ) -> Result<(), ScoreError> {
        replace_output(output, |out| {
            self.input.each(self.digest, |line| {
                let entry = self.results.table.get(line.at);
                // A line that is still open has no record, which reading it says.
                if matches!(entry.state, EntryState::Aside | EntryState::Rejected) {
                    return Ok(());
                }
                let found = self.results.read(line.at, entry)?;
                let own = self.own_fields(line, entry)?;
                report.lines += 1;
                self.count(&found, entry, report)?;
                self.count_cause(&found, line, report);
                let written = write_line(out, &own, &found, entry.value);
                Ok(written.map_err(FileError::at("write", output))?)
            })
        })
    }

    /// Writes the rejected lines to `output`, if there are any, and names them in the report.
    pub(super) fn rejected(
        &self,
        output: &Path,
        report: &mut ScoreSummary,
    ) -> Result<(), ScoreError> {
        report.rejected = self.results.table.count(EntryState::Rejected);
        report.lines += report.rejected;
        if report.rejected == 0 {
            // Those of an earlier run would be taken for this one's.
            return match std::fs::remove_file(output) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    Err(FileError::at("remove", output)(source).into())
                }
                _ => Ok(()),
            };
        }
        replace_output(output, |out| {
            self.input.each(self.digest, |line| {
                if self.results.table.get(line.at).state != EntryState::Rejected {
                    return Ok(());
                }
                let Err(Bad(reason)) = candidate::read(line, self.tasks) else {
                    return Err(self.input.changed().into());
                };
                let number = line.at + 1;
                let rejected = RejectedLine::new(number, &reason, &line.bytes);
                writeln!(out, "{}", rejected.to_line()).map_err(FileError::at("write", output))?;
                if report.rejected_lines.len() < NAMED {
                    report.rejected_lines.push(BadLine { line: number, reason });
                }
                Ok(())
            })
        })
    }

    fn count(
        &self,
        found: &Found,
        entry: Entry,
        report: &mut ScoreSummary,
    ) -> Result<(), ScoreError> {
        if let Some(error) = &found.error {
            report.count_failed(error);
            return Ok(());
        }
        let id = &self.tasks.get(entry.task).id;
        report.count_scored(found, id).map_err(|_| self.input.changed().into())
    }

    /// Counts the cause of a verdict that is about the form of the reply.
    fn count_cause(&self, found: &Found, line: &Line<'_>, report: &mut ScoreSummary) {
        let Some(judgement) = found.judgement() else { return };
        let verdict = judgement.verdict();
        // Most replies have none, and are not read again.
        if Cause::is_of_form(verdict)
            && let Ok(Content::Rollout(candidate, _)) = candidate::read(line, self.tasks)
            && let Some(cause) = cause_of(verdict, &candidate.text, &candidate.meta)
        {
            report.causes.add(verdict, cause);
        }
    }

    /// The line's own fields: an object without its closing brace.
    fn own_fields<'l>(&self, line: &'l Line<'_>, entry: Entry) -> Result<Cow<'l, str>, ScoreError> {
        if !entry.rescored {
            let own = candidate::own_text(line).map(Cow::from);
            return own.ok_or_else(|| self.input.changed().into());
        }
        match candidate::read(line, self.tasks) {
            Ok(Content::Rollout(candidate, _)) => {
                let mut own = candidate.to_line();
                own.pop();
                Ok(own.into())
            }
            _ => Err(self.input.changed().into()),
        }
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
