//! Tests of the crate through its public interface.

mod netlib;
mod random;
