//! Prompts for games of Phaser, as tasks, and replies of planted quality to try a pipeline with.
//!
//! ```text
//! prompt seeds (embedded, or a file) ─► split ─► tasks to train on, tasks to evaluate on ─► mock rollouts
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `seed.rs`, `read.rs` | a prompt with its checks, and files of them |
//! | `embedded.rs` | the seeds that come with `whet` |
//! | `templates.rs`, `fill.rs` | the templates that the embedded seeds are made from |
//! | `split.rs`, `prompt_sets.rs` | two sets without overlap |
//! | `mock/` | rollouts of planted quality |
//!
//! Not here: running programs (`sandbox`), evaluating checks (`env`).

mod embedded;
mod error;
mod fill;
pub mod mock;
mod prompt_sets;
mod read;
mod seed;
mod split;
pub mod templates;
#[cfg(test)]
mod tests;

pub use embedded::embedded;
pub use error::PromptError;
pub use prompt_sets::{PromptSets, PromptSummary, write_prompt_sets};
pub use read::{read_seeds, read_seeds_from};
pub use seed::{KIND, MAX_PROMPT_BYTES, MAX_REFERENCE_BYTES, PromptSeed};
pub use split::{Split, SplitCounts, split};
