//! The progress of a training, as a checkpoint keeps it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_record::plain_file::read_plain;
use whetstone_rollout::collect::Group;
use whetstone_rollout::measure::Tally;

use super::STATE;
use crate::error::{CheckpointError, TrainError};
use crate::optimizer::{self, Optimizer};
use crate::ppo::PpoProgress;
use crate::student::Student;
use crate::successes::Successes;

const STATE_VERSION: u64 = 1;
/// Bytes of the file, at most: a line for each task.
const STATE_LIMIT_BYTES: u64 = 64 << 20;

/// The progress of a training: the part of a checkpoint beside weights and optimizer state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    v: u64,
    /// The training, e.g. `grpo`.
    pub stage: String,
    /// Steps that are done.
    pub step: u64,
    /// Items that were taken.
    pub position: u64,
    /// Updates that the optimizer made.
    pub updates: u64,
    /// Of each task: rollouts and how many of them passed before this epoch, and the same in all.
    pub solved: BTreeMap<String, [u64; 4]>,
    /// Of each task, where pass rates order them: rollouts in a row, over whole visits, that all solved it
    /// (above 0) or of which none did (below 0), before this epoch and in all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streaks: BTreeMap<String, [i64; 2]>,
    /// The epoch under way, where pass rates decide which tasks it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// Steps in a row without a group that is alive.
    pub dead_steps: u64,
    /// Steps in a row without a rollout that passed a test.
    pub unsolved_steps: u64,
    /// Past successes of tasks, where they are replayed.
    #[serde(default, skip_serializing_if = "Successes::is_empty")]
    pub successes: Successes,
    /// The state of PPO's rules, in a training with PPO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ppo: Option<PpoProgress>,
}

/// A pass over the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    /// Its number, from 0.
    pub number: u64,
    /// The position of its first task.
    pub first: u64,
}

/// Whether a step in which nothing can be learnt counts for `grpo.patience_steps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It does.
    Counts,
    /// Its tasks were hopeless, and others are not.
    Spared,
}

impl Progress {
    /// The beginning of a training.
    pub(crate) fn new(stage: &str) -> Self {
        Self { v: STATE_VERSION, stage: stage.to_owned(), ..Self::default() }
    }

    /// That of a checkpoint.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is one of another training.
    pub(super) fn read(dir: &Path, stage: &str) -> Result<Self, TrainError> {
        let damaged = |err| TrainError::damaged(dir, err);
        let text = read_plain(&dir.join(STATE), STATE_LIMIT_BYTES)
            .map_err(|err| damaged(CheckpointError::Read(err)))?;
        let progress: Self = serde_json::from_slice(&text)
            .map_err(|err| damaged(CheckpointError::State { file: STATE, source: err }))?;
        if progress.stage != stage {
            let (path, stage) = (dir.to_owned(), progress.stage);
            return Err(TrainError::OtherTraining { path, stage });
        }
        if progress.v != STATE_VERSION {
            return Err(damaged(CheckpointError::Version { file: STATE, version: progress.v }));
        }
        Ok(progress)
    }

    /// Counts the rollouts of a step; `floor` is that of a group that is alive.
    pub(crate) fn count(&mut self, groups: &[Group], floor: f64, patience: Patience) {
        let mut any = false;
        for group in groups {
            let [.., seen, passed] = self.solved.entry(group.task.to_string()).or_default();
            let Tally { samples, passed: more, .. } = Tally::of(group);
            (*seen, *passed) = (*seen + samples, *passed + more);
            any |= group.rollouts.iter().any(|rollout| rollout.outcome.got_anywhere());
        }
        let more = u64::from(patience == Patience::Counts);
        self.unsolved_steps = if any { 0 } else { self.unsolved_steps + more };
        let alive = groups.iter().any(|group| !group.is_dead(floor));
        self.dead_steps = if alive { 0 } else { self.dead_steps + more };
    }

    /// Counts how many rollouts in a row solved each task, or did not. A visit with something to learn ends
    /// a row, and so does one of the other kind.
    pub(crate) fn count_streaks(&mut self, groups: &[Group], floor: f64) {
        for group in groups.iter().filter(|group| !group.rollouts.is_empty()) {
            let [_, streak] = self.streaks.entry(group.task.to_string()).or_default();
            let rollouts = i64::try_from(group.rollouts.len()).unwrap_or(i64::MAX);
            *streak = if !group.is_dead(floor) {
                0
            } else if group.is_solved() {
                (*streak).max(0).saturating_add(rollouts)
            } else if group.is_unsolved() {
                (*streak).min(0).saturating_sub(rollouts)
            } else {
                0
            };
        }
    }

    /// The rollouts in a row that solved a task, or did not, before this epoch and in all.
    pub(crate) fn streak(&self, task: &str) -> [i64; 2] {
        self.streaks.get(task).copied().unwrap_or_default()
    }

    /// Resets the counts that stop a stalled training, so that it can be resumed.
    pub(crate) fn reset_patience(&mut self) {
        (self.dead_steps, self.unsolved_steps) = (0, 0);
    }

    /// Fixes the pass rates that the next epoch's order is made from.
    pub(crate) fn begin_epoch(&mut self) {
        for counts in self.solved.values_mut() {
            (counts[0], counts[1]) = (counts[2], counts[3]);
        }
        for streak in self.streaks.values_mut() {
            streak[0] = streak[1];
        }
    }
}

