//! The names that a program binds, scope by scope.
//!
//! A first walk collects them ([`Bindings::of`]), a second asks whose a name is ([`Bindings::owner`]). Both open
//! the same scopes in the same order ([`OpenScopes`]). Defaults, decorators and the first iterable of a
//! comprehension count as inside, unlike in Python: that matters only where a name is bound on both sides.
//!
//! Attributes are not resolved to objects: one that some class or assignment of the program defines is the
//! program's own, wherever it is used.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{self as ast, AnyNodeRef, Expr, ExprContext};
use ruff_text_size::{Ranged, TextSize};

/// The number of a scope, in the order of the source; the module's is 0.
type ScopeNumber = usize;

/// The scope of names that belong to classes and objects.
const ATTRIBUTES: ScopeNumber = usize::MAX;

/// A name that the program binds: its scope and spelling.
pub(crate) type OwnName<'a> = (ScopeNumber, &'a str);

/// Whose a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameOwner<'a> {
    /// The program's.
    Program(OwnName<'a>),
    /// A module's: what was imported, under whatever name.
    Import(&'a str),
    /// Nobody's here: a builtin, or an error.
    Free,
}

/// The names of all scopes of a program.
#[derive(Debug)]
pub(crate) struct Bindings<'a> {
    scopes: Vec<Scope<'a>>,
    /// Names that classes and assignments to attributes define.
    attributes: HashSet<&'a str>,
    parameters: HashSet<&'a str>,
}

/// Scopes around a place of the walk.
#[derive(Debug)]
pub(crate) struct OpenScopes {
    open: Vec<ScopeNumber>,
    next: ScopeNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Module,
    Class,
    Function,
    Comprehension,
}

#[derive(Debug)]
struct Scope<'a> {
    kind: ScopeKind,
    bound: HashSet<&'a str>,
    imported: HashMap<&'a str, &'a str>,
    /// Declared `global` or `nonlocal`.
    outer: HashSet<&'a str>,
}

impl<'a> Bindings<'a> {
    /// Collects the names of a module's statements.
    pub(crate) fn of(body: &'a [ast::Stmt]) -> Self {
        let scopes = vec![Scope::new(ScopeKind::Module)];
        let bindings = Self { scopes, attributes: HashSet::new(), parameters: HashSet::new() };
        let mut collect =
            Collect { bindings, open: OpenScopes::new(), walrus_targets: HashSet::new() };
        walk_body(&mut collect, body);
        collect.bindings
    }

    /// Whose `name` is, used inside these scopes.
    pub(crate) fn owner(&self, open: &OpenScopes, name: &'a str) -> NameOwner<'a> {
        for (depth, &number) in open.open.iter().rev().enumerate() {
            let scope = &self.scopes[number];
            // A class binds for its own statements, not for the functions in it.
            let hidden = scope.kind == ScopeKind::Class && depth > 0;
            if hidden || scope.outer.contains(name) {
                continue;
            }
            if let Some(path) = scope.imported.get(name) {
                return NameOwner::Import(path);
            }
            if scope.bound.contains(name) {
                let is_class = scope.kind == ScopeKind::Class;
                return NameOwner::Program((if is_class { ATTRIBUTES } else { number }, name));
            }
        }
        NameOwner::Free
    }

    /// The attribute of this name, if the program defines one.
    pub(super) fn own_attribute(&self, name: &'a str) -> Option<OwnName<'a>> {
        self.attributes.contains(name).then_some((ATTRIBUTES, name))
    }

    /// Whether a call of the program's own may name an argument so.
    pub(super) fn is_own_keyword(&self, name: &str) -> bool {
        self.parameters.contains(name) || self.attributes.contains(name)
    }
}

impl NameOwner<'_> {
    /// Whether the module itself binds the name, by an import too.
    pub(crate) fn is_module(self) -> bool {
        matches!(self, Self::Program((0, _)) | Self::Import(_))
    }
}

impl OpenScopes {
    pub(crate) fn new() -> Self {
        Self { open: vec![0], next: 1 }
    }

    /// Whether the place is in no scope but the module's.
    pub(crate) fn is_module(&self) -> bool {
        self.open.len() == 1
    }

    /// Enters a node; one with a scope opens it.
    pub(crate) fn enter(&mut self, node: AnyNodeRef<'_>) {
        if kind_of(node).is_some() {
            self.open.push(self.next);
            self.next += 1;
        }
    }

    pub(crate) fn leave(&mut self, node: AnyNodeRef<'_>) {
        if kind_of(node).is_some() {
            self.open.pop();
        }
    }
}

/// The scope that a node opens.
fn kind_of(node: AnyNodeRef<'_>) -> Option<ScopeKind> {
    match node {
        AnyNodeRef::StmtClassDef(_) => Some(ScopeKind::Class),
        AnyNodeRef::StmtFunctionDef(_) | AnyNodeRef::ExprLambda(_) => Some(ScopeKind::Function),
        AnyNodeRef::ExprListComp(_)
        | AnyNodeRef::ExprSetComp(_)
        | AnyNodeRef::ExprDictComp(_)
        | AnyNodeRef::ExprGenerator(_) => Some(ScopeKind::Comprehension),
        _ => None,
    }
}

impl Scope<'_> {
    fn new(kind: ScopeKind) -> Self {
        Self { kind, bound: HashSet::new(), imported: HashMap::new(), outer: HashSet::new() }
    }
}

