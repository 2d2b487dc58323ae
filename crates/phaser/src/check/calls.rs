//! What is read, called and made: from a member to its value.

use oxc_ast::ast::{Argument, Expression};
use oxc_syntax::node::NodeId;

use super::infer::Inference;
use super::lookup::{Hit, Lookup, Target};
use super::names::member;
use super::value::Value;
use crate::index::Kind;
use crate::index::types::{Type, TypeId};

/// Methods of an array that give an element of it.
const ELEMENT: [&str; 6] = ["find", "pop", "shift", "at", "findLast", "reduce"];

/// Methods of an array that give an array of its elements.
const SAME: [&str; 6] = ["filter", "slice", "concat", "reverse", "sort", "splice"];

impl<'a> Inference<'_, 'a> {
    /// The value of `object.name`.
    pub(super) fn read(&mut self, object: &'a Expression<'a>, name: &'a str) -> Value<'a> {
        let object = self.expression(object);
        self.read_value(object, name)
    }

    /// The value of a member of a value.
    pub(super) fn read_value(&mut self, object: Value<'a>, name: &'a str) -> Value<'a> {
        if matches!(object, Value::Nothing) {
            return Value::Nothing;
        }
        let Lookup::Hits(hits) = self.lookup(object, name) else { return Value::Unknown };
        let mut value = Value::Nothing;
        for hit in hits {
            let next = self.read_hit(&hit, name);
            value = self.join(value, next);
        }
        value
    }

    fn read_hit(&mut self, hit: &Hit<'a>, name: &'a str) -> Value<'a> {
        match hit.target {
            Target::Value(value) => value,
            Target::HeirShape(_) => Value::Unknown,
            Target::Shape(shape) => {
                let shape = &self.index.tables.shapes[shape as usize];
                if name == "body" && self.facts.uses_matter {
                    return Value::Unknown;
                }
                // A property that the program assigns itself may hold anything.
                if shape.is_method || self.facts.defined.contains(name) && !is_steady(name) {
                    return Value::Unknown;
                }
                self.substitute(shape.ty, hit.receiver, &[])
            }
        }
    }

    /// The value of an element of an array.
    pub(super) fn element(&mut self, list: &'a Expression<'a>) -> Value<'a> {
        let list = self.expression(list);
        self.as_list(list).map_or(Value::Unknown, |element| self.of_type(element))
    }

    /// The value of a call.
    pub(super) fn call(
        &mut self,
        callee: &'a Expression<'a>,
        given: &'a [Argument<'a>],
    ) -> Value<'a> {
        let Some((object, name)) = member(callee) else {
            let callee = self.expression(callee);
            return self.call_value(callee, given);
        };
        let object = self.expression(object);
        if let Some(element) = self.as_list(object) {
            return self.call_list(object, element, name);
        }
        if matches!(object, Value::Nothing) {
            return Value::Nothing;
        }
        let Lookup::Hits(hits) = self.lookup(object, name) else { return Value::Unknown };
        let mut value = Value::Nothing;
        for hit in hits {
            let next = self.call_hit(&hit, given);
            value = self.join(value, next);
        }
        value
    }

    fn call_list(&mut self, list: Value<'a>, element: TypeId, name: &str) -> Value<'a> {
        if ELEMENT.contains(&name) {
            self.of_type(element)
        } else if SAME.contains(&name) {
            list
        } else {
            Value::Unknown
        }
    }

    fn call_hit(&mut self, hit: &Hit<'a>, given: &'a [Argument<'a>]) -> Value<'a> {
        match hit.target {
            Target::Value(value) => self.call_value(value, given),
            Target::HeirShape(shape) => {
                let shape = &self.index.tables.shapes[shape as usize];
                let is_chained = *self.index.tables.types.get(shape.ty) == Type::This;
                if is_chained { hit.receiver } else { Value::Unknown }
            }
            Target::Shape(shape) => {
                let shape = &self.index.tables.shapes[shape as usize];
                if !shape.is_method {
                    return Value::Unknown;
                }
                match self.substitute(shape.ty, hit.receiver, given) {
                    Value::Known { ty, .. } if hit.is_factory && self.is_one_class(ty) => {
                        Value::Known { ty, exact: true }
                    }
                    other => other,
                }
            }
        }
    }

    fn is_one_class(&self, ty: TypeId) -> bool {
        matches!(self.index.tables.types.get(ty), Type::Instance(..))
    }

    fn call_value(&mut self, callee: Value<'a>, given: &'a [Argument<'a>]) -> Value<'a> {
        if let Value::Function(node) = callee {
            return self.returned(node);
        }
        let Some(row) = self.as_space(callee) else { return Value::Unknown };
        let table = self.table(row);
        let own = table.own.filter(|_| table.kind == Some(Kind::Function));
        own.map_or(Value::Unknown, |own| {
            let shape = &self.index.tables.shapes[own as usize];
            self.substitute(shape.ty, Value::Unknown, given)
        })
    }

    /// What a function of the program returns.
    fn returned(&mut self, function: NodeId) -> Value<'a> {
        if self.is_special(function) {
            return Value::Unknown;
        }
        let Some(returns) = self.facts.returns.get(&function).cloned() else {
            return Value::Unknown;
        };
        self.kept(function, |infer| {
            let mut value = Value::Nothing;
            for expression in returns {
                let next = infer.expression(expression);
                value = infer.join(value, next);
            }
            value
        })
    }

    /// Whether a function is a generator or asynchronous: what it gives is wrapped.
    fn is_special(&self, function: NodeId) -> bool {
        match self.semantic.nodes().kind(function) {
            oxc_ast::AstKind::Function(function) => function.r#async || function.generator,
            oxc_ast::AstKind::ArrowFunctionExpression(arrow) => arrow.r#async,
            _ => true,
        }
    }

    /// The value of `new callee(..)`.
    pub(super) fn construct(
        &mut self,
        callee: &'a Expression<'a>,
        given: &'a [Argument<'a>],
    ) -> Value<'a> {
        if let Some(Argument::ObjectExpression(object)) = given.first()
            && let Some(class) = self.facts.class_nodes.get(&object.node_id.get())
            && member(callee).is_some_and(|(_, name)| name == "Class")
        {
            return Value::Class(*class);
        }
        match self.expression(callee) {
            Value::Class(class) => Value::Object(class),
            value => match self.as_space(value) {
                Some(row) if self.table(row).kind == Some(Kind::Class) => self.instance(row),
                _ => Value::Unknown,
            },
        }
    }

    /// A type of the index where it is used: `this`, arguments and type arguments take their values.
    pub(super) fn substitute(
        &mut self,
        ty: TypeId,
        receiver: Value<'a>,
        given: &'a [Argument<'a>],
    ) -> Value<'a> {
        let types = &self.index.tables.types;
        match types.get(ty) {
            Type::This => receiver,
            Type::Argument(at) => {
                let argument = given.get(usize::from(*at)).and_then(Argument::as_expression);
                argument.map_or(Value::Unknown, |argument| self.expression(argument))
            }
            Type::Parameter(at) => {
                let arguments = self.type_arguments(receiver);
                let argument = arguments.get(usize::from(*at)).copied();
                argument.map_or(Value::Unknown, |ty| self.of_type(ty))
            }
            Type::List(element) => match types.get(*element) {
                Type::Parameter(at) => {
                    let argument = self.type_arguments(receiver).get(usize::from(*at)).copied();
                    let list = argument.and_then(|ty| types.find(&Type::List(ty)));
                    list.map_or(Value::Unknown, |ty| self.of_type(ty))
                }
                _ => self.of_type(ty),
            },
            Type::Instance(_, own)
                if own.iter().any(|ty| matches!(types.get(*ty), Type::Parameter(_))) =>
            {
                // A method of a generic class that gives one of the same type arguments.
                if self.type_arguments(receiver).is_empty() { self.of_type(ty) } else { receiver }
            }
            _ => self.of_type(ty),
        }
    }

    /// The type arguments of a value.
    pub(super) fn type_arguments(&self, value: Value<'a>) -> &[TypeId] {
        let Value::Known { ty, .. } = value else { return &[] };
        let tables = &self.index.tables;
        match tables.types.get(tables.resolve(ty)) {
            Type::Instance(_, arguments) => arguments,
            _ => &[],
        }
    }
}

/// Members that keep their declared type although programs assign them: what is assigned has that type.
fn is_steady(name: &str) -> bool {
    matches!(name, "scene" | "body" | "anims" | "input" | "velocity" | "position" | "displayList")
}
