//! Journals and runs, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod bad_input;
mod child;
mod follow;
mod full_disk;
mod kill;
mod lock;
mod torn;
