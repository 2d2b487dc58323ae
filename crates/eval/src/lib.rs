//! Measuring how good a model is, and whether another is better.
//!
//! ```text
//! tasks ─► evaluate ─► samples ─► tallies ─► pass@k with its interval
//!                                    └─────► compare ─► the difference with its interval
//! ```
//!
//! [`evaluate`] samples a model several times on every task, keeps every sample and writes
//! [`Results`]; [`measure`] only counts passes. [`pass_at_k`] is the mean over tasks, with a 95 %
//! interval over the choice of tasks; [`compare`] does the same for the difference between two
//! models on the same tasks, [`Comparison`] for two results, and [`SeedComparison`] for those of several seeds. Beside pass@k, every [`Figure`] of the
//! programs (syntax, tests, quality, diversity) is estimated and compared in the same way, and where environments answer
//! several replies, the figures of [`episodes`]. [`CodeFigures`] are the replies with code, and [`ComparedCode`] says how
//! much of a gain is more of them. [`BetterTemperature`] is the gain that is not sharpening. The promises, each with its test:
//!
//! | promise | held by |
//! |---|---|
//! | The samples of a task depend on the seed and the task, not on its neighbours. | `tests/measuring/measure.rs` |
//! | Memory does not grow with the suite. | `tests/measuring/measure.rs` |
//! | The same counts give the same interval, in whatever order they come. | `tests/laws.rs` |
//! | A comparison uses per-task differences: shared luck cancels. | `tests/laws.rs` |
//! | Intervals are as wide as theory predicts. | `src/bootstrap.rs`, `src/wilson.rs`, `src/episodes/any_size.rs` |
//! | An interval over seeds holds the truth in 95 of 100 experiments; one that pools the tasks of seeds does not. | `src/over_seeds.rs` |
//! | What is solved within all turns of an episode is pass@1. | `tests/measuring/episodes.rs` |
//! | A 95 % interval contains the truth in 95 of 100 suites; equal models are called different in fewer than 5. | `src/simulation.rs` |
//! | An interrupted evaluation resumes, and ends with the same samples and figures. | `tests/measuring/evaluate.rs` |
//! | A sample that was not judged did not pass, a task without a judged sample is left out, and both are sampled again on the next start. | `tests/measuring/evaluate.rs` |
//!
//! # Not here
//!
//! - The estimator of one task (`algo`), sampling (`infer`), judging (`env`, `sandbox`).
//! - Printing.

#![forbid(unsafe_code)]

mod baseline;
mod best_of;
mod better_temperature;
mod bootstrap;
mod code;
mod compared;
mod comparison;
mod decoding;
mod diversity;
pub mod episodes;
mod error;
mod estimate;
mod evaluate;
mod figure;
mod measure;
mod over_seeds;
mod random;
mod results;
mod sample_kind;
mod seed_comparison;
mod sign_flip;
#[cfg(test)]
mod simulation;
mod student;
mod task_count;
mod wilson;

pub use baseline::Baseline;
pub use best_of::{BestOf, ScoredTasks};
pub use better_temperature::{BetterTemperature, DecodedSide};
pub use bootstrap::RESAMPLES;
pub use code::{CodeFigures, ComparedCode};
pub use compared::Compared;
pub use comparison::{Comparison, Flipped, OverBestPrompt};
pub use decoding::Decoding;
pub use error::EvalError;
pub use estimate::{Difference, Estimate, compare, pass_at_k};
pub use evaluate::{Evaluated, Evaluating, ROLLOUTS, Times, evaluate, make_room};
pub use figure::{Figure, TaskFigures};
pub use measure::{Measured, Measuring, Sampled, measure};
pub use over_seeds::{OverSeeds, SeedFigure, SeedInterval};
pub use results::{About, AtTemperature, Part, RESULTS, Results, suite};
pub use sample_kind::is_main_sample;
pub use seed_comparison::{BetterOverSeeds, NamedResults, SeedComparison};
pub use task_count::{NoCode, TaskCount, TemperatureCount};
pub use whetstone_record::batch::Earlier;
