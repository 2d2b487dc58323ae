//! A command that could not do what was asked, and how that is said.

use std::io;

use crate::config::Problem;
use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// An error that knows how the command should end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The config has problems, all of which are said.
    #[error("the config has {}", counted(.0.len(), "problem"))]
    Config(Vec<Problem>),
}

/// Says an error with its causes and hints, once, and how the command ends.
pub(crate) fn report(err: &anyhow::Error, printer: Printer) -> Exit {
    if is_broken_pipe(err) {
        // The reader has seen enough, as `head` does.
        return Exit::Done;
    }
    printer.talk(format_args!("{}: {err:#}", printer.toned_talk("error", Tone::Bad)));
    match err.downcast_ref() {
        Some(Failure::Config(problems)) => {
            for problem in problems {
                printer.talk(problem);
            }
            Exit::Usage
        }
        None => Exit::Broken,
    }
}

/// `1 problem`, `2 problems`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn is_broken_pipe(err: &anyhow::Error) -> bool {
    let causes = err.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
