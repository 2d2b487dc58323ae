//! Classes that are no `class`: those of `Phaser.Class`, and scenes that an object literal describes.

use std::collections::HashMap;

use oxc_ast::ast::{Argument, Expression, ObjectExpression};

use super::collect::Collector;
use super::facts::{Base, UserClass};
use super::names::{function_node, member, properties, property, symbol};
use super::value::Source;

impl<'a> Collector<'_, 'a> {
    /// `Phaser.Class({ .. })`, with or without `new`.
    pub(super) fn phaser_class(
        &mut self,
        callee: &'a Expression<'a>,
        given: &'a [Argument<'a>],
    ) -> bool {
        let is_class = member(callee)
            .is_some_and(|(object, name)| name == "Class" && object.is_specific_id("Phaser"));
        if let (true, Some(Argument::ObjectExpression(object))) = (is_class, given.first()) {
            let base = match (property(object, "Extends"), property(object, "Mixins")) {
                (_, Some(_)) => Base::Unknown,
                (Some(base), None) => Base::Extends(base),
                (None, None) => Base::None,
            };
            self.object_class(object, base);
        }
        is_class
    }

    fn object_class(&mut self, object: &'a ObjectExpression<'a>, base: Base<'a>) {
        let mut made = UserClass { base, members: HashMap::new(), has_static_fields: false };
        for (name, value) in properties(object) {
            made.members.entry(name).or_default().push(Source::Expression(value));
        }
        self.facts.add_class(object.node_id.get(), made);
    }

    /// A value that is used as a scene: a literal, a variable with one, or a list of these.
    pub(super) fn scene(&mut self, scene: &'a Expression<'a>, depth: usize) {
        match scene {
            Expression::ObjectExpression(object)
                if !self.facts.class_nodes.contains_key(&object.node_id.get()) =>
            {
                self.scene_literal(object);
            }
            Expression::ArrayExpression(list) if depth < 3 => {
                for element in &list.elements {
                    if let Some(element) = element.as_expression() {
                        self.scene(element, depth + 1);
                    }
                }
            }
            Expression::Identifier(_) if depth < 3 => {
                let Some(symbol) = symbol(scene, self.semantic) else { return };
                let sources = self.facts.variables.get(&symbol).cloned().unwrap_or_default();
                for source in sources {
                    if let Source::Expression(
                        value @ (Expression::ObjectExpression(_) | Expression::ArrayExpression(_)),
                    ) = source
                    {
                        self.scene(value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn scene_literal(&mut self, object: &'a ObjectExpression<'a>) {
        self.object_class(object, Base::Scene);
        let id = self.facts.class_nodes[&object.node_id.get()];
        let extended = property(object, "extend");
        if let Some(Expression::ObjectExpression(extended)) = extended {
            self.facts.class_nodes.insert(extended.node_id.get(), id);
        }
        for (_, value) in properties(object) {
            let Some(symbol) = symbol(value, self.semantic) else { continue };
            for source in self.facts.variables.get(&symbol).into_iter().flatten() {
                let function = match source {
                    Source::Function(function) => Some(*function),
                    Source::Expression(expression) => function_node(expression),
                    _ => None,
                };
                if let Some(function) = function {
                    self.facts.scene_functions.insert(function, id);
                }
            }
        }
    }
}
