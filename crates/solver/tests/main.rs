//! Tests of the crate through its public interface.

#![expect(clippy::print_stdout, reason = "a test says why it is skipped")]

mod certificates;
mod lp_files;
mod mps_files;
mod netlib;
mod odd_models;
mod random_models;
mod round_trip;
mod verdicts;
