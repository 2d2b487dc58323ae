//! Environments: where a reply meets the world and earns a reward.
//!
//! [`environment`] has the shape of all of them; [`python`] is the first, and [`javascript`] reads
//! the programs of JavaScript tasks for it. [`stack`] has the threads on which hostile source can be
//! read.

pub mod environment;
pub mod javascript;
pub mod python;
pub mod stack;
