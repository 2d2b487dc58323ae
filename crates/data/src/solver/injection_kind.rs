//! The kinds of injections, which `inject.rs` draws.

use serde::Deserialize;

/// The kinds of injections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionKind {
    /// A row that contradicts others.
    Row,
    /// A right-hand side.
    Limit,
    /// A sense.
    Sense,
    /// A coefficient.
    Coefficient,
    /// A bound of a variable.
    Bound,
}

impl InjectionKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Row, Self::Limit, Self::Sense, Self::Coefficient, Self::Bound];
}
