//! Groups of rollouts and their scores.
//!
//! [`score`] takes a file of rollouts and a file of tasks and gives every line its verdict, its
//! reward and its advantage. [`cache`] remembers what programs did, so that one that was judged is
//! not run again; the path from replies to outcomes is in `scorer`. [`teach`] asks a teacher for traces of every task and has them judged. [`collect`]
//! drives episodes with a generator and gives groups of rollouts; [`sample`] draws replies that are scored later; [`measure`]
//! counts what passed. The
//! promises, each with the test that holds it:
//!
//! | promise | held by |
//! |---|---|
//! | A run killed with SIGKILL and resumed writes the bytes of an uninterrupted one. | `tests/kill.rs` |
//! | A line that could not be judged has no reward and does not count in its group. | `tests/score.rs` |
//! | No line is lost: it is in the output or among the rejected, with its reason. | `tests/score.rs` |
//! | A cache survives `kill -9`; two processes never write one. | `tests/cache.rs` |
//! | A full disk costs the cache, not the scores. | `tests/full_disk.rs` |
//! | A run of `teach` killed with SIGKILL and resumed writes the bytes of an uninterrupted one, and asks for nothing that was answered. | `crates/cli/tests/whet/teach_kill.rs` |
//! | Every sample of every task has an answer or a counted reason. | `tests/teach/ask.rs` |
//! | Traces that were paid for are replaced only when that is asked for. | `tests/teach/complete.rs` |
//! | The same completions make the same groups, in whatever order they are sampled and judged. | `tests/collect/order.rs` |
//! | A rollout that the machine broke is dropped with its reason; an environment that panics hangs nothing. | `tests/collect/failures.rs` |
//! | Judges work while the generator does. | `tests/collect/single.rs` |
//! | A rollout keeps the tokens that were sampled. | `tests/collect/local.rs` |
//! | Replies of a model that is killed and asked again are the bytes of an undisturbed run, and none is sampled twice. | `tests/sample.rs`, `crates/cli/tests/whet/rollout_kill.rs` |
//! | An episode waits for its own environment alone, and has the same bits in whatever order turns are judged and sampled. | `tests/collect/local.rs` |
//!
//! # Not here
//!
//! - Running programs (`sandbox`), and what a verdict is worth (`env`).
//! - Sampling, and talking to a server: a generator and a [`teach::Teacher`] are given.
//! - Printing. The command line shows the [`score::ScoreSummary`] and the [`teach::TeachSummary`].

#![forbid(unsafe_code)]

pub mod cache;
pub mod collect;
pub mod kept;
pub mod measure;
pub mod sample;
pub mod score;
mod scorer;
mod tasks;
pub mod teach;

pub use scorer::EnvironmentSource;
