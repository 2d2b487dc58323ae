//! Functions of the program, as a test sees them.

/// The role of a function of the program in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    /// The one that is asked for.
    EntryPoint,
    /// Another one, perhaps: one that went where nobody can follow.
    Unclear,
    /// Another one.
    Other,
    /// Another one that may have got arguments already: `partial(is_close, 5)`.
    Bound,
}
