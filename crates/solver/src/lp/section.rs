//! The sections of an LP file and the words that begin them.

use crate::model::Objective;

/// A part of an LP file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    Objective(Objective),
    Rows,
    Bounds,
    General,
    Binary,
    End,
}

/// A header: its section and the number of its words.
pub(super) struct Header {
    pub(super) section: Section,
    pub(super) words: usize,
}

/// The header that a line begins with, by its first two words in lower case.
pub(super) fn header(first: &str, second: &str) -> Option<Header> {
    let (section, words) = match (first, second) {
        ("minimize" | "minimise" | "minimum" | "min", _) => {
            (Section::Objective(Objective::Minimize), 1)
        }
        ("maximize" | "maximise" | "maximum" | "max", _) => {
            (Section::Objective(Objective::Maximize), 1)
        }
        ("subject", "to") | ("such", "that") => (Section::Rows, 2),
        ("st" | "s.t." | "st.", _) => (Section::Rows, 1),
        ("bounds" | "bound", _) => (Section::Bounds, 1),
        ("general" | "generals" | "gen" | "integer" | "integers" | "int", _) => {
            (Section::General, 1)
        }
        ("binary" | "binaries" | "bin", _) => (Section::Binary, 1),
        ("end", _) => (Section::End, 1),
        _ => return None,
    };
    Some(Header { section, words })
}
