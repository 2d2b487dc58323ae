//! Laws and the algorithms of papers.
//!
//! One test binary: each would link the whole crate and all below it again.

mod algorithms;
mod laws;
