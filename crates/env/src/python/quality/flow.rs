//! Which statements can run: nothing after a `return`, nothing under `if False`.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Number, Stmt, StmtIf};

/// The statements of a body that can run: up to the first that leaves it.
pub(super) fn live_part(body: &[Stmt]) -> &[Stmt] {
    let leaves = |stmt: &Stmt| {
        matches!(stmt, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_))
    };
    let end = body.iter().position(leaves).map_or(body.len(), |at| at + 1);
    &body[..end]
}

/// What a condition always is, where it is a constant.
pub(super) fn constant(test: &Expr) -> Option<bool> {
    match test {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        Expr::NoneLiteral(_) => Some(false),
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(int) => Some(int.as_u64() != Some(0)),
            Number::Float(float) => Some(*float != 0.0),
            Number::Complex { .. } => None,
        },
        Expr::StringLiteral(literal) => Some(!literal.value.is_empty()),
        _ => None,
    }
}

/// Walks the parts of a statement that can run.
pub(super) fn walk_live<'a, V: Visitor<'a>>(visitor: &mut V, stmt: &'a Stmt) {
    match stmt {
        Stmt::If(statement) => walk_if(visitor, statement),
        Stmt::While(statement) if constant(&statement.test) == Some(false) => {
            visitor.visit_body(&statement.orelse);
        }
        _ => visitor::walk_stmt(visitor, stmt),
    }
}

fn walk_if<'a, V: Visitor<'a>>(visitor: &mut V, statement: &'a StmtIf) {
    let known = constant(&statement.test);
    visitor.visit_expr(&statement.test);
    if known != Some(false) {
        visitor.visit_body(&statement.body);
    }
    if known != Some(true) {
        for clause in &statement.elif_else_clauses {
            visitor.visit_elif_else_clause(clause);
        }
    }
}

/// How many statements can never run, in `stmt` and all it holds.
#[derive(Debug, Default)]
pub(super) struct Dead {
    pub(super) statements: u32,
}

impl<'a> Visitor<'a> for Dead {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        let live = live_part(body);
        self.bury(&body[live.len()..]);
        for stmt in live {
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::If(statement) => match constant(&statement.test) {
                Some(false) => self.bury(&statement.body),
                Some(true) => {
                    statement.elif_else_clauses.iter().for_each(|clause| self.bury(&clause.body));
                }
                None => {}
            },
            Stmt::While(statement) if constant(&statement.test) == Some(false) => {
                self.bury(&statement.body);
            }
            _ => {}
        }
        walk_live(self, stmt);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

impl Dead {
    fn bury(&mut self, body: &[Stmt]) {
        for stmt in body {
            let mut all = All(0);
            all.visit_stmt(stmt);
            self.statements = self.statements.saturating_add(all.0);
        }
    }
}

struct All(u32);

impl<'a> Visitor<'a> for All {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.0 = self.0.saturating_add(1);
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}
