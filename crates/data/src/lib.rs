//! From what data sets publish to tasks that are proven, and from traces to rows.
#![forbid(unsafe_code)]

pub mod part;
pub mod prepare;
pub mod prove;
pub mod rows;
pub mod source;
pub mod trace;

pub use part::Part;
