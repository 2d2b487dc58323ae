//! Functions of the program, as a test sees them.

/// The role of a function of the program in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProgramFunction {
    /// The one that is asked for.
    EntryPoint,
    /// Possibly another one: it was passed on in a way that cannot be followed.
    Unclear,
    /// Another one.
    Other,
    /// Another one that may have got arguments already: `partial(is_close, 5)`.
    Bound,
}
