//! The completions that can be read in a page: their texts in chunks, and an index of them all.
//!
//! The index has a column for each thing that is filtered by, so that nothing is unpacked to find a
//! completion by its step, task or verdict. It stands behind the chunks, when their places are known.

use std::collections::HashMap;

use serde::Serialize;
use whetstone_core::rollout::{Rollout, Score};
use whetstone_core::task::TaskId;

use super::limits::MAX_TEXT_BYTES;
use super::page::Page;
use super::shown::{Sampled, Shown};
use super::survey::{Survey, reward, round};
use super::tasks::{Chunks, Known};
use super::{Progress, rollouts};
use crate::error::ViewError;
use crate::run_dir::RunView;

/// How often progress is told, in completions.
const TOLD_EVERY: u64 = 512;

/// One entry for each completion, by columns.
#[derive(Debug, Default, Serialize)]
struct Index<'a> {
    verdicts: &'a [&'static str],
    /// Names, which `task` counts.
    tasks: Vec<String>,
    /// For each task its chunk and its place there, where the task itself is known.
    places: Vec<Option<(usize, usize)>>,
    step: Vec<u64>,
    task: Vec<usize>,
    sample: Vec<Option<u64>>,
    verdict: Vec<usize>,
    reward: Vec<Option<f64>>,
    advantage: Vec<Option<f64>>,
    /// How many completions each chunk has.
    chunks: Vec<usize>,
    /// Every how many steps texts are there.
    stride: usize,
    /// Completions of the run.
    all: u64,
}

struct Writing<'a> {
    index: Index<'a>,
    numbers: HashMap<TaskId, usize>,
    known: &'a Known,
    chunks: Chunks,
    text_bytes: u64,
}

/// Writes the completions and their index; returns how many there are.
pub(super) fn write(
    view: &RunView,
    (survey, known): (&Survey, &Known),
    page: &mut Page<'_>,
    progress: Progress<'_>,
) -> Result<u64, ViewError> {
    let stride = survey.text_stride();
    let steps: HashMap<u64, usize> =
        survey.steps.keys().enumerate().map(|(at, &step)| (step, at)).collect();
    let all = survey.completions;
    let mut writing = Writing::new(known, Index { stride, all, ..Index::default() });
    // What was written since the survey is not in its figures, and waits for the next page.
    let rollouts = rollouts::read(view)?.take(usize::try_from(all).unwrap_or(usize::MAX));
    for (passed, rollout) in (1..).zip(rollouts) {
        let rollout = rollout?;
        let at = steps.get(&rollout.step).copied().unwrap_or(0);
        // Steps alone do not bound the text: one step can be as large as a run.
        if at.is_multiple_of(stride) && writing.text_bytes < 2 * MAX_TEXT_BYTES {
            writing.add(rollout, page)?;
        }
        if passed % TOLD_EVERY == 0 || passed == all {
            progress(passed, all);
        }
    }
    writing.finish(page)
}

impl<'a> Writing<'a> {
    fn new(known: &'a Known, index: Index<'a>) -> Self {
        Self {
            index: Index { verdicts: &rollouts::VERDICTS, ..index },
            numbers: HashMap::new(),
            known,
            chunks: Chunks::new("completions"),
            text_bytes: 0,
        }
    }

    fn add(&mut self, mut rollout: Rollout, page: &mut Page<'_>) -> Result<(), ViewError> {
        let sampled = Sampled::take(&mut rollout);
        let shown = Shown::new(&rollout, sampled);
        self.text_bytes += shown.text_bytes();
        let (chunk, _) = self.chunks.add(&shown, page)?;
        self.index.chunks.resize(chunk + 1, 0);
        self.index.chunks[chunk] += 1;
        self.enter(&rollout);
        Ok(())
    }

    fn enter(&mut self, rollout: &Rollout) {
        let task = self.number(&rollout.prompt_id);
        let index = &mut self.index;
        let advantage = match &rollout.score {
            Some(Score::Judged { advantage, .. } | Score::NotRun { advantage, .. }) => *advantage,
            _ => None,
        };
        index.step.push(rollout.step);
        index.task.push(task);
        index.sample.push(rollout.group_id);
        index.verdict.push(rollouts::verdict_number(rollout));
        index.reward.push(reward(rollout).map(|it| round(it.total())));
        index.advantage.push(advantage.map(round));
    }

    fn number(&mut self, task: &TaskId) -> usize {
        if let Some(&number) = self.numbers.get(task) {
            return number;
        }
        let number = self.index.tasks.len();
        self.index.tasks.push(task.to_string());
        self.index.places.push(self.known.get(task).copied());
        self.numbers.insert(task.clone(), number);
        number
    }

    fn finish(self, page: &mut Page<'_>) -> Result<u64, ViewError> {
        self.chunks.finish(page)?;
        let text = serde_json::to_vec(&self.index).map_err(std::io::Error::from)?;
        page.chunk("index", &text)?;
        Ok(self.index.step.len() as u64)
    }
}
