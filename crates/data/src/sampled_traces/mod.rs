//! Rejection sampling: judged rollouts in, the replies that solved their tasks out, as traces to fine-tune on.
//!
//! ```text
//! rollouts ─► passing, not cut off ─► distinct programs, at most N a task ─► rarest tasks first ─► traces.jsonl
//! ```
//!
//! A model learns from what it found itself (`STaR`, arXiv:2203.14465; RFT, arXiv:2308.01825). What it solves always teaches
//! it little, so the tasks with the lowest share of passing rollouts come first, and one trace of each task before a second
//! of any: a `limit` keeps the rare successes. Two programs are one if they differ in names, comments and layout alone
//! ([`NormalProgram`]).
//!
//! The lines are those of a teacher's traces, with the prompt of the settings, so whatever trains on these reads them. Of
//! rollouts of several turns and of tasks that ask for no program no trace is made: both are counted.
//!
//! Not here: sampling and judging (`whet rollout`, `whet score`).

mod error;
mod reply;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::Task;
use whetstone_core::jsonl::Records;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::rollout::RolloutLine;
use whetstone_core::task::TaskId;
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_env::normal_form::NormalProgram;
use whetstone_env::stack::{BigStack, on_big_stack};
use whetstone_record::batch::{check_outputs, replace_output};
use whetstone_record::error::FileError;

pub use self::error::SampledTracesError;
use self::reply::{Judged, ReplyReader, Unused};

/// Traces to make of rollouts.
pub struct TraceSampling<'a> {
    /// Files of scored rollouts.
    pub rollouts: &'a [PathBuf],
    /// The tasks that they answer.
    pub tasks: &'a [Task],
    /// The prompt around a problem, which traces name.
    pub prompt: &'a PromptTemplate,
    /// Traces of one task at most.
    pub per_task: usize,
    /// Traces at most; none for no limit.
    pub limit: Option<usize>,
    /// Where they go.
    pub out: &'a Path,
}

/// What became of the rollouts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SampledTraces {
    /// The version of the document.
    pub v: u64,
    /// Rollouts that were read.
    pub rollouts: u64,
    /// Traces that were written.
    pub traces: u64,
    /// Tasks of the rollouts.
    pub tasks: u64,
    /// Tasks with a trace.
    pub tasks_with_traces: u64,
    /// Why the other rollouts are none, and how many.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// The rollouts of one task.
#[derive(Default)]
struct TaskRollouts {
    judged: u64,
    passed: u64,
    kept: Vec<(Trace, NormalProgram)>,
}

/// Makes traces of rollouts and writes them.
///
/// # Errors
///
/// If a file cannot be read or written, a line is not a rollout, or no rollout becomes a trace.
pub fn sample_traces(sampling: &TraceSampling<'_>) -> Result<SampledTraces, SampledTracesError> {
    check_outputs(sampling.rollouts.iter().map(PathBuf::as_path), [sampling.out])?;
    let mut summary = SampledTraces { v: 1, ..SampledTraces::default() };
    let read = |stack: &BigStack| read(sampling, &mut summary, stack);
    let by_task = on_big_stack(read).map_err(SampledTracesError::Threads)??;
    summary.tasks = by_task.len() as u64;
    let chosen = choose(by_task, sampling, &mut summary);
    if chosen.is_empty() {
        return Err(SampledTracesError::Nothing { left_out: summary.left_out });
    }
    summary.traces = chosen.len() as u64;
    replace_output(sampling.out, |out| {
        chosen.iter().try_for_each(|trace| {
            let written = writeln!(out, "{}", trace.to_line());
            written.map_err(FileError::at("write", sampling.out)).map_err(SampledTracesError::from)
        })
    })?;
    Ok(summary)
}

/// Reads all files; of each task the first distinct programs stay.
fn read(
    sampling: &TraceSampling<'_>,
    summary: &mut SampledTraces,
    stack: &BigStack,
) -> Result<HashMap<TaskId, TaskRollouts>, SampledTracesError> {
    let reader = ReplyReader::new(sampling.tasks, sampling.prompt);
    let mut by_task: HashMap<TaskId, TaskRollouts> = HashMap::new();
    for path in sampling.rollouts {
        for record in Records::<RolloutLine, _>::open(path)? {
            let rollout = record?.record;
            summary.rollouts += 1;
            let task = by_task.entry(rollout.prompt_id.clone()).or_default();
            let kept = match reader.read(rollout)? {
                Judged::Failed(reason) => {
                    task.judged += u64::from(reason.is_judged());
                    Err(reason)
                }
                Judged::Passed(Err(reason)) => {
                    (task.judged, task.passed) = (task.judged + 1, task.passed + 1);
                    Err(reason)
                }
                Judged::Passed(Ok(reply)) => {
                    (task.judged, task.passed) = (task.judged + 1, task.passed + 1);
                    let program = NormalProgram::of(&reply.program, stack);
                    task.keep(reply.trace, program, sampling.per_task)
                }
            };
            if let Err(reason) = kept {
                *summary.left_out.entry(reason.name()).or_default() += 1;
            }
        }
    }
    Ok(by_task)
}

/// The traces that are written: one of each task in every round, the task with the lowest pass rate first.
fn choose(
    by_task: HashMap<TaskId, TaskRollouts>,
    sampling: &TraceSampling<'_>,
    summary: &mut SampledTraces,
) -> Vec<Trace> {
    let mut tasks: Vec<(TaskId, TaskRollouts)> =
        by_task.into_iter().filter(|(_, task)| !task.kept.is_empty()).collect();
    // a/b < c/d as whole numbers, so that equal rates are equal.
    tasks.sort_by(|(id, one), (other_id, other)| {
        let [left, right] = [one.passed * other.judged, other.passed * one.judged];
        left.cmp(&right).then_with(|| id.cmp(other_id))
    });
    let mut chosen = Vec::new();
    let limit = sampling.limit.unwrap_or(usize::MAX);
    let mut queues: Vec<_> = tasks.into_iter().map(|(_, task)| task.kept.into_iter()).collect();
    let all: usize = queues.iter().map(ExactSizeIterator::len).sum();
    for round in 0..sampling.per_task {
        let next = queues.iter_mut().filter_map(Iterator::next).map(|(trace, _)| trace);
        chosen.extend(next.take(limit.saturating_sub(chosen.len())));
        if round == 0 {
            summary.tasks_with_traces = chosen.len() as u64;
        }
    }
    let over = (all - chosen.len()) as u64;
    if over > 0 {
        *summary.left_out.entry(Unused::OverLimit.name()).or_default() += over;
    }
    chosen
}

impl TaskRollouts {
    /// Keeps a trace, unless its program is there already or there are enough.
    fn keep(
        &mut self,
        mut trace: Trace,
        program: NormalProgram,
        per_task: usize,
    ) -> Result<(), Unused> {
        if self.kept.iter().any(|(_, known)| known.is_same(&program)) {
            return Err(Unused::SameProgram);
        }
        if self.kept.len() >= per_task {
            return Err(Unused::OverPerTask);
        }
        trace.sample = u32::try_from(self.kept.len()).unwrap_or(u32::MAX);
        self.kept.push((trace, program));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
