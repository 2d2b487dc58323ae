//! Hygiene: traps, leftovers and code that never runs.

use std::collections::HashSet;

use ruff_python_ast::helpers::is_docstring_stmt;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, ExprContext, Stmt};

use super::flow::{Dead, constant, live_part, walk_live};
use super::live::Live;
use super::{count, fade};

pub(super) fn score(live: &Live<'_>) -> f64 {
    let mut dead = Dead::default();
    dead.visit_body(live.body);
    let mut walk = HygieneWalk::default();
    live.walk(&mut walk);
    let mut points = walk.points + dead.statements + 2 * live.unreached;
    if live.known {
        let unused = walk.imported.iter().filter(|name| !walk.used.contains(**name)).count();
        points += count(unused);
    }
    for definition in &live.definitions {
        points += unused_variables(|locals| definition.walk(locals));
    }
    fade(points, 5)
}

#[derive(Debug, Default)]
struct HygieneWalk<'a> {
    points: u32,
    imported: HashSet<&'a str>,
    used: HashSet<&'a str>,
}

impl<'a> HygieneWalk<'a> {
    fn imports(&mut self, names: &'a [ast::Alias]) {
        for alias in names {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            match bound {
                "*" => self.points += 2,
                _ => drop(self.imported.insert(bound.split('.').next().unwrap_or(bound))),
            }
        }
    }

    fn handler(&mut self, handler: &ast::ExceptHandlerExceptHandler) {
        let hides = matches!(handler.body.as_slice(), [Stmt::Pass(_)]);
        let all = handler.type_.as_deref().is_none_or(|kind| match kind {
            Expr::Name(name) => matches!(name.id.as_str(), "Exception" | "BaseException"),
            _ => false,
        });
        self.points += u32::from(all) + u32::from(hides && all);
    }

    fn defaults(&mut self, parameters: &ast::Parameters) {
        let mutable = parameters.iter_non_variadic_params().filter(|parameter| {
            let default = parameter.default.as_deref();
            default.is_some_and(|d| matches!(d, Expr::List(_) | Expr::Dict(_) | Expr::Set(_)))
        });
        self.points += 2 * count(mutable.count());
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(statement) => self.imports(&statement.names),
            Stmt::ImportFrom(statement) if statement.module.as_deref() != Some("__future__") => {
                self.imports(&statement.names);
            }
            Stmt::Global(statement) => self.points += count(statement.names.len()),
            Stmt::If(statement) => self.points += u32::from(constant(&statement.test).is_some()),
            Stmt::FunctionDef(function) => self.defaults(&function.parameters),
            Stmt::Expr(statement) => self.points += u32::from(!has_effect(&statement.value)),
            Stmt::Try(statement) => {
                for ast::ExceptHandler::ExceptHandler(handler) in &statement.handlers {
                    self.handler(handler);
                }
            }
            _ => {}
        }
    }

    fn comparison(&mut self, comparison: &ast::ExprCompare) {
        for (op, right) in comparison.ops.iter().zip(&comparison.comparators) {
            let equality = matches!(op, CmpOp::Eq | CmpOp::NotEq);
            let singleton = matches!(right, Expr::NoneLiteral(_) | Expr::BooleanLiteral(_));
            self.points += u32::from(equality && singleton);
        }
    }
}

/// Whether a statement of this expression alone does anything.
fn has_effect(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Call(_)
            | Expr::Await(_)
            | Expr::Yield(_)
            | Expr::YieldFrom(_)
            | Expr::EllipsisLiteral(_)
            | Expr::Named(_)
    )
}

impl<'a> Visitor<'a> for HygieneWalk<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for (index, stmt) in live_part(body).iter().enumerate() {
            if index > 0 || !is_docstring_stmt(stmt) {
                self.visit_stmt(stmt);
            }
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.statement(stmt);
        walk_live(self, stmt);
    }

    fn visit_parameters(&mut self, parameters: &'a ast::Parameters) {
        self.defaults(parameters);
        visitor::walk_parameters(self, parameters);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                self.used.insert(name.id.as_str());
            }
            Expr::Compare(comparison) => self.comparison(comparison),
            Expr::Call(call) => {
                let callee = call.func.as_name_expr().map(|name| name.id.as_str());
                self.points += 3 * u32::from(matches!(callee, Some("eval" | "exec")));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// Names that a definition assigns and nothing in it reads.
fn unused_variables<'a>(walk: impl FnOnce(&mut Locals<'a>)) -> u32 {
    let mut locals = Locals::default();
    walk(&mut locals);
    let Locals { assigned, used, .. } = locals;
    let unused = assigned.iter().filter(|name| !used.contains(**name) && !name.starts_with('_'));
    count(unused.count())
}

#[derive(Debug, Default)]
struct Locals<'a> {
    assigned: HashSet<&'a str>,
    used: HashSet<&'a str>,
}

impl<'a> Visitor<'a> for Locals<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for stmt in live_part(body) {
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(statement) => {
                let names = statement.targets.iter().filter_map(Expr::as_name_expr);
                self.assigned.extend(names.map(|name| name.id.as_str()));
            }
            Stmt::Global(ast::StmtGlobal { names, .. })
            | Stmt::Nonlocal(ast::StmtNonlocal { names, .. }) => {
                self.used.extend(names.iter().map(ast::Identifier::as_str));
            }
            _ => {}
        }
        walk_live(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                self.used.insert(name.id.as_str());
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
