//! Samples that were judged, kept as they come.
//!
//! A journal beside the file of samples has the samples of a task as soon as all of them are
//! judged, so a kill loses only what was in progress. Only an evaluation with the same settings can
//! resume from it. Samples that could not be judged are not in it: a resumed evaluation samples
//! them again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::vec;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::{Object, Wire};
use whetstone_record::atomic;
use whetstone_record::error::{LedgerError, ReadError};
use whetstone_record::journal::{self, Earlier, Journal, Position, Reader};
use whetstone_rollout::collect::record::TOKENIZER;

use crate::error::EvalError;

/// The version of the journal.
const VERSION: u64 = 1;

/// The first record: the settings.
#[derive(Serialize, Deserialize)]
struct Head {
    evaluating: u64,
    settings: BTreeMap<String, String>,
}

/// The key of a group of samples: the pass over the tasks, and the task.
type Asked = (u64, TaskId);

/// The samples of an evaluation.
pub(crate) struct Store {
    journal: Journal,
    kept: BTreeMap<Asked, BTreeSet<u64>>,
    /// Samples that could not be judged this time.
    failed: Vec<RolloutLine>,
}

impl Store {
    /// Opens the journal beside `output` and reads the samples in it.
    pub(crate) fn open(
        output: &Path,
        settings: &BTreeMap<String, String>,
        earlier: Earlier,
    ) -> Result<Self, EvalError> {
        let differences = |head: &str| differences(head, settings);
        let (journal, replay) = journal::open_beside(output, earlier, differences)?;
        let mut store = Self { journal, kept: BTreeMap::new(), failed: Vec::new() };
        if let Some(records) = replay {
            store.replay(records)?;
        } else {
            let head = Head { evaluating: VERSION, settings: settings.clone() };
            store.journal.append(&head).map_err(LedgerError::from)?;
        }
        Ok(store)
    }

    /// The number of samples of a task in a pass.
    pub(crate) fn count(&self, step: u64, task: &TaskId) -> usize {
        self.kept.get(&(step, task.clone())).map_or(0, BTreeSet::len)
    }

    /// The number of samples.
    pub(crate) fn len(&self) -> usize {
        self.kept.values().map(BTreeSet::len).sum()
    }

    /// Keeps a sample. One that is there already stays as it is.
    pub(crate) fn keep(&mut self, rollout: RolloutLine) -> Result<(), EvalError> {
        if matches!(rollout.score, Some(Score::Failed(_))) {
            self.failed.push(rollout);
        } else if self.is_new(&rollout) {
            self.journal.append(&rollout.to_object()).map_err(LedgerError::from)?;
        }
        Ok(())
    }

    /// Writes every sample to `output`: those that were judged, pass by pass in the order of the tasks,
    /// and then the others.
    pub(crate) fn write(&self, output: &Path, tasks: &[Task]) -> Result<(), EvalError> {
        self.journal.sync().map_err(LedgerError::from)?;
        let order: HashMap<&str, usize> =
            tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
        let place = |id: &str| order.get(id).copied().unwrap_or(usize::MAX);
        let judged = Ordered::new(self.journal.path(), place).map_err(LedgerError::from)?;
        // A group is requested as a whole: a sample that was judged before and not now is not a
        // failure.
        let mut failed: Vec<&RolloutLine> =
            self.failed.iter().filter(|rollout| !self.has(rollout)).collect();
        failed.sort_by_key(|rollout| {
            (rollout.step, place(rollout.prompt_id.as_str()), rollout.group_id)
        });
        let lines = judged
            .map(|line| line.map_err(io::Error::other))
            .chain(failed.into_iter().map(|rollout| Ok(rollout.to_line())));
        Ok(atomic::replace_with(output, |out| {
            for line in lines {
                writeln!(out, "{}", line?)?;
            }
            Ok(())
        })?)
    }

    /// Removes the journal, which is not needed any more.
    pub(crate) fn remove(self) -> Result<(), EvalError> {
        Ok(self.journal.remove().map_err(LedgerError::from)?)
    }

