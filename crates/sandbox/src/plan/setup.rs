//! A task's setup, split by who may run it.
//!
//! Statements that need nothing of the program (imports, classes, helpers) run before it in its
//! process, and in the checker too. What needs a name of the program, directly or through another
//! statement, is split once more. Statements that hand values to the program and keep what it makes
//! of them (`root = Node(1)`, `root.left = Node(2)`) run beside it: all that is in them is the
//! program's to know. Everything else that needs the program (functions, classes, loops, tables of
//! cases) may hold what is expected, and runs in the checker alone, where names of the program are
//! proxies.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::names::Names;
use super::python::{is_builtin, is_module};
use super::source::{Source, SourceError};

/// A setup in its parts.
#[derive(Debug, Default)]
pub(super) struct Setup {
    /// For the program's process, before the program.
    pub(super) before: String,
    /// For the program's process, after the program.
    pub(super) after: String,
    /// For a checker.
    pub(super) checker: String,
    /// Names of the program that the checker's part needs.
    pub(super) proxies: Vec<String>,
    /// Names of the program that make values beside it.
    pub(super) makers: Vec<String>,
    /// Names that the first part makes.
    bound: BTreeSet<String>,
    /// Names that are made in the checker only.
    checked: BTreeSet<String>,
    /// Names that are made beside the program.
    made: BTreeSet<String>,
    /// A star import makes names that nobody can list.
    pub(super) star: bool,
}

/// Who runs a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Both, before the program.
    Before,
    /// The program's process, after it.
    After,
    /// The checker.
    Checker,
}

impl Setup {
    /// A setup in another language, which runs before the program as it is.
    pub(super) fn foreign(text: &str) -> Self {
        Self { before: text.to_owned(), ..Self::default() }
    }

    pub(super) fn split(text: &str) -> Result<Self, SourceError> {
        let source = Source::parse(text)?;
        let statements = source.tree.suite();
        let all = Names::of(statements);
        if all.outside {
            return Err(SourceError::Outside);
        }
        // A module that a setup uses and does not import would be whatever the program calls so.
        let is_missing = |name: &&str| {
            is_module(name) && !all.star && !all.bound.contains(*name) && !all.calls(name)
        };
        let missing: Vec<&str> = all.free().filter(is_missing).collect();
        if !missing.is_empty() {
            return Self::split(&format!("{text}\nimport {}\n", missing.join(", ")));
        }
        let names: Vec<Names> =
            statements.iter().map(|one| Names::of(std::slice::from_ref(one))).collect();
        let parts = parts(statements, &names, &all.bound);
        let bound = |part: Part| -> BTreeSet<String> {
            let chosen = names.iter().zip(&parts).filter(|(_, one)| **one == part);
            chosen.flat_map(|(names, _)| names.bound.iter().cloned()).collect()
        };
        let made = bound(Part::After);
        let text = |chosen: &dyn Fn(Part) -> bool| {
            if !parts.is_empty() && parts.iter().all(|part| chosen(*part)) {
                return source.text.clone();
            }
            let kept = statements.iter().zip(&parts).filter(|(_, part)| chosen(**part));
            lines(&source.text, kept.map(|(statement, _)| statement))
        };
        let foreign =
            |name: &&str| !is_builtin(name) && (!all.bound.contains(*name) || made.contains(*name));
        let checked = names.iter().zip(&parts).filter(|(_, part)| **part == Part::Checker);
        let proxies: BTreeSet<&str> =
            checked.flat_map(|(names, _)| names.free().filter(foreign)).collect();
        let late = names.iter().zip(&parts).filter(|(_, part)| **part == Part::After);
        let makers: BTreeSet<&str> =
            late.flat_map(|(names, _)| names.free().filter(foreign)).collect();
        Ok(Self {
            before: text(&|part| part == Part::Before),
            after: text(&|part| part == Part::After),
            checker: text(&|part| part != Part::After),
            proxies: proxies.into_iter().map(str::to_owned).collect(),
            makers: makers.into_iter().map(str::to_owned).collect(),
            bound: bound(Part::Before),
            checked: bound(Part::Checker),
            made,
            star: all.star,
        })
    }

    /// Whether the setup makes this name, and not with the program's help beside it.
    pub(super) fn binds(&self, name: &str) -> bool {
        !self.made.contains(name) && (self.bound.contains(name) || self.checked.contains(name))
    }

