//! Text of a model on standard output.
//!
//! A terminal obeys control characters, and a model may sample any: escape sequences that clear the screen, set its
//! title or answer for the user. So a terminal gets newlines and tabs as they are and every other control character as
//! a visible escape, `\u{1b}`; and so characters that only change the direction of text, which hide what code does.
//! A pipe or a file gets the text as it is.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::printer::Printer;
use crate::train::stop::held_back;

/// Standard output while text arrives.
#[derive(Debug)]
pub(super) struct Screen {
    printer: Printer,
    is_terminal: bool,
    is_in_line: Arc<Mutex<bool>>,
}

impl Screen {
    /// That of this process.
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, is_terminal: io::stdout().is_terminal(), is_in_line: Arc::default() }
    }

    /// Whether a person looks at it.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes a piece of text, at once.
    pub(super) fn write(&self, piece: &str) -> anyhow::Result<()> {
        let text = if self.is_terminal { visible(piece) } else { Cow::Borrowed(piece) };
        let mut is_in_line = self.is_in_line.lock().unwrap_or_else(PoisonError::into_inner);
        self.printer.piece(&text)?;
        *is_in_line = !piece.ends_with('\n');
        Ok(())
    }

    /// Ends a line of streamed text, so that what follows stands in a line of its own.
    pub(super) fn end_line(&self) {
        let mut is_in_line = self.is_in_line.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_terminal && *is_in_line {
            // An error follows, which says more than a terminal that takes nothing.
            let _ = self.printer.piece("\n");
            *is_in_line = false;
        }
    }

    /// From now on a signal that ends the program (Ctrl-C) ends the line on a terminal, too.
    ///
    /// Called before any other thread exists, as [`held_back`] says.
    pub(super) fn end_line_on_signal(&self) {
        if !self.is_terminal {
            return;
        }
        let (printer, is_in_line) = (self.printer, Arc::clone(&self.is_in_line));
        let Ok(signals) = held_back() else { return };
        thread::spawn(move || {
            let Ok(signal) = signals.wait() else { return };
            // Held until the end, so that nothing is written after the newline. A terminal that takes nothing
            // more must not keep the program alive.
            let held = (0..20).find_map(|_| match is_in_line.try_lock() {
                Ok(held) => Some(held),
                Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(Duration::from_millis(10));
                    None
                }
            });
            if held.as_ref().is_some_and(|is_in_line| **is_in_line) {
                let _ = printer.piece("\n");
            }
            let _ = signals.thread_unblock();
            let _ = nix::sys::signal::raise(signal);
        });
    }
}

/// Text without characters that a terminal obeys.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_obeyed(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

fn is_obeyed(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_visible_and_text_is_as_it_was() {
        for text in ["", "x = 1\n\ty\n", "終 é 🦀 \u{200f}\u{200d}"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        assert_eq!(visible("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(visible("\u{9b}31m\x07\r\n\x7f\0"), "\\u{9b}31m\\u{7}\\u{d}\n\\u{7f}\\u{0}");
        assert_eq!(visible("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
    }
}
