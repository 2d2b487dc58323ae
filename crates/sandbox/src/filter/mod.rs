//! The system call filter: a commented list in a file, compiled to the kernel's instructions.
//!
//! Every child installs the filter, and the kernel then tries it on every system call there is, to
//! know which need no filter at all. So its length on the way to a decision is a cost of every
//! program: the decision is a binary search. `docs/adr/0011-the-jail.md` has the figures.

mod compile;
mod names;
#[cfg(test)]
mod oracle;
mod rules;

pub use compile::{Compiled, compile};
pub use names::{NAMES, number};
pub use rules::{Condition, Rule, RuleError, Rules, Verdict};

/// The list for programs.
pub const PROGRAM: &str = include_str!("program.filter");
