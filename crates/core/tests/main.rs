//! Wire formats and extraction, from outside the crate.
//!
//! One test binary: each would link the whole crate and all below it again.

mod corpus;
mod laws;
mod metric_table;
mod plain_python;
mod task_file;
