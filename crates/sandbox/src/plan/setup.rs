//! A task's setup, split by what it needs.
//!
//! Imports and helpers run before the program, and in the checker too. From the first statement that
//! needs a name of the program (`root = Node(1)`) everything runs after it, beside the program only.

use std::collections::BTreeSet;

use ruff_text_size::Ranged;

use super::names::Names;
use super::python::is_builtin;
use super::source::{Source, SourceError};

/// A setup in two parts.
#[derive(Debug, Default)]
pub(super) struct Setup {
    pub(super) before: String,
    pub(super) after: String,
    /// Names that the first part makes.
    bound: BTreeSet<String>,
    /// The first part has a star import: it makes names that nobody can list.
    pub(super) star: bool,
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
        let waits = statements.iter().position(|statement| {
            let names = Names::of(std::slice::from_ref(statement));
            names.free().any(|name| !is_builtin(name) && !all.bound.contains(name))
        });
        let count = waits.unwrap_or(statements.len());
        let end = statements.get(count).map_or(source.text.len(), |first| first.start().to_usize());
        let first = Names::of(&statements[..count]);
        let (before, after) = source.text.split_at(end);
        Ok(Self {
            before: before.to_owned(),
            after: after.to_owned(),
            bound: first.bound,
            star: first.star,
        })
    }

    /// Whether the first part makes this name.
    pub(super) fn binds(&self, name: &str) -> bool {
        self.bound.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(setup: &str, before: &str, after: &str) {
        let split = Setup::split(setup).unwrap();
        assert_eq!((split.before.as_str(), split.after.as_str()), (before, after));
    }

    #[test]
    fn what_needs_the_program_waits_for_it_and_so_does_what_follows() {
        check("", "", "");
        check("import math\nx = math.pi\n", "import math\nx = math.pi\n", "");
        check("root = Node(1) \r\nroot.left = Node(2)", "", "root = Node(1) \nroot.left = Node(2)");
        check("import a; r = N(1)\nimport b", "import a; ", "r = N(1)\nimport b");
        check("# c\n@deco\ndef f(): pass", "# c\n", "@deco\ndef f(): pass");
    }

    #[test]
    fn helpers_may_use_one_another_in_any_order() {
        let helpers = "def a(n): return b(n)\ndef b(n): return a(len(n))\n";
        check(helpers, helpers, "");
    }

    #[test]
    fn names_of_the_first_part_are_known() {
        let setup = Setup::split("from math import *\nimport re\nx = f()\nimport os").unwrap();
        assert!(setup.star && setup.binds("re") && !setup.binds("os") && !setup.binds("x"));
    }

    #[test]
    fn a_setup_that_is_no_python_is_an_error() {
        assert!(matches!(Setup::split("x ="), Err(SourceError::Syntax { line: 1, .. })));
        assert!(matches!(Setup::split("return 1"), Err(SourceError::Outside)));
    }
}
