//! Models as files: what they are, their weights, their tokens and the text around a conversation.
//!
//! [`open`] takes a directory as the hub lays it out, or one GGUF file, and gives a [`Pretrained`]:
//! a [`Config`] (Llama, Qwen2 and Qwen3), [`Weights`] that are read tensor by tensor into `f32`
//! buffers of the caller, a [`Tokenizer`] and a [`ChatTemplate`]. The two formats differ in all they
//! do; here they end in the same names, the same shapes and the same order of rows.
//!
//! [`create`](create::create) makes such a directory from nothing but texts, sizes and a seed.
//!
//! These files come from strangers. A header is believed only after every length in it was compared
//! with the size of the file, nothing is allocated that is larger than the file, and a refusal names
//! the file, and the key or tensor. A weight that is no finite number is refused while it is read.
//!
//! # Not here
//!
//! - The arithmetic: forward, backward and their buffers.
//! - Fetching: `remote` has a client of the hub.
//! - Making a single written file survive a crash: [`safetensors::Writer`] writes into what it is
//!   given. [`Decoder::export_merged`] writes a directory that is there as a whole or not at all.
#![forbid(unsafe_code)]

pub mod adapter;
pub mod config;
pub mod create;
pub mod decoder;
pub mod describe;
mod export;
pub mod gguf;
mod layout;
pub mod memory;
mod open;
pub mod safetensors;
mod shown;
mod small_file;
pub mod template;
pub mod tokenizer;
pub mod weights;

pub use config::{Config, Family};
pub use decoder::Decoder;
pub use export::{ExportError, ExportOptions};
pub use layout::{Expected, expected_tensors};
pub use open::{OpenError, Pretrained, open};
pub use template::ChatTemplate;
pub use tokenizer::Tokenizer;
pub use weights::Weights;
