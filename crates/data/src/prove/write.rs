//! The second pass: proven tasks as they stood, dropped ones with their reason.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::wire::Object;
use whetstone_record::atomic;
use whetstone_sandbox::plan::equal_to_everything;

use super::error::ProveError;
use super::finding::{Dropped, Finding};
use super::judging::Entry;
use super::lines::{Line, Lines};
use super::report::{Came, DroppedTask, Report};

/// The source of a task that names none.
const NO_SOURCE: &str = "(none)";

/// The inputs of the second pass.
pub(super) struct Second<'a> {
    pub(super) files: &'a [PathBuf],
    /// The digest of the files when they were judged.
    pub(super) digest: &'a str,
    pub(super) table: &'a [Entry],
}

impl Second<'_> {
    /// Counts everything.
    pub(super) fn count(&self, report: &mut Report) -> Result<(), ProveError> {
        self.each(|line, entry| {
            let (id, source) = names(&line.bytes);
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
                    for doubt in doubt.iter().cloned().chain(doubt_by_setup(&line.bytes)) {
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
    pub(super) fn proven(&self, output: &Path) -> Result<(), ProveError> {
        self.write(output, |line, entry, out| match entry {
            Entry::Found(Finding::Proven { .. }) => {
                match without_dropped(&line.bytes) {
                    Some(object) => serde_json::to_writer(&mut *out, &object)?,
                    None => out.write_all(&line.bytes)?,
                }
                out.write_all(b"\n")
            }
            _ => Ok(()),
        })
    }

    /// Writes the tasks that were dropped, and why.
    pub(super) fn dropped(&self, output: &Path) -> Result<(), ProveError> {
        self.write(output, |line, entry, out| match entry {
            Entry::Found(Finding::Dropped(why)) | Entry::Bad(why) => {
                write_dropped(line, why, out)?;
                out.write_all(b"\n")
            }
            _ => Ok(()),
        })
    }

    /// Replaces `output` whole, or leaves it as it was.
    fn write(
        &self,
        output: &Path,
        each: impl Fn(&Line, &Entry, &mut BufWriter<std::fs::File>) -> io::Result<()>,
    ) -> Result<(), ProveError> {
        let mut stopped = None;
        let written = atomic::replace_with(output, |out| {
            let mut failed = None;
            let passed = self.each(|line, entry| match each(line, entry, out) {
                Err(err) if failed.is_none() => {
                    failed = Some(err);
                    Ok(())
                }
                _ => Ok(()),
            });
            stopped = passed.err();
            match failed {
                Some(err) => Err(err),
                None if stopped.is_some() => Err(io::Error::other("stopped")),
                None => Ok(()),
            }
        });
        match stopped {
            Some(err) => Err(err),
            None => Ok(written?),
        }
    }

    /// Calls `each` with every line that was looked at, and checks that all are still the same.
    fn each(
        &self,
        mut each: impl FnMut(&Line, &Entry) -> Result<(), ProveError>,
    ) -> Result<(), ProveError> {
        let mut lines = Lines::of(self.files);
        while let Some(line) = lines.next()? {
            if let Some(entry) = self.table.get(line.at) {
                each(&line, entry)?;
            }
        }
        if lines.digest() == self.digest { Ok(()) } else { Err(ProveError::Changed) }
    }
}

/// The task with its reason as an additional last field. A line that is not an object is quoted as
/// text in a new object; a line that is not text is left out.
fn write_dropped(line: &Line, why: &Dropped, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Bad<'a> {
        file: String,
        line: u64,
        text: Option<&'a str>,
        dropped: &'a Dropped,
    }
    let text = std::str::from_utf8(&line.bytes).ok();
    let Some(object) = text.and_then(|text| serde_json::from_str::<Object>(text).ok()) else {
        let file = line.file.display().to_string();
        let bad = Bad { file, line: line.number, text, dropped: why };
        return Ok(serde_json::to_writer(out, &bad)?);
    };
    if object.get("dropped").is_some() || object.is_empty() {
        let mut object = without_dropped(&line.bytes).unwrap_or_default();
        object.put("dropped", why);
        return Ok(serde_json::to_writer(out, &object)?);
    }
    let own = line.bytes.trim_ascii_end();
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
