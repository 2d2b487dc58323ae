//! Constant answers: programs that return the same value whatever they are asked, and the steps of a plan that accept them.

use super::Step;
use crate::value::Value;

/// Answers that solve nothing, as source text and as values.
pub fn constants() -> [(&'static str, Value); 7] {
    [
        ("0", Value::int(0)),
        ("1", Value::int(1)),
        ("None", Value::None),
        ("''", Value::str("")),
        ("[]", Value::List(Vec::new())),
        ("True", Value::Bool(true)),
        ("False", Value::Bool(false)),
    ]
}

impl Step {
    /// Whether a program that always answers with this value passes; `None` if that cannot be told without running it.
    pub fn accepts_constant(&self, value: &Value) -> Option<bool> {
        match self {
            Self::Value { expression, expected } => {
                is_call(expression).then(|| expected.accepts(value))
            }
            Self::Truth { expression, expected } => {
                truth(value).filter(|_| is_call(expression)).map(|truth| truth == *expected)
            }
            Self::Call { expected, .. } => Some(expected.accepts(value)),
            Self::Check { .. } | Self::Run { .. } => None,
        }
    }
}

/// Whether an expression is certainly one call, with nothing taken out of its value.
pub fn is_call(expression: &str) -> bool {
    let Some(arguments) = root(expression).and_then(|name| expression.strip_prefix(name)) else {
        return false;
    };
    let mut parts = arguments.split(')').map(str::trim_start);
    let taken = parts.any(|part| part.starts_with(['.', '[']));
    // The first part is the text before any closing bracket.
    let called_again = arguments.split(')').skip(1).any(|part| part.trim_start().starts_with('('));
    arguments.starts_with('(') && arguments.ends_with(')') && !taken && !called_again
}

/// The first name of an expression: `f` of `f(1)[0]`.
pub fn root(expression: &str) -> Option<&str> {
    let start = expression.trim_start_matches(['(', ' ', '\n']);
    let end = start.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(start.len());
    (end > 0).then(|| &start[..end])
}

/// Python's truth of a value, where it is plain to see.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::None => Some(false),
        Value::Bool(truth) => Some(*truth),
        Value::Int(int) => int.as_i64().map(|int| int != 0),
        Value::Float(float) => Some(*float != 0.0),
        Value::Str(text) => Some(!text.as_bytes().is_empty()),
        Value::List(items) | Value::Tuple(items) => Some(!items.is_empty()),
        _ => None,
    }
}
