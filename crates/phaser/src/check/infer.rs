//! Values of expressions, inferred on demand and kept.
//!
//! The inference does not follow the order of statements: a variable may be any of the values that are
//! assigned to it anywhere. A value that depends on itself counts as nothing where it does. Depth is bounded;
//! what lies deeper is unknown, so that no program costs more than time in its length.

use std::collections::HashMap;

use oxc_ast::ast::{ChainElement, Expression, IdentifierReference};
use oxc_semantic::Semantic;
use oxc_syntax::node::NodeId;
use oxc_syntax::scope::ScopeId;
use oxc_syntax::symbol::SymbolId;

use super::facts::{Base, Facts};
use super::value::{ClassId, Source, Value};
use crate::index::Index;
use crate::index::table::Table;
use crate::index::types::{ANY, RowId, Type, TypeId};

/// Deepest chain of expressions and variables that is followed.
const MAX_DEPTH: usize = 256;

/// Longest chain of classes of the program that is followed.
pub(super) const MAX_CHAIN: usize = 32;

/// Most alternatives of one value.
const MAX_ALTERNATIVES: usize = 6;

/// The state of an inference that is kept.
#[derive(Debug, Clone, Copy)]
enum Memo<'a> {
    Busy,
    Done(Value<'a>),
}

/// Infers values of one program.
pub(super) struct Inference<'s, 'a> {
    pub(super) semantic: &'s Semantic<'a>,
    pub(super) index: &'s Index,
    pub(super) facts: Facts<'a>,
    memo: Vec<Option<Memo<'a>>>,
    symbols: HashMap<SymbolId, Memo<'a>>,
    scopes: HashMap<ScopeId, Memo<'a>>,
    fields: HashMap<(ClassId, &'a str), Memo<'a>>,
    several: Vec<Vec<Value<'a>>>,
    depth: usize,
    /// Whether a class of the program is a scene.
    pub(super) has_scene: bool,
}

impl<'s, 'a> Inference<'s, 'a> {
    /// Prepares the inference: fields of classes are those that are assigned to `this` in them.
    pub(super) fn new(semantic: &'s Semantic<'a>, index: &'s Index, facts: Facts<'a>) -> Self {
        let mut inference = Self {
            semantic,
            index,
            facts,
            memo: vec![None; semantic.nodes().len()],
            symbols: HashMap::new(),
            scopes: HashMap::new(),
            fields: HashMap::new(),
            several: Vec::new(),
            depth: 0,
            has_scene: false,
        };
        inference.assign_fields();
        // What was inferred so far did not know all fields.
        inference.memo.fill(None);
        inference.symbols.clear();
        inference.scopes.clear();
        inference.fields.clear();
        inference.has_scene = inference.find_scene();
        inference
    }

    fn find_scene(&mut self) -> bool {
        let scene = self.index.tables.paths.get("Phaser.Scene").copied();
        let mut classes = 0..ClassId::try_from(self.facts.classes.len()).unwrap_or(ClassId::MAX);
        classes.any(|class| self.root_of(class).is_some_and(|row| Some(row) == scene))
    }

    fn assign_fields(&mut self) {
        for assignment in self.facts.assignments.clone() {
            let oxc_ast::ast::AssignmentTarget::StaticMemberExpression(target) = &assignment.left
            else {
                continue;
            };
            let is_logical = assignment.operator.is_assign() || assignment.operator.is_logical();
            let source =
                if is_logical { Source::Expression(&assignment.right) } else { Source::Unknown };
            if let Value::Object(class) = self.expression(&target.object) {
                let members = &mut self.facts.classes[class as usize].members;
                members.entry(target.property.name.as_str()).or_default().push(source);
            }
        }
    }

