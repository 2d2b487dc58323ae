//! The board over a real socket.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod laws;
mod limits;
mod outside;
mod requests;
mod runs;
mod served;
