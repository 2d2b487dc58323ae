//! Names: how many of them say nothing, mislead, or break the convention.
//!
//! What a task dictates is not the program's fault: names at the top of the module are passed over.

use std::collections::HashSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};

use super::flow::{live_part, walk_live};
use super::live::{Definition, Live};
use super::{count, fade};

/// Letters that mathematics has given a meaning.
const LETTERS: [&str; 7] = ["i", "j", "k", "n", "x", "y", "_"];

/// Builtins that programs like to overwrite.
const BUILTINS: [&str; 24] = [
    "all", "any", "bool", "bytes", "dict", "file", "filter", "float", "hash", "id", "input", "int",
    "len", "list", "map", "max", "min", "next", "object", "range", "set", "str", "sum", "type",
];

pub(super) fn score(live: &Live<'_>) -> f64 {
    let mut walk = NamesWalk { bad: HashSet::new(), loose: false };
    for stmt in &live.module {
        walk.visit_stmt(stmt);
    }
    for definition in &live.definitions {
        if let Definition::Function(function) = definition {
            walk.parameters(&function.parameters);
        }
        walk.visit_body(definition.body());
    }
    fade(count(walk.bad.len()), 4)
}

struct NamesWalk<'a> {
    bad: HashSet<&'a str>,
    /// The name lives for one line or loop, where a letter is enough.
    loose: bool,
}

impl<'a> NamesWalk<'a> {
    fn variable(&mut self, name: &'a str) {
        let letter = name.chars().count() == 1 && !LETTERS.contains(&name) && !self.loose;
        let constant = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        if letter || (is_mixed(name) && !constant) || BUILTINS.contains(&name) {
            self.bad.insert(name);
        }
    }

    fn parameters(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters {
            self.variable(parameter.name().as_str());
        }
    }

    fn loosely(&mut self, target: &'a Expr) {
        let outer = std::mem::replace(&mut self.loose, true);
        self.visit_expr(target);
        self.loose = outer;
    }
}

/// `mixedCase`, or `Capitals_and_underscores`.
fn is_mixed(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase())
}

impl<'a> Visitor<'a> for NamesWalk<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for stmt in live_part(body) {
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.variable(function.name.as_str());
                self.parameters(&function.parameters);
                self.visit_body(&function.body);
            }
            Stmt::ClassDef(class) => {
                if class.name.starts_with(|first: char| first.is_lowercase()) {
                    self.bad.insert(class.name.as_str());
                }
                self.visit_body(&class.body);
            }
            Stmt::For(statement) => {
                self.loosely(&statement.target);
                self.visit_body(&statement.body);
                self.visit_body(&statement.orelse);
            }
            _ => walk_live(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => self.variable(name.id.as_str()),
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.loosely(&comprehension.target);
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
    }
}
