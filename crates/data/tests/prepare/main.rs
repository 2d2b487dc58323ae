//! Sources on disk, through reading, comparing and splitting, to the files that are written.

mod bad_input;
mod files;
mod parquet;
mod sources;
mod split;
mod support;
