//! The second pass: proven tasks as they stood, dropped ones with their reason.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use whetstone_core::wire::Object;
use whetstone_record::batch::{BatchError, Input, InputDigest, Line, replace_output};
use whetstone_record::error::FileError;
use whetstone_sandbox::plan::equal_to_everything;

use super::finding::{Dropped, Finding};
use super::judging::Entry;
use super::report::{Came, DroppedTask, ProofSummary};

/// The source of a task that names none.
const NO_SOURCE: &str = "(none)";

/// The inputs of the second pass.
pub(super) struct Second<'a> {
    pub(super) input: Input<'a>,
    /// The digest of the files when they were judged.
    pub(super) digest: &'a InputDigest,
    pub(super) table: &'a [Entry],
}

impl Second<'_> {
    /// Counts everything.
    pub(super) fn count(&self, report: &mut ProofSummary) -> Result<(), BatchError> {
        self.each(|line, entry| {
            let (id, source) = names(line.content());
            let source = source.unwrap_or_else(|| NO_SOURCE.to_owned());
            let dropped = |dropped: &Dropped| {
                let (id, source) = (id.clone(), source.clone());
                Came::Dropped(DroppedTask { id, source, dropped: dropped.clone() })
            };
            match entry {
                Entry::Open | Entry::Blank => {}
                Entry::Bad(bad) => report.count(&source, dropped(bad)),
                Entry::Found(Finding::Proven { doubt }) => {
                    report.count(&source, Came::Proven);
                    for doubt in doubt.iter().cloned().chain(doubt_by_setup(line.content())) {
                        report.warn(id.clone(), doubt);
                    }
                }
                Entry::Found(Finding::Dropped(why)) => report.count(&source, dropped(why)),
                Entry::Failed(error) => report.count(&source, Came::Failed(error)),
            }
            Ok(())
        })
    }

    /// Writes the proven tasks.
    pub(super) fn proven(&self, output: &Path) -> Result<(), BatchError> {
        self.write(output, |line, entry, out| match entry {
            Entry::Found(Finding::Proven { .. }) => {
                match without_dropped(line.content()) {
                    Some(object) => serde_json::to_writer(&mut *out, &object)?,
                    None => out.write_all(line.content())?,
                }
                out.write_all(b"\n")
            }
            _ => Ok(()),
        })
    }

    /// Writes the tasks that were dropped, and why.
    pub(super) fn dropped(&self, output: &Path) -> Result<(), BatchError> {
        self.write(output, |line, entry, out| match entry {
            Entry::Found(Finding::Dropped(why)) | Entry::Bad(why) => {
                write_dropped(line, why, out)?;
                out.write_all(b"\n")
            }
            _ => Ok(()),
        })
    }

    fn write(
        &self,
        output: &Path,
        each: impl Fn(&Line<'_>, &Entry, &mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), BatchError> {
        replace_output(output, |out| {
            self.each(|line, entry| {
                Ok(each(line, entry, out).map_err(FileError::at("write", output))?)
            })
        })
    }

    /// Calls `each` with every line that was looked at, and checks that all are still the same.
    fn each(
        &self,
        mut each: impl FnMut(&Line<'_>, &Entry) -> Result<(), BatchError>,
    ) -> Result<(), BatchError> {
        self.input.each(self.digest, |line| {
            let entry = usize::try_from(line.at).ok().and_then(|at| self.table.get(at));
            entry.map_or(Ok(()), |entry| each(line, entry))
        })
    }
}

/// The task with its reason as an additional last field. A line that is not an object is quoted as
/// text in a new object; a line that is not text is left out.
fn write_dropped(line: &Line<'_>, why: &Dropped, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Bad<'a> {
        file: String,
        line: u64,
        text: Option<&'a str>,
        dropped: &'a Dropped,
    }
    let text = std::str::from_utf8(line.content()).ok();
    let Some(object) = text.and_then(|text| serde_json::from_str::<Object>(text).ok()) else {
        let file = line.file.display().to_string();
        let bad = Bad { file, line: line.number, text, dropped: why };
        return Ok(serde_json::to_writer(out, &bad)?);
    };
    if object.get("dropped").is_some() || object.is_empty() {
        let mut object = without_dropped(line.content()).unwrap_or_default();
        object.put("dropped", why);
        return Ok(serde_json::to_writer(out, &object)?);
    }
    let own = line.content().trim_ascii_end();
    out.write_all(own.strip_suffix(b"}").unwrap_or(own))?;
    out.write_all(b",\"dropped\":")?;
    serde_json::to_writer(&mut *out, why)?;
    out.write_all(b"}")
}

/// The line's object without the reason of an earlier validation, if it has one.
fn without_dropped(bytes: &[u8]) -> Option<Object> {
    // Most have none, and need not be read.
    if !bytes.windows(9).any(|window| window == b"\"dropped\"") {
        return None;
    }
    let mut object: Object = serde_json::from_slice(bytes).ok()?;
    object.get("dropped")?;
    object.take::<serde_json::Value>("dropped").ok()?;
    Some(object)
}

/// A doubt about a proven task that its setup reveals.
fn doubt_by_setup(bytes: &[u8]) -> Option<String> {
    // Most have none, and need not be read.
    if !bytes.windows(6).any(|window| window == b"__eq__") {
        return None;
    }
    let mut object: Object = serde_json::from_slice(bytes).ok()?;
    let class = equal_to_everything(&object.take::<String>("setup").ok()??)?;
    Some(format!(
        "objects of the setup's class `{class}` equal everything: a program that returns one passes \
         every comparison with it"
    ))
}

/// The id and the source that a line names, as far as it can be read.
fn names(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let Ok(mut object) = serde_json::from_slice::<Object>(bytes) else { return (None, None) };
    let mut text = |field| object.take::<String>(field).ok().flatten();
    (text("id"), text("source"))
}