/// The first walk.
struct Collect<'a> {
    bindings: Bindings<'a>,
    open: OpenScopes,
    /// Where the targets of `:=` begin: they bind outside of comprehensions.
    walrus_targets: HashSet<TextSize>,
}

impl<'a> Collect<'a> {
    fn current(&mut self) -> &mut Scope<'a> {
        let number = self.open.open.last().copied().unwrap_or(0);
        &mut self.bindings.scopes[number]
    }

    fn bind(&mut self, name: &'a str) {
        let scope = self.current();
        scope.bound.insert(name);
        if scope.kind == ScopeKind::Class && !scope.outer.contains(name) {
            self.bind_attribute(name);
        }
    }

    /// Names with two underlines on both ends are Python's, not the program's.
    fn bind_attribute(&mut self, name: &'a str) {
        if !(name.starts_with("__") && name.ends_with("__")) {
            self.bindings.attributes.insert(name);
        }
    }

    fn bind_outside_comprehensions(&mut self, name: &'a str) {
        let scopes = &mut self.bindings.scopes;
        let is_outside = |number: &&ScopeNumber| scopes[**number].kind != ScopeKind::Comprehension;
        if let Some(&number) = self.open.open.iter().rev().find(is_outside) {
            scopes[number].bound.insert(name);
        }
    }

    fn import(&mut self, alias: &'a ast::Alias, from: Option<&'a ast::Identifier>) {
        let name = alias.name.as_str();
        let first = name.split('.').next().unwrap_or(name);
        match (&alias.asname, from) {
            (_, Some(_)) if name == "*" => {}
            // `from math import sqrt` is known by `sqrt` alone: its module is a token of the statement.
            (Some(other), _) => drop(self.current().imported.insert(other.as_str(), name)),
            (None, Some(_)) => drop(self.current().imported.insert(name, name)),
            (None, None) => drop(self.current().imported.insert(first, first)),
        }
    }

    fn names(&mut self, node: AnyNodeRef<'a>) {
        match node {
            AnyNodeRef::StmtFunctionDef(function) => self.bind(function.name.as_str()),
            AnyNodeRef::StmtClassDef(class) => self.bind(class.name.as_str()),
            AnyNodeRef::Parameter(parameter) => {
                self.bind(parameter.name.as_str());
                self.bindings.parameters.insert(parameter.name.as_str());
            }
            AnyNodeRef::ExprNamed(named) => {
                if let Expr::Name(target) = &*named.target {
                    self.walrus_targets.insert(target.start());
                    self.bind_outside_comprehensions(target.id.as_str());
                }
            }
            AnyNodeRef::ExprName(name)
                if is_bound(name.ctx) && !self.walrus_targets.contains(&name.start()) =>
            {
                self.bind(name.id.as_str());
            }
            AnyNodeRef::ExprAttribute(attribute) if is_bound(attribute.ctx) => {
                self.bind_attribute(attribute.attr.as_str());
            }
            AnyNodeRef::StmtGlobal(statement) => {
                for name in &statement.names {
                    self.bindings.scopes[0].bound.insert(name.as_str());
                    self.current().outer.insert(name.as_str());
                }
            }
            AnyNodeRef::StmtNonlocal(statement) => {
                for name in &statement.names {
                    self.current().outer.insert(name.as_str());
                }
            }
            AnyNodeRef::StmtImport(statement) => {
                statement.names.iter().for_each(|alias| self.import(alias, None));
            }
            AnyNodeRef::StmtImportFrom(statement) => {
                let from = statement.module.as_ref();
                statement.names.iter().for_each(|alias| self.import(alias, from));
            }
            other => {
                if let Some(name) = identifier(other) {
                    self.bind(name);
                }
            }
        }
    }
}

/// The name that a handler, a pattern or a type parameter binds.
pub(super) fn identifier(node: AnyNodeRef<'_>) -> Option<&str> {
    let name = match node {
        AnyNodeRef::ExceptHandlerExceptHandler(handler) => handler.name.as_ref(),
        AnyNodeRef::PatternMatchAs(pattern) => pattern.name.as_ref(),
        AnyNodeRef::PatternMatchStar(pattern) => pattern.name.as_ref(),
        AnyNodeRef::PatternMatchMapping(pattern) => pattern.rest.as_ref(),
        AnyNodeRef::TypeParamTypeVar(parameter) => Some(&parameter.name),
        AnyNodeRef::TypeParamTypeVarTuple(parameter) => Some(&parameter.name),
        AnyNodeRef::TypeParamParamSpec(parameter) => Some(&parameter.name),
        _ => None,
    };
    name.map(ast::Identifier::as_str)
}

fn is_bound(context: ExprContext) -> bool {
    matches!(context, ExprContext::Store | ExprContext::Del)
}

impl<'a> SourceOrderVisitor<'a> for Collect<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        self.names(node);
        self.open.enter(node);
        if let Some(kind) = kind_of(node) {
            self.bindings.scopes.push(Scope::new(kind));
        }
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        self.open.leave(node);
    }

    /// The second walk leaves annotations out, and with them the scopes of lambdas in them.
    fn visit_annotation(&mut self, _: &'a Expr) {}
}
