//! What the values of a test's expressions are used for, by the statements that they stand in.

use ruff_python_ast::visitor::{Visitor, walk_comprehension, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, Stmt};

/// What an expression's value is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its truth decides, or nobody can say what becomes of it.
    Decides,
    /// It is compared, other than for equality, with something that is not the program's.
    Ordered,
    /// It leads a branch or a loop that raises nothing, or is held against `None`.
    Leads,
    /// It gets a name.
    Kept,
    /// It does not matter.
    Free,
}

/// The expressions of statements, each with what its value is used for.
#[derive(Default)]
pub(super) struct Uses<'a> {
    found: Vec<(&'a Expr, Use)>,
}

impl<'a> Uses<'a> {
    pub(super) fn of(statements: &'a [Stmt]) -> Vec<(&'a Expr, Use)> {
        let mut uses = Self::default();
        uses.visit_body(statements);
        uses.found
    }
}

impl<'a> Visitor<'a> for Uses<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let leads = |bodies: &[&'a [Stmt]]| {
            let mut all = bodies.iter().flat_map(|body| body.iter());
            let raises = all.any(|one| one.is_raise_stmt() || one.is_assert_stmt());
            if raises { Use::Decides } else { Use::Leads }
        };
        match statement {
            Stmt::Assert(assert) => self.found.push((&assert.test, Use::Decides)),
            Stmt::If(choice) => {
                let otherwise = &choice.elif_else_clauses;
                let mut bodies = vec![choice.body.as_slice()];
                bodies.extend(otherwise.iter().map(|clause| clause.body.as_slice()));
                let by = leads(&bodies);
                self.found.push((&choice.test, by));
                let others = otherwise.iter().filter_map(|clause| clause.test.as_ref());
                self.found.extend(others.map(|test| (test, by)));
            }
            Stmt::While(again) => self.found.push((&again.test, leads(&[&again.body]))),
            Stmt::Match(choice) => self.found.push((&choice.subject, Use::Decides)),
            Stmt::With(with) => {
                self.found.extend(with.items.iter().map(|one| (&one.context_expr, Use::Decides)));
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_comprehension(&mut self, each: &'a Comprehension) {
        self.found.extend(each.ifs.iter().map(|test| (test, Use::Leads)));
        walk_comprehension(self, each);
    }
}