    fn replay(&mut self, records: Reader) -> Result<(), EvalError> {
        for record in records {
            let record = record.map_err(LedgerError::from)?;
            let read = serde_json::from_str::<Object>(&record.json).ok();
            let Some(rollout) = read.and_then(|object| RolloutLine::from_object(object).ok())
            else {
                let path = self.journal.path().to_owned();
                return Err(LedgerError::NotOurs { path }.into());
            };
            self.is_new(&rollout);
        }
        Ok(())
    }

    fn has(&self, rollout: &RolloutLine) -> bool {
        let kept = self.kept.get(&(rollout.step, rollout.prompt_id.clone()));
        kept.is_some_and(|kept| kept.contains(&rollout.group_id.unwrap_or_default()))
    }

    /// Notes a sample; says whether it was not there before.
    fn is_new(&mut self, rollout: &RolloutLine) -> bool {
        let kept = self.kept.entry((rollout.step, rollout.prompt_id.clone())).or_default();
        kept.insert(rollout.group_id.unwrap_or_default())
    }
}

/// The samples of a journal by pass, task and number. They are in the order of judging; only their
/// positions are held in memory, not their texts.
struct Ordered {
    path: PathBuf,
    places: vec::IntoIter<(Key, Position)>,
    reader: Reader,
}

/// By what samples are ordered: the pass, the task's place, the number.
type Key = (u64, usize, u64);

/// The fields of a sample that are read here.
#[derive(Deserialize)]
struct Named {
    step: u64,
    prompt_id: String,
    #[serde(default)]
    group_id: u64,
}

impl Ordered {
    fn new(path: &Path, place: impl Fn(&str) -> usize) -> Result<Self, ReadError> {
        let mut reader = journal::read(path)?;
        // The first record is the head.
        reader.next().transpose()?;
        let mut places = Vec::new();
        loop {
            let position = reader.place();
            let Some(record) = reader.next().transpose()? else { break };
            let Named { step, prompt_id, group_id } = reader.parse(&record)?;
            places.push(((step, place(&prompt_id), group_id), position));
        }
        places.sort_unstable_by_key(|(key, _)| *key);
        Ok(Self { path: path.to_owned(), places: places.into_iter(), reader })
    }

    fn read(&mut self, position: Position) -> Result<Option<String>, ReadError> {
        // Samples of one task are adjacent.
        if self.reader.place() != position {
            self.reader = journal::read_from(&self.path, position)?;
        }
        Ok(self.reader.next().transpose()?.map(|record| record.json))
    }
}

impl Iterator for Ordered {
    type Item = Result<String, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, position) = self.places.next()?;
        self.read(position).transpose()
    }
}

/// The settings that differ from those in a journal's head; `None` if it is not a head of an
/// evaluation.
fn differences(head: &str, settings: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let theirs: Head = serde_json::from_str(head).ok()?;
    if theirs.evaluating != VERSION {
        return Some(vec!["the version of whet".to_owned()]);
    }
    let names: BTreeSet<&String> = settings.keys().chain(theirs.settings.keys()).collect();
    let differs = |name: &&&String| settings.get(**name) != theirs.settings.get(**name);
    Some(names.iter().filter(differs).map(|name| format!("`{name}`")).collect())
}

/// A sample without its tokens, which only training needs.
pub(crate) fn without_tokens(mut rollout: RolloutLine) -> RolloutLine {
    // Either field may be absent. If present, this evaluation wrote it, so it can be parsed.
    for field in ["turns", TOKENIZER] {
        drop(rollout.meta.take::<IgnoredAny>(field));
    }
    rollout
}

/// A sample as it is kept.
pub(crate) fn kept(mut rollout: RolloutLine, is_greedy: bool) -> RolloutLine {
    if is_greedy {
        rollout.meta.put(GREEDY, &true);
    }
    rollout
}

/// The field of a sample's `meta` that says that it was not drawn by chance.
pub(crate) const GREEDY: &str = "greedy";
