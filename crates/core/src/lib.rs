//! The nouns of Whetstone, one type for each arrow of the pipeline, one file for each type.
//!
//! ```text
//! Task ──► Message(s) ──► Completion ──► Program ──► Verdict ──► Reward ──► Rollout, Group
//! ```
//!
//! Everything here is plain data. What crosses a file or a process boundary is written and read
//! in this crate alone, so a format has one definition: [`wire`] reads one JSON object strictly,
//! [`jsonl`] reads a file of them within bounds and reports the position of an error, [`lines`] reads one
//! line. The settings that a user writes ([`config`]) are nouns too: later crates read their section
//! without depending upward.
//! [`prompt`] and [`extract`] are the two arrows that every stage shares, from a task to a question
//! and from a reply to a program.
//!
//! What is not here: no clock, no threads but those with a deep [`stack`], no network, no writing of files (`record` does that),
//! nothing that runs a program (`sandbox`).

mod assert_list;
mod body;
pub mod causes;
pub mod completion;
pub mod config;
pub mod episode_line;
pub mod extract;
pub mod group;
pub mod jsonl;
pub mod judgement;
pub mod lines;
pub mod message;
pub mod metric;
pub mod nesting;
pub mod outcome;
pub mod preference;
pub mod program;
pub mod prompt;
pub mod random;
pub mod rejected;
pub mod reward;
pub mod rollout;
pub mod seed;
pub mod sft_row;
pub mod stack;
pub mod string_literal;
pub mod surrogates;
pub mod survivors;
pub mod task;
pub mod taught;
pub mod tests;
pub mod trace;
pub mod validation;
pub mod verdict;
pub mod wire;

pub use causes::with_causes;
pub use completion::Completion;
pub use judgement::{Infrastructure, Judgement};
pub use message::{Message, Role};
pub use outcome::Outcome;
pub use preference::Preference;
pub use program::{Language, Program};
pub use random::SplitMix;
pub use reward::Reward;
pub use rollout::RolloutLine;
pub use seed::Seed;
pub use sft_row::SftRow;
pub use task::{Task, TaskId};
pub use verdict::Verdict;
