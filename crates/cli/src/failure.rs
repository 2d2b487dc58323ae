//! How failures are reported, and the exit codes that they lead to.

use std::io;

pub(crate) use whetstone_recipe::failure::Failure;
use whetstone_recipe::failure::FailureKind;

use whetstone_serve::http::ListenError;

use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// Says an error with its causes and hints, once, and how the command ends.
pub(crate) fn report(err: &anyhow::Error, printer: Printer) -> Exit {
    if is_broken_pipe(err) {
        // The reader has seen enough, as `head` does.
        return Exit::Done;
    }
    printer.talk(format_args!("{}: {err:#}", printer.toned_talk("error", Tone::Bad)));
    if let Some(listen) = err.downcast_ref::<ListenError>() {
        hint(listen.hint(), printer);
        return Exit::Usage;
    }
    let Some(failure) = err.downcast_ref::<Failure>() else { return Exit::Broken };
    for line in failure.details() {
        printer.talk(line);
    }
    if let Some(known) = failure.hint() {
        hint(&known, printer);
    }
    match failure.kind() {
        FailureKind::No => Exit::No,
        FailureKind::Usage => Exit::Usage,
        FailureKind::Broken => Exit::Broken,
    }
}

fn hint(hint: &str, printer: Printer) {
    // Further lines stand under the first.
    let hint = hint.replace('\n', "\n        ");
    printer.talk(format_args!("  {}: {hint}", printer.toned_talk("hint", Tone::Hint)));
}

fn is_broken_pipe(err: &anyhow::Error) -> bool {
    let mut causes = err.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
