//! What a model and a device can do, measured: for `whet bench` and the benchmarks.
//!
//! Each function computes for some seconds and leaves nothing behind but an adapter that was trained on
//! noise. Times are the host's, between two waits for the device.

mod decoding;
mod rates;
pub mod report;
mod training;

pub use self::decoding::{Decoded, Decoding, decode};
pub use self::rates::{Rates, rates};
pub use self::training::{StepTimes, Training, training_step};

/// The middle one.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// Tokens that are the same in every run.
fn tokens(count: usize, vocabulary: usize, seed: usize) -> Vec<u32> {
    let vocabulary = vocabulary.max(1);
    let at = |n: usize| u32::try_from((n * 7919 + seed * 104_729 + 17) % vocabulary).unwrap_or(0);
    (0..count).map(at).collect()
}
