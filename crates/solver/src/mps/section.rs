//! The sections of an MPS file.

/// A section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Start,
    Sense,
    Rows,
    Columns,
    Rhs,
    Ranges,
    Bounds,
    End,
}

impl Section {
    /// Its name in a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "its head",
            Self::Sense => "OBJSENSE",
            Self::Rows => "ROWS",
            Self::Columns => "COLUMNS",
            Self::Rhs => "RHS",
            Self::Ranges => "RANGES",
            Self::Bounds => "BOUNDS",
            Self::End => "ENDATA",
        }
    }
}
