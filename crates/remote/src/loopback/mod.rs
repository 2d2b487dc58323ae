//! Servers of our own on this machine's loopback, for tests and benchmarks: they speak as vLLM and
//! the hub do, and break on purpose, by script.
//!
//! Built for this crate's tests and, with the feature `loopback`, for those of others; never part
//! of `whet`. [`http`] is the machinery: threads, keep-alive, and the ways in which an answer can
//! go wrong on the wire. [`chat`] answers completions, [`hub`] files.

pub mod chat;
pub mod http;
pub mod hub;
