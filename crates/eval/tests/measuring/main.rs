//! A model on tasks: counted, kept, stopped and resumed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod coin;
mod episodes;
mod evaluate;
mod measure;
