//! Environments and readings of programs, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod agreement;
mod costs;
mod deep;
mod episode;
mod guess;
mod quality_laws;
mod support;
