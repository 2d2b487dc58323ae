//! Models as files: configuration, weights, tokenizer and chat template.
//!
//! [`open`] takes a directory as the hub lays it out, or one GGUF file, and gives a [`Pretrained`]:
//! a [`Config`] (Llama, Qwen2 and Qwen3), [`Weights`] that are read tensor by tensor into `f32`
//! buffers of the caller, a [`Tokenizer`] and a [`ChatTemplate`]. The two formats differ in all they
//! do; here they end in the same names, the same shapes and the same order of rows.
//!
//! [`create`](create::create) makes such a directory from nothing but texts, sizes and a seed.
//!
//! These files are untrusted. Every length in a header is checked against the size of the file
//! before it is used, no allocation is larger than the file, and an error names the file, and the
//! key or tensor. A non-finite weight is refused when it is read.
//!
//! # Not here
//!
//! - The arithmetic: forward, backward and their buffers.
//! - Downloads: `remote` has a client of the hub.
//! - Crash safety of a single file: [`safetensors::Writer`] writes into any writer.
//!   [`Decoder::export_merged`] writes a directory atomically.
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
pub mod prompting;
pub mod safetensors;
mod shown;
mod small_file;
pub mod template;
pub mod tokenizer;
pub mod weights;

pub use config::{Config, Family};
pub use decoder::Decoder;
pub use export::{ExportError, ExportOptions};
pub use layout::{ExpectedTensor, expected_tensors};
pub use open::{OpenError, Pretrained, open};
pub use template::ChatTemplate;
pub use tokenizer::Tokenizer;
pub use weights::Weights;
