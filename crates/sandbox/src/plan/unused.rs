//! Marks the calls in test code by which the test wants to see what a function does to its arguments:
//! `candidate(nums)` as a statement, `result = candidate(nums)` where `result` is not read, and calls
//! whose value is held against `None` and nothing else.
//!
//! Of any other call a test wants the value, and may compare it with the arguments: there a program
//! must not be able to change them. The mark is a function around the callee, which the checker
//! defines; lines stay where they are.
//!
//! A marked call has no value. So a name counts as unread only where it cannot be read: not in the
//! body of a class, not if it is `global`, not if the setup reads it, and not where test or setup look names up
//! by their text (`eval`, `globals`, `vars`, …).
//!
//! | mark | the test sees changed arguments |
//! |---|---|
//! | `whet_drop(candidate)(nums)` | always: the value is not used |
//! | `whet_void(candidate)(nums)` | if the function returned `None` |

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{CmpOp, Expr, ExprCall, Stmt};
use ruff_text_size::Ranged;

use super::source::ParsedSource;

const DROPPED: &str = "whet_drop(";
const VOID: &str = "whet_void(";

/// The text of test code, with the calls marked, `setup` being what the setup reads.
pub(super) fn mark_unused(source: &ParsedSource, setup: &Reads) -> String {
    marked(source, setup, NameReaders::ReadHere)
}

/// The same of a setup, whose names tests may read.
pub(super) fn mark_unused_in_setup(source: &ParsedSource) -> String {
    marked(source, &Reads::default(), NameReaders::ReadElsewhere)
}

/// The readers of names at the top level of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameReaders {
    ReadHere,
    ReadElsewhere,
}

fn marked(source: &ParsedSource, others: &Reads, top: NameReaders) -> String {
    let mut reads = others.clone();
    reads.visit_body(source.tree.suite());
    let mut callees = Callees { reads: &reads, names: top, found: BTreeMap::new() };
    callees.visit_body(source.tree.suite());
    let mut text = source.text.clone();
    // From the end, so that places before stay what they are.
    for (start, Mark { end, opening }) in callees.found.into_iter().rev() {
        text.insert(end, ')');
        text.insert_str(start, opening);
    }
    text
}

/// The number of reads of each name in any scope, and of those that only compare it with `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    all: BTreeMap<String, usize>,
    against_none: BTreeMap<String, usize>,
    /// Names that are declared `global`.
    global: BTreeSet<String>,
    /// Names are looked up by their text, so any may be read.
    by_text: bool,
}

/// Whether others are looked up by this name or attribute.
pub(super) fn is_by_text(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "__dict__",
        "_getframe",
        "currentframe",
        "eval",
        "exec",
        "f_globals",
        "f_locals",
        "globals",
        "locals",
        "modules",
        "vars",
    ];
    NAMES.contains(&name)
}

impl<'a> Visitor<'a> for Reads {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Global(global) = statement {
            self.global.extend(global.names.iter().map(ToString::to_string));
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx.is_load() => {
                self.by_text |= is_by_text(&name.id);
                *self.all.entry(name.id.to_string()).or_default() += 1;
            }
            Expr::Attribute(attribute) => {
                self.by_text |= is_by_text(&attribute.attr);
            }
            Expr::Compare(_) => {
                if let Some(Expr::Name(name)) = held_against_none(expression) {
                    *self.against_none.entry(name.id.to_string()).or_default() += 1;
                }
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

impl Reads {
    /// The names that statements read.
    pub(super) fn of(statements: &[Stmt]) -> Self {
        let mut reads = Self::default();
        reads.visit_body(statements);
        reads
    }

    /// The mark of a call whose value gets this name.
    fn mark_of(&self, name: &str) -> Option<&'static str> {
        if self.by_text || self.global.contains(name) {
            return None;
        }
        match (self.all.get(name), self.against_none.get(name)) {
            (None, _) => Some(DROPPED),
            (all, none) if all == none => Some(VOID),
            _ => None,
        }
    }
}

/// The operand of a comparison with `None` only.
fn held_against_none(expression: &Expr) -> Option<&Expr> {
    let Expr::Compare(compare) = expression else { return None };
    let [op] = &*compare.ops else { return None };
    let right = compare.comparators.first()?;
    if !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::Eq | CmpOp::NotEq) {
        return None;
    }
    match (compare.left.as_ref(), right) {
        (value, Expr::NoneLiteral(_)) | (Expr::NoneLiteral(_), value) => Some(value),
        _ => None,
    }
}

/// The end of a callee, and the text before it.
struct Mark {
    end: usize,
    opening: &'static str,
}

/// The callees to mark, by where they start.
struct Callees<'a> {
    reads: &'a Reads,
    /// The readers of names that are defined in the current scope.
    names: NameReaders,
    found: BTreeMap<usize, Mark>,
}

