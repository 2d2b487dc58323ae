//! The system call filter: a commented list in a file, compiled to the kernel's instructions.
//!
//! The kernel tries a new filter on every system call there is, to know which need no filter at
//! all, and compiles it. So a filter's length is a cost of every child that installs it: a decision
//! is a binary search, and children install only what their zygote could not ([`Stages`]).
//! `docs/adr/0011-the-jail.md` has the figures.

mod compile;
mod names;
#[cfg(test)]
mod oracle;
mod rules;
mod stages;

pub use compile::Compiled;
pub use names::{NAMES, number};
pub use rules::{Condition, FilterAction, Root, RuleError, SyscallRule, SyscallRules};
pub use stages::Stages;

/// The list for programs.
pub const PROGRAM: &str = include_str!("program.filter");

/// The calls that build a jail.
pub const TOOLS: &str = include_str!("tools.filter");
