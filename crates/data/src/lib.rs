//! From what data sets publish to tasks that are proven, and from traces to rows.
#![forbid(unsafe_code)]

pub mod trace;