    /// Whether this name exists in the checker only.
    pub(super) fn is_checked(&self, name: &str) -> bool {
        self.checked.contains(name)
    }

    /// Whether this name stands for what the program has made of the setup's values.
    pub(super) fn makes(&self, name: &str) -> bool {
        self.made.contains(name)
    }
}

/// Who runs each statement.
fn parts(statements: &[Stmt], names: &[Names], bound: &BTreeSet<String>) -> Vec<Part> {
    let of_program = |name: &str| !is_builtin(name) && !bound.contains(name);
    let touched: Vec<BTreeSet<&str>> = statements.iter().zip(names).map(touched).collect();
    let of_any = |chosen: &dyn Fn(usize) -> bool| -> BTreeSet<&str> {
        (0..touched.len()).filter(|at| chosen(*at)).flat_map(|at| &touched[at]).copied().collect()
    };
    let uses = |at: usize, others: &BTreeSet<&str>| {
        names[at].free().any(|name| others.contains(name)) || !touched[at].is_disjoint(others)
    };
    let mut parts: Vec<Part> = names
        .iter()
        .map(|names| if names.free().any(of_program) { Part::After } else { Part::Before })
        .collect();
    // What uses a name of a statement that needs the program needs it too.
    loop {
        let late = of_any(&|at| parts[at] == Part::After);
        let more = (0..parts.len()).filter(|at| parts[*at] == Part::Before && uses(*at, &late));
        let more: Vec<usize> = more.collect();
        for at in &more {
            parts[*at] = Part::After;
        }
        if more.is_empty() {
            break;
        }
    }
    // Of those, what does more than hand values over is the checker's, and so is what uses that.
    loop {
        let checked = of_any(&|at| parts[at] == Part::Checker);
        let after = of_any(&|at| parts[at] == Part::After);
        let is_of_program = |name: &str| of_program(name) || after.contains(name);
        let stays = |at: usize| !uses(at, &checked) && hands_over(&statements[at], &is_of_program);
        let more = (0..parts.len()).filter(|at| parts[*at] == Part::After && !stays(*at));
        let more: Vec<usize> = more.collect();
        for at in &more {
            parts[*at] = Part::Checker;
        }
        if more.is_empty() {
            return parts;
        }
    }
}

