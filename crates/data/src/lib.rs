//! From what data sets publish to tasks that are proven, and from traces to rows.
#![forbid(unsafe_code)]

pub mod prove;
pub mod rows;
pub mod trace;