    /// The value of an expression.
    pub(super) fn expression(&mut self, expression: &'a Expression<'a>) -> Value<'a> {
        match expression {
            Expression::Identifier(name) => self.identifier(name),
            Expression::ThisExpression(this) => self.this_at(this.node_id.get()),
            Expression::Super(node) => self.super_at(node.node_id.get()),
            Expression::NullLiteral(_) => Value::Nothing,
            Expression::ObjectExpression(object) => Value::Literal(object),
            Expression::FunctionExpression(function) => Value::Function(function.node_id.get()),
            Expression::ArrowFunctionExpression(arrow) => Value::Function(arrow.node_id.get()),
            Expression::ClassExpression(class) => self.class_at(class.node_id.get()),
            Expression::StaticMemberExpression(member) => {
                let (object, name) = (&member.object, member.property.name.as_str());
                self.kept(member.node_id.get(), |infer| infer.read(object, name))
            }
            Expression::ComputedMemberExpression(member) => {
                self.kept(member.node_id.get(), |infer| match member.static_property_name() {
                    Some(name) => infer.read(&member.object, name.as_str()),
                    None => infer.element(&member.object),
                })
            }
            Expression::CallExpression(call) => {
                self.kept(call.node_id.get(), |infer| infer.call(&call.callee, &call.arguments))
            }
            Expression::NewExpression(new) => {
                self.kept(new.node_id.get(), |infer| infer.construct(&new.callee, &new.arguments))
            }
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(call) => {
                    self.kept(call.node_id.get(), |infer| infer.call(&call.callee, &call.arguments))
                }
                ChainElement::StaticMemberExpression(member) => {
                    let (object, name) = (&member.object, member.property.name.as_str());
                    self.kept(member.node_id.get(), |infer| infer.read(object, name))
                }
                _ => Value::Unknown,
            },
            Expression::ConditionalExpression(either) => self.kept(either.node_id.get(), |infer| {
                infer.either(&either.consequent, &either.alternate)
            }),
            Expression::LogicalExpression(either) if !either.operator.is_and() => {
                self.kept(either.node_id.get(), |infer| infer.either(&either.left, &either.right))
            }
            Expression::AssignmentExpression(assignment) if assignment.operator.is_assign() => {
                self.kept(assignment.node_id.get(), |infer| infer.expression(&assignment.right))
            }
            _ => Value::Unknown,
        }
    }

    fn either(&mut self, one: &'a Expression<'a>, other: &'a Expression<'a>) -> Value<'a> {
        let one = self.expression(one);
        let other = self.expression(other);
        self.join(one, other)
    }

    /// Infers once for each node.
    pub(super) fn kept(
        &mut self,
        node: NodeId,
        infer: impl FnOnce(&mut Self) -> Value<'a>,
    ) -> Value<'a> {
        match self.memo[node.index()] {
            Some(Memo::Busy) => return Value::Nothing,
            Some(Memo::Done(value)) => return value,
            None => {}
        }
        if self.depth >= MAX_DEPTH {
            return Value::Unknown;
        }
        self.memo[node.index()] = Some(Memo::Busy);
        self.depth += 1;
        let value = infer(self);
        self.depth -= 1;
        self.memo[node.index()] = Some(Memo::Done(value));
        value
    }

    fn identifier(&mut self, name: &IdentifierReference<'a>) -> Value<'a> {
        let symbol = self.semantic.scoping().get_reference(name.reference_id()).symbol_id();
        match (symbol, name.name.as_str()) {
            (Some(symbol), _) => self.variable(symbol),
            (None, "Phaser") => self.root(),
            (None, "undefined") => Value::Nothing,
            _ => Value::Unknown,
        }
    }

    fn variable(&mut self, symbol: SymbolId) -> Value<'a> {
        match self.symbols.get(&symbol) {
            Some(Memo::Busy) => return Value::Nothing,
            Some(Memo::Done(value)) => return *value,
            None => {}
        }
        if self.depth >= MAX_DEPTH {
            return Value::Unknown;
        }
        self.symbols.insert(symbol, Memo::Busy);
        self.depth += 1;
        let sources = self.facts.variables.get(&symbol).cloned().unwrap_or_default();
        let value = self.any_of(&sources);
        self.depth -= 1;
        self.symbols.insert(symbol, Memo::Done(value));
        value
    }

    /// The value of a variable or a field with these sources.
    pub(super) fn any_of(&mut self, sources: &[Source<'a>]) -> Value<'a> {
        let mut value = Value::Nothing;
        for source in sources {
            let next = self.source(*source);
            value = self.join(value, next);
            if matches!(value, Value::Unknown) {
                break;
            }
        }
        value
    }

    fn source(&mut self, source: Source<'a>) -> Value<'a> {
        match source {
            Source::Unknown => Value::Unknown,
            Source::Expression(expression) => self.expression(expression),
            Source::Member(from, name) => self.read(from, name),
            Source::Element(from) => self.element(from),
            Source::Parameter { function, at } => self.parameter(function, at),
            Source::Function(node) => Value::Function(node),
            Source::Class(node) => self.class_at(node),
            Source::Phaser => self.root(),
            Source::PhaserMember(name) => {
                let root = self.root();
                self.read_value(root, name)
            }
        }
    }

    /// A value that is one or the other.
    pub(super) fn join(&mut self, one: Value<'a>, other: Value<'a>) -> Value<'a> {
        match (one, other) {
            (Value::Nothing, value) | (value, Value::Nothing) => value,
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (Value::Known { ty: a, exact: b }, Value::Known { ty: c, exact: d }) if a == c => {
                Value::Known { ty: a, exact: b && d }
            }
            _ if one == other => one,
            _ => self.both(one, other),
        }
    }

    fn both(&mut self, one: Value<'a>, other: Value<'a>) -> Value<'a> {
        let mut all = self.alternatives(one);
        for value in self.alternatives(other) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if all.len() > MAX_ALTERNATIVES {
            return Value::Unknown;
        }
        self.several.push(all);
        Value::Several(u32::try_from(self.several.len() - 1).unwrap_or(u32::MAX))
    }

    /// The values that a value may be.
    pub(super) fn alternatives(&self, value: Value<'a>) -> Vec<Value<'a>> {
        match value {
            Value::Several(at) => self.several[at as usize].clone(),
            one => vec![one],
        }
    }

    fn class_at(&self, node: NodeId) -> Value<'a> {
        self.facts.class_nodes.get(&node).map_or(Value::Unknown, |class| Value::Class(*class))
    }

    /// Phaser itself.
    pub(super) fn root(&self) -> Value<'a> {
        let row = self.index.tables.paths.get("Phaser").copied();
        row.map_or(Value::Unknown, |row| self.space(row))
    }

    /// A declaration of Phaser itself.
    pub(super) fn space(&self, row: RowId) -> Value<'a> {
        self.table(row).space.map_or(Value::Unknown, |ty| Value::Known { ty, exact: true })
    }

    /// A new instance of a class of Phaser.
    pub(super) fn instance(&self, row: RowId) -> Value<'a> {
        self.table(row).made.map_or(Value::Unknown, |ty| Value::Known { ty, exact: true })
    }

    pub(super) fn table(&self, row: RowId) -> &'s Table {
        &self.index.tables.rows[row as usize]
    }

    /// The class, namespace or function of Phaser that a value is.
    pub(super) fn as_space(&self, value: Value<'a>) -> Option<RowId> {
        let Value::Known { ty, .. } = value else { return None };
        match self.index.tables.types.get(ty) {
            Type::Space(row) => Some(*row),
            _ => None,
        }
    }

    /// The type of the elements of a value that is an array.
    pub(super) fn as_list(&self, value: Value<'a>) -> Option<TypeId> {
        let Value::Known { ty, .. } = value else { return None };
        let tables = &self.index.tables;
        match tables.types.get(tables.resolve(ty)) {
            Type::List(element) => Some(*element),
            _ => None,
        }
    }

    /// What a class of the program inherits from.
    pub(super) fn base(&mut self, class: ClassId) -> Value<'a> {
        match self.facts.classes[class as usize].base {
            Base::Extends(expression) => self.expression(expression),
            Base::Scene => {
                let scene = self.index.tables.paths.get("Phaser.Scene").copied();
                scene.map_or(Value::Unknown, |row| self.space(row))
            }
            Base::None | Base::Unknown => Value::Unknown,
        }
    }

    /// The class of Phaser at the root of a class of the program.
    pub(super) fn root_of(&mut self, class: ClassId) -> Option<RowId> {
        let mut class = class;
        for _ in 0..MAX_CHAIN {
            match self.base(class) {
                Value::Class(next) => class = next,
                base => return self.as_space(base),
            }
        }
        None
    }

    /// A value of a type of the index, which may be of an heir of it.
    pub(super) fn of_type(&self, ty: TypeId) -> Value<'a> {
        match self.index.tables.types.get(ty) {
            Type::Instance(..)
            | Type::Space(_)
            | Type::Union(_)
            | Type::Both(_)
            | Type::List(_)
                if ty != ANY =>
            {
                Value::Known { ty, exact: false }
            }
            _ => Value::Unknown,
        }
    }

    /// The value of a member that a class of the program has itself, kept.
    pub(super) fn field(&mut self, class: ClassId, name: &'a str) -> Option<Value<'a>> {
        let sources = self.facts.classes[class as usize].members.get(name)?;
        match self.fields.get(&(class, name)) {
            Some(Memo::Busy) => return Some(Value::Nothing),
            Some(Memo::Done(value)) => return Some(*value),
            None => {}
        }
        if self.depth >= MAX_DEPTH {
            return Some(Value::Unknown);
        }
        let sources = sources.clone();
        self.fields.insert((class, name), Memo::Busy);
        self.depth += 1;
        let value = self.any_of(&sources);
        self.depth -= 1;
        self.fields.insert((class, name), Memo::Done(value));
        Some(value)
    }

    /// The value of `this` in a scope, kept.
    pub(super) fn kept_scope(
        &mut self,
        scope: ScopeId,
        infer: impl FnOnce(&mut Self) -> Value<'a>,
    ) -> Value<'a> {
        match self.scopes.get(&scope) {
            Some(Memo::Busy) => return Value::Nothing,
            Some(Memo::Done(value)) => return *value,
            None => {}
        }
        if self.depth >= MAX_DEPTH {
            return Value::Unknown;
        }
        self.scopes.insert(scope, Memo::Busy);
        self.depth += 1;
        let value = infer(self);
        self.depth -= 1;
        self.scopes.insert(scope, Memo::Done(value));
        value
    }
}
