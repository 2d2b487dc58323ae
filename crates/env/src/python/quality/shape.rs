//! Complexity, size and nesting of the live code.
//!
//! Cognitive complexity as Sonar defines it (G. Ann Campbell, "Cognitive Complexity", 2018): a break
//! of the flow costs 1 and 1 more for each level around it; `else`, `elif` and a run of `and` or `or`
//! cost 1. Beyond Sonar, a comprehension costs what a loop costs and its conditions 1 each, so that
//! a program does not become simple by moving into one expression.

use ruff_python_ast::helpers::is_docstring_stmt;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::flow::{constant, live_part, walk_live};
use super::live::Live;
use super::ramp;

/// Figures of all live code, and of the worst unit: a function, a method, or the module's own code.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Statements in all, docstrings left out.
    pub(super) statements: u32,
    total_cognitive: u32,
    worst: Unit,
}

#[derive(Debug, Default, Clone, Copy)]
struct Unit {
    cognitive: u32,
    statements: u32,
    nesting: u32,
    /// Expressions in the densest statement.
    density: u32,
}

impl Shape {
    pub(super) fn of(live: &Live<'_>) -> Self {
        let mut walk = ShapeWalk::default();
        for stmt in &live.module {
            walk.visit_stmt(stmt);
        }
        walk.close_unit();
        for definition in &live.definitions {
            definition.walk(&mut walk);
            walk.close_unit();
        }
        walk.shape
    }

    pub(super) fn cognitive(&self) -> f64 {
        0.5 * ramp(self.worst.cognitive, 4, 24) + 0.5 * ramp(self.total_cognitive, 4, 48)
    }

    pub(super) fn size(&self) -> f64 {
        let statements =
            0.5 * ramp(self.worst.statements, 15, 80) + 0.5 * ramp(self.statements, 25, 200);
        0.5 * statements + 0.5 * ramp(self.worst.density, 20, 80)
    }

    pub(super) fn nesting(&self) -> f64 {
        ramp(self.worst.nesting, 2, 6)
    }
}

#[derive(Debug, Default)]
struct ShapeWalk {
    shape: Shape,
    unit: Unit,
    /// Levels around the current place.
    level: u32,
    /// Expressions in the current statement so far.
    expressions: u32,
    in_class: bool,
}

impl ShapeWalk {
    /// Ends a unit: its figures go into the totals and the worst.
    fn close_unit(&mut self) {
        let unit = std::mem::take(&mut self.unit);
        let shape = &mut self.shape;
        shape.statements += unit.statements;
        shape.total_cognitive = shape.total_cognitive.saturating_add(unit.cognitive);
        let worst = &mut shape.worst;
        worst.cognitive = worst.cognitive.max(unit.cognitive);
        worst.statements = worst.statements.max(unit.statements);
        worst.nesting = worst.nesting.max(unit.nesting);
        worst.density = worst.density.max(unit.density);
    }

    fn costs(&mut self, points: u32) {
        self.unit.cognitive = self.unit.cognitive.saturating_add(points);
    }

    /// Something that breaks the flow, and what is inside it.
    fn nested(&mut self, inside: impl FnOnce(&mut Self)) {
        self.costs(1 + self.level);
        self.deeper(inside);
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Self)) {
        self.level += 1;
        self.unit.nesting = self.unit.nesting.max(self.level);
        inside(self);
        self.level -= 1;
    }

    /// A method is a unit of its own; a function inside a function belongs to that.
    fn definition(&mut self, stmt: &Stmt) {
        if self.in_class && stmt.is_function_def_stmt() {
            let outer = std::mem::take(&mut self.unit);
            let level = std::mem::take(&mut self.level);
            self.in_class = false;
            walk_live(self, stmt);
            self.close_unit();
            (self.unit, self.level, self.in_class) = (outer, level, true);
            return;
        }
        let outer = std::mem::replace(&mut self.in_class, stmt.is_class_def_stmt());
        self.deeper(|walk| walk_live(walk, stmt));
        self.in_class = outer;
    }

    fn if_statement(&mut self, statement: &ast::StmtIf) {
        self.visit_expr(&statement.test);
        self.nested(|walk| walk.visit_body(&statement.body));
        for clause in &statement.elif_else_clauses {
            self.clause(clause);
        }
    }

    /// `else` with nothing but an `if` in it is an `elif`, as in `CPython`'s tree.
    fn clause(&mut self, clause: &ast::ElifElseClause) {
        if let (None, [Stmt::If(inner)]) = (&clause.test, clause.body.as_slice()) {
            self.unit.statements += 1;
            self.visit_expr(&inner.test);
            self.costs(1);
            self.deeper(|walk| walk.visit_body(&inner.body));
            inner.elif_else_clauses.iter().for_each(|clause| self.clause(clause));
            return;
        }
        self.costs(1);
        if let Some(test) = &clause.test {
            self.unit.statements += 1;
            self.visit_expr(test);
        }
        self.deeper(|walk| walk.visit_body(&clause.body));
    }

    fn orelse(&mut self, body: &[Stmt]) {
        if !body.is_empty() {
            self.costs(1);
            self.deeper(|walk| walk.visit_body(body));
        }
    }

    fn try_statement(&mut self, statement: &ast::StmtTry) {
        self.visit_body(&statement.body);
        for ast::ExceptHandler::ExceptHandler(handler) in &statement.handlers {
            handler.type_.iter().for_each(|kind| self.visit_expr(kind));
            self.nested(|walk| walk.visit_body(&handler.body));
        }
        self.visit_body(&statement.orelse);
        self.visit_body(&statement.finalbody);
    }

    fn comprehension(&mut self, expr: &Expr, generators: &[ast::Comprehension]) {
        let more = generators.len().saturating_sub(1);
        let conditions: usize = generators.iter().map(|generator| generator.ifs.len()).sum();
        self.costs(super::count(more + conditions));
        self.nested(|walk| visitor::walk_expr(walk, expr));
    }

    fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If(statement) if constant(&statement.test).is_none() => {
                self.if_statement(statement);
            }
            Stmt::For(statement) => {
                self.visit_expr(&statement.iter);
                self.visit_expr(&statement.target);
                self.nested(|walk| walk.visit_body(&statement.body));
                self.orelse(&statement.orelse);
            }
            Stmt::While(statement) if constant(&statement.test) != Some(false) => {
                self.visit_expr(&statement.test);
                self.nested(|walk| walk.visit_body(&statement.body));
                self.orelse(&statement.orelse);
            }
            Stmt::Try(statement) => self.try_statement(statement),
            Stmt::Match(_) => self.nested(|walk| walk_live(walk, stmt)),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => self.definition(stmt),
            _ => walk_live(self, stmt),
        }
    }
}

impl Visitor<'_> for ShapeWalk {
    fn visit_body(&mut self, body: &[Stmt]) {
        for (index, stmt) in live_part(body).iter().enumerate() {
            if index > 0 || !is_docstring_stmt(stmt) {
                self.visit_stmt(stmt);
            }
        }
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.unit.statements += 1;
        let around = std::mem::take(&mut self.expressions);
        self.statement(stmt);
        self.unit.density = self.unit.density.max(self.expressions);
        self.expressions = around;
    }

    fn visit_expr(&mut self, expr: &Expr) {
        self.expressions += 1;
        match expr {
            Expr::BoolOp(_) => {
                self.costs(1);
                visitor::walk_expr(self, expr);
            }
            Expr::If(_) => self.nested(|walk| visitor::walk_expr(walk, expr)),
            Expr::Lambda(_) => self.deeper(|walk| visitor::walk_expr(walk, expr)),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                self.comprehension(expr, generators);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}
