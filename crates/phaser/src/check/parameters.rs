//! Parameters of callbacks, as the index types them.

use oxc_ast::AstKind;
use oxc_ast::ast::Argument;
use oxc_syntax::node::NodeId;
use oxc_syntax::symbol::SymbolId;

use super::facts::Handed;
use super::infer::Inference;
use super::lookup::{Lookup, Target};
use super::names::{arguments, key_name, member, position};
use super::value::Value;
use crate::index::table::find;
use crate::index::types::{ANY, Type, TypeId};

/// Methods of an array that hand each element to a function.
const EACH: [&str; 9] =
    ["forEach", "map", "filter", "find", "findIndex", "some", "every", "flatMap", "findLast"];

/// Methods that the engine calls, with arguments that are not known here.
const CALLED_BY_ENGINE: [&str; 8] =
    ["init", "preload", "create", "update", "preUpdate", "postUpdate", "destroy", "render"];

/// Everything that a function of the program is called with.
struct Passed<'a> {
    /// Calls that take the function itself.
    handed: Vec<Handed>,
    /// Arguments of calls of the function.
    calls: Vec<&'a [Argument<'a>]>,
}

/// Most calls of one function that are looked at.
const MAX_CALLS: usize = 8;

impl<'a> Inference<'_, 'a> {
    /// The value of a parameter.
    pub(super) fn parameter(&mut self, function: NodeId, at: usize) -> Value<'a> {
        let nodes = self.semantic.nodes();
        let parent = nodes.parent_id(function);
        match nodes.kind(parent) {
            call @ AstKind::CallExpression(_) => {
                let position = arguments(call).and_then(|(_, given)| position(given, function));
                position.map_or(Value::Unknown, |of| {
                    self.callback_parameter(Handed { call: parent, at: of }, at)
                })
            }
            AstKind::ObjectProperty(_) => self.setting_parameter(parent, at),
            AstKind::MethodDefinition(method) => {
                let name = key_name(&method.key).unwrap_or_default();
                if method.kind.is_constructor() {
                    let class = nodes.parent_id(nodes.parent_id(parent));
                    return self.constructor_parameter(class, at);
                }
                if CALLED_BY_ENGINE.contains(&name) {
                    return Value::Unknown;
                }
                let passed = Passed {
                    handed: few(self.facts.handed_methods.get(name)),
                    calls: few(self.facts.method_calls.get(name)),
                };
                self.passed(&passed, at)
            }
            _ => self.named_parameter(function, at),
        }
    }

    fn named_parameter(&mut self, function: NodeId, at: usize) -> Value<'a> {
        let Some(symbol) = self.symbol_of(function) else { return Value::Unknown };
        let handed = few(self.facts.handed.get(&symbol));
        let calls = few(self.facts.calls.get(&symbol));
        self.passed(&Passed { handed, calls }, at)
    }

    /// A parameter of a constructor: what `new` is called with.
    fn constructor_parameter(&mut self, class: NodeId, at: usize) -> Value<'a> {
        let AstKind::Class(class) = self.semantic.nodes().kind(class) else {
            return Value::Unknown;
        };
        let Some(name) = &class.id else { return Value::Unknown };
        let calls = few(self.facts.constructs.get(&name.symbol_id()));
        self.passed(&Passed { handed: Vec::new(), calls }, at)
    }

    /// The variable that a function is the value of.
    pub(super) fn symbol_of(&self, function: NodeId) -> Option<SymbolId> {
        let nodes = self.semantic.nodes();
        match (nodes.kind(function), nodes.parent_kind(function)) {
            (AstKind::Function(declared), _) if declared.is_declaration() => {
                declared.id.as_ref().map(oxc_ast::ast::BindingIdentifier::symbol_id)
            }
            (_, AstKind::VariableDeclarator(variable)) => {
                variable.id.get_binding_identifier().map(oxc_ast::ast::BindingIdentifier::symbol_id)
            }
            _ => None,
        }
    }

    /// A parameter of a function of the program, from everything that is passed to it.
    fn passed(&mut self, passed: &Passed<'a>, at: usize) -> Value<'a> {
        if passed.handed.len() + passed.calls.len() > MAX_CALLS {
            return Value::Unknown;
        }
        let mut value = Value::Nothing;
        for one in &passed.handed {
            let next = self.callback_parameter(*one, at);
            value = self.join(value, next);
        }
        for given in &passed.calls {
            let next = self.argument(given, at);
            value = self.join(value, next);
        }
        value
    }

    fn argument(&mut self, given: &'a [Argument<'a>], at: usize) -> Value<'a> {
        if given.iter().take(at + 1).any(Argument::is_spread) {
            return Value::Unknown;
        }
        let argument = given.get(at).and_then(Argument::as_expression);
        argument.map_or(Value::Nothing, |argument| self.expression(argument))
    }

    /// The value of a parameter of a function that is an argument of a call.
    fn callback_parameter(&mut self, handed: Handed, at: usize) -> Value<'a> {
        let call = arguments(self.semantic.nodes().kind(handed.call));
        let Some((callee, given)) = call else { return Value::Unknown };
        let Some((object, name)) = member(callee) else { return Value::Unknown };
        let object = self.expression(object);
        if let Some(element) = self.as_list(object) {
            let is_element = EACH.contains(&name) && handed.at == 0 && at == 0;
            return if is_element { self.of_type(element) } else { Value::Unknown };
        }
        if let Some(path) = event_parameter(name, given.first(), at) {
            return if at == 0 || self.is_input_plugin(object) {
                self.pointer_of(object, path)
            } else {
                Value::Unknown
            };
        }
        let mut value = Value::Nothing;
        for (ty, receiver) in self.callback_types(object, name, handed.at) {
            let arguments = self.type_arguments(receiver).to_vec();
            let next = self.function_parameter(ty, at, &arguments);
            value = self.join(value, next);
        }
        value
    }

    /// Types of an argument of a call, with what the call is made on.
    fn callback_types(
        &mut self,
        object: Value<'a>,
        name: &'a str,
        position: usize,
    ) -> Vec<(TypeId, Value<'a>)> {
        let Lookup::Hits(hits) = self.lookup(object, name) else { return Vec::new() };
        let of_hit = |hit: super::lookup::Hit<'a>| {
            let shape = match hit.target {
                Target::Shape(shape) => Some(shape),
                Target::HeirShape(_) => None,
                Target::Value(value) => self.as_space(value).and_then(|row| self.table(row).own),
            };
            let shape = &self.index.tables.shapes[shape? as usize];
            let own = shape.callbacks.iter().find(|(at, _)| usize::from(*at) == position);
            own.map(|(_, ty)| (*ty, hit.receiver))
        };
        hits.into_iter().filter_map(of_hit).collect()
    }

    /// The type of a parameter of a function type; a union has the first that is a function.
    fn function_parameter(&self, ty: TypeId, at: usize, given: &[TypeId]) -> Value<'a> {
        self.parameter_type(ty, at, given, 0).map_or(Value::Unknown, |ty| self.of_type(ty))
    }

    fn parameter_type(
        &self,
        ty: TypeId,
        at: usize,
        given: &[TypeId],
        depth: usize,
    ) -> Option<TypeId> {
        if depth > 8 {
            return None;
        }
        let tables = &self.index.tables;
        let filled = |ty: TypeId| match tables.types.get(ty) {
            Type::Parameter(at) => given.get(usize::from(*at)).copied().unwrap_or(ANY),
            _ => ty,
        };
        match tables.types.get(ty) {
            Type::Function(parameters) => parameters.get(at).map(|ty| filled(*ty)),
            Type::Instance(row, arguments) => {
                let own = tables.rows[*row as usize].own?;
                let arguments: Vec<TypeId> = arguments.iter().map(|ty| filled(*ty)).collect();
                self.parameter_type(tables.shapes[own as usize].ty, at, &arguments, depth + 1)
            }
            Type::Union(parts) => {
                parts.iter().find_map(|part| self.parameter_type(*part, at, given, depth + 1))
            }
            _ => None,
        }
    }

    /// A parameter of a function in an object that is an argument: `{ onComplete: (tween) => .. }`.
    fn setting_parameter(&mut self, property: NodeId, at: usize) -> Value<'a> {
        let nodes = self.semantic.nodes();
        let AstKind::ObjectProperty(own) = nodes.kind(property) else { return Value::Unknown };
        let object = nodes.parent_id(property);
        let call = nodes.parent_id(object);
        let Some((callee, given)) = arguments(nodes.kind(call)) else { return Value::Unknown };
        let Some((receiver, name)) = member(callee) else { return Value::Unknown };
        let position = given.iter().position(|argument| {
            matches!(argument, Argument::ObjectExpression(given) if given.node_id.get() == object)
        });
        let (Some(position), Some(key)) = (position, key_name(&own.key)) else {
            return Value::Unknown;
        };
        let receiver = self.expression(receiver);
        for (ty, _) in self.callback_types(receiver, name, position) {
            if let Some(function) = self.setting(ty, key, 0) {
                return self.function_parameter(function, at, &[]);
            }
        }
        Value::Unknown
    }

    /// The type of a property of a settings type.
    fn setting(&self, ty: TypeId, key: &str, depth: usize) -> Option<TypeId> {
        let tables = &self.index.tables;
        match tables.types.get(ty) {
            Type::Instance(row, _) => {
                let slot = find(&tables.rows[*row as usize].instance, tables.name(key)?)?;
                match slot {
                    crate::index::table::Slot::Member(shape) => {
                        Some(tables.shapes[shape as usize].ty)
                    }
                    crate::index::table::Slot::Row(_) => None,
                }
            }
            Type::Union(parts) if depth < 4 => {
                parts.iter().find_map(|part| self.setting(*part, key, depth + 1))
            }
            _ => None,
        }
    }

    fn is_input_plugin(&self, value: Value<'a>) -> bool {
        let Value::Known { ty, .. } = value else { return false };
        let Type::Instance(row, _) = self.index.tables.types.get(ty) else { return false };
        self.index.rows()[*row as usize].path == "Phaser.Input.InputPlugin"
    }

    /// An object of an input event, if the emitter is one of Phaser's.
    fn pointer_of(&mut self, emitter: Value<'a>, path: &str) -> Value<'a> {
        let is_phasers = match emitter {
            Value::Known { .. } => true,
            Value::Object(class) => {
                let base = self.base(class);
                self.as_space(base).is_some()
            }
            _ => false,
        };
        let row = self.index.tables.paths.get(path).filter(|_| is_phasers);
        let made = row.and_then(|row| self.table(*row).made);
        made.map_or(Value::Unknown, |ty| self.of_type(ty))
    }
}

/// The first of a list: as many as are looked at, and one more.
fn few<T: Copy>(list: Option<&Vec<T>>) -> Vec<T> {
    list.map_or_else(Vec::new, |list| list.iter().take(MAX_CALLS + 1).copied().collect())
}

/// The type of a parameter of a listener to input, by the name of the event.
fn event_parameter(method: &str, event: Option<&Argument<'_>>, at: usize) -> Option<&'static str> {
    let Some(Argument::StringLiteral(event)) = event else { return None };
    let is_listener = matches!(method, "on" | "once" | "addListener");
    let event = event.value.as_str();
    let is_pointer = event.starts_with("pointer") && event != "pointerlockchange";
    let on_object = event.starts_with("gameobject")
        || matches!(event, "drag" | "dragstart" | "dragend" | "dragenter" | "dragleave" | "drop");
    match at {
        0 if is_listener && (is_pointer || on_object) => Some("Phaser.Input.Pointer"),
        1 if is_listener && on_object => Some("Phaser.GameObjects.GameObject"),
        _ => None,
    }
}
