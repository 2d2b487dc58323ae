//! Untrusted program in, verdict out.
//!
//! A [`Judge`] is a handle to a small supervisor process, which alone knows expected values, keeps
//! the clocks and compares; programs run in children of warmed interpreters that hold neither.

pub mod bound;
pub mod channel;
pub mod entry;
pub mod filter;
#[expect(unsafe_code, reason = "the jail is made of system calls")]
mod jail;
mod javascript;
pub mod job;
mod judge;
mod os;
pub mod phaser;
pub mod plan;
pub mod protocol;
mod start_problem;
pub mod stdio;
mod supervisor;
pub mod value;
mod zygote;

pub use judge::{Judge, Options, PlayTicket, StartError, Ticket};
pub use start_problem::start_problem;
pub use supervisor::{SCRATCH_BYTES, free_bytes, slots};
pub use zygote::{interpreter_command, output_within};

/// The version of the judge. Raised whenever a program could get another verdict than before: kept
/// verdicts carry it.
pub const JUDGE_VERSION: &str = "3";
