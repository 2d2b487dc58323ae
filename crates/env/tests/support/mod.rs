//! What several tests share: `CPython` to ask, programs to ask about, ways to break them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are parts of tests")]

pub(crate) mod corpus;
pub(crate) mod cpython;
pub(crate) mod mutate;
