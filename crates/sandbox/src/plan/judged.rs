//! Tests in which the program would judge its own answer.
//!
//! `assert is_close(add(2, 3), 5)`, where nobody defines `is_close`: it would be the program's, and
//! be asked in the program's process, with the expected value as an argument. Such a test is broken,
//! whatever the program does. The same goes for `np.allclose(add(2, 3), 5)` without an import of `np`.
//! `decode(encode(text), key) == text` is none of these: what it compares is the answer.
//!
//! What decides is followed through variables, conditions, loops, collections and the functions of the
//! test and the setup ([`follow`](super::follow)); so are answers. A name counts wherever it is
//! assigned, in whatever scope.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprCompare, Stmt};
use ruff_text_size::Ranged;

use super::follow::{Deciders, Values};
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
    let statements = source.tree.suite();
    let of_setup = if setup.proxies.is_empty() { None } else { Source::parse(&setup.checker).ok() };
    let mut values = Values::default();
    values.visit_body(statements);
    if let Some(setup) = &of_setup {
        values.visit_body(setup.tree.suite());
    }
    let mut search = Search {
        names,
        setup,
        candidate: candidate(statements),
        values: &values,
        answers: BTreeSet::new(),
        followed: BTreeSet::new(),
        found: None,
    };
    search.find_answers();
    let mut deciders = Deciders::default();
    deciders.visit_body(statements);
    deciders.tests.iter().for_each(|test| search.decided(test, Follow::Names));
    deciders.conditions.iter().for_each(|test| search.decided(test, Follow::Nothing));
    if !deciders.any {
        // Nothing but an exception of the program's own would make it fail.
        deciders.calls.iter().for_each(|call| search.decided(call, Follow::Names));
    }
    let (at, name) = search.found?;
    Some((source.text.get(..at).unwrap_or_default().matches('\n').count() + 1, name))
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

/// Whether a name that decides is followed to what it was assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Names,
    Nothing,
}

struct Search<'a> {
    names: &'a Names,
    setup: &'a Setup,
    candidate: Option<&'a str>,
    values: &'a Values<'a>,
    /// Names that may stand for an answer of the program.
    answers: BTreeSet<&'a str>,
    /// Names that decide and have been followed.
    followed: BTreeSet<&'a str>,
    found: Option<(usize, String)>,
}

impl<'a> Search<'a> {
    /// Finds the names that may stand for an answer.
    fn find_answers(&mut self) {
        loop {
            let before = self.answers.len();
            for (name, values) in &self.values.assigned {
                if values.iter().any(|value| self.is_told(value)) {
                    self.answers.insert(name);
                }
            }
            for call in &self.values.calls {
                let Expr::Name(name) = call.func.as_ref() else { continue };
                let Some(parameters) = self.values.parameters.get(name.id.as_str()) else {
                    continue;
                };
                if self.is_told_by(call) {
                    self.answers.extend(parameters);
                }
            }
            if self.answers.len() == before {
                return;
            }
        }
    }

    /// Looks at an expression whose truth decides.
    fn decided(&mut self, expression: &'a Expr, follow: Follow) {
        match expression {
            Expr::Call(call) => self.call(call, follow),
            Expr::UnaryOp(operation) => self.decided(&operation.operand, follow),
            Expr::BoolOp(operation) => self.all_decided(&operation.values, follow),
            Expr::BinOp(operation) => {
                self.decided(&operation.left, follow);
                self.decided(&operation.right, follow);
            }
            Expr::If(choice) => {
                for one in [&choice.test, &choice.body, &choice.orelse] {
                    self.decided(one, follow);
                }
            }
            Expr::Named(named) => self.decided(&named.value, follow),
            Expr::Generator(each) => self.decided(&each.elt, follow),
            Expr::ListComp(each) => self.decided(&each.elt, follow),
            Expr::SetComp(each) => self.decided(&each.elt, follow),
            Expr::List(list) => self.all_decided(&list.elts, follow),
            Expr::Tuple(tuple) => self.all_decided(&tuple.elts, follow),
            Expr::Set(set) => self.all_decided(&set.elts, follow),
            Expr::Subscript(subscript) => self.decided(&subscript.value, follow),
            Expr::Compare(compare) => self.compared(compare, follow),
            Expr::Name(name) if follow == Follow::Names && self.followed.insert(&name.id) => {
                let values: &'a Values<'a> = self.values;
                let assigned = values.assigned.get(name.id.as_str());
                assigned.into_iter().flatten().for_each(|value| self.decided(value, follow));
            }
            _ => {}
        }
    }

    fn all_decided(&mut self, expressions: &'a [Expr], follow: Follow) {
        for one in expressions {
            self.decided(one, follow);
        }
    }

