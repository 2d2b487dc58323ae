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
//! Not here: serving it. And no clock: the same run gives the same bytes.

mod chunk;
mod completions;
mod events;
mod figures;
pub mod limits;
mod page;
mod rollouts;
mod shown;
mod survey;
mod tasks;
mod test_text;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::page::Page;
use crate::atomic::replace_with;
use crate::error::ViewError;
use crate::run_dir::RunView;

/// What a page is made of beside the run's own files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The tasks that the run learnt from; `None` for its own `train.jsonl`, if it has one.
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
    let mut page = Page::begin(out)?;
    let survey = survey::read(view)?;
    let events = feed(view, &survey, &mut page)?;
    page.scripts()?;
    let known = tasks::write(view, request.tasks, (&survey, &mut page))?;
    let shown = completions::write(view, (&survey, &known), &mut page, progress)?;
    page.end()?;
    Ok(Contents {
        events,
        steps: survey.steps.len() as u64,
        completions: survey.completions,
        shown,
        tasks: known.len() as u64,
    })
}

/// Writes all that is drawn; returns how many events there are.
fn feed(view: &RunView, survey: &survey::Survey, page: &mut Page<'_>) -> Result<u64, ViewError> {
    let mut feed = events::Feed::new(view)?;
    let events = feed.events(view)?;
    feed.steps(survey);
    figures::read(view)?.into_iter().for_each(|figures| feed.record(&figures));
    page.chunk("feed", &feed.finish())?;
    Ok(events)
}

#[cfg(test)]
mod tests;
