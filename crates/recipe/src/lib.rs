//! The parts of a quickstart: its settings, the embedded student, tasks, phases and report.
//!
//! `whet quickstart` joins them and says what happens. Each phase leaves its output in the run's
//! directory; [`phases`] says which are whole, so that a run that was stopped goes on, and [`report`] is
//! what all of them came to. [`find`] says which model a name stands for. Nothing here prints or knows the command line.

#![forbid(unsafe_code)]

pub mod find;
pub mod phases;
pub mod preset;
pub mod report;
pub mod student;
pub mod tasks;

/// The file of traces in a run.
pub const TRACES: &str = "teacher_traces.jsonl";

/// A count to compute with.
#[expect(clippy::cast_precision_loss, reason = "counts of a run")]
pub fn number(count: u64) -> f64 {
    count as f64
}
