//! Models as files, as a caller sees them: whole directories, real tokenizers, real weights.
//!
//! Tokenizers and data sets are read from `../shared` beside the repository, and a real model from
//! `.cache/smollm2` in it, where they are there; a test without them says that it was skipped.

mod directory;
mod prompting;
mod smollm2;
mod support;
mod template;
mod tokens;
