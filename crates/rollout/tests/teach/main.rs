//! Traces of a stand-in teacher, judged by a stand-in judge. Real kills of the real command are in
//! `crates/cli/tests/whet/teach_kill.rs`.

#[expect(dead_code, reason = "scoring uses the rest")]
#[path = "../common/mod.rs"]
mod common;

mod ask;
mod complete;
mod episodes;
mod other_environments;
mod school;
