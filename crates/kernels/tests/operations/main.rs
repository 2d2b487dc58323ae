//! Every operation beside a slow and obvious one in f64, on one, two and three threads.
//!
//! `oracle/` has the formulas. A way forward is compared with its formula; a way back with central
//! differences of the formula, never with a second derivation of it. Whatever lies between strided
//! rows is NaN, and must be the same NaN afterwards. `../support` has the comparisons.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "small sizes become numbers, and numbers f32"
)]

mod adamw;
mod add;
mod attention;
mod draws;
mod embedding;
mod fused;
mod head;
mod linear;
mod norm;
mod oracle;
mod paged;
mod rms_norm;
mod rope;
mod sample;
#[path = "../support/mod.rs"]
mod shared;
mod support;
mod swiglu;
