//! The one place that writes to the terminal.
//!
//! Standard output is for data that a script would read, standard error for messages: progress,
//! hints, errors. Lines change only on a terminal (`progress` says what is written elsewhere), and
//! colours are used only if they are wanted (`colour`).

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle, WeakProgressBar};
use serde::Serialize;

use crate::colour::{ColourArg, can_redraw};

/// Writes data to standard output and talk to standard error.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    quiet: bool,
    colour_out: bool,
    colour_err: bool,
}

/// The colour of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Right.
    Good,
    /// To be looked at.
    Doubtful,
    /// Wrong.
    Bad,
    /// A suggestion.
    Hint,
}

impl Printer {
    /// A printer for this process's streams. A quiet one draws no progress and says no notes.
    pub fn new(quiet: bool) -> Self {
        Self::with_colour(quiet, ColourArg::Auto)
    }

    /// The same, with the answer to `--color`.
    pub fn with_colour(quiet: bool, colour: ColourArg) -> Self {
        Self {
            quiet,
            colour_out: colour.wants(io::stdout().is_terminal()),
            colour_err: colour.wants(io::stderr().is_terminal()),
        }
    }

    /// Writes one line of data.
    pub fn data(self, line: impl Display) -> anyhow::Result<()> {
        writeln!(io::stdout(), "{line}").context("cannot write to standard output")
    }

    /// Writes data as it is, without adding a newline.
    pub fn raw(self, text: &str) -> anyhow::Result<()> {
        io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
    }

    /// Like [`Self::raw`], but the text is there at once, in the middle of a line too.
    pub fn piece(self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.context("cannot write to standard output")
    }

    /// Writes one JSON document.
    pub fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value).context("cannot write as JSON")?;
        self.data(text)
    }

    /// Says something that the user did not ask for but may want to know.
    pub fn note(self, line: impl Display) {
        if !self.quiet {
            self.talk(line);
        }
    }

    /// Prints an error or a hint, from any thread, above the bar if one is shown. If even that cannot be written,
    /// it is dropped.
    pub fn talk(self, line: impl Display) {
        let write = || {
            let _ = writeln!(io::stderr(), "{line}");
        };
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match shown.and_then(|bar| bar.upgrade()) {
            Some(bar) => suspend(&bar, write),
            None => write(),
        }
    }

    /// Prints a warning about the results.
    pub fn warning(self, line: impl Display) {
        self.talk(format_args!("{}: {line}", self.toned_talk("warning", Tone::Doubtful)));
    }

    /// A word for standard output in its colour.
    pub fn toned(self, word: &str, tone: Tone) -> String {
        toned(word, tone, self.colour_out)
    }

    /// A word for standard error in its colour.
    pub fn toned_talk(self, word: &str, tone: Tone) -> String {
        toned(word, tone, self.colour_err)
    }

    /// A progress bar on standard error over `length` pieces of work; hidden when that is not a
    /// terminal, and gone once it is dropped or finished.
    pub fn progress(self, length: u64) -> ProgressBar {
        if !self.is_watched() {
            return ProgressBar::hidden();
        }
        bar(length, "{spinner} {pos}/{len} {wide_msg} {eta}")
    }

    /// A line on standard error that changes; hidden when that is not a terminal.
    pub fn line(self) -> ProgressBar {
        if !self.is_watched() {
            return ProgressBar::hidden();
        }
        bar(0, "{spinner} {wide_msg}")
    }

    /// Whether lines on standard error can change: it is a terminal that can, and not `--quiet`.
    pub fn is_watched(self) -> bool {
        !self.quiet && io::stderr().is_terminal() && can_redraw()
    }
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(100));
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
    bar
}

/// The bar on standard error, where lines of other threads would end up in the middle of it.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

thread_local! {
    /// Whether this thread has put the bar out of the way.
    static SUSPENDS: Cell<bool> = const { Cell::new(false) };
}

/// Writes something while a bar is out of the way.
pub(crate) fn suspend<T>(bar: &ProgressBar, work: impl FnOnce() -> T) -> T {
    if SUSPENDS.get() {
        return work();
    }
    SUSPENDS.set(true);
    let done = bar.suspend(work);
    SUSPENDS.set(false);
    done
}

fn toned(word: &str, tone: Tone, colour: bool) -> String {
    let code = match tone {
        Tone::Good => 32,
        Tone::Doubtful => 33,
        Tone::Bad => 31,
        Tone::Hint => 36,
    };
    if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_added_only_where_it_is_wanted() {
        assert_eq!(toned("PASS", Tone::Good, false), "PASS");
        assert_eq!(toned("PASS", Tone::Good, true), "\x1b[32mPASS\x1b[0m");
    }

    #[test]
    fn progress_is_hidden_when_nobody_looks() {
        assert!(Printer::new(true).progress(3).is_hidden());
        assert!(Printer::new(true).line().is_hidden());
    }
}
