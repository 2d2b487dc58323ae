//! Hostile programs, in our own words: one file per family of attacks, all in one binary.
//!
//! An attack is a program that solves its task only if its trick works; so a judge that pays it was
//! fooled. Every attack has the verdicts it may get, runs at each level of isolation that this
//! machine gives, twice in a row, beside honest programs; and afterwards nothing may be left.
//! `support.rs` has the two tasks and the machinery.
//!
//! With `WHETSTONE_FULL=1` everything also runs under a load of 16 busy processes, and twice where
//! one run is the default.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and say what they skip"
)]

mod addresses;
mod asking;
mod beyond;
mod calls;
mod checkers;
mod costs;
mod deception;
mod elsewhere;
mod escape;
mod expected;
mod helpers;
mod honest;
mod landlock;
mod leaving;
mod leftovers;
mod memory;
mod objects;
mod sequences;
mod shared;
mod signals;
mod stdio;
mod support;
mod table;
mod tampering;
mod time;
mod tracer;
mod users;
mod world;
