//! A task's setup, split by the process that may run it.
//!
//! Statements that need nothing of the program (imports, classes, helpers) run before it in its
//! process, and in the checker too. What needs a name of the program, directly or through another
//! statement, is split once more. Statements that hand values to the program and keep what it makes
//! of them (`root = Node(1)`, `root.left = Node(2)`) run beside it: all that is in them is the
//! program's to know. Everything else that needs the program (functions, classes, loops, tables of
//! cases) may hold what is expected, and runs in the checker alone, where names of the program are
//! proxies. [`parts`](super::parts) decides, so that no statement is overtaken by another that it
//! depends on.

use std::collections::BTreeSet;

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

use super::names::ScopeNames;
use super::parts::{StatementRunner, parts};
use super::python::{is_builtin, is_module};
use super::source::{ParsedSource, SourceError};
use super::unused::Reads;

/// A setup in its parts.
#[derive(Debug, Default)]
pub(super) struct TestSetup {
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
    /// A star import defines unknown names.
    pub(super) star: bool,
    /// The names that it reads, those of tests included.
    pub(super) reads: Reads,
}

impl TestSetup {
    /// A setup in another language, which runs before the program as it is.
    pub(super) fn foreign(text: &str) -> Self {
        Self { before: text.to_owned(), ..Self::default() }
    }

