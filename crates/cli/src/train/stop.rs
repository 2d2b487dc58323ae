//! Ctrl-C: a training saves and leaves; a second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use crate::printer::Printer;

/// A flag that is set when the program should stop.
///
/// Called before any other thread exists: the signals are held back from all of them, and one waits
/// for them.
pub(crate) fn on_signal(printer: Printer) -> Arc<AtomicBool> {
    on_signal_unless(printer, Arc::default())
}

/// Like [`on_signal`], but while `at_once` is set, a signal ends the program immediately.
pub(crate) fn on_signal_unless(printer: Printer, at_once: Arc<AtomicBool>) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let Ok(signals) = held_back() else { return flag };
    let shared = Arc::clone(&flag);
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if shared.swap(true, Ordering::Relaxed) || at_once.load(Ordering::Relaxed) {
                // A second signal ends the program immediately; a run survives that too.
                let _ = signals.thread_unblock();
                let _ = nix::sys::signal::raise(signal);
            }
            printer.talk("stopping: the run is saved first; once more to stop at once");
        }
    });
    flag
}

/// The signals that end a program, blocked in this thread and in every later one.
pub(crate) fn held_back() -> nix::Result<SigSet> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block()?;
    Ok(signals)
}
