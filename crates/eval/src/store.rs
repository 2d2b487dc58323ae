//! Samples that were judged, kept as they come.
//!
//! A journal beside the file of samples has the samples of a task as soon as all of them are
//! judged, so a kill loses only what was in progress. Only an evaluation with the same settings can
//! resume from it. Samples that could not be judged are not in it: a resumed evaluation samples
//! them again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::{BatchError, Earlier, Head, Ledger, replace_output, replay};
use whetstone_record::error::FileError;

use crate::error::EvalError;

/// The version of the journal.
const VERSION: u64 = 1;

/// The key of a group of samples: the pass over the tasks, and the task.
type Asked = (u64, TaskId);

/// The samples of an evaluation.
pub(crate) struct Store {
    ledger: Ledger,
    /// The offsets of a group's judged samples in the journal, by their numbers.
    kept: BTreeMap<Asked, BTreeMap<u64, u64>>,
    /// Samples that could not be judged this time.
    failed: Vec<RolloutLine>,
}

impl Store {
    /// Opens the journal beside `output` and notes the samples in it.
    pub(crate) fn open(
        output: &Path,
        settings: &BTreeMap<String, String>,
        earlier: Earlier,
    ) -> Result<Self, EvalError> {
        let head = Head::new("evaluating", VERSION).with_entries("settings", settings);
        let (ledger, records) = Ledger::open(output, earlier, &head)?;
        let mut kept = BTreeMap::new();
        replay(records, |at, object: Object| {
            let not_ours = || BatchError::NotOurs { path: ledger.path().to_owned() };
            let rollout = RolloutLine::from_object(object).map_err(|_| not_ours())?;
            note(&mut kept, &rollout).or_insert(at.offset);
            Ok::<_, EvalError>(())
        })?;
        Ok(Self { ledger, kept, failed: Vec::new() })
    }

    /// The number of samples of a task in a pass.
    pub(crate) fn count(&self, step: u64, task: &TaskId) -> usize {
        self.kept.get(&(step, task.clone())).map_or(0, BTreeMap::len)
    }

    /// The number of samples.
    pub(crate) fn len(&self) -> usize {
        self.kept.values().map(BTreeMap::len).sum()
    }

    /// Keeps a sample. One that is there already stays as it is.
    pub(crate) fn keep(&mut self, rollout: RolloutLine) -> Result<(), EvalError> {
        if matches!(rollout.score, Some(Score::Failed(_))) {
            self.failed.push(rollout);
        } else if let Entry::Vacant(place) = note(&mut self.kept, &rollout) {
            place.insert(self.ledger.append(&rollout.to_object())?);
        }
        Ok(())
    }

    /// Writes every sample to `output`: those that were judged, pass by pass in the order of the tasks,
    /// and then the others.
    pub(crate) fn write(&self, output: &Path, tasks: &[Task]) -> Result<(), EvalError> {
        self.ledger.sync()?;
        let order: HashMap<&str, usize> =
            tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
        let place = |id: &TaskId| order.get(id.as_str()).copied().unwrap_or(usize::MAX);
        let mut groups: Vec<_> = self.kept.iter().collect();
        groups.sort_by_key(|((step, task), _)| (*step, place(task)));
        // A group is requested as a whole: a sample that was judged before and not now is not a
        // failure.
        let mut failed: Vec<&RolloutLine> =
            self.failed.iter().filter(|rollout| !self.has(rollout)).collect();
        failed.sort_by_key(|rollout| (rollout.step, place(&rollout.prompt_id), rollout.group_id));
        replace_output(output, |out| {
            let mut write = |line: &Object| {
                serde_json::to_writer(&mut *out, line)
                    .map_err(std::io::Error::from)
                    .and_then(|()| out.write_all(b"\n"))
                    .map_err(FileError::at("write", output))
            };
            for offset in groups.into_iter().flat_map(|(_, samples)| samples.values()) {
                write(&self.ledger.read(*offset)?)?;
            }
            failed.iter().try_for_each(|rollout| Ok(write(&rollout.to_object())?))
        })
    }

    /// Removes the journal, which is not needed any more.
    pub(crate) fn remove(self) -> Result<(), EvalError> {
        Ok(self.ledger.remove()?)
    }

    fn has(&self, rollout: &RolloutLine) -> bool {
        let kept = self.kept.get(&(rollout.step, rollout.prompt_id.clone()));
        kept.is_some_and(|kept| kept.contains_key(&rollout.group_id.unwrap_or_default()))
    }
}

/// The place of a sample among those that are kept.
fn note<'k>(
    kept: &'k mut BTreeMap<Asked, BTreeMap<u64, u64>>,
    rollout: &RolloutLine,
) -> Entry<'k, u64, u64> {
    let group = kept.entry((rollout.step, rollout.prompt_id.clone())).or_default();
    group.entry(rollout.group_id.unwrap_or_default())
}

/// A sample as it is kept.
pub(crate) fn kept(mut rollout: RolloutLine, is_greedy: bool) -> RolloutLine {
    if is_greedy {
        rollout.meta.put(GREEDY, &true);
    }
    rollout
}

/// Whether a sample is the greedy one of its task.
pub fn is_greedy(rollout: &RolloutLine) -> bool {
    rollout.meta.get(GREEDY) == Some("true")
}

/// The field of a sample's `meta` that says that it was not drawn by chance.
pub(crate) const GREEDY: &str = "greedy";
