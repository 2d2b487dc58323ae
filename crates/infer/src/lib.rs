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
//! # Conversations
//!
//! With [`Generator::generate_turns`] the next turn of a conversation is sampled as soon as it is there, beside
//! others that are in earlier turns. Pages of a conversation stay between its turns, so that a turn computes only
//! what is new since the completion before it. Whether its pages stayed changes no bit of a sample.
//!
//! # Memory
//!
//! Pages are taken once, at the beginning, within [`Limits`]. A sample starts only when the pages of
//! its longest possible completion are free, so nothing that has started ever has to be thrown away;
//! what does not fit waits, and what could never fit is refused before anything is computed.

#![forbid(unsafe_code)]

mod check;
mod generator;
mod headway;
mod limits;
mod local;
mod pages;
mod stop;
mod work;

pub use generator::{
    Conversations, GenerateError, Generator, News, Prompt, SampleId, Sampled, SampledCompletion,
    TurnPrompt, Until, Usage,
};
pub use headway::{Headway, Watch};
pub use limits::{Limits, SampledModel, SamplingJob, SamplingMemory};
pub use local::Local;
pub use whetstone_kernels::sample::Rule;
