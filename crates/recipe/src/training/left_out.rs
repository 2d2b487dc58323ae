//! Tasks and traces that a training leaves out, and warnings if nothing is left of a source.

use std::path::Path;

use whetstone_core::Task;
use whetstone_core::survivors::Survivors;
use whetstone_core::task::TaskId;
use whetstone_data::rows::{LeftOut, Made};

use crate::observer::Observer;
use crate::text::plain;

/// Characters of a source's name that are shown.
const NAME: usize = 60;

/// Traces of one file, by the source of their tasks.
#[derive(Debug)]
pub(crate) struct Traces {
    file: String,
    max_tokens: usize,
    whole: Survivors,
    by_source: Survivors,
}

impl Traces {
    /// For a file whose rows may have this many tokens.
    pub(crate) fn new(file: &Path, max_tokens: usize) -> Self {
        let (whole, by_source) = (Survivors::default(), Survivors::default());
        Self { file: plain(&file.display().to_string(), 200), max_tokens, whole, by_source }
    }

    /// Counts what became of these traces.
    pub(crate) fn made<'a>(&mut self, ids: impl IntoIterator<Item = &'a TaskId>, made: &Made) {
        let mut left_out = made.left_out.iter().peekable();
        for (at, id) in ids.into_iter().enumerate() {
            let reason = left_out.next_if(|(place, _)| *place == at).map(|(_, reason)| *reason);
            self.count(id, reason.map(|reason| self.words(reason)).as_deref());
        }
    }

    /// Counts a trace of a task that is not trained on.
    pub(crate) fn of_another_task(&mut self, id: &TaskId) {
        self.count(id, Some("of tasks that are not trained on"));
    }

    /// Warns if nothing is left of the file or of one of its sources.
    pub(crate) fn warn(&self, observer: &dyn Observer) {
        let whole = self.whole.lost("trace");
        let parts = if whole.is_empty() { self.by_source.lost("trace") } else { whole };
        for sentence in parts {
            observer.warning(&sentence);
        }
    }

    fn count(&mut self, id: &TaskId, reason: Option<&str>) {
        let file = format!("`{}`", self.file);
        let source = plain(id.as_str().split('/').next().unwrap_or_default(), NAME);
        let part = format!("the traces of `{source}` in {file}");
        for (survivors, name) in [(&mut self.whole, file), (&mut self.by_source, part)] {
            match reason {
                None => survivors.keep(&name),
                Some(reason) => survivors.leave_out(&name, reason),
            }
        }
    }

    fn words(&self, reason: LeftOut) -> String {
        match reason {
            LeftOut::NotPassing => "that do not pass".to_owned(),
            LeftOut::NoResponse => "without a program".to_owned(),
            LeftOut::TooLong => format!("longer than {} tokens", self.max_tokens),
        }
    }
}

/// Warns if nothing is left of a source of tasks.
pub(crate) fn tasks<'a>(
    tasks: impl IntoIterator<Item = (&'a Task, bool)>,
    reason: &str,
    observer: &dyn Observer,
) {
    let mut found = Survivors::default();
    for (task, is_kept) in tasks {
        let source = task.source.as_deref().unwrap_or("no source");
        let source = format!("the source `{}`", plain(source, NAME));
        if is_kept { found.keep(&source) } else { found.leave_out(&source, reason) }
    }
    for sentence in found.lost("task") {
        observer.warning(&sentence);
    }
}
