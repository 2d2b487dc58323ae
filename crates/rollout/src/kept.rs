//! Rollouts that are kept as they come: of an evaluation, and of a model's replies that nobody judges.
//!
//! A journal beside the output has every rollout that is done, so a kill loses only what was in progress. Only
//! a command with the same settings can resume from it. Rollouts that failed are not in it: a resumed command
//! makes them again. The output is written once, in the order of the tasks and of the samples, whatever the
//! order in which they came.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::{BatchError, Earlier, Head, Ledger, replace_output, replay};
use whetstone_record::error::FileError;

/// The key of a group of rollouts: the step, and the task.
type GroupKey = (u64, TaskId);

/// The rollouts of a command, in a journal beside its output.
#[derive(Debug)]
pub struct KeptRollouts {
    ledger: Ledger,
    /// The offsets of a group's rollouts in the journal, by their numbers.
    kept: BTreeMap<GroupKey, BTreeMap<u64, u64>>,
    /// Rollouts that could not be judged this time.
    failed: Vec<RolloutLine>,
}

impl KeptRollouts {
    /// Opens the journal beside `output` and notes the rollouts in it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read, or belongs to work with another head.
    pub fn open(output: &Path, head: &Head, earlier: Earlier) -> Result<Self, BatchError> {
        let (ledger, records) = Ledger::open(output, earlier, head)?;
        let mut kept = BTreeMap::new();
        replay(records, |at, object: Object| {
            let not_ours = || BatchError::NotOurs { path: ledger.path().to_owned() };
            let rollout = RolloutLine::from_object(object).map_err(|_| not_ours())?;
            note(&mut kept, &rollout).or_insert(at.offset);
            Ok::<_, BatchError>(())
        })?;
        Ok(Self { ledger, kept, failed: Vec::new() })
    }

    /// The number of rollouts of a task in a step.
    pub fn count(&self, step: u64, task: &TaskId) -> usize {
        self.kept.get(&(step, task.clone())).map_or(0, BTreeMap::len)
    }

    /// The numbers below `group_size` that a group lacks, as ranges in order.
    pub fn missing(&self, step: u64, task: &TaskId, group_size: u64) -> Vec<Range<u64>> {
        let group = self.kept.get(&(step, task.clone()));
        let there = group.into_iter().flat_map(|group| group.keys().copied());
        let (mut missing, mut next) = (Vec::new(), 0);
        for number in there.take_while(|number| *number < group_size).chain([group_size]) {
            if next < number {
                missing.push(next..number);
            }
            next = number + 1;
        }
        missing
    }

    /// The number of rollouts.
    pub fn len(&self) -> usize {
        self.kept.values().map(BTreeMap::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Keeps a rollout. One that is there already stays as it is.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub fn keep(&mut self, rollout: RolloutLine) -> Result<(), BatchError> {
        if matches!(rollout.score, Some(Score::Failed(_))) {
            self.failed.push(rollout);
        } else if let Entry::Vacant(place) = note(&mut self.kept, &rollout) {
            place.insert(self.ledger.append(&rollout.to_object())?);
        }
        Ok(())
    }

    /// Writes every rollout to `output`: step by step in the order of the tasks, and then those that could not
    /// be judged. `each` is told every line of the first kind.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read back, or the output cannot be written.
    pub fn write<'t>(
        &self,
        output: &Path,
        tasks: impl IntoIterator<Item = &'t Task>,
        each: &mut dyn FnMut(&Object),
    ) -> Result<(), BatchError> {
        self.ledger.sync()?;
        let order: HashMap<&str, usize> =
            tasks.into_iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
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
                let line: Object = self.ledger.read(*offset)?;
                each(&line);
                write(&line)?;
            }
            failed.iter().try_for_each(|rollout| Ok(write(&rollout.to_object())?))
        })
    }

    /// Removes the journal, which is not needed any more.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn remove(self) -> Result<(), BatchError> {
        self.ledger.remove()
    }

    fn has(&self, rollout: &RolloutLine) -> bool {
        let kept = self.kept.get(&(rollout.step, rollout.prompt_id.clone()));
        kept.is_some_and(|kept| kept.contains_key(&rollout.group_id.unwrap_or_default()))
    }
}

/// The place of a rollout among those that are kept.
fn note<'k>(
    kept: &'k mut BTreeMap<GroupKey, BTreeMap<u64, u64>>,
    rollout: &RolloutLine,
) -> Entry<'k, u64, u64> {
    let group = kept.entry((rollout.step, rollout.prompt_id.clone())).or_default();
    group.entry(rollout.group_id.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(number: u64) -> RolloutLine {
        let line = format!(r#"{{"step":3,"prompt_id":"a","group_id":{number},"text":"t"}}"#);
        RolloutLine::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    }

    #[test]
    fn the_numbers_that_a_group_lacks_are_ranges_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let head = Head::new("sampling", 1);
        let mut kept = KeptRollouts::open(&dir.path().join("out"), &head, Earlier::Resume).unwrap();
        let id = rollout(0).prompt_id;
        let one_range = |range: Range<u64>| vec![range];
        assert_eq!(kept.missing(3, &id, 8), one_range(0..8));
        for number in [5, 1, 2, 9] {
            kept.keep(rollout(number)).unwrap();
        }
        assert_eq!(kept.missing(3, &id, 8), [0..1, 3..5, 6..8]);
        assert_eq!(kept.missing(3, &id, 6), [0..1, 3..5]);
        assert_eq!(kept.missing(4, &id, 2), one_range(0..2), "another step has none");
        for number in [0, 3, 4] {
            kept.keep(rollout(number)).unwrap();
        }
        assert!(kept.missing(3, &id, 6).is_empty());
    }
}
