//! Rejection sampling: scored rollouts in, traces of what solved its task out.

use std::path::{Path, PathBuf};

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::prompt::PromptTemplate;
use whetstone_data::sampled_traces::{SampledTraces, TraceSampling, sample_traces};

use crate::failure::Failure;
use crate::pairs::{TASKS, file_of};

/// Traces to make of rollouts.
#[derive(Debug, Clone)]
pub struct SampledTracesRequest {
    /// Files of scored rollouts, runs, or directories of evaluations.
    pub rollouts: Vec<PathBuf>,
    /// Files of the tasks that they answer; `data/train.jsonl` if there are none.
    pub tasks: Vec<PathBuf>,
    /// Where the traces go.
    pub out: PathBuf,
    /// Traces of one task at most.
    pub per_task: usize,
    /// Traces at most.
    pub limit: Option<usize>,
}

/// Makes traces.
///
/// # Errors
///
/// If files cannot be read or written, or no rollout becomes a trace.
pub fn run(request: &SampledTracesRequest, config: &Config) -> Result<SampledTraces, Failure> {
    let rollouts: Vec<PathBuf> = request.rollouts.iter().map(|path| file_of(path)).collect();
    let usual = [Path::new(TASKS).to_owned()];
    let files = if request.tasks.is_empty() { &usual[..] } else { &request.tasks };
    let mut tasks: Vec<Task> = Vec::new();
    for path in files {
        tasks.extend(read_tasks(path)?);
    }
    Ok(sample_traces(&TraceSampling {
        rollouts: &rollouts,
        tasks: &tasks,
        prompt: &PromptTemplate::of(&config.prompt)?,
        per_task: request.per_task,
        limit: request.limit,
        out: &request.out,
    })?)
}
