//! Commands without their command line: from settings and files to a training, an evaluation, a quickstart.
//!
//! | module | what it does |
//! |---|---|
//! | [`quickstart`] | the whole pipeline; its [`preset`], [`student`], [`tasks`], [`phases`] and [`report`] |
//! | [`training`] | SFT, reward models, PPO, and GRPO on sampled or recorded rollouts |
//! | [`evaluation`] | a model, a server or given completions, measured |
//! | [`rollouts`] | replies of a model or a server, which nobody judges |
//! | [`teaching`], [`scoring`], [`validation`] | traces, rollouts and tasks, judged |
//! | [`stages`] | the stages of a file, one after another |
//! | [`checking`] | files of a user: what each is, and what is wrong with its lines |
//! | [`suites`] | published tasks with their prompts and settings, by name |
//! | [`preparing`], [`datasets`] | tasks of data sets, and where data sets are read from |
//! | [`pairs`] | preference pairs, from judged replies and from files |
//! | [`new_model`] | a tokenizer and an untrained model |
//! | [`generation`], [`reward_scoring`], [`export`], [`bench`] | a model on this machine |
//! | [`find`], [`device`], [`environment`] | the model, device and environment that settings and names stand for |
//!
//! Everything is said through an [`observer`] and fails with a [`failure`]. Nothing here prints or knows the
//! command line.

#![forbid(unsafe_code)]

pub mod bench;
mod chat_generator;
pub mod checking;
pub mod datasets;
pub mod device;
mod downloads;
pub mod dry_run;
pub mod environment;
pub mod evaluation;
pub mod export;
mod export_card;
pub mod failure;
pub mod filtered;
pub mod filtering;
pub mod find;
pub mod generation;
mod local_model;
pub mod model_failure;
pub mod new_model;
pub mod observer;
pub mod pairs;
pub mod phases;
pub mod preparing;
pub mod preset;
pub mod process_scoring;
pub mod prompt_lines;
pub mod prompt_shown;
pub mod prompting;
pub mod prompts;
pub mod quickstart;
pub mod report;
pub mod retries;
pub mod reward_scoring;
pub mod rollouts;
mod sample_lines;
pub mod sampled_traces;
mod sampling_watch;
pub mod scoring;
mod scratch;
mod server_teacher;
pub mod shell;
pub mod solver_tasks;
pub mod stages;
pub mod student;
pub mod suites;
pub mod tasks;
pub mod teaching;
pub mod test_generation;
pub mod text;
pub mod training;
mod untested;
pub mod validation;

pub use whetstone_train::inputs::TRACES;

/// The name of a file of SFT rows, beside the traces.
pub const ROWS: &str = "sft_rows.jsonl";

/// A count to compute with.
#[expect(clippy::cast_precision_loss, reason = "counts of a run")]
pub fn number(count: u64) -> f64 {
    count as f64
}
