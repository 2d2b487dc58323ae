//! The names that a program binds, in whatever scope, and what they are bound to.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Alias, Expr, ExprContext, Stmt};

use super::chance::is_generator;

/// What a program binds.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// Every name, of variables, parameters, definitions and imports.
    pub(super) all: BTreeSet<String>,
    /// Functions and classes.
    pub(super) definitions: BTreeSet<String>,
    /// Modules, each under the name that it has here.
    pub(super) modules: Vec<Imported>,
    /// Names imported from modules.
    pub(super) imported: BTreeMap<String, Imported>,
    /// Attributes that are assigned, fields of classes and properties.
    pub(super) fields: BTreeSet<String>,
    /// Names of what makes or seeds generators of random numbers.
    pub(super) generators: BTreeSet<String>,
    /// The module of those is imported, or something of it.
    pub(super) has_chance: bool,
}

/// A module and its name in the program, or a name of a module.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) module: String,
}

impl Bound {
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut bound = Self::default();
        bound.visit_body(body);
        bound
    }

    /// The module that `name` stands for, if it can be one.
    pub(super) fn module(&self, name: &str) -> Option<&str> {
        let is_it = |imported: &&Imported| imported.name == name;
        self.modules.iter().find(is_it).map(|imported| imported.module.as_str())
    }

    fn import(&mut self, alias: &Alias) {
        let module = alias.name.as_str();
        let first = module.split('.').next().unwrap_or(module);
        // Without `as`, `import a.b` binds `a`.
        let (name, module) =
            alias.asname.as_ref().map_or((first, first), |name| (name.as_str(), module));
        self.has_chance |= module == "random";
        self.all.insert(name.to_owned());
        self.modules.push(Imported { name: name.to_owned(), module: module.to_owned() });
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        for stmt in &class.body {
            match stmt {
                Stmt::AnnAssign(field) => self.field(&field.target),
                Stmt::Assign(assign) => assign.targets.iter().for_each(|to| self.field(to)),
                Stmt::FunctionDef(method) if is_property(method) => {
                    self.fields.insert(method.name.to_string());
                }
                _ => {}
            }
        }
    }

    fn field(&mut self, target: &Expr) {
        if let Expr::Name(name) = target {
            self.fields.insert(name.id.to_string());
        }
    }
}

fn is_property(method: &ast::StmtFunctionDef) -> bool {
    method.decorator_list.iter().any(|decorator| match &decorator.expression {
        Expr::Name(name) => matches!(name.id.as_str(), "property" | "cached_property"),
        Expr::Attribute(attribute) => {
            matches!(attribute.attr.as_str(), "cached_property" | "setter" | "getter")
        }
        _ => false,
    })
}

impl<'a> Visitor<'a> for Bound {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.all.insert(function.name.to_string());
                self.definitions.insert(function.name.to_string());
            }
            Stmt::ClassDef(class) => {
                self.all.insert(class.name.to_string());
                self.definitions.insert(class.name.to_string());
                self.class(class);
            }
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(import) => {
                let is_chance = import.module.as_deref() == Some("random");
                self.has_chance |= is_chance;
                for alias in &import.names {
                    if is_chance && is_generator(&alias.name) {
                        self.generators.insert(alias.name.to_string());
                    }
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    let module =
                        import.module.as_ref().map_or_else(String::new, ToString::to_string);
                    let from = Imported { name: alias.name.to_string(), module };
                    self.all.insert(name.clone());
                    self.imported.insert(name, from);
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.all.insert(name.id.to_string());
            }
            Expr::Attribute(attribute) if attribute.ctx == ExprContext::Store => {
                self.fields.insert(attribute.attr.to_string());
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.all.insert(parameter.name.to_string());
        visitor::walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        self.all.extend(inner.name.as_ref().map(ToString::to_string));
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        let name = match pattern {
            ast::Pattern::MatchAs(bound) => bound.name.as_ref(),
            ast::Pattern::MatchStar(bound) => bound.name.as_ref(),
            ast::Pattern::MatchMapping(bound) => bound.rest.as_ref(),
            _ => None,
        };
        self.all.extend(name.map(ToString::to_string));
        visitor::walk_pattern(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'a ast::TypeParam) {
        self.all.insert(parameter.name().to_string());
        visitor::walk_type_param(self, parameter);
    }
}
