//! Training: a student, what it learns from, and a record of everything.
//!
//! A loop reads as the pipeline: [`sft`] takes rows to an update, [`reward_model`] preference pairs,
//! [`grpo`] takes tasks to rollouts, advantages and an update. What loops share is beside them:
//! the [`student`], the [`optimizer`], the [`order`] of tasks, the [`plan`] of steps, and the
//! [`session`], which is a run's events and checkpoints. [`alarms`] look at what is measured.
//!
//! Same seed, same bits: a step follows from the settings, the seed and the step before it. A run that
//! was killed goes on from its last checkpoint, computes the steps behind it again, and ends with the
//! same bytes.
//!
//! # Not here
//!
//! - Formulas (`algo`), gradients (`model`), verdicts (`sandbox`).
//! - Printing. A [`watch::Watch`] is told of phases, steps and alarms, and speaks up when nothing is told.

#![forbid(unsafe_code)]

pub mod alarms;
pub mod card;
mod error;
mod example;
pub mod grpo;
mod hold_out;
pub mod inputs;
pub mod measure;
mod memory_check;
pub mod optimizer;
pub mod order;
mod pass;
mod phase;
pub mod plan;
pub mod ppo;
pub mod probe;
pub mod process_reward;
pub mod recorded;
pub mod reward_model;
mod rollouts;
mod rows;
mod sampling_limits;
pub mod session;
pub mod sft;
mod sft_gradient;
mod sft_rows;
pub mod student;
mod successes;
pub mod teacher;
#[cfg(test)]
mod testing;
mod update;
mod update_kl;
pub mod watch;
pub mod watchdog;

pub use error::{CheckpointError, TrainError};
pub use example::Example;
pub use rollouts::collecting::fits;
pub use rollouts::tasks::TaskWithTraces;
pub use rows::{Ending, rows, thinking};
pub use sampling_limits::SampledSequences;
pub use sft_rows::{RowExamples, row_examples};
pub use student::Student;
