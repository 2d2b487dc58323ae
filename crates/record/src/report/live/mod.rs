//! A live page: the page with a cursor at its end, and updates after a cursor.
//!
//! The client holds the cursor, so the server is stateless: after a restart it answers the pages of
//! the previous process. Journals are read from the cursor's position; only the rollouts of the
//! last step are read again, because more rollouts of that step may have arrived and its statistics
//! cover all of them. The rollouts of a step must be contiguous in a journal: if a step appeared
//! again much later, only the later rollouts would be counted.
//!
//! A response has a size limit: the remainder is left to the next one, and the response says so.

mod cursor;
mod news;

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

pub use self::cursor::{Cursor, NotACursor};
pub use self::news::{News, Texts, news};
use super::limits::{MAX_COMPLETIONS, MAX_STEPS, MAX_TEXT_BYTES};
use super::page::{Page, PageForm};
use super::tasks::PageTasks;
use super::{Drawn, completions::WrittenCompletion, tasks::Known};
use crate::error::ViewError;
use crate::run_dir::RunView;

/// Text of tasks that a page brings along for steps to come.
const UNANSWERED_BYTES: usize = 16 << 20;

/// A page that is ready to be written: what can fail has been read.
#[derive(Debug)]
pub struct LivePage {
    view: RunView,
    drawn: Drawn,
}

/// The input of the page's script.
#[derive(Serialize)]
struct LiveStart {
    cursor: String,
    /// Positions of tasks that may be answered later.
    places: BTreeMap<String, (usize, usize)>,
    text_bytes: u64,
    max_text_bytes: u64,
    max_completions: u64,
    max_steps: usize,
}

impl LivePage {
    /// Reads the data that a run's page draws.
    pub fn read(view: &RunView) -> Result<Self, ViewError> {
        Ok(Self { view: view.clone(), drawn: Drawn::read(view, PageForm::Live)? })
    }

    /// Writes the text of the page.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), ViewError> {
        let mut page = Page::begin(out, PageForm::Live)?;
        let view = Some(&self.view);
        let wanted = PageTasks { given: None, view, unanswered_bytes: UNANSWERED_BYTES };
        let (written, known) = self.drawn.write(&self.view, wanted, &mut page, &mut |_, _| {})?;
        page.chunk("start", &self.start(written, &known)?)?;
        Ok(page.end()?)
    }

    fn start(&self, written: WrittenCompletion, known: &Known) -> Result<Vec<u8>, ViewError> {
        let places = known.iter().map(|(task, &place)| (task.to_string(), place));
        let start = LiveStart {
            cursor: self.drawn.cursor.to_string(),
            places: places.collect(),
            text_bytes: written.text_bytes,
            max_text_bytes: 2 * MAX_TEXT_BYTES,
            max_completions: MAX_COMPLETIONS,
            max_steps: MAX_STEPS,
        };
        Ok(serde_json::to_vec(&start).map_err(std::io::Error::from)?)
    }
}

/// The content security policy of such a page.
pub fn policy() -> String {
    PageForm::Live.policy()
}

#[cfg(test)]
mod tests;
