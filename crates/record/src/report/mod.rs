//! A run as one page: an HTML file that needs nothing but a browser.
//!
//! ```text
//! events.jsonl ────────────► feed ─┐
//! rollouts/*.jsonl ─► survey ──────┤
//! quickstart.json, stages.json, …──┤      assets/report/: markup, style, scripts
//!                                  ▼                     │
//!                    page = template with chunks ◄───────┘
//! ```
//!
//! The template is fixed; data follows it in chunks that the page unpacks when they are needed. The
//! feed is a list of records of the event journal with a few more, so that a live page receives
//! updates in the same form.
//!
//! Rollouts are read twice, line by line: once for the statistics of every step, once for their
//! texts. Memory holds a few numbers for each, never the texts. A page has size limits
//! ([`limits`]): for a larger run, it has all statistics and the texts of every second, third, …
//! step.
//!
//! Replies of models are hostile text. They reach the page only as packed bytes in an alphabet that
//! cannot end an element, and the page shows them only as text; the policy in its head lets no
//! script run but its own.
//!
//! A page holds the hidden tests of tasks, so that a person sees which one failed. It is for people:
//! a model that reads it has seen the tests that it is measured by.
//!
//! An [`evaluation`] has a page of the same form: its figures and its samples.
//!
//! A live page is the same with a cursor at its end; updates after the cursor come from
//! [`news`](live::news), which the page polls.
//!
//! Not here: serving it. And no clock: the same run gives the same bytes.

mod chunk;
mod completions;
pub mod evaluation;
mod events;
mod figures;
mod game;
pub mod limits;
pub mod live;
mod page;
mod rollouts;
mod shown;
mod stage_rows;
mod survey;
mod tasks;
mod test_text;
mod turns;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use self::chunk::policy_hash;
use self::completions::{Surveyed, WrittenCompletion};
use self::live::Cursor;
use self::page::{Page, PageForm};
use self::survey::Survey;
use self::tasks::{Known, PageTasks};
use crate::atomic::replace_with;
use crate::error::ViewError;
use crate::run_dir::RunView;
use crate::stages;

/// The inputs of a page besides the run's own files.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageRequest<'a> {
    /// The tasks that the run learnt from; `None` for its own, if it has them: a
    /// quickstart prepares them, other runs have a copy.
    pub tasks: Option<&'a Path>,
}

/// The content of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contents {
    /// Events of the run.
    pub events: u64,
    /// Steps that have rollouts.
    pub steps: u64,
    /// Completions of the run; the statistics cover all of them.
    pub completions: u64,
    /// Completions that can be read in the page.
    pub shown: u64,
    /// Tasks whose statement and tests are in the page.
    pub tasks: u64,
}

/// Progress of writing a page: completions done, of all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The default path of a run's page.
pub fn default_path(view: &RunView) -> PathBuf {
    view.dir().join("report.html")
}

/// Writes the page of a run to `out`, atomically.
pub fn write(
    view: &RunView,
    request: PageRequest<'_>,
    out: &Path,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    write_page(out, |file| write_to(view, request, file, progress))
}

/// Writes a page to `out`, atomically.
fn write_page(
    out: &Path,
    page: impl FnOnce(&mut dyn Write) -> Result<Contents, ViewError>,
) -> Result<Contents, ViewError> {
    let mut made = Ok(Contents::default());
    let written = replace_with(out, |file| {
        made = page(file);
        match &made {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::other("the page could not be made")),
        }
    });
    let contents = made?;
    written?;
    Ok(contents)
}

/// Writes the text of a run's page.
pub fn write_to(
    view: &RunView,
    request: PageRequest<'_>,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    let drawn = Drawn::read(view, PageForm::File)?;
    let mut page = Page::begin(out, PageForm::File)?;
    let wanted = PageTasks { given: request.tasks, view: Some(view), unanswered_bytes: 0 };
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
    inputs.push(stages::path(view));
    inputs
}

/// The data of a run's page, read completely before anything is written.
#[derive(Debug)]
struct Drawn {
    survey: Survey,
    feed: Vec<u8>,
    cursor: Cursor,
}

impl Drawn {
    fn read(view: &RunView, form: PageForm) -> Result<Self, ViewError> {
        let survey = survey::read(view)?;
        let mut feed = events::Feed::new(view)?;
        let events = feed.events(view)?;
        feed.steps(&survey);
        let figures = figures::read(view)?;
        if let Some((figures, _)) = &figures {
            feed.record(figures);
        }
        let stages = stage_rows::read(view, form)?;
        if let Some((stages, _)) = &stages {
            feed.record(stages);
        }
        let figures_crc = figures.map_or(0, |(_, crc)| crc) ^ stages.map_or(0, |(_, crc)| crc);
        let cursor = Cursor { events, rollouts: survey.reach, figures_crc };
        Ok(Self { survey, feed: feed.finish(), cursor })
    }

    /// Writes everything but the ends of the page.
    fn write(
        &self,
        view: &RunView,
        wanted: PageTasks<'_>,
        page: &mut Page<'_>,
        progress: Progress<'_>,
    ) -> Result<(WrittenCompletion, Known), ViewError> {
        page.chunk("feed", &self.feed)?;
        page.scripts()?;
        let known = tasks::write(wanted, &self.survey, page)?;
        let of = Surveyed { survey: &self.survey, known: &known };
        let written = completions::write(rollouts::read(view)?, of, page, progress)?;
        Ok((written, known))
    }
}

#[cfg(test)]
mod tests;
