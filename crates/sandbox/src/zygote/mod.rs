//! Zygotes: interpreters that were started and warmed once, and fork a child for each program.
//!
//! [`launch`] runs in a process of its own that becomes the zygote: it walls itself in (a private
//! root with what the interpreter needs, no network) and then executes the interpreter.
//! [`Zygote`] is the supervisor's end.

mod blocked;
pub(crate) mod folders;
mod handle;
pub(crate) mod interpreter;
pub(crate) mod launch;
mod root;
mod shown;
mod shut;
mod timed_output;

pub use interpreter::interpreter_command;
pub use timed_output::output_within;

pub(crate) use handle::{Fds, Zygote};
pub(crate) use shown::shown;

/// The code that the interpreter runs: it starts [`SOURCE`].
pub(crate) const START: &str = include_str!("start.py");

/// The zygote's program.
pub(crate) const SOURCE: &str = include_str!("zygote.py");

/// The jail as a shared object, for the interpreter to load.
pub(crate) const JAIL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/jail.so"));
