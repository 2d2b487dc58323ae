//! Random numbers for resampling.
//!
//! Every stream begins at a constant, so that a figure is a function of its counts: nobody can try seeds until an
//! interval pleases.

use whetstone_core::{Seed, SplitMix};

/// The stream number `index` for `purpose`.
pub(crate) fn stream(purpose: &str, index: u64) -> SplitMix {
    SplitMix::new(Seed::new(0).derive(purpose, index))
}