/// The training that a checkpoint is of, if it says so.
pub fn stage_of(dir: &Path) -> Option<String> {
    let text = read_plain(&dir.join(STATE), STATE_LIMIT_BYTES).ok()?;
    let state: serde_json::Value = serde_json::from_slice(&text).ok()?;
    state["stage"].as_str().map(str::to_owned)
}

/// The optimizer and the progress of a checkpoint; without one, those of a beginning.
///
/// # Errors
///
/// If the checkpoint cannot be read, or is one of another training.
pub(crate) fn restore(
    student: &Student,
    stage: &str,
    checkpoint: Option<&Path>,
) -> Result<(Optimizer, Progress), TrainError> {
    let (device, parameters) = (student.decoder.device(), student.decoder.parameters());
    let Some(dir) = checkpoint else {
        return Ok((Optimizer::new(device, parameters), Progress::new(stage)));
    };
    let progress = Progress::read(dir, stage)?;
    let path = dir.join(optimizer::FILE);
    let optimizer = Optimizer::read(device, parameters, &path, progress.updates)
        .map_err(|err| TrainError::damaged(dir, CheckpointError::Weights(err)))?;
    Ok((optimizer, progress))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Said, group, rollout, rollout_as};
    use whetstone_core::completion::Finish;
    use whetstone_core::verdict::Verdict;

    /// Counts a step of one group of two that are worth so much.
    fn step(progress: &mut Progress, worth: [f64; 2]) {
        let [first, second] = worth;
        let groups = [group("a", vec![rollout(0, &[7], first), rollout(1, &[8], second)])];
        progress.count(&groups, 0.01, Patience::Counts);
    }

    #[test]
    fn what_was_solved_is_counted_and_an_epoch_begins_with_what_is_known() {
        let mut progress = Progress::new("grpo");
        step(&mut progress, [1.0, 0.0]);
        assert_eq!(progress.solved["a"], [0, 0, 2, 1]);
        progress.begin_epoch();
        step(&mut progress, [1.0, 1.0]);
        assert_eq!(progress.solved["a"], [2, 1, 4, 3]);
    }

    #[test]
    fn steps_without_variance_and_without_a_passed_test_are_counted_in_a_row() {
        let mut progress = Progress::new("grpo");
        let counts = |progress: &Progress| (progress.dead_steps, progress.unsolved_steps);
        step(&mut progress, [0.0, 0.0]);
        assert_eq!(counts(&progress), (1, 1));
        step(&mut progress, [0.0, 0.5]);
        assert_eq!(counts(&progress), (0, 2), "different, and no test passed");
        step(&mut progress, [1.0, 1.0]);
        assert_eq!(counts(&progress), (1, 0));
        step(&mut progress, [1.0, 0.0]);
        assert_eq!(counts(&progress), (0, 0));
        progress.count(&[], 0.01, Patience::Counts);
        assert_eq!(counts(&progress), (1, 1), "nothing was judged");
        progress.reset_patience();
        assert_eq!(counts(&progress), (0, 0));
    }

    #[test]
    fn a_row_of_visits_that_teach_nothing_is_counted_in_rollouts() {
        let mut progress = Progress::new("grpo");
        let mut after = |worth: [f64; 2]| {
            let rollouts = vec![rollout(0, &[7], worth[0]), rollout(1, &[8], worth[1])];
            progress.count_streaks(&[group("a", rollouts)], 0.01);
            progress.streak("a")
        };
        assert_eq!(after([0.0, 0.0]), [0, -2]);
        assert_eq!(after([0.0, 0.0]), [0, -4]);
        assert_eq!(after([1.0, 1.0]), [0, 2], "the other way round");
        assert_eq!(after([1.0, 0.0]), [0, 0], "something to learn from");
        assert_eq!(after([1.0, 1.0]), [0, 2]);
        progress.begin_epoch();
        progress.count_streaks(&[group("a", Vec::new())], 0.01);
        assert_eq!(progress.streak("a"), [2, 2], "nothing was judged");
        assert_eq!(progress.streak("b"), [0, 0]);
    }

    #[test]
    fn the_state_of_an_earlier_version_is_read() {
        let text = r#"{"v":1,"stage":"grpo","step":2,"position":8,"updates":2,"solved":{"a":[0,0,4,1]},
            "dead_steps":0,"unsolved_steps":0}"#;
        let progress: Progress = serde_json::from_str(text).unwrap();
        assert_eq!((progress.epoch, progress.streak("a")), (None, [0, 0]));
        let again = serde_json::to_string(&progress).unwrap();
        assert!(!again.contains("streaks") && !again.contains("epoch"), "{again}");
    }

    #[test]
    fn one_group_of_many_is_enough() {
        let mut progress = Progress::new("grpo");
        let syntax = || {
            rollout_as(
                0,
                Said { ids: &[7], finish: Finish::Stop, verdict: Verdict::SyntaxError, worth: 0.0 },
            )
        };
        let dead = || group("a", vec![syntax(), syntax()]);
        let live = group("b", vec![rollout(0, &[7], 1.0), rollout(1, &[8], 0.0)]);
        progress.count(&[dead(), live, dead()], 0.01, Patience::Counts);
        assert_eq!((progress.dead_steps, progress.unsolved_steps), (0, 0));
    }
}
