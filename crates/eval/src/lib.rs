//! How good a model is, and whether another is better.
//!
//! ```text
//! tasks ─► evaluate ─► samples ─► tallies ─► pass@k with its interval
//!                                    └─────► compare ─► the difference with its interval
//! ```
//!
//! [`evaluate`] lets a model solve every task so many times, keeps every sample and writes [`Results`];
//! [`measure`] only counts what passed. [`pass_at_k`] is the mean over tasks, with a 95 % interval that
//! says how much it hangs on the tasks that happened to be chosen; [`compare`] is the same of a
//! difference between two models on the same tasks, and [`Comparison`] of two results. The promises,
//! each with the test that holds it:
//!
//! | promise | held by |
//! |---|---|
//! | What is sampled of a task depends on the seed and the task, not on its neighbours. | `tests/measuring/measure.rs` |
//! | Memory does not grow with the suite. | `tests/measuring/measure.rs` |
//! | The same counts give the same interval, in whatever order they come. | `tests/laws.rs` |
//! | A comparison of the same tasks is told by their differences: luck that both had is no noise. | `tests/laws.rs` |
//! | Intervals are as wide as theory has them. | `src/bootstrap.rs`, `src/wilson.rs` |
//! | A 95 % interval holds the truth in 95 of 100 suites; models that are alike are told apart in fewer than 5. | `src/simulation.rs` |
//! | An evaluation that is ended goes on, and ends with the same samples and figures. | `tests/measuring/evaluate.rs` |
//! | A sample that was not judged did not pass, a task without a judged sample is left out, and both are asked for again. | `tests/measuring/evaluate.rs` |
//!
//! # Not here
//!
//! - The estimator of one task (`algo`), sampling (`infer`), judging (`env`, `sandbox`).
//! - Printing.

#![forbid(unsafe_code)]

mod bootstrap;
mod comparison;
mod error;
mod estimate;
mod evaluate;
mod measure;
mod random;
mod results;
mod sign_flip;
#[cfg(test)]
mod simulation;
mod store;
mod wilson;

pub use bootstrap::RESAMPLES;
pub use comparison::{Compared, Comparison, Flipped};
pub use error::EvalError;
pub use estimate::{Difference, Estimate, compare, pass_at_k};
pub use evaluate::{Evaluated, Evaluating, RESULTS, ROLLOUTS, Times, evaluate, make_room};
pub use measure::{Measured, Measuring, Sampled, measure};
pub use results::{About, Part, Results, TaskCount, suite};
pub use whetstone_record::journal::Earlier;
