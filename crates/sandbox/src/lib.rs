//! Untrusted program in, verdict out.
//!
//! A [`Judge`] is a handle to a small supervisor process, which alone knows expected values, keeps
//! the clocks and compares; programs run in children of warmed interpreters that hold neither.

pub mod job;
pub mod plan;
pub mod stdio;
pub mod value;
