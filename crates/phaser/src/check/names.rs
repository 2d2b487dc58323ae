//! Small questions to the syntax tree.

use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, Expression, ObjectExpression, ObjectPropertyKind, PropertyKey};
use oxc_semantic::Semantic;
use oxc_syntax::node::NodeId;
use oxc_syntax::symbol::SymbolId;

/// Most properties or arguments that are looked through for one: a list of thousands, looked through for each of
/// its elements, would take its square.
pub(super) const MAX_SCANNED: usize = 64;

/// The name of a key that is written out.
pub(super) fn key_name<'a>(key: &PropertyKey<'a>) -> Option<&'a str> {
    match key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
        PropertyKey::StringLiteral(text) => Some(text.value.as_str()),
        _ => None,
    }
}

/// Properties of an object literal whose names are written out.
pub(super) fn properties<'a>(
    object: &'a ObjectExpression<'a>,
) -> impl Iterator<Item = (&'a str, &'a Expression<'a>)> {
    object.properties.iter().filter_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((key_name(&property.key)?, &property.value))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

/// The value of a property of an object literal.
pub(super) fn property<'a>(
    object: &'a ObjectExpression<'a>,
    wanted: &str,
) -> Option<&'a Expression<'a>> {
    properties(object).take(MAX_SCANNED).find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// The object and the name of `object.name` or `object['name']`.
pub(super) fn member<'a>(expression: &'a Expression<'a>) -> Option<(&'a Expression<'a>, &'a str)> {
    match expression {
        Expression::StaticMemberExpression(member) => {
            Some((&member.object, member.property.name.as_str()))
        }
        Expression::ComputedMemberExpression(member) => {
            Some((&member.object, member.static_property_name()?.as_str()))
        }
        Expression::ChainExpression(chain) => match &chain.expression {
            oxc_ast::ast::ChainElement::StaticMemberExpression(member) => {
                Some((&member.object, member.property.name.as_str()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The variable that an identifier refers to.
pub(super) fn symbol(expression: &Expression<'_>, semantic: &Semantic<'_>) -> Option<SymbolId> {
    let Expression::Identifier(name) = expression else { return None };
    semantic.scoping().get_reference(name.reference_id()).symbol_id()
}

/// The node of a function expression.
pub(super) fn function_node(expression: &Expression<'_>) -> Option<NodeId> {
    match expression {
        Expression::FunctionExpression(function) => Some(function.node_id.get()),
        Expression::ArrowFunctionExpression(arrow) => Some(arrow.node_id.get()),
        _ => None,
    }
}

/// The position of a node among the arguments of a call.
pub(super) fn position(arguments: &[Argument<'_>], node: NodeId) -> Option<usize> {
    arguments.iter().take(MAX_SCANNED).position(|argument| {
        argument.as_expression().and_then(function_node).is_some_and(|id| id == node)
    })
}

/// Whether an expression is `this`.
pub(super) fn is_this(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::ThisExpression(_))
}

/// The arguments of a call or of `new`.
pub(super) fn arguments(kind: AstKind<'_>) -> Option<(&Expression<'_>, &[Argument<'_>])> {
    match kind {
        AstKind::CallExpression(call) => Some((&call.callee, &call.arguments)),
        AstKind::NewExpression(call) => Some((&call.callee, &call.arguments)),
        _ => None,
    }
}
