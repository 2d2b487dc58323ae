//! Asserts in which the program would judge its own answer.
//!
//! `assert is_close(add(2, 3), 5)`, where nobody defines `is_close`: it would be the program's, and
//! be asked in the program's process, with the expected value as an argument. Such a test is broken,
//! whatever the program does. The same goes for `np.allclose(add(2, 3), 5)` without an import of `np`.
//! `decode(encode(text), key) == text` is none of these: what it compares is the answer.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Arguments, CmpOp, Expr, ExprCall, Stmt};
use ruff_text_size::Ranged;

use super::names::Names;
use super::python::is_module;
use super::question::{first, is_of_program};
use super::setup::Setup;
use super::source::Source;

/// The line and the name of a function that would judge the answer it is given.
pub(super) fn self_judged(
    source: &Source,
    names: &Names,
    setup: &Setup,
) -> Option<(usize, String)> {
    let candidate = candidate(source.tree.suite());
    let mut search = Search { names, setup, candidate, found: None };
    search.visit_body(source.tree.suite());
    let (at, name) = search.found?;
    Some((source.text[..at].matches('\n').count() + 1, name))
}

/// The name by which `check(candidate)` knows the program.
fn candidate(statements: &[Stmt]) -> Option<&str> {
    statements.iter().find_map(|statement| match statement {
        Stmt::FunctionDef(def) if def.name.as_str() == "check" => {
            def.parameters.iter().next().map(|parameter| parameter.name().as_str())
        }
        _ => None,
    })
}

struct Search<'a> {
    names: &'a Names,
    setup: &'a Setup,
    candidate: Option<&'a str>,
    found: Option<(usize, String)>,
}

impl<'a> Visitor<'a> for Search<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assert(assert) = statement {
            self.decided(&assert.test);
        }
        walk_stmt(self, statement);
    }
}

impl Search<'_> {
    /// Looks at an expression whose truth decides.
    fn decided(&mut self, expression: &Expr) {
        match expression {
            Expr::Call(call) => self.call(call),
            Expr::UnaryOp(operation) => self.decided(&operation.operand),
            Expr::BoolOp(operation) => operation.values.iter().for_each(|one| self.decided(one)),
            Expr::BinOp(operation) => {
                self.decided(&operation.left);
                self.decided(&operation.right);
            }
            Expr::Compare(compare) => {
                let sides = || std::iter::once(compare.left.as_ref()).chain(&compare.comparators);
                let is_answer = |side: &Expr| {
                    !matches!(side, Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) | Expr::Call(_))
                };
                let equal = compare.ops.iter().all(|op| matches!(op, CmpOp::Eq | CmpOp::NotEq));
                if !equal || !sides().any(is_answer) {
                    sides().for_each(|side| self.decided(side));
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let name = match call.func.as_ref() {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => match attribute.value.as_ref() {
                Expr::Name(name) => name.id.as_str(),
                _ => return,
            },
            _ => return,
        };
        // Python's own: what it is given may be such a call.
        if !self.is_programs(name) {
            return call.arguments.args.iter().for_each(|one| self.decided(one));
        }
        let is_candidate = Some(name) == self.candidate;
        if !is_candidate && count(&call.arguments) > 1 && self.is_told(&call.arguments) {
            self.found.get_or_insert((call.start().to_usize(), name.to_owned()));
        }
    }

    fn is_programs(&self, name: &str) -> bool {
        let is_free = self.names.free().any(|free| free == name);
        Some(name) == self.candidate
            || is_free && is_of_program(name, self.setup) && !self.setup.makes(name)
            || is_free && is_module(name) && self.names.calls(name) && !self.setup.binds(name)
    }

    /// Whether there is an answer of the program among the arguments themselves.
    fn is_told(&self, arguments: &Arguments) -> bool {
        let keywords = arguments.keywords.iter().map(|keyword| &keyword.value);
        arguments.args.iter().chain(keywords).any(|argument| match argument {
            Expr::Call(call) => first(&call.func).is_some_and(|name| {
                let is_class = name.starts_with(char::is_uppercase) && call.func.is_name_expr();
                self.is_programs(name) && !is_class
            }),
            _ => false,
        })
    }
}

fn count(arguments: &Arguments) -> usize {
    arguments.args.len() + arguments.keywords.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(test: &str, setup: &str) -> Option<(usize, String)> {
        let source = Source::parse(test).unwrap();
        let names = Names::of(source.tree.suite());
        self_judged(&source, &names, &Setup::split(setup).unwrap())
    }

    #[test]
    fn a_function_of_nobody_may_not_judge_an_answer() {
        for (test, line, name) in [
            ("assert is_close(add(2, 3), 5)", 1, "is_close"),
            ("assert not differs(add(2, 3), 5)", 1, "differs"),
            ("assert is_close(add(2, 3), 5) == True", 1, "is_close"),
            ("assert is_close(add(2, 3), 5) is True", 1, "is_close"),
            ("assert distance(add(2, 3), 5) < 1e-6", 1, "distance"),
            ("assert abs(distance(add(2, 3), 5)) < 1e-6", 1, "distance"),
            ("assert -distance(add(2, 3), b=5) > -1", 1, "distance"),
            ("assert np.allclose(add(2, 3), 5)", 1, "np"),
            ("x = 1\nassert x and np.allclose(add(2, 3), 5)", 2, "np"),
            ("def check(c):\n  assert np.allclose(c(2, 3), 5)", 2, "np"),
            ("def check(c):\n  assert same(c(2, 3), 5)", 2, "same"),
        ] {
            assert_eq!(found(test, ""), Some((line, name.to_owned())), "{test}");
        }
    }

    #[test]
    fn answers_that_are_compared_and_helpers_of_the_setup_are_fine() {
        for test in [
            "assert decode(encode('a', 1), 1) == 'a'",
            "assert f(f(1)) == 1",
            "assert f(f(1))",
            "assert f(1, 2)",
            "assert abs(f(1, 2) - 3) < 1",
            "assert math.isclose(f(1), 2)",
            "assert same(add(2, 3), 5)",
            "assert height(Node(1), 2) < 3",
            "assert height(math.floor(1.5), 2) < 3",
            "def check(c):\n  assert c(c(1), 2)",
            "def check(c):\n  assert same(c(1), 2)",
            "def same(a, b): return a == b\nassert same(add(2, 3), 5)",
        ] {
            let setup = "import math\ndef same(a, b): return a == b";
            assert_eq!(found(test, setup), None, "{test}");
        }
    }
}
