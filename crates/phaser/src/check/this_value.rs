//! The value of `this`: of a class, of a scene's functions, and of functions that are handed over.

use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, AssignmentTarget, Expression};
use oxc_syntax::node::NodeId;
use oxc_syntax::scope::{ScopeFlags, ScopeId};

use super::infer::Inference;
use super::names::{MAX_SCANNED, arguments, is_this, member, position, properties};
use super::value::Value;

/// Methods of an emitter that take a listener and what `this` is in it.
const LISTEN: [&str; 3] = ["on", "once", "addListener"];

impl<'a> Inference<'_, 'a> {
    /// The value of `this` at a node.
    pub(super) fn this_at(&mut self, node: NodeId) -> Value<'a> {
        let scope = self.semantic.nodes().get_node(node).scope_id();
        self.kept_scope(scope, |infer| infer.this_in(scope))
    }

    /// What `super` stands for at a node: an instance of the base.
    pub(super) fn super_at(&mut self, node: NodeId) -> Value<'a> {
        let Value::Object(class) = self.this_at(node) else { return Value::Unknown };
        match self.base(class) {
            Value::Class(base) => Value::Object(base),
            base => self.as_space(base).map_or(Value::Unknown, |row| self.instance(row)),
        }
    }

    fn this_in(&mut self, scope: ScopeId) -> Value<'a> {
        let scoping = self.semantic.scoping();
        let owner = scoping.scope_ancestors(scope).find(|scope| {
            let flags = scoping.scope_flags(*scope);
            let is_function =
                flags.contains(ScopeFlags::Function) && !flags.contains(ScopeFlags::Arrow);
            let node = scoping.get_node_id(*scope);
            is_function
                || matches!(
                    self.semantic.nodes().kind(node),
                    AstKind::Class(_) | AstKind::StaticBlock(_)
                )
        });
        let Some(owner) = owner else { return Value::Unknown };
        let node = scoping.get_node_id(owner);
        if owner != scope {
            return self.kept_scope(owner, |infer| infer.this_of(node));
        }
        self.this_of(node)
    }

    fn this_of(&mut self, node: NodeId) -> Value<'a> {
        match self.semantic.nodes().kind(node) {
            AstKind::Class(_) => self.this_in_fields(node),
            AstKind::Function(_) => self.this_of_function(node),
            _ => Value::Unknown,
        }
    }

    fn this_in_fields(&self, class: NodeId) -> Value<'a> {
        match self.facts.class_nodes.get(&class) {
            Some(id) if !self.facts.classes[*id as usize].has_static_fields => Value::Object(*id),
            _ => Value::Unknown,
        }
    }

    fn this_of_function(&mut self, function: NodeId) -> Value<'a> {
        if let Some(class) = self.facts.scene_functions.get(&function) {
            return Value::Object(*class);
        }
        let nodes = self.semantic.nodes();
        let parent = nodes.parent_id(function);
        match nodes.kind(parent) {
            AstKind::MethodDefinition(method) => self.this_of_method(parent, method.r#static),
            AstKind::PropertyDefinition(field) => self.this_of_method(parent, field.r#static),
            AstKind::ObjectProperty(_) => self.this_of_property(parent),
            AstKind::AssignmentExpression(assignment) => match &assignment.left {
                AssignmentTarget::StaticMemberExpression(target) => {
                    match self.expression(&target.object) {
                        value @ (Value::Known { .. } | Value::Object(_)) => value,
                        _ => Value::Unknown,
                    }
                }
                _ => self.this_of_named(function),
            },
            AstKind::StaticMemberExpression(bound) if bound.property.name == "bind" => {
                match arguments(nodes.parent_kind(parent)) {
                    Some((_, [first, ..])) => {
                        first.as_expression().map_or(Value::Unknown, |first| self.expression(first))
                    }
                    _ => Value::Unknown,
                }
            }
            call @ AstKind::CallExpression(_) => {
                let at = arguments(call).and_then(|(_, given)| position(given, function));
                at.map_or(Value::Unknown, |at| self.this_of_argument(parent, at))
            }
            _ => self.this_of_named(function),
        }
    }

    fn this_of_method(&self, method: NodeId, is_static: bool) -> Value<'a> {
        let nodes = self.semantic.nodes();
        let class = nodes.parent_id(nodes.parent_id(method));
        match self.facts.class_nodes.get(&class) {
            Some(id) if is_static => Value::Class(*id),
            Some(id) => Value::Object(*id),
            None => Value::Unknown,
        }
    }

    /// A function in an object literal: a method of a scene or class, or a callback with its scope beside it.
    fn this_of_property(&mut self, property: NodeId) -> Value<'a> {
        let nodes = self.semantic.nodes();
        let object = nodes.parent_id(property);
        if let Some(class) = self.facts.class_nodes.get(&object) {
            return Value::Object(*class);
        }
        let AstKind::ObjectExpression(object) = nodes.kind(object) else { return Value::Unknown };
        let is_scope = |name: &str| name.ends_with("Scope") || name == "scope" || name == "context";
        let scope = properties(object)
            .take(MAX_SCANNED)
            .find(|(name, value)| is_scope(name) && is_this(value));
        scope.map_or(Value::Unknown, |(_, scope)| self.expression(scope))
    }

    /// A function with a name: `this` is what it is called with wherever it is handed over.
    fn this_of_named(&mut self, function: NodeId) -> Value<'a> {
        let Some(symbol) = self.symbol_of(function) else { return Value::Unknown };
        let handed = self.facts.handed.get(&symbol).cloned().unwrap_or_default();
        let mut value = Value::Nothing;
        for one in handed.iter().take(8) {
            let next = self.this_of_argument(one.call, one.at);
            value = self.join(value, next);
        }
        value
    }

    /// `this` in a function that is an argument of a call.
    fn this_of_argument(&mut self, call: NodeId, at: usize) -> Value<'a> {
        let Some((callee, given)) = arguments(self.semantic.nodes().kind(call)) else {
            return Value::Unknown;
        };
        let mut later =
            given.iter().skip(at + 1).take(MAX_SCANNED).filter_map(Argument::as_expression);
        if let Some(this) = later.find(|one| is_this(one)) {
            return self.expression(this);
        }
        match member(callee) {
            Some((emitter, name)) if LISTEN.contains(&name) && at == 1 => match given.get(2) {
                None => self.emitter(emitter),
                Some(context) => {
                    let context = context.as_expression();
                    context.map_or(Value::Unknown, |context| self.expression(context))
                }
            },
            _ => Value::Unknown,
        }
    }

    /// The value on which a listener is added, if it is one of Phaser's.
    fn emitter(&mut self, emitter: &'a Expression<'a>) -> Value<'a> {
        match self.expression(emitter) {
            value @ (Value::Known { .. } | Value::Object(_)) => value,
            _ => Value::Unknown,
        }
    }
}
