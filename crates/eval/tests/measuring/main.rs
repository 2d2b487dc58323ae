//! A model on tasks: counted, kept, stopped and gone on with.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod coin;
mod evaluate;
mod measure;
