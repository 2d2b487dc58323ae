//! Whole models on a GPU: beside transformers and the CPU, and the bits that may not depend on who
//! goes through together.
//!
//! On a machine without a GPU each test says SKIPPED and why. `$WHET_TESTDATA` is where the golden
//! folders are, for a machine that has the test and no sources.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]

mod adapters;
mod bits;
mod goldens;
mod memory;
mod shapes;
mod support;
