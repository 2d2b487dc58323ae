//! Every operation that has a kernel, on a GPU, beside the formula in f64.
//!
//! On a machine without one each test says SKIPPED and why. Numbers that go in are ones that bf16 can
//! hold, so that only results are rounded: once for an activation, 2^-8 of its size, and 1e-5 where
//! the result is f32. Every test runs twice and compares bits; results begin poisoned.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]
#![expect(clippy::cast_precision_loss, reason = "small sizes become numbers")]

mod attention;
mod attention_backward;
mod fused;
mod head;
#[path = "../operations/oracle/mod.rs"]
#[expect(dead_code, reason = "attention is compared with processors")]
mod oracle;
mod product;
mod rows;
mod sample;
#[path = "../support/mod.rs"]
mod shared;
mod sums;
mod support;
