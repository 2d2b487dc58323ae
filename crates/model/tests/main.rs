//! Decoders, their bits, memory and files, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod adapters;
mod bits;
mod create;
mod export;
mod fresh;
mod golden;
mod memory;
mod reward;
mod split;
