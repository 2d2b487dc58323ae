//! From what data sets publish to tasks that are proven, and from traces to rows.
#![forbid(unsafe_code)]

pub mod part;
pub mod prepare;
pub mod source;

pub use part::Part;
