//! The completions that can be read in a page: their texts in chunks, and an index of them all.
//!
//! The index has a column for each filter, so that completions are found by step, task or verdict
//! without unpacking anything. It comes after the chunks, when their positions are known.

use std::collections::HashMap;

use serde::Serialize;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;

use super::limits::MAX_TEXT_BYTES;
use super::page::Page;
use super::shown::{SamplingFields, Shown};
use super::survey::{Survey, reward, round};
use super::tasks::{Known, TaskChunks};
use super::{Progress, rollouts};
use crate::error::ViewError;

/// Completions between two progress reports.
const TOLD_EVERY: u64 = 512;

/// One entry for each completion, by columns.
#[derive(Debug, Default, Serialize)]
pub(super) struct CompletionIndex {
    verdicts: Vec<&'static str>,
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
    /// Number of completions in each chunk.
    pub(super) chunks: Vec<usize>,
    /// Every how many steps texts are there.
    stride: usize,
    /// Completions of the run.
    all: u64,
    #[serde(skip)]
    numbers: HashMap<TaskId, usize>,
}

/// The completions that a page has.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenCompletion {
    pub(super) completions: u64,
    /// Text of them.
    pub(super) text_bytes: u64,
}

struct Writing<'a> {
    index: CompletionIndex,
    known: &'a Known,
    chunks: TaskChunks,
    text_bytes: u64,
}

/// The inputs that must be known before completions are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surveyed<'a> {
    pub(super) survey: &'a Survey,
    /// The tasks that the page has.
    pub(super) known: &'a Known,
}

/// Writes the completions and their index; returns how many there are.
pub(super) fn write(
    rollouts: impl Iterator<Item = Result<RolloutLine, ViewError>>,
    of: Surveyed<'_>,
    page: &mut Page<'_>,
    progress: Progress<'_>,
) -> Result<WrittenCompletion, ViewError> {
    let Surveyed { survey, known } = of;
    let stride = survey.text_stride();
    let steps: HashMap<u64, usize> =
        survey.steps.keys().enumerate().map(|(at, &step)| (step, at)).collect();
    let all = survey.completions;
    let index = CompletionIndex { stride, all, ..CompletionIndex::new() };
    let chunks = TaskChunks::new("completions");
    let mut writing = Writing { index, known, chunks, text_bytes: 0 };
    // Completions recorded after the survey are not in its figures, and wait for the next page.
    let rollouts = rollouts.take(usize::try_from(all).unwrap_or(usize::MAX));
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

impl Writing<'_> {
    fn add(&mut self, mut rollout: RolloutLine, page: &mut Page<'_>) -> Result<(), ViewError> {
        let sampled = SamplingFields::take(&mut rollout);
        let shown = Shown::new(&rollout, sampled);
        self.text_bytes += shown.text_bytes();
        let (chunk, _) = self.chunks.add(&shown, page)?;
        self.index.chunks.resize(chunk + 1, 0);
        self.index.chunks[chunk] += 1;
        self.index.enter(&rollout, self.known);
        Ok(())
    }

    fn finish(self, page: &mut Page<'_>) -> Result<WrittenCompletion, ViewError> {
        self.chunks.finish(page)?;
        let text = serde_json::to_vec(&self.index).map_err(std::io::Error::from)?;
        page.chunk("index", &text)?;
        Ok(WrittenCompletion {
            completions: self.index.step.len() as u64,
            text_bytes: self.text_bytes,
        })
    }
}

impl CompletionIndex {
    /// An index of nothing.
    pub(super) fn new() -> Self {
        Self { verdicts: rollouts::verdicts().collect(), ..Self::default() }
    }

    /// Adds a completion.
    pub(super) fn enter(&mut self, rollout: &RolloutLine, known: &Known) {
        let task = self.number(&rollout.prompt_id, known);
        let advantage = match &rollout.score {
            Some(Score::Scored { advantage, .. }) => *advantage,
            _ => None,
        };
        self.step.push(rollout.step);
        self.task.push(task);
        self.sample.push(rollout.group_id);
        self.verdict.push(rollouts::verdict_number(rollout));
        self.reward.push(reward(rollout).map(|reward| round(reward.total())));
        self.advantage.push(advantage.map(round));
    }

    fn number(&mut self, task: &TaskId, known: &Known) -> usize {
        if let Some(&number) = self.numbers.get(task) {
            return number;
        }
        let number = self.tasks.len();
        self.tasks.push(task.to_string());
        self.places.push(known.get(task).copied());
        self.numbers.insert(task.clone(), number);
        number
    }
}
