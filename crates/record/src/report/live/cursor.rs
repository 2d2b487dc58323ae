//! The part of a run that a page has already received, as a short text that the page sends back.
//!
//! ```text
//! 4711-12-90ab12cd.1-5e1f00aa.18000-40-00c0ffee.25000-64-0badf00d.00000000
//! events           journals   last step         end               figures
//! ```
//!
//! It is checked when it comes back: whatever it says, only records of this run are read.

use std::fmt;
use std::str::FromStr;

use crate::journal::Position;
use crate::report::rollouts::Journals;
use crate::report::survey::SurveyReach;

/// The part of a run that a page has already received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The place behind the last event.
    pub(in crate::report) events: Position,
    /// Position in the rollouts.
    pub(in crate::report) rollouts: SurveyReach,
    /// The crc of the figures and stages that were seen; 0 if there were none.
    pub(in crate::report) figures_crc: u32,
}

/// A text that is not a [`Cursor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor: use the one from the page or from the last response")]
pub struct NotACursor;

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, rollouts: SurveyReach { journals, last_step, end, .. }, figures_crc } =
            self;
        let Journals { count, names_crc } = journals;
        write!(out, "{events}.{count}-{names_crc:08x}.{last_step}.{end}.{figures_crc:08x}")
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let parts: Vec<&str> = text.split('.').take(6).collect();
        let [events, journals, last_step, end, figures] = parts[..] else {
            return Err(NotACursor);
        };
        let place = |text: &str| text.parse::<Position>().map_err(|_| NotACursor);
        let (count, names) = journals.split_once('-').ok_or(NotACursor)?;
        let journals =
            Journals { count: count.parse().map_err(|_| NotACursor)?, names_crc: crc(names)? };
        let (last_step, end) = (place(last_step)?, place(end)?);
        let cursor = Self {
            events: place(events)?,
            rollouts: SurveyReach { journals, last_step, end, ..SurveyReach::default() },
            figures_crc: crc(figures)?,
        };
        // One text for each: what reads back differently was not ours.
        let is_ours = cursor.to_string() == text && last_step.records() <= end.records();
        if is_ours { Ok(cursor) } else { Err(NotACursor) }
    }
}

fn crc(text: &str) -> Result<u32, NotACursor> {
    u32::from_str_radix(text, 16).map_err(|_| NotACursor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "4711-12-90ab12cd.1-5e1f00aa.18000-40-00c0ffee.25000-64-0badf00d.00000000";

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        for text in [TEXT, "0-0-.0-00000000.0-0-.0-0-.00000000"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        let wrong = [
            "",
            "....",
            "0-0-.0-00000000.0-0-.0-0-",
            "0-0-.0-00000000.0-0-.0-0-.00000000.",
            "0-0-.+0-00000000.0-0-.0-0-.00000000",
            "0-0-.0-0.0-0-.0-0-.00000000",
            "0-0-.0-00000000.5-1-00000000.0-0-.00000000",
            "0-0-.0-00000000.0-0-.0-0-.0000000G",
        ];
        for text in wrong {
            assert_eq!(text.parse::<Cursor>(), Err(NotACursor), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_other_text_is_refused_or_written_the_same(at in 0..TEXT.len(), put in "[0-9a-f.-]{0,3}") {
            let text = format!("{}{put}{}", &TEXT[..at], &TEXT[at + 1..]);
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }
}
