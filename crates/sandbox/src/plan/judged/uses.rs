//! The uses of the values of a test's expressions, by the statements that contain them.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, Stmt, StmtFunctionDef};

use crate::plan::follow::{called_name, is_asserting};

/// The use of an expression's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// An `assert` says that it is true.
    Asserted,
    /// It leads a branch or a loop that may raise something.
    Raises,
    /// Its truth decides, or its use is unknown.
    Decides,
    /// It is compared, other than for equality, with something that is not the program's.
    Ordered,
    /// It leads a branch or a loop that raises nothing, or is asserted not to be `None`.
    Leads,
    /// It gets a name.
    Kept,
    /// It does not matter.
    Free,
}

impl Use {
    /// The use of a value of which only the truth, the size or the like is used so.
    pub(super) fn of_part(self) -> Self {
        if self == Self::Free { Self::Ordered } else { self }
    }
}

/// The expressions of statements, each with what its value is used for.
pub(super) struct ExpressionUses<'s, 'a> {
    raising: &'s Raising<'a>,
    found: Vec<(&'a Expr, Use)>,
}

impl<'s, 'a> ExpressionUses<'s, 'a> {
    pub(super) fn of(statements: &'a [Stmt], raising: &'s Raising<'a>) -> Vec<(&'a Expr, Use)> {
        let mut uses = Self { raising, found: Vec::new() };
        uses.visit_body(statements);
        uses.found
    }

    fn leads(&self, body: &[Stmt]) -> Use {
        if self.raising.raises(body) { Use::Raises } else { Use::Leads }
    }
}

impl<'a> Visitor<'a> for ExpressionUses<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assert(assert) => self.found.push((&assert.test, Use::Asserted)),
            Stmt::If(choice) => {
                let by = self.leads(std::slice::from_ref(statement));
                self.found.push((&choice.test, by));
                let others = choice.elif_else_clauses.iter();
                let others = others.filter_map(|clause| clause.test.as_ref());
                self.found.extend(others.map(|test| (test, by)));
            }
            Stmt::While(again) => {
                self.found.push((&again.test, self.leads(std::slice::from_ref(statement))));
            }
            // `for error in errors(solve(3)): raise error`.
            Stmt::For(each) => {
                self.found.push((&each.iter, self.leads(std::slice::from_ref(statement))));
            }
            Stmt::Match(choice) => {
                self.found.push((&choice.subject, Use::Decides));
                let guards = choice.cases.iter().filter_map(|case| case.guard.as_deref());
                self.found.extend(guards.map(|guard| (guard, Use::Decides)));
            }
            // `[] = errors(solve(3))`.
            Stmt::Assign(assign) if assign.targets.iter().any(takes_nothing) => {
                self.found.push((&assign.value, Use::Decides));
            }
            Stmt::With(with) => {
                self.found.extend(with.items.iter().map(|one| (&one.context_expr, Use::Decides)));
            }
            // `is_valid(solve(3)) or fail()`; calls are looked at by themselves.
            Stmt::Expr(all) if !all.value.is_call_expr() && !all.value.is_list_comp_expr() => {
                self.found.push((&all.value, self.leads(std::slice::from_ref(statement))));
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_comprehension(&mut self, each: &'a Comprehension) {
        self.found.extend(each.ifs.iter().map(|test| (test, Use::Decides)));
        walk_comprehension(self, each);
    }
}

/// Whether a target of an assignment is a list or tuple without names.
fn takes_nothing(target: &Expr) -> bool {
    match target {
        Expr::List(list) => list.elts.is_empty(),
        Expr::Tuple(tuple) => tuple.elts.is_empty(),
        _ => false,
    }
}

/// Functions of a test and its setup that may raise something.
pub(super) struct Raising<'a> {
    names: BTreeSet<&'a str>,
}

impl<'a> Raising<'a> {
    pub(super) fn of(texts: &[&'a [Stmt]]) -> Self {
        let mut functions = Functions::default();
        for text in texts {
            functions.visit_body(text);
        }
        let looks: Vec<_> =
            functions.0.iter().map(|def| (def.name.as_str(), RaiseFinder::at(&def.body))).collect();
        let raising = looks.iter().filter(|(_, look)| look.raises).map(|(name, _)| *name);
        let mut raising = Self { names: raising.collect() };
        loop {
            let before = raising.names.len();
            for (name, look) in &looks {
                if raising.is_reached(look) {
                    raising.names.insert(name);
                }
            }
            if raising.names.len() == before {
                return raising;
            }
        }
    }

    /// Whether statements raise something themselves, anywhere below, or call what does.
    fn raises(&self, statements: &[Stmt]) -> bool {
        let look = RaiseFinder::at(statements);
        look.raises || self.is_reached(&look)
    }

    fn is_reached(&self, look: &RaiseFinder<'_>) -> bool {
        look.calls.iter().any(|name| self.names.contains(name))
    }
}

#[derive(Default)]
struct Functions<'a>(Vec<&'a StmtFunctionDef>);

impl<'a> Visitor<'a> for Functions<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.0.extend(statement.as_function_def_stmt());
        walk_stmt(self, statement);
    }
}

/// Whether statements raise something themselves, and what they call.
#[derive(Default)]
struct RaiseFinder<'a> {
    raises: bool,
    calls: BTreeSet<&'a str>,
}

impl<'a> RaiseFinder<'a> {
    fn at(statements: &'a [Stmt]) -> Self {
        let mut look = Self::default();
        look.visit_body(statements);
        look
    }
}

impl<'a> Visitor<'a> for RaiseFinder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.raises |= statement.is_raise_stmt() || statement.is_assert_stmt();
        if !self.raises {
            walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let call = expression.as_call_expr();
        if let Some(name) = call.and_then(|call| called_name(&call.func)) {
            let is_end = matches!(name, "abort" | "exit" | "_exit" | "quit" | "throw");
            self.raises |= is_asserting(name) || is_end;
            self.calls.insert(name);
        }
        walk_expr(self, expression);
    }
}
