//! Elsewhere.
