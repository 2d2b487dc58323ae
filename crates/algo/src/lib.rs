//! Advantages of groups, as plain arithmetic.
//!
//! Numbers in, numbers out: no tensor, no file, no clock (invariant 2). What a reward is made of,
//! and which rollouts are a group, is decided before anything here is called.

#![forbid(unsafe_code)]

pub mod advantage;

pub use advantage::Advantage;
