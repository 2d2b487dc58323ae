//! Completions of prompts: many sequences at a time, each as if it were alone.
//!
//! [`Generator`] is what a rollout or an evaluation asks; [`Local`] answers with a model on this
//! machine. It works in steps. A step adds one token to every sequence that is being sampled; a
//! sequence that ends makes room at once for one that waits. A prompt is computed once, however
//! many samples are drawn from it: they share its pages and its last row of logits. Short prompts
//! are computed together.
//!
//! What is sampled depends on the model, the prompt, the rule, the seed and the number of the sample,
//! and on nothing that happens beside it: not on the batch, not on the memory, not on the threads.
//!
//! # Memory
//!
//! Pages are taken once, at the beginning, within [`Limits`]. A sample starts only when the pages of
//! its longest possible completion are free, so nothing that has started ever has to be thrown away;
//! what does not fit waits, and what could never fit is refused before anything is computed.

#![forbid(unsafe_code)]

mod generator;
mod local;
mod pages;
mod stop;
mod work;

pub use generator::{GenerateError, Generator, Limits, Prompt, SampledCompletion, Usage};
pub use local::Local;
pub use whetstone_kernels::sample::Rule;
