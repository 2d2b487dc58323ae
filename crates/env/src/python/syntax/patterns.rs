//! Alternatives of a `match` pattern that can never be reached.
//!
//! CPython refuses a name or `_` before the last alternative of `a | b`, at any depth; Ruff looks
//! at whole cases alone.

use ruff_python_ast::Pattern;
use ruff_text_size::Ranged;

use super::Problem;

/// Checks one pattern, not the patterns inside it.
pub(super) fn check(pattern: &Pattern) -> Result<(), Problem> {
    let Pattern::MatchOr(alternatives) = pattern else { return Ok(()) };
    let Some((_, before_last)) = alternatives.patterns.split_last() else { return Ok(()) };
    match before_last.iter().find(|pattern| pattern.is_irrefutable()) {
        None => Ok(()),
        Some(pattern) => {
            let message = "this pattern makes the remaining ones unreachable".to_owned();
            Err(Problem { at: pattern.start(), message })
        }
    }
}
