//! Scoring, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod cache;
mod common;
mod full_disk;
mod kill;
mod resume;
mod sample;
mod score;