    /// Where values are compared with an answer that is right, the comparison decides.
    fn compared(&mut self, compare: &'a ExprCompare, follow: Follow) {
        let sides = || std::iter::once(compare.left.as_ref()).chain(&compare.comparators);
        let is_literal =
            |side: &Expr| matches!(side, Expr::BooleanLiteral(_) | Expr::NoneLiteral(_));
        let is_answer = |side: &Expr| !is_literal(side) && !self.is_told(side);
        let equal = compare.ops.iter().all(|op| matches!(op, CmpOp::Eq | CmpOp::NotEq));
        if equal && sides().any(is_answer) {
            return;
        }
        // `assert root is not None` says that something was made, not that it is right.
        let against_none = sides().any(Expr::is_none_literal_expr);
        let follow = if against_none { Follow::Nothing } else { follow };
        sides().for_each(|side| self.decided(side, follow));
    }

    fn call(&mut self, call: &'a ExprCall, follow: Follow) {
        let Some(name) = first(&call.func) else { return };
        if !self.is_programs(name) {
            // Python's own, or a function of the test: what it is given or returns may be such a call.
            self.all_decided(&call.arguments.args, follow);
            let values: &'a Values<'a> = self.values;
            if call.func.is_name_expr() && self.followed.insert(name) {
                let returned = values.returned.get(name);
                returned.into_iter().flatten().for_each(|one| self.decided(one, Follow::Names));
            }
            return;
        }
        let count = call.arguments.args.len() + call.arguments.keywords.len();
        // What the program returns is its own to ask: `Solution().f(g(1), 2)`.
        let is_direct = !has_call(&call.func);
        if Some(name) != self.candidate && is_direct && count > 1 && self.is_told_by(call) {
            self.found.get_or_insert((call.start().to_usize(), name.to_owned()));
        }
    }

    fn is_programs(&self, name: &str) -> bool {
        let is_free = self.names.free().any(|free| free == name)
            || self.setup.proxies.iter().any(|proxy| proxy == name);
        Some(name) == self.candidate
            || is_free && is_of_program(name, self.setup) && !self.setup.makes(name)
            || is_free && is_module(name) && self.names.calls(name) && !self.setup.binds(name)
    }

    /// Whether there is an answer of the program among a call's arguments.
    fn is_told_by(&self, call: &ExprCall) -> bool {
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        call.arguments.args.iter().chain(keywords).any(|argument| self.is_told(argument))
    }

    /// Whether there is an answer of the program in an expression.
    fn is_told(&self, expression: &Expr) -> bool {
        let mut told = Told { search: self, any: false };
        told.visit_expr(expression);
        told.any
    }
}

/// Whether there is a call among what a callee is taken out of.
fn has_call(callee: &Expr) -> bool {
    match callee {
        Expr::Attribute(attribute) => has_call(&attribute.value),
        Expr::Subscript(subscript) => has_call(&subscript.value),
        other => other.is_call_expr(),
    }
}

/// Looks for answers in an expression.
struct Told<'s, 'a> {
    search: &'s Search<'a>,
    any: bool,
}

impl<'e> Visitor<'e> for Told<'_, '_> {
    fn visit_expr(&mut self, expression: &'e Expr) {
        match expression {
            Expr::Call(call) => {
                self.any |= first(&call.func).is_some_and(|name| {
                    let is_class = name.starts_with(char::is_uppercase) && call.func.is_name_expr();
                    self.search.is_programs(name) && !is_class
                });
            }
            Expr::Name(name) => self.any |= self.search.answers.contains(name.id.as_str()),
            _ => {}
        }
        walk_expr(self, expression);
    }
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
            ("def check(c):\n  x = c(2, 3)\n  assert math.fabs(poly([1], x)) < 1", 3, "poly"),
            ("r = [add(2, 3)]\nassert all(near(a, b) for a, b in zip(r, [5]))", 2, "near"),
            ("def same(a, b): return near(a, b)\nassert same(add(2, 3), 5)", 1, "near"),
            ("ok = near(add(2, 3), 5)\nif not ok: raise ValueError", 1, "near"),
            ("if not near(add(2, 3), 5): ok = False", 1, "near"),
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
            "e = encode('a', 1)\nd = decode(e, 1)\nassert d == 'a'",
            "s = ''.join(['a'])\nassert decode(encode(s, 1), 1) == s",
            "assert decode(encode(s, 1), 1) == ''.join(s)",
            "root = None\nfor v in [2, 1]: root = insert(root, v)\nassert root is not None",
            "tree = make(1)\ninsert(tree, 5)\nassert height(tree) == 2",
            "tree = make(1)\nwhile tree: tree = cut(tree, 1)\nassert tree == []",
            "def t(xs, k): return has_pair(xs, k)\nassert t([1, 2], 3)",
            "r = add(2, 3)\nassert [is_close(r, 5), is_close(r, 6)] == [True, False]",
            "def check(c):\n  assert same(c(1), 2)",
            "def same(a, b): return a == b\nassert same(add(2, 3), 5)",
        ] {
            let setup = "import math\ndef same(a, b): return a == b";
            assert_eq!(found(test, setup), None, "{test}");
        }
    }
}
