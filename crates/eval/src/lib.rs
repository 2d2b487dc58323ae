//! How good a model is, and whether another is better.
//!
//! ```text
//! tasks ─► measure ─► tallies ─► pass@k with its interval
//!                        └─────► compare ─► the difference with its interval
//! ```
//!
//! [`measure`] lets a model solve every task so many times and counts what passed. [`pass_at_k`] is
//! the mean over tasks, with a 95 % interval that says how much it hangs on the tasks that happened
//! to be chosen; [`compare`] is the same of a difference between two models on the same tasks. The
//! promises, each with the test that holds it:
//!
//! | promise | held by |
//! |---|---|
//! | What is sampled of a task depends on the seed and the task, not on its neighbours. | `tests/measure.rs` |
//! | Memory does not grow with the suite. | `tests/measure.rs` |
//! | The same counts give the same interval, in whatever order they come. | `tests/laws.rs` |
//! | A comparison of the same tasks is told by their differences: luck that both had is no noise. | `tests/laws.rs` |
//! | Intervals are as wide as theory has them. | `src/bootstrap.rs` |
//!
//! # Not here
//!
//! - The estimator of one task (`algo`), sampling (`infer`), judging (`env`, `sandbox`).
//! - Printing, and files.

#![forbid(unsafe_code)]

mod bootstrap;
mod error;
mod estimate;
mod measure;

pub use bootstrap::RESAMPLES;
pub use error::EvalError;
pub use estimate::{Difference, Estimate, compare, pass_at_k};
pub use measure::{Measured, Measuring, measure};
