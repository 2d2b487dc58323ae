//! The events and rollouts of a run after a cursor, as an update for the page.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use whetstone_core::rollout::RolloutLine;

use super::Cursor;
use crate::error::ViewError;
use crate::event;
use crate::journal::{self, Position};
use crate::report::chunk::pack;
use crate::report::completions::CompletionIndex;
use crate::report::figures;
use crate::report::limits::CHUNK_BYTES;
use crate::report::page::PageForm;
use crate::report::rollouts::{self, Journals};
use crate::report::shown::{SamplingFields, Shown};
use crate::report::stage_rows;
use crate::report::survey::{Survey, SurveyReach};
use crate::report::tasks::Known;
use crate::run_dir::RunView;

/// Events in an answer.
const MAX_EVENTS: usize = 2_000;
/// Text of these events.
const MAX_EVENT_TEXT_BYTES: usize = 8 << 20;
/// Completions in an answer.
const MAX_COMPLETIONS: usize = 4_096;

/// Whether completions come with their texts. A page that is full asks for figures alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// They do.
    Sent,
    /// Statistics only.
    LeftOut,
}

/// An update.
#[derive(Debug, Serialize)]
pub struct News {
    /// The cursor for the next request.
    cursor: String,
    /// Whether there is more already.
    more: bool,
    /// Whether a process is writing the run.
    is_written: bool,
    /// Records of the page's feed.
    records: Vec<Box<RawValue>>,
    completions: Option<NewCompletions>,
}

/// Completions that came: a chunk of the page, and their part of its index.
#[derive(Debug, Serialize)]
struct NewCompletions {
    index: CompletionIndex,
    chunk: String,
    text_bytes: u64,
}

/// The update after a cursor; `None` if the run was replaced by another one.
pub fn news(view: &RunView, cursor: &Cursor, texts: Texts) -> Result<Option<News>, ViewError> {
    match read(view, cursor, texts) {
        Err(ViewError::Read(err)) if err.is_moved() => Ok(None),
        read => read,
    }
}

fn read(view: &RunView, cursor: &Cursor, texts: Texts) -> Result<Option<News>, ViewError> {
    let journals = rollouts::journals(view)?;
    if !goes_on(cursor.rollouts.journals, journals) {
        return Ok(None);
    }
    // Asked first: a run that ends meanwhile has its last event by then.
    let is_written = view.is_written()?;
    let mut records = Vec::new();
    let (events, more_events) = new_events(view, cursor.events, &mut records)?;
    let mut fresh = Fresh::new(texts);
    let (reach, more_rollouts) = fresh.read(view, cursor.rollouts, &mut records)?;
    let figures_crc = new_figures(view, cursor.figures_crc, &mut records)?;
    let rollouts = SurveyReach { journals, ..reach };
    Ok(Some(News {
        cursor: Cursor { events, rollouts, figures_crc }.to_string(),
        more: more_events || more_rollouts,
        is_written,
        records,
        completions: fresh.finish()?,
    }))
}

/// Whether journals are those that were followed: the same names, or the first of all.
fn goes_on(before: Journals, now: Journals) -> bool {
    before == now || (before.count == 0 && now.count == 1)
}

/// Adds the events behind a place; returns the place behind them, and whether there are more.
fn new_events(
    view: &RunView,
    position: Position,
    records: &mut Vec<Box<RawValue>>,
) -> Result<(Position, bool), ViewError> {
    let path = view.events_path();
    let mut reader = journal::read_from(&path, position)?.with_limit(event::MAX_EVENT_BYTES);
    let mut bytes = 0;
    while let Some(record) = reader.next() {
        let record = match record {
            Err(err) if err.is_torn() => break,
            record => record?,
        };
        event::parse(&path, &record)?;
        bytes += record.json.len();
        records.push(RawValue::from_string(record.json).map_err(std::io::Error::from)?);
        if records.len() == MAX_EVENTS || bytes >= MAX_EVENT_TEXT_BYTES {
            return Ok((reader.place(), true));
        }
    }
    Ok((reader.place(), false))
}

/// Adds figures and stages if they are others than before; returns their crc.
fn new_figures(
    view: &RunView,
    before_crc: u32,
    records: &mut Vec<Box<RawValue>>,
) -> Result<u32, ViewError> {
    let (figures, stages) = (figures::read(view)?, stage_rows::read(view, PageForm::Live)?);
    let crc = |one: Option<u32>| one.unwrap_or(0);
    let crc = crc(figures.as_ref().map(|one| one.1)) ^ crc(stages.as_ref().map(|one| one.1));
    if crc != before_crc {
        if let Some((figures, _)) = &figures {
            records.push(raw(figures)?);
        }
        if let Some((stages, _)) = &stages {
            records.push(raw(stages)?);
        }
    }
    Ok(crc)
}

/// Completions that are being gathered.
struct Fresh {
    texts: Texts,
    index: CompletionIndex,
    /// The chunk so far, a JSON array without its end.
    chunk: Vec<u8>,
    text_bytes: u64,
    completions: usize,
}

impl Fresh {
    fn new(texts: Texts) -> Self {
        Self {
            texts,
            index: CompletionIndex::new(),
            chunk: Vec::new(),
            text_bytes: 0,
            completions: 0,
        }
    }

    /// Reads new records and adds the statistics of their steps; returns the position, and whether
    /// there is more.
    fn read(
        &mut self,
        view: &RunView,
        from: SurveyReach,
        records: &mut Vec<Box<RawValue>>,
    ) -> Result<(SurveyReach, bool), ViewError> {
        if rollouts::read_from(view, from.end)?.next().transpose()?.is_none() {
            return Ok((from, false));
        }
        let mut rollouts = rollouts::read_from(view, from.last_step)?;
        let mut survey = Survey::of(view);
        loop {
            let is_new = rollouts.place().records() >= from.end.records();
            if is_new && self.is_full() {
                break;
            }
            let Some(rollout) = survey.next(&mut rollouts)? else { break };
            if is_new {
                self.add(rollout)?;
            }
        }
        survey.end(&rollouts);
        for step in survey.records() {
            records.push(raw(&step)?);
        }
        Ok((survey.reach, self.is_full()))
    }

    fn is_full(&self) -> bool {
        self.chunk.len() >= CHUNK_BYTES || self.completions >= MAX_COMPLETIONS
    }

    fn add(&mut self, mut rollout: RolloutLine) -> Result<(), ViewError> {
        self.completions += 1;
        if self.texts == Texts::LeftOut {
            return Ok(());
        }
        let sampled = SamplingFields::take(&mut rollout);
        let shown = Shown::new(&rollout, sampled);
        self.text_bytes += shown.text_bytes();
        self.chunk.push(if self.chunk.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.chunk, &shown).map_err(std::io::Error::from)?;
        self.index.enter(&rollout, &Known::new());
        Ok(())
    }

    fn finish(mut self) -> Result<Option<NewCompletions>, ViewError> {
        if self.chunk.is_empty() {
            return Ok(None);
        }
        self.chunk.push(b']');
        self.index.chunks.push(self.completions);
        let (index, text_bytes) = (self.index, self.text_bytes);
        Ok(Some(NewCompletions { index, chunk: pack(&self.chunk)?, text_bytes }))
    }
}

fn raw(record: &impl Serialize) -> Result<Box<RawValue>, ViewError> {
    Ok(to_raw_value(record).map_err(std::io::Error::from)?)
}
