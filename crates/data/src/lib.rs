//! From what data sets publish to tasks that are proven, and from traces to rows.
//!
//! | from | to | in |
//! |---|---|---|
//! | a file of a data set | tasks, and every row that is not a task with its reason | [`source`] |
//! | nothing but a seed | tasks composed of small steps, with traces | [`embedded`] |
//! | tasks of all sources | two halves without duplicates | [`prepare`] |
//! | a file of tasks | those that are proven, and the others with their reasons | [`prove`] |
//! | tasks with programs | the same tasks with more tests, from what the programs answer | [`generated_tests`] |
//! | prompt seeds | tasks for Phaser, and mock rollouts | [`phaser`] |
//! | judged replies, and pairs of others | preference pairs | [`pairs`] |
//! | judged replies | those that solved their tasks, as traces | [`sampled_traces`] |
//! | a teacher's traces | token ids, and which of them are trained on | [`rows`] |
//!
//! # Not here
//!
//! - Running programs (`sandbox`), downloads (`remote`), asking a teacher (`rollout`).
//! - Tokenizers: [`rows`] takes anything that encodes a text.
//! - Printing.
#![forbid(unsafe_code)]

pub mod embedded;
pub mod generated_tests;
pub mod pairs;
pub mod part;
pub mod phaser;
pub mod prepare;
pub mod prove;
mod random;
pub mod rows;
pub mod sampled_traces;
pub mod solver;
pub mod source;

pub use part::Partition;
