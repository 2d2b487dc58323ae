//! A run as one page: an HTML file that needs nothing but a browser.
//!
//! ```text
//! events.jsonl ────────────► feed ─┐
//! rollouts/*.jsonl ─► survey ──────┤
//! quickstart.json, config.toml ────┤      assets/report/: markup, style, scripts
//!                                  ▼                     │
//!                    page = template with chunks ◄───────┘
//! ```
//!
//! The template is fixed; data stands behind it in chunks that the page unpacks when somebody looks
//! at them. The feed is a list of records as the event journal has them, and a few more, so that a
//! page that is served while a run goes on can be fed the same way.
//!
//! Rollouts are read twice, line by line: once for the figures of every step, once for their texts.
//! What is held is a few numbers for each, never the texts. A page has bounds ([`limits`]): of a run
//! that is larger, the page has every figure, and the texts of every second, third, … step.
//!
//! Replies of models are hostile text. They reach the page only as packed bytes in an alphabet that
//! cannot end an element, and the page shows them only as text; the policy in its head lets no
//! script run but its own.
//!
//! A page holds the hidden tests of tasks, so that a person sees which one failed. It is for people:
//! a model that reads it has seen the tests that it is measured by.
//!
//! A page that is served while its run goes on is the same, with a cursor at its end; what is behind
//! the cursor is [`news`](live::news), which the page asks for.
//!
//! Not here: serving it. And no clock: the same run gives the same bytes.

mod chunk;
mod completions;
mod events;
mod figures;
pub mod limits;
pub mod live;
mod page;
mod rollouts;
mod shown;
mod survey;
mod tasks;
mod test_text;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use self::chunk::policy_hash;
use self::completions::{Surveyed, Written};
use self::live::Cursor;
use self::page::{Form, Page};
use self::survey::Survey;
use self::tasks::{Known, Wanted};
use crate::atomic::replace_with;
use crate::error::ViewError;
use crate::run_dir::RunView;

/// What a page is made of beside the run's own files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The tasks that the run learnt from; `None` for its own, if it has them: a
    /// quickstart prepares them, other runs have a copy.
    pub tasks: Option<&'a Path>,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contents {
    /// Events of the run.
    pub events: u64,
    /// Steps that have rollouts.
    pub steps: u64,
    /// Completions of the run, all of which are in the figures.
    pub completions: u64,
    /// Completions that can be read in the page.
    pub shown: u64,
    /// Tasks whose statement and tests are in the page.
    pub tasks: u64,
}

/// How far the writing of a page is: completions passed, of all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Where a run's page goes if nobody says otherwise.
pub fn default_path(view: &RunView) -> PathBuf {
    view.dir().join("report.html")
}

/// Writes the page of a run to `out`, whole or not at all.
pub fn write(
    view: &RunView,
    request: Request<'_>,
    out: &Path,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    let mut made = Ok(Contents::default());
    let written = replace_with(out, |file| {
        made = write_to(view, request, file, progress);
        match &made {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::other("the run could not be read")),
        }
    });
    let contents = made?;
    written?;
    Ok(contents)
}

/// Writes the text of a run's page.
pub fn write_to(
    view: &RunView,
    request: Request<'_>,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    let drawn = Drawn::read(view)?;
    let mut page = Page::begin(out, Form::File)?;
    let wanted = Wanted { given: request.tasks, unanswered_bytes: 0 };
    let (written, known) = drawn.write(view, wanted, &mut page, progress)?;
    page.end()?;
    Ok(Contents {
        events: drawn.cursor.events.records(),
        steps: drawn.survey.steps.len() as u64,
        completions: drawn.survey.completions,
        shown: written.completions,
        tasks: known.len() as u64,
    })
}

/// Every file of a run that a page is made from, or that says who writes it, whether it is there or not.
pub fn inputs(view: &RunView) -> Vec<PathBuf> {
    let mut inputs = rollouts::paths(view).unwrap_or_default();
    inputs.extend([view.config_path(), view.events_path()]);
    inputs.extend([view.lock_path(), tasks::own_path(view), figures::path(view)]);
    inputs
}

/// What is drawn of a run: read as a whole before anything is written.
#[derive(Debug)]
struct Drawn {
    survey: Survey,
    feed: Vec<u8>,
    cursor: Cursor,
}

impl Drawn {
    fn read(view: &RunView) -> Result<Self, ViewError> {
        let survey = survey::read(view)?;
        let mut feed = events::Feed::new(view)?;
        let events = feed.events(view)?;
        feed.steps(&survey);
        let figures = figures::read(view)?;
        if let Some((figures, _)) = &figures {
            feed.record(figures);
        }
        let figures_crc = figures.map_or(0, |(_, crc)| crc);
        let cursor = Cursor { events, rollouts: survey.reach, figures_crc };
        Ok(Self { survey, feed: feed.finish(), cursor })
    }

    /// Writes everything but the ends of the page.
    fn write(
        &self,
        view: &RunView,
        wanted: Wanted<'_>,
        page: &mut Page<'_>,
        progress: Progress<'_>,
    ) -> Result<(Written, Known), ViewError> {
        page.chunk("feed", &self.feed)?;
        page.scripts()?;
        let known = tasks::write(view, wanted, &self.survey, page)?;
        let of = Surveyed { survey: &self.survey, known: &known };
        let written = completions::write(view, of, page, progress)?;
        Ok((written, known))
    }
}

#[cfg(test)]
mod tests;