    pub(super) fn split(text: &str) -> Result<Self, SourceError> {
        let source = ParsedSource::parse(text)?;
        let statements = source.tree.suite();
        let all = ScopeNames::of(statements);
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
        let names: Vec<ScopeNames> =
            statements.iter().map(|one| ScopeNames::of(std::slice::from_ref(one))).collect();
        let parts = parts(statements, &names, &all.bound);
        let bound = |part: StatementRunner| -> BTreeSet<String> {
            let chosen = names.iter().zip(&parts).filter(|(_, one)| **one == part);
            chosen.flat_map(|(names, _)| names.bound.iter().cloned()).collect()
        };
        let made = bound(StatementRunner::After);
        let text = |chosen: &dyn Fn(StatementRunner) -> bool| {
            if !parts.is_empty() && parts.iter().all(|part| chosen(*part)) {
                return source.text.clone();
            }
            let kept = statements.iter().zip(&parts).filter(|(_, part)| chosen(**part));
            lines(&source.text, kept.map(|(statement, _)| statement))
        };
        let foreign =
            |name: &&str| !is_builtin(name) && (!all.bound.contains(*name) || made.contains(*name));
        let checked =
            names.iter().zip(&parts).filter(|(_, part)| **part == StatementRunner::Checker);
        let proxies: BTreeSet<&str> =
            checked.flat_map(|(names, _)| names.free().filter(foreign)).collect();
        let late = names.iter().zip(&parts).filter(|(_, part)| **part == StatementRunner::After);
        let makers: BTreeSet<&str> =
            late.flat_map(|(names, _)| names.free().filter(foreign)).collect();
        Ok(Self {
            before: text(&|part| part == StatementRunner::Before),
            after: text(&|part| part == StatementRunner::After),
            checker: text(&|part| part != StatementRunner::After),
            proxies: proxies.into_iter().map(str::to_owned).collect(),
            makers: makers.into_iter().map(str::to_owned).collect(),
            bound: bound(StatementRunner::Before),
            checked: bound(StatementRunner::Checker),
            made,
            star: all.star,
            reads: Reads::of(statements),
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
        let split = TestSetup::split(setup).unwrap();
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
        check("r = [N(1), N(2)]", "", "r = [N(1), N(2)]", "");
        for made in [
            "data = [3, 1]\nt = Tree(data)",
            "t = Tree([1, -2], key='a', size=2 * 3)",
            "t = Tree(Node(1, Node(2)), {'a': [Node(3)]})",
            "s = Solution()\nr = s.solve([1])[0].value\nt = Tree()",
            "t = Tree()\nt.root.left = Node(2)\nt.size = 5\nt.add(t.root)\ninsert(t, Node(3))",
            "r = adder(2)(3)",
        ] {
            let split = TestSetup::split(made).unwrap();
            assert!(!split.after.is_empty(), "{made}");
            assert!(!split.checker.contains("Tree"), "{made}\n{}", split.checker);
        }
    }

    /// In none of these the program's process may see what is expected.
    #[test]
    fn what_is_worked_out_of_the_programs_values_is_the_checkers() {
        for setup in [
            "report = Report(solve(3) == 9, solve(4) == 16)",
            "t = Tree()\nt.x = abs(f(1) - 5) < 1",
            "t = Tree()\nt.ok = True if f(1) == 5 else False",
            "t = Tree()\nt.check = lambda: f(1) == 5",
            "rs = [f(x) for x, want in [(1, 5)]]",
            "rs = [f(x) for x in [1] if x != 5]",
            "ok = Bank(lambda: f(3) == 5)",
            "ok = Bank(*[f(3) == 5])",
            "ok = Bank({f(3): 1, 5: 2})",
            "ok = Bank({TOTAL: 1, 5: 2})",
            "ok = Bank([1, 2][TOTAL - 5])",
            "t = Tree()\nt.add(f(3) == 5)",
            "t = Tree()\nt.add(f(3), 5)",
            "t = Tree()\nt.add(TOTAL - 5)",
            "verify(f(3), 5)",
            "r = f(3)\nok = r.__eq__(5)",
            "r = f(3)\nok = r.count(5)",
            "r = f(3).equals(5)",
            "ok = Case(f(3) or 5)",
        ] {
            check(setup, "", "", setup);
        }
        check(
            "class Case: pass\nok = g(Case(root, 5))",
            "class Case: pass",
            "",
            "class Case: pass\nok = g(Case(root, 5))",
        );
    }

    #[test]
    fn no_statement_is_overtaken_by_one_that_it_depends_on() {
        for setup in [
            "data = [3, 1, 2]\nt1 = Tree(data)\ndata = [5, 4]\nt2 = Tree(data)",
            "n = 2\nr = double(n)\nn = 7",
            "data = [3]\nt = Tree(data)\ndata.append(1)\nu = Tree(data)",
            "data = [3]\nt = Tree(data)\ndata[0] = 1\nu = Tree(data)",
        ] {
            let split = TestSetup::split(setup).unwrap();
            let first = setup.lines().nth(1).unwrap();
            assert!(!split.after.contains(first), "{setup}\n{}", split.after);
            assert_eq!(split.checker.lines().nth(1), Some(first), "{setup}");
        }
        let helper = "data = [3]\ndef grow(): data.append(1)\nt = Tree(data)\ngrow()";
        check(helper, "data = [3]\ndef grow(): data.append(1)\n\ngrow()", "", helper);
    }

    #[test]
    fn an_object_that_the_checkers_part_works_on_is_made_there() {
        for setup in [
            "t = Tree()\nfor x in [3, 1, 2]:\n    t.add(x)",
            "t = Tree()\nif True:\n    t.add(1)",
            "t = Tree()\nwith t:\n    pass",
            "t = Tree()\nwant = len(t) + 1",
            "s = Tree([1, 2])\ntop = s.pop() + 1",
            "xs = [3, 1, 2]\norder(xs)",
            "t = Tree()\ndef grow(): t.add(1)\ngrow()",
            "t = Tree()\ndef grow(u): u.add(1)\ngrow(t)",
            "t = None\nt = Tree()",
        ] {
            let split = TestSetup::split(setup).unwrap();
            assert_eq!((split.after.as_str(), split.checker.as_str()), ("", setup), "{setup}");
        }
        // What a test calls is another matter: the object is one for all tests.
        let grow = "t = Tree()\ndef grow():\n    t.add(0)\n    return t.size()";
        assert_eq!(TestSetup::split(grow).unwrap().after, "t = Tree()");
        let imports = "import math\nfrom typing import *\nfor x in [1]: f(math.sqrt(x))";
        assert_eq!(TestSetup::split(imports).unwrap().before, "import math\nfrom typing import *");
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
        let setup = TestSetup::split("import re\nx = f()\ndef g(): return f(x) + h()").unwrap();
        assert!(setup.binds("re") && setup.binds("g") && !setup.binds("x") && !setup.binds("f"));
        assert!(setup.is_checked("g") && !setup.is_checked("re") && setup.makes("x"));
        assert_eq!(setup.proxies, ["f", "h", "x"]);
        assert!(!setup.star && TestSetup::split("from numpy import *").unwrap().star);
    }

    #[test]
    fn statements_stay_on_their_lines() {
        let setup = TestSetup::split("import a\n\nx = f()\n\n# c\nimport b; y = [\n1]").unwrap();
        assert_eq!(setup.before, "import a\n\n\n\n\nimport b\ny = [\n1]");
        assert_eq!(setup.after, "\n\nx = f()");
    }

    #[test]
    fn a_setup_that_is_no_python_is_an_error() {
        assert!(matches!(TestSetup::split("x ="), Err(SourceError::Syntax { line: 1, .. })));
        assert!(matches!(TestSetup::split("return 1"), Err(SourceError::Outside)));
    }
}
