//! What of a program its tests can reach.
//!
//! A definition at the top is live if the tests name it, if code of the module that runs names it,
//! or if a live definition does. Of two definitions with one name the last counts, as in Python.
//! Where nobody says what the tests name, all definitions are live.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::helpers::is_docstring_stmt;
use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};

use super::flow::{live_part, walk_live};

/// A function or class at the top of a module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Definition<'a> {
    Function(&'a StmtFunctionDef),
    Class(&'a StmtClassDef),
}

/// The live parts of a program.
#[derive(Debug)]
pub(super) struct Live<'a> {
    /// Statements of the module itself that can run, definitions left out.
    pub(super) module: Vec<&'a Stmt>,
    /// Definitions that can be reached.
    pub(super) definitions: Vec<Definition<'a>>,
    /// How many definitions cannot be reached.
    pub(super) unreached: u32,
    /// The whole body.
    pub(super) body: &'a [Stmt],
    /// The definitions that the documentation is looked for in.
    pub(super) described: Vec<Described<'a>>,
    /// Whether we know what the tests use.
    pub(super) known: bool,
}

/// What ought to be documented.
#[derive(Debug, Clone, Copy)]
pub(super) enum Described<'a> {
    Module,
    Definition(Definition<'a>),
    /// A method that the tests call.
    Method(&'a StmtClassDef, &'a StmtFunctionDef),
}

impl<'a> Definition<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Function(function) => function.name.as_str(),
            Self::Class(class) => class.name.as_str(),
        }
    }

    pub(super) fn body(self) -> &'a [Stmt] {
        match self {
            Self::Function(function) => &function.body,
            Self::Class(class) => &class.body,
        }
    }
}

impl<'a> Live<'a> {
    pub(super) fn of(body: &'a [Stmt], roots: &[&str]) -> Self {
        let mut definitions: HashMap<&str, Definition<'a>> = HashMap::new();
        let mut order = Vec::new();
        let mut module = Vec::new();
        for (index, stmt) in live_part(body).iter().enumerate() {
            let definition = match stmt {
                Stmt::FunctionDef(function) => Definition::Function(function),
                Stmt::ClassDef(class) => Definition::Class(class),
                Stmt::Expr(_) if index == 0 && is_docstring_stmt(stmt) => continue,
                _ => {
                    module.push(stmt);
                    continue;
                }
            };
            order.push(definition.name());
            definitions.insert(definition.name(), definition);
        }
        let all = definitions_in(&order, &definitions);
        let asked = asked(roots, &definitions);
        if asked.is_empty() {
            let works = module.iter().any(|stmt| does_work(stmt, &definitions));
            let mut described: Vec<_> = all.iter().copied().map(Described::Definition).collect();
            described.extend(works.then_some(Described::Module));
            let known = false;
            return Self { module, definitions: all, unreached: 0, body, described, known };
        }
        let reached = reached(asked.iter().map(|asked| asked.name()), &module, &definitions);
        let is_reached = |definition: &Definition<'_>| reached.contains(definition.name());
        let live: Vec<_> = all.into_iter().filter(is_reached).collect();
        let unreached = super::count(order.len() - live.len());
        Self { module, definitions: live, unreached, body, described: asked, known: true }
    }

    /// Whether there is nothing to look at.
    pub(super) fn is_empty(&self) -> bool {
        self.module.is_empty() && self.definitions.is_empty()
    }

    /// Walks all that is live.
    pub(super) fn walk<V: Visitor<'a>>(&self, visitor: &mut V) {
        for stmt in &self.module {
            visitor.visit_stmt(stmt);
        }
        for definition in &self.definitions {
            definition.walk(visitor);
        }
    }
}

impl<'a> Definition<'a> {
    /// Walks decorators, parameters, bases and body.
    pub(super) fn walk<V: Visitor<'a>>(self, visitor: &mut V) {
        match self {
            Self::Function(function) => {
                function.decorator_list.iter().for_each(|d| visitor.visit_decorator(d));
                visitor.visit_parameters(&function.parameters);
                function.returns.iter().for_each(|returns| visitor.visit_annotation(returns));
            }
            Self::Class(class) => {
                class.decorator_list.iter().for_each(|d| visitor.visit_decorator(d));
                class.arguments.iter().for_each(|bases| visitor.visit_arguments(bases));
            }
        }
        visitor.visit_body(self.body());
    }
}

impl<'a> Described<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Module => "",
            Self::Definition(definition) => definition.name(),
            Self::Method(class, _) => class.name.as_str(),
        }
    }
}

/// The last definition of each name, in the order of the first.
fn definitions_in<'a>(
    order: &[&'a str],
    definitions: &HashMap<&str, Definition<'a>>,
) -> Vec<Definition<'a>> {
    let mut seen = HashSet::new();
    order
        .iter()
        .filter(|name| seen.insert(**name))
        .filter_map(|name| definitions.get(name).copied())
        .collect()
}

fn asked<'a>(roots: &[&str], definitions: &HashMap<&str, Definition<'a>>) -> Vec<Described<'a>> {
    let find = |root: &&str| {
        let (name, method) = root.split_once('.').map_or((*root, None), |(a, b)| (a, Some(b)));
        let definition = *definitions.get(name)?;
        let (Definition::Class(class), Some(method)) = (definition, method) else {
            return Some(Described::Definition(definition));
        };
        let function = class.body.iter().rev().find_map(|stmt| {
            stmt.as_function_def_stmt().filter(|function| function.name.as_str() == method)
        });
        Some(function.map_or(Described::Definition(definition), |f| Described::Method(class, f)))
    };
    roots.iter().filter_map(find).collect()
}

/// Whether a statement of a module does more than prepare, or call what the program defines: then
/// the module itself ought to say what it does.
fn does_work(stmt: &Stmt, definitions: &HashMap<&str, Definition<'_>>) -> bool {
    let mut uses = Uses(Vec::new());
    uses.visit_stmt(stmt);
    match stmt {
        Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) | Stmt::Global(_) => false,
        Stmt::Assign(statement) => uses.0.len() > statement.targets.len(),
        Stmt::AnnAssign(statement) => statement.value.is_some(),
        _ => !uses.0.iter().any(|name| definitions.contains_key(name)),
    }
}

fn reached<'a>(
    roots: impl Iterator<Item = &'a str>,
    module: &[&'a Stmt],
    definitions: &HashMap<&'a str, Definition<'a>>,
) -> HashSet<&'a str> {
    let mut uses = Uses(Vec::new());
    for stmt in module {
        uses.visit_stmt(stmt);
    }
    let mut open: Vec<&str> = roots.collect();
    open.append(&mut uses.0);
    let mut reached = HashSet::new();
    while let Some(name) = open.pop() {
        let Some(definition) = definitions.get(name) else { continue };
        if reached.insert(definition.name()) {
            definition.walk(&mut uses);
            open.append(&mut uses.0);
        }
    }
    reached
}

/// The names that live code mentions.
struct Uses<'a>(Vec<&'a str>);

impl<'a> Visitor<'a> for Uses<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for stmt in live_part(body) {
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        walk_live(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.push(name.id.as_str());
        }
        ruff_python_ast::visitor::walk_expr(self, expr);
    }
}
