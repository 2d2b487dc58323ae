//! Sampling, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod ahead;
mod memory;
mod sampling;
mod sharing;
mod smollm2;
mod support;
mod turns;
