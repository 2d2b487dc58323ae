//! The teacher's traces as rows of the tasks that are trained on.

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::task::TaskId;
use whetstone_core::trace::Trace;
use whetstone_train::TaskWithTraces;
use whetstone_train::{Example, Student, TrainError, rows};

use super::left_out;
use crate::failure::Failure;

/// Traces and the file that they come from.
pub(crate) struct TraceFile<'a> {
    pub(crate) path: Option<&'a Path>,
    pub(crate) traces: Vec<Trace>,
}

/// The rows of each task, and the traces that none were made of.
pub(crate) struct Taught {
    pub(crate) rows: Vec<Vec<Example>>,
    pub(crate) left_out: left_out::Traces,
}

impl TraceFile<'_> {
    /// The rows of each task.
    pub(crate) fn teach<'t>(
        self,
        tasks: impl Iterator<Item = &'t TaskId>,
        student: &Student,
        config: &Config,
    ) -> Result<Taught, TrainError> {
        let path = self.path.unwrap_or(Path::new(""));
        let mut left_out = left_out::Traces::new(path, config.training.max_length as usize);
        let mut by_task: BTreeMap<String, Vec<Trace>> = BTreeMap::new();
        for trace in self.traces {
            by_task.entry(trace.task_id.to_string()).or_default().push(trace);
        }
        let mut taught = Vec::new();
        for task in tasks {
            let traces = by_task.remove(task.as_str()).unwrap_or_default();
            let made = rows(student, &traces, config)?;
            left_out.made(traces.iter().map(|trace| &trace.task_id), &made);
            taught.push(made.rows.iter().map(Example::from).collect());
        }
        by_task.values().flatten().for_each(|trace| left_out.of_another_task(&trace.task_id));
        Ok(Taught { rows: taught, left_out })
    }
}

impl Taught {
    /// Refuses traces that are of no use, if they have a weight.
    pub(super) fn check(&self, config: &Config, path: Option<&Path>) -> Result<(), Failure> {
        if config.dual_source.teacher_sft_weight > 0.0 && self.rows.iter().all(Vec::is_empty) {
            return Err(Failure::OtherTraces { path: path.unwrap_or(Path::new("")).to_owned() });
        }
        Ok(())
    }
}

/// Tasks with the teacher's rows of each.
pub(crate) fn with_traces<'a>(
    tasks: &'a [Task],
    taught: &'a [Vec<Example>],
) -> Vec<TaskWithTraces<'a>> {
    tasks.iter().zip(taught).map(|(task, rows)| TaskWithTraces { task, rows }).collect()
}
