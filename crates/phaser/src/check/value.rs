//! What is known of the value of an expression.

use oxc_ast::ast::{Expression, ObjectExpression};
use oxc_syntax::node::NodeId;

use crate::index::types::TypeId;

/// A class of the program, by position: one that is declared, made by `Phaser.Class`, or the scene that an
/// object literal describes.
pub(super) type ClassId = u32;

/// What is known of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// Nothing: no use of it is a finding.
    Unknown,
    /// `null` or `undefined`: another value of the same variable decides.
    Nothing,
    /// A type of the index. Where `exact` is false it may be any type that inherits from it.
    Known { ty: TypeId, exact: bool },
    /// An instance of a class of the program.
    Object(ClassId),
    /// A class of the program itself.
    Class(ClassId),
    /// A function of the program.
    Function(NodeId),
    /// An object literal.
    Literal(&'a ObjectExpression<'a>),
    /// One of several, by position in a list of lists.
    Several(u32),
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, Self::Unknown) | (Self::Nothing, Self::Nothing) => true,
            (Self::Known { ty: a, exact: b }, Self::Known { ty: c, exact: d }) => a == c && b == d,
            (Self::Object(a), Self::Object(b))
            | (Self::Class(a), Self::Class(b))
            | (Self::Several(a), Self::Several(b)) => a == b,
            (Self::Function(a), Self::Function(b)) => a == b,
            (Self::Literal(a), Self::Literal(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

/// Where a variable or a field gets a value from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// Of nothing that is followed.
    Unknown,
    /// An expression.
    Expression(&'a Expression<'a>),
    /// A member of an expression, by destructuring.
    Member(&'a Expression<'a>, &'a str),
    /// An element of an expression.
    Element(&'a Expression<'a>),
    /// A parameter of a function.
    Parameter { function: NodeId, at: usize },
    /// A function declaration.
    Function(NodeId),
    /// A class declaration.
    Class(NodeId),
    /// Phaser, by import.
    Phaser,
    /// A member of Phaser, by import.
    PhaserMember(&'a str),
}
