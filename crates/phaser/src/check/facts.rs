//! What a program says of its variables, fields, classes and functions, collected in one pass.
//!
//! Nothing is inferred here: where a variable gets its values from is kept as references to expressions.

use std::collections::{HashMap, HashSet};

use oxc_ast::ast::{Argument, AssignmentExpression, Expression};
use oxc_syntax::node::NodeId;
use oxc_syntax::symbol::SymbolId;

use super::value::{ClassId, Source};

/// How a class of the program came to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Base<'a> {
    /// It extends what an expression gives.
    Extends(&'a Expression<'a>),
    /// It is a scene, described by an object literal.
    Scene,
    /// It extends nothing.
    None,
    /// It has members from elsewhere.
    Unknown,
}

/// A class of the program.
#[derive(Debug)]
pub(super) struct UserClass<'a> {
    /// What it inherits from.
    pub(super) base: Base<'a>,
    /// Fields and methods, with the sources of their values.
    pub(super) members: HashMap<&'a str, Vec<Source<'a>>>,
    /// Whether its `static` fields make `this` in its body ambiguous.
    pub(super) has_static_fields: bool,
}

/// A function that is handed over by its name: an argument of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handed {
    /// The call.
    pub(super) call: NodeId,
    /// The position of the argument.
    pub(super) at: usize,
}

/// Everything that one pass collects.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    /// Sources of each variable.
    pub(super) variables: HashMap<SymbolId, Vec<Source<'a>>>,
    /// Classes.
    pub(super) classes: Vec<UserClass<'a>>,
    /// The class that a node is: a class, the object of `Phaser.Class`, the literal of a scene.
    pub(super) class_nodes: HashMap<NodeId, ClassId>,
    /// The class whose method a function is although it stands outside: the functions of a scene's literal.
    pub(super) scene_functions: HashMap<NodeId, ClassId>,
    /// Expressions that a function returns.
    pub(super) returns: HashMap<NodeId, Vec<&'a Expression<'a>>>,
    /// Names that are assigned or declared as members anywhere.
    pub(super) defined: HashSet<&'a str>,
    /// Functions that are handed over by a variable's name.
    pub(super) handed: HashMap<SymbolId, Vec<Handed>>,
    /// Methods that are handed over as `this.name`.
    pub(super) handed_methods: HashMap<&'a str, Vec<Handed>>,
    /// Arguments of calls of a variable.
    pub(super) calls: HashMap<SymbolId, Vec<&'a [Argument<'a>]>>,
    /// Arguments of calls of methods, by name.
    pub(super) method_calls: HashMap<&'a str, Vec<&'a [Argument<'a>]>>,
    /// Arguments of `new` on a variable.
    pub(super) constructs: HashMap<SymbolId, Vec<&'a [Argument<'a>]>>,
    /// Whether other modules than Phaser are imported.
    pub(super) imports_others: bool,
    /// Whether Matter physics is named.
    pub(super) uses_matter: bool,
    /// Assignments to members.
    pub(super) assignments: Vec<&'a AssignmentExpression<'a>>,
    /// Whether some member is assigned under a name that is computed.
    pub(super) has_computed_names: bool,
}

impl<'a> Facts<'a> {
    /// Adds a class, known by `node`.
    pub(super) fn add_class(&mut self, node: NodeId, class: UserClass<'a>) -> ClassId {
        let id = ClassId::try_from(self.classes.len()).unwrap_or(ClassId::MAX);
        self.defined.extend(class.members.keys());
        self.classes.push(class);
        self.class_nodes.insert(node, id);
        id
    }
}
