//! Answers that solve nothing.

/// Maximum bytes of a value, or of an output, that an answer contains.
pub(super) const MAX_KNOWN_BYTES: usize = 64 << 10;

/// An answer that solves nothing: its description and its source.
pub(super) type Trivial = (String, String);