impl Callees<'_> {
    fn mark(&mut self, expression: &Expr, opening: &'static str) {
        if let Expr::Call(ExprCall { func, .. }) = expression
            && matches!(func.as_ref(), Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_))
        {
            let end = func.end().to_usize();
            self.found.insert(func.start().to_usize(), Mark { end, opening });
        }
    }
}

impl<'a> Visitor<'a> for Callees<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Expr(expression) => self.mark(&expression.value, DROPPED),
            Stmt::Assign(assign) => {
                if self.names == NameReaders::ReadHere
                    && let [Expr::Name(name)] = assign.targets.as_slice()
                    && let Some(opening) = self.reads.mark_of(&name.id)
                {
                    self.mark(&assign.value, opening);
                }
            }
            // What a class has is read as an attribute.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                let is_function = statement.is_function_def_stmt();
                let names =
                    if is_function { NameReaders::ReadHere } else { NameReaders::ReadElsewhere };
                let outer = std::mem::replace(&mut self.names, names);
                walk_stmt(self, statement);
                self.names = outer;
                return;
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Some(value) = held_against_none(expression) {
            self.mark(value, VOID);
        }
        walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(test: &str, marked: &str) {
        assert_eq!(mark_unused(&ParsedSource::parse(test).unwrap(), &Reads::default()), marked);
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
        check("fs[0](x)", "whet_drop(fs[0])(x)");
        for test in ["assert f(1) == f(2)", "f(1)(2)", "f(1).x", "return_ = f"] {
            check(test, test);
        }
    }

    #[test]
    fn names_that_a_setup_makes_at_its_top_may_be_read_by_tests() {
        let text = "r = f(x)\ng(x)\ndef h(x):\n  r2 = f(x)\n  return x";
        let marked = "r = f(x)\nwhet_drop(g)(x)\ndef h(x):\n  r2 = whet_drop(f)(x)\n  return x";
        assert_eq!(mark_unused_in_setup(&ParsedSource::parse(text).unwrap()), marked);
    }

    #[test]
    fn a_value_that_nobody_reads_or_that_is_held_against_none_alone_is_marked() {
        check("r = f(x)\nassert x == 1", "r = whet_drop(f)(x)\nassert x == 1");
        check("r = f(x)\nassert r is None", "r = whet_void(f)(x)\nassert r is None");
        check("assert f(x) is None", "assert whet_void(f)(x) is None");
        check("assert None == s.f(x)", "assert None == whet_void(s.f)(x)");
        for test in [
            "r = f(x)\nassert r == (max(x) if x else None)",
            "r = f(x)\nassert r is None or r == max(x)",
            "r = f(x)\nassert None is r == max(x)",
            "a, b = f(x)",
            "assert f(x) in (None, max(x))",
            "assert not f(x)",
            "if (r := f(x)): pass",
        ] {
            check(test, test);
        }
    }

    #[test]
    fn a_value_that_somebody_may_read_is_not_thrown_away() {
        for test in [
            "class T:\n  r = f(x)\n  def test(self): assert self.r == 5",
            "class E(Enum):\n  A = f(x)\nassert E.A.value == 5",
            "def t():\n  class C:\n    r = f(x)\n  return C",
            "def t():\n  global r\n  r = f(x)",
            "r = f(x)\nassert eval('r == 5')",
            "r = f(x)\nassert not exec('assert r == 5')",
            "r = f(x)\nassert globals()['r'] == 5",
            "def t():\n  r = f(x)\n  assert locals()['r'] == 5",
            "r = f(x)\nassert vars()['r'] == 5",
            "r = f(x)\nassert sys.modules['check'].r == 5",
        ] {
            check(test, test);
        }
        check("class T:\n  f(x)", "class T:\n  whet_drop(f)(x)");
        check(
            "class T:\n  def test(self):\n    r = f(x)\n    assert x",
            "class T:\n  def test(self):\n    r = whet_drop(f)(x)\n    assert x",
        );
        let setup = ParsedSource::parse("def verify(): return result == 5").unwrap();
        let test = ParsedSource::parse("result = f(x)\nassert verify()").unwrap();
        assert_eq!(mark_unused(&test, &Reads::of(setup.tree.suite())), test.text);
        let global = "def h():\n  global r\n  r = f(x)";
        assert_eq!(mark_unused_in_setup(&ParsedSource::parse(global).unwrap()), global);
    }
}
