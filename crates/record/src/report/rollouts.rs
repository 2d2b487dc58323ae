//! The rollouts of a run, one by one, in the order in which they were written.

use std::path::{Path, PathBuf};
use std::{fs, vec};

use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::{Object, Wire};

use super::limits::MAX_ROLLOUT_BYTES;
use crate::error::{FileError, ReadError, ViewError};
use crate::journal::{self, Position, Reader, Record};
use crate::run_dir::RunView;

/// Labels of completions without a verdict.
const OTHERS: [&str; 5] = ["unjudged", "not_run", "unscored", "solved", "unsolved"];

/// Rollouts, one by one, and how far they were read.
#[derive(Debug)]
pub(super) struct Rollouts {
    folder: PathBuf,
    journals: Journals,
    /// The journal that is read now.
    reading: Option<Reader>,
    /// Those behind it.
    waiting: vec::IntoIter<PathBuf>,
}

/// The journals of a run, in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Journals {
    /// Number of rollouts.
    pub(super) count: usize,
    /// A crc of their names.
    pub(super) names_crc: u32,
}

/// The rollouts so far. One that is being written right now ends its journal.
pub(super) fn read(view: &RunView) -> Result<Rollouts, ViewError> {
    let (journals, paths) = list(view)?;
    let folder = view.rollouts_dir();
    Ok(Rollouts { folder, journals, reading: None, waiting: paths.into_iter() })
}

/// The rollouts of the last journal behind a place in it.
pub(super) fn read_from(view: &RunView, position: Position) -> Result<Rollouts, ViewError> {
    let (journals, mut paths) = list(view)?;
    let reading = paths.pop().map(|path| journal::read_from(&path, position)).transpose()?;
    let reading = reading.map(|reader| reader.with_limit(MAX_ROLLOUT_BYTES));
    let folder = view.rollouts_dir();
    Ok(Rollouts { folder, journals, reading, waiting: Vec::new().into_iter() })
}

/// The rollout journals of a run.
pub(super) fn journals(view: &RunView) -> Result<Journals, ViewError> {
    Ok(list(view)?.0)
}

/// The paths of the rollout journals.
pub(super) fn paths(view: &RunView) -> Result<Vec<PathBuf>, FileError> {
    Ok(list(view)?.1)
}

impl Rollouts {
    /// The folder they are in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The journals that existed at the beginning.
    pub(super) fn journals(&self) -> Journals {
        self.journals
    }

    /// The place behind the last rollout, in the journal that it came from.
    pub(super) fn place(&self) -> Position {
        self.reading.as_ref().map_or_else(Position::default, Reader::place)
    }

    /// The next rollout of the journal that is read now.
    fn next_here(&mut self) -> Option<Result<RolloutLine, ViewError>> {
        let reading = self.reading.as_mut()?;
        match reading.next()? {
            Ok(record) => Some(parse(reading.path(), &record)),
            Err(err) if err.is_torn() => None,
            Err(err) => Some(Err(err.into())),
        }
    }
}

impl Iterator for Rollouts {
    type Item = Result<RolloutLine, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.next_here();
            if found.is_some() {
                return found;
            }
            // The last journal is kept: later reads resume at its end.
            let path = self.waiting.next()?;
            match journal::read(&path) {
                Ok(reader) => self.reading = Some(reader.with_limit(MAX_ROLLOUT_BYTES)),
                Err(err) => return Some(Err(err.into())),
            }
        }
    }
}

/// The labels of completions, in the order in which a page counts them.
pub(super) fn verdicts() -> impl Iterator<Item = &'static str> {
    Verdict::NAMES.into_iter().chain(OTHERS)
}

/// The label of a completion: one of [`verdicts`].
pub(super) fn verdict(rollout: &RolloutLine) -> &'static str {
    match &rollout.score {
        Some(Score::Scored { outcome, .. }) => outcome.evidence.name(),
        Some(Score::Failed(_)) => "unjudged",
        None => "unscored",
    }
}

/// The place of [`verdict`] in [`verdicts`].
pub(super) fn verdict_number(rollout: &RolloutLine) -> usize {
    let name = verdict(rollout);
    verdicts().position(|verdict| verdict == name).unwrap_or(Verdict::NAMES.len())
}

fn list(view: &RunView) -> Result<(Journals, Vec<PathBuf>), FileError> {
    let dir = view.rollouts_dir();
    let mut paths = Vec::new();
    for entry in fs::read_dir(&dir).map_err(FileError::at("list", &dir))? {
        let path = entry.map_err(FileError::at("list", &dir))?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut names = crc32fast::Hasher::new();
    for path in &paths {
        names.update(path.as_os_str().as_encoded_bytes());
        names.update(b"\0");
    }
    Ok((Journals { count: paths.len(), names_crc: names.finalize() }, paths))
}

fn parse(path: &Path, record: &Record) -> Result<RolloutLine, ViewError> {
    let (path, line) = (path.to_owned(), record.line);
    match serde_json::from_str::<Object>(&record.json) {
        Ok(object) => RolloutLine::from_object(object).map_err(|source| ViewError::Rollout {
            path,
            line,
            source,
        }),
        Err(source) => Err(ReadError::WrongType { path, line, source }.into()),
    }
}
