//! Marks the calls in test code whose value the test does not use: `candidate(nums)` as a statement.
//!
//! Of such a call the test wants what it does to its arguments, so the checker asks the program for
//! those. Where the value is used it does not: a program could then change what the test compares
//! its answer with. The mark is a function around the callee, `whet_drop(candidate)(nums)`, which
//! the checker defines; lines stay where they are.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::source::Source;

/// The text of test code, with the calls marked.
pub(super) fn mark_unused(source: &Source) -> String {
    let mut callees = Callees::default();
    callees.visit_body(source.tree.suite());
    let mut text = source.text.clone();
    // From the end, so that places before stay what they are.
    for (start, end) in callees.found.into_iter().rev() {
        text.insert(end, ')');
        text.insert_str(start, "whet_drop(");
    }
    text
}

/// Where the callees stand, in their order.
#[derive(Default)]
struct Callees {
    found: Vec<(usize, usize)>,
}

impl<'a> Visitor<'a> for Callees {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(expression) = statement
            && let Expr::Call(call) = expression.value.as_ref()
            && matches!(call.func.as_ref(), Expr::Name(_) | Expr::Attribute(_))
        {
            self.found.push((call.func.start().to_usize(), call.func.end().to_usize()));
        }
        walk_stmt(self, statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(test: &str, marked: &str) {
        assert_eq!(mark_unused(&Source::parse(test).unwrap()), marked);
    }

    #[test]
    fn calls_that_are_statements_are_marked_and_no_others() {
        check(
            "x = [2, 1]\nf(x)\nassert x == [1, 2]",
            "x = [2, 1]\nwhet_drop(f)(x)\nassert x == [1, 2]",
        );
        check(
            "def check(c):\n  for x in y:\n    c(\n    x)",
            "def check(c):\n  for x in y:\n    whet_drop(c)(\n    x)",
        );
        check("s = S()\ns.push(g(1)); h(2)", "s = S()\nwhet_drop(s.push)(g(1)); whet_drop(h)(2)");
        for test in ["assert f(1) == f(2)", "x = f(1)", "f(1)(2)", "f(1).x", "return_ = f"] {
            check(test, test);
        }
    }
}