/// The names that a statement makes, or whose objects it may change: `a` of `a.b = 1`, of `a[0] = 1`
/// and of `a.add(1)`.
fn touched<'a>((statement, names): (&'a Stmt, &'a Names)) -> BTreeSet<&'a str> {
    let changed: Vec<&Expr> = match statement {
        Stmt::Assign(assign) => assign.targets.iter().collect(),
        Stmt::AugAssign(assign) => vec![&assign.target],
        Stmt::Expr(expression) => match expression.value.as_ref() {
            Expr::Call(call) if call.func.is_attribute_expr() => vec![&call.func],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    names.bound.iter().map(String::as_str).chain(changed.into_iter().filter_map(root)).collect()
}

/// Whether a statement does nothing but give values to the program and keep what it returns.
fn hands_over(statement: &Stmt, is_of_program: &dyn Fn(&str) -> bool) -> bool {
    let program = |expression: &Expr| root(expression).is_some_and(is_of_program);
    match statement {
        Stmt::Assign(assign) => assign.targets.iter().all(|target| match target {
            Expr::Name(_) => is_made(&assign.value, is_of_program),
            Expr::Attribute(_) => program(target),
            _ => false,
        }),
        Stmt::Expr(expression) => match expression.value.as_ref() {
            Expr::Call(call) => program(&call.func),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a value is the program's own: made by a call of it, or several of those.
fn is_made(expression: &Expr, is_of_program: &dyn Fn(&str) -> bool) -> bool {
    match expression {
        Expr::Call(call) => root(&call.func).is_some_and(is_of_program),
        Expr::Attribute(attribute) => root(&attribute.value).is_some_and(is_of_program),
        Expr::Name(name) => is_of_program(&name.id),
        Expr::List(list) => list.elts.iter().all(|one| is_made(one, is_of_program)),
        Expr::Tuple(tuple) => tuple.elts.iter().all(|one| is_made(one, is_of_program)),
        Expr::ListComp(list) => is_made(&list.elt, is_of_program),
        _ => false,
    }
}

/// The name with which an expression begins.
fn root(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        _ => None,
    }
}

/// Statements as source, each on the line on which it was.
fn lines<'a>(text: &str, statements: impl Iterator<Item = &'a Stmt>) -> String {
    let mut found = String::new();
    let mut line = 0;
    for statement in statements {
        let (start, end) = (statement.start().to_usize(), statement.end().to_usize());
        let begins = text[..start].matches('\n').count();
        let own = &text[start..end];
        if !found.is_empty() || begins > line {
            let gap = (begins - line.min(begins)).max(usize::from(!found.is_empty()));
            found.push_str(&"\n".repeat(gap));
            line += gap;
        }
        found.push_str(own);
        line += own.matches('\n').count();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(setup: &str, before: &str, after: &str, checker: &str) {
        let split = Setup::split(setup).unwrap();
        let found = (split.before.trim(), split.after.trim(), split.checker.trim());
        assert_eq!(found, (before, after, checker), "{setup}");
    }

    #[test]
    fn what_needs_nothing_of_the_program_runs_on_both_sides() {
        check("", "", "", "");
        let imports = "import math\nx = math.pi";
        check(imports, imports, "", imports);
        let helpers = "def a(n): return b(n)\ndef b(n): return a(len(n))";
        check(helpers, helpers, "", helpers);
        let stars = "from typing import *\nfrom math import *\nclass A:\n  x: Optional[int] = inf";
        check(stars, stars, "", stars);
    }

    #[test]
    fn values_that_the_program_makes_are_made_beside_it() {
        let tree = "root = Node(1)\nroot.left = Node(2)\nroot.right.value = 3\nroot.add(4)";
        check(tree, "", tree, "");
        check(
            "import a; r = N(1)\nimport b",
            "import a\nimport b",
            "r = N(1)",
            "import a\nimport b",
        );
        check(
            "r = [N(1), N(2)]\ns = [N(i) for i in range(3)]",
            "",
            "r = [N(1), N(2)]\ns = [N(i) for i in range(3)]",
            "",
        );
    }

    #[test]
    fn helpers_and_tables_that_need_the_program_are_the_checkers() {
        for late in [
            "def close(x, want): return abs(f(x) - want) < 1",
            "class Case:\n  def run(self): return f(1) == 2",
            "cases = [(f, 1, 2)]",
            "table = {'a': f(1)}",
            "want = f(1) + 1",
            "a, b = f(1), 2",
            "for i in range(3): f(i)",
            "@f\ndef g(): return 5",
        ] {
            check(late, "", "", late);
            check(&format!("import re\n{late}"), "import re", "", &format!("import re\n{late}"));
        }
    }

    #[test]
    fn need_is_passed_on_and_so_is_being_the_checkers() {
        let setup = "def a(x): return b(x)\ndef b(x): return f(x)\nc = a(1)\nd = 1\nroot = N(b)";
        let checker = "def a(x): return b(x)\ndef b(x): return f(x)\nc = a(1)\nd = 1\nroot = N(b)";
        check(setup, "d = 1", "", checker);
        for change in ["d['a'] = f(1)", "d.update(a=f(1))", "d |= f(1)"] {
            let setup = format!("d = {{}}\n{change}\ne = len(d)");
            check(&setup, "", "", &setup);
        }
    }

    #[test]
    fn each_name_is_known_to_be_whose_it_is() {
        let setup = Setup::split("import re\nx = f()\ndef g(): return f(x) + h()").unwrap();
        assert!(setup.binds("re") && setup.binds("g") && !setup.binds("x") && !setup.binds("f"));
        assert!(setup.is_checked("g") && !setup.is_checked("re") && setup.makes("x"));
        assert_eq!(setup.proxies, ["f", "h", "x"]);
        assert!(!setup.star && Setup::split("from numpy import *").unwrap().star);
    }

    #[test]
    fn statements_stay_on_their_lines() {
        let setup = Setup::split("import a\n\nx = f()\n\n# c\nimport b; y = [\n1]").unwrap();
        assert_eq!(setup.before, "import a\n\n\n\n\nimport b\ny = [\n1]");
        assert_eq!(setup.after, "\n\nx = f()");
    }

    #[test]
    fn a_setup_that_is_no_python_is_an_error() {
        assert!(matches!(Setup::split("x ="), Err(SourceError::Syntax { line: 1, .. })));
        assert!(matches!(Setup::split("return 1"), Err(SourceError::Outside)));
    }
}
