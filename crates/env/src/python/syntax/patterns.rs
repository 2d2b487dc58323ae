//! Patterns of `match` that `CPython` refuses and Ruff does not: f-strings, and alternatives that can
//! never be reached.
//!
//! A name or `_` before the last alternative of `a | b` is refused at any depth; Ruff looks at whole
//! cases alone.

use ruff_python_ast::Pattern;
use ruff_text_size::Ranged;

use super::Problem;

/// Checks one pattern, not the patterns inside it.
pub(super) fn check(pattern: &Pattern) -> Result<(), Problem> {
    if let Pattern::MatchValue(value) = pattern
        && (value.value.is_f_string_expr() || value.value.is_t_string_expr())
    {
        let message = "patterns may only match literals and attribute lookups".to_owned();
        return Err(Problem { at: pattern.start(), message });
    }
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
