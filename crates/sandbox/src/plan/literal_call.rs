//! A test that is one call with plain data, taken apart: `assert f([1, 2], k) == 3` is `f` with two arguments where `k` is a
//! literal too.
//!
//! For those who make further tests of the same shape. Everything that is not beyond doubt is `None`: named arguments, methods,
//! names, other comparisons.

use ruff_python_ast::{CmpOp, Expr, Stmt};

use super::source::ParsedSource;
use crate::value::{Value, literal};

/// A call of a function with plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralCall {
    /// The function.
    pub name: String,
    /// Its positional arguments.
    pub args: Vec<Value>,
    /// The value that it must return.
    pub expected: Value,
}

/// The call of an assert.
pub fn literal_call(assert: &str) -> Option<LiteralCall> {
    let source = ParsedSource::parse(assert).ok()?;
    let [Stmt::Assert(assert)] = source.tree.suite().as_slice() else { return None };
    let Expr::Compare(compare) = assert.test.as_ref() else { return None };
    let ([CmpOp::Eq], [right]) = (&*compare.ops, &*compare.comparators) else { return None };
    let Expr::Call(call) = compare.left.as_ref() else { return None };
    let Expr::Name(name) = call.func.as_ref() else { return None };
    if !call.arguments.keywords.is_empty() {
        return None;
    }
    let args = call.arguments.args.iter().map(literal).collect::<Option<Vec<_>>>()?;
    Some(LiteralCall { name: name.id.to_string(), args, expected: literal(right)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_plain_data_is_taken_apart() {
        let call = literal_call("assert f(-2, [1.5, 'a'], (True,)) == {'k': None}").unwrap();
        assert_eq!(call.name, "f");
        let list = Value::List(vec![Value::Float(1.5), Value::str("a")]);
        let tuple = Value::Tuple(vec![Value::Bool(true)]);
        assert_eq!(call.args, [Value::int(-2), list, tuple]);
        assert_eq!(call.expected, Value::Dict(vec![(Value::str("k"), Value::None)]));
        assert!(literal_call("assert f() == 1").unwrap().args.is_empty());
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for test in [
            "assert f(x) == 1",
            "assert f(1)",
            "assert f(n=1) == 1",
            "assert o.f(1) == 1",
            "assert f(1) < 2",
            "assert f(1) == 1 == 1",
            "assert f(*[1]) == 1",
            "assert f(1) == g(1)",
            "f(1) == 1",
            "assert f(1) == 1; assert f(2) == 2",
            "assert f(",
        ] {
            assert_eq!(literal_call(test), None, "{test}");
        }
    }
}
