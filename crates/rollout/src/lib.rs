//! Groups of rollouts and their scores.
//!
//! [`score`] takes a file of rollouts and a file of tasks and gives every line its verdict, its
//! reward and its advantage. [`cache`] remembers what programs did, so that one that was judged is
//! not run again. The promises, each with the test that holds it:
//!
//! | promise | held by |
//! |---|---|
//! | A run killed with SIGKILL and resumed writes the bytes of an uninterrupted one. | `tests/kill.rs` |
//! | A line that could not be judged has no reward and does not count in its group. | `tests/score.rs` |
//! | No line is lost: it is in the output or among the rejected, with its reason. | `tests/score.rs` |
//! | A cache survives `kill -9`; two processes never write one. | `tests/cache.rs` |
//! | A full disk costs the cache, not the scores. | `tests/full_disk.rs` |
//!
//! # Not here
//!
//! - Running programs (`sandbox`), and what a verdict is worth (`env`).
//! - Sampling rollouts from a model.
//! - Printing. The command line shows the [`score::Report`].

#![forbid(unsafe_code)]

pub mod cache;
pub mod score;
pub mod teach;
