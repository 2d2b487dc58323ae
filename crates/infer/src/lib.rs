//! Completions of prompts: many sequences at a time, each as if it were alone.
//!
//! Rollouts and evaluations call a [`Generator`]; [`Local`] is one with a model on this machine. It
//! does continuous batching: a step adds one token to every sequence that is being sampled, and a
//! sequence that ends makes room at once for one that waits. A prompt is prefilled once, however
//! many samples it has: they share its pages of the KV cache and its last row of logits. Short
//! prompts are prefilled together.
//!
//! A sample depends on the model, the prompt, the sampling rule, the seed and the sample's index,
//! and on nothing else: not on the batch, the memory or the threads.
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
