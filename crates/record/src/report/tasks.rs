//! The tasks with completions: their statements, and the tests that decide.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::task::{Task, TaskId};

use super::limits::{self, CHUNK_BYTES, MAX_COMPLETION_BYTES, MAX_ROLLOUT_BYTES};
use super::page::Page;
use super::survey::Survey;
use super::test_text::{self, TestTexts};
use crate::error::{FileError, ViewError};
use crate::plain_file::open_plain;
use crate::run_dir::RunView;

/// File names of a run's own tasks: prepared by the run itself, or copied from its input.
const OWN: [&str; 2] = ["train.jsonl", "inputs/tasks.jsonl"];

/// Position of each task: its chunk, and its index there.
pub(super) type Known = HashMap<TaskId, (usize, usize)>;

/// Tasks that are being read.
type Tasks = Records<Task, BufReader<File>>;

#[derive(Serialize)]
struct ShownTask<'a> {
    statement: &'a str,
    /// None where they are too large to show.
    tests: Option<TestTexts>,
}

/// The tasks of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageTasks<'a> {
    /// Their path; `None` for the run's own.
    pub(super) given: Option<&'a Path>,
    /// The run, if it is one.
    pub(super) view: Option<&'a RunView>,
    /// Bytes of tasks without completions yet. A live page needs them later.
    pub(super) unanswered_bytes: usize,
}

/// Writes the tasks that have rollouts, and some that have none, in chunks.
pub(super) fn write(
    wanted: PageTasks<'_>,
    survey: &Survey,
    page: &mut Page<'_>,
) -> Result<Known, ViewError> {
    let mut known = Known::new();
    let Some(tasks) = open(wanted)? else { return Ok(known) };
    let mut chunks = TaskChunks::new("tasks");
    let mut room_bytes = wanted.unanswered_bytes;
    for read in tasks {
        let Numbered { record: task, .. } = read?;
        if known.contains_key(&task.id) || (room_bytes == 0 && !survey.tasks.contains(&task.id)) {
            continue;
        }
        let before = chunks.all_bytes;
        let place = chunks.add(&shown(&task), page)?;
        if !survey.tasks.contains(&task.id) {
            room_bytes = room_bytes.saturating_sub(chunks.all_bytes - before);
        }
        known.insert(task.id, place);
    }
    chunks.finish(page)?;
    Ok(known)
}

/// The tasks that the user named, or else those that are part of the run, if it has any.
fn open(wanted: PageTasks<'_>) -> Result<Option<Tasks>, ViewError> {
    let tasks = if let Some(path) = wanted.given {
        Records::open(path)?
    } else {
        let Some(view) = wanted.view else { return Ok(None) };
        let path = own_path(view);
        match open_plain(&path) {
            Ok(file) => Records::new(&path, BufReader::with_capacity(1 << 16, file)),
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(FileError::at("open", &path)(err).into()),
        }
    };
    Ok(Some(tasks.with_limit(MAX_ROLLOUT_BYTES)))
}

/// The path of a run's own tasks.
pub(super) fn own_path(view: &RunView) -> PathBuf {
    let [prepared, copied] = OWN.map(|name| view.dir().join(name));
    if prepared.exists() || !copied.exists() { prepared } else { copied }
}

fn shown(task: &Task) -> ShownTask<'_> {
    let (statement, _) = limits::cut(&task.statement, MAX_COMPLETION_BYTES);
    ShownTask { statement, tests: test_text::read(&task.tests) }
}

/// A list that is written in pieces: `NAME-0`, `NAME-1`, …, each a JSON array.
pub(super) struct TaskChunks {
    name: &'static str,
    written: usize,
    items: usize,
    text: Vec<u8>,
    /// Text of all items so far.
    all_bytes: usize,
}

impl TaskChunks {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, written: 0, items: 0, text: Vec::new(), all_bytes: 0 }
    }

    /// Adds an item; returns its chunk and its place there.
    pub(super) fn add(
        &mut self,
        item: &impl Serialize,
        page: &mut Page<'_>,
    ) -> Result<(usize, usize), ViewError> {
        if self.text.len() >= CHUNK_BYTES {
            self.flush(page)?;
        }
        self.text.push(if self.items == 0 { b'[' } else { b',' });
        let before = self.text.len();
        serde_json::to_writer(&mut self.text, item).map_err(std::io::Error::from)?;
        self.all_bytes += self.text.len() - before;
        self.items += 1;
        Ok((self.written, self.items - 1))
    }

    /// Writes the last chunk.
    pub(super) fn finish(mut self, page: &mut Page<'_>) -> Result<(), ViewError> {
        if self.items > 0 { self.flush(page) } else { Ok(()) }
    }

    fn flush(&mut self, page: &mut Page<'_>) -> Result<(), ViewError> {
        self.text.push(b']');
        page.chunk(&format!("{}-{}", self.name, self.written), &self.text)?;
        (self.written, self.items) = (self.written + 1, 0);
        self.text.clear();
        Ok(())
    }
}
