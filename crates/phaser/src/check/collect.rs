//! The pass that fills [`Facts`].

use std::collections::HashMap;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression, Class,
    ClassElement, Expression, ForStatementLeft, FormalParameters, ImportDeclaration,
    ImportDeclarationSpecifier, MethodDefinitionKind, ObjectProperty, SimpleAssignmentTarget,
};
use oxc_semantic::Semantic;
use oxc_syntax::node::NodeId;
use oxc_syntax::operator::AssignmentOperator;
use oxc_syntax::scope::ScopeFlags;

use super::facts::{Base, Facts, Handed, UserClass};
use super::names::{is_this, key_name, member, properties, symbol};
use super::value::Source;

/// Collects what a program says of its names.
pub(super) fn collect<'a>(semantic: &Semantic<'a>) -> Facts<'a> {
    let mut collector = Collector { semantic, facts: Facts::default(), scenes: Vec::new() };
    for node in semantic.nodes().iter() {
        collector.node(node.id(), node.kind());
    }
    for scene in std::mem::take(&mut collector.scenes) {
        collector.scene(scene, 0);
    }
    collector.facts
}

/// The pass: what it reads, and what it has found.
pub(super) struct Collector<'s, 'a> {
    pub(super) semantic: &'s Semantic<'a>,
    pub(super) facts: Facts<'a>,
    /// Expressions that are used as scenes.
    scenes: Vec<&'a Expression<'a>>,
}

impl<'a> Collector<'_, 'a> {
    fn node(&mut self, id: NodeId, kind: AstKind<'a>) {
        match kind {
            AstKind::VariableDeclarator(variable) => {
                if let Some(init) = &variable.init {
                    self.bind(&variable.id, Source::Expression(init));
                }
            }
            AstKind::ForOfStatement(each) => {
                self.bind_left(&each.left, Source::Element(&each.right));
            }
            AstKind::ForInStatement(each) => self.bind_left(&each.left, Source::Unknown),
            AstKind::AssignmentExpression(assignment) => self.assignment(assignment),
            AstKind::UpdateExpression(update) => self.target(&update.argument),
            AstKind::Function(function) => {
                if function.is_declaration()
                    && let Some(name) = &function.id
                {
                    self.source(name.symbol_id(), Source::Function(id));
                }
                self.parameters(id, &function.params);
            }
            AstKind::ArrowFunctionExpression(arrow) => {
                self.parameters(id, &arrow.params);
                if let Some(body) = arrow.body.as_expression() {
                    self.facts.returns.entry(id).or_default().push(body);
                }
            }
            AstKind::ReturnStatement(statement) => {
                if let Some(value) = &statement.argument {
                    let function = self.function_of(id);
                    self.facts.returns.entry(function).or_default().push(value);
                }
            }
            AstKind::CatchParameter(caught) => self.bind(&caught.pattern, Source::Unknown),
            AstKind::Class(class) => self.class(id, class),
            AstKind::ImportDeclaration(import) => self.import(import),
            AstKind::ObjectProperty(property) => self.object_property(property),
            AstKind::CallExpression(call) => self.call(id, call),
            AstKind::NewExpression(call) => {
                self.phaser_class(&call.callee, &call.arguments);
                if let Some(symbol) = symbol(&call.callee, self.semantic) {
                    self.facts.constructs.entry(symbol).or_default().push(&call.arguments);
                }
            }
            AstKind::StaticMemberExpression(member) => {
                self.facts.uses_matter |= member.property.name == "matter";
            }
            AstKind::IdentifierReference(name) => self.written(id, name),
            _ => {}
        }
    }

    fn source(&mut self, symbol: oxc_syntax::symbol::SymbolId, source: Source<'a>) {
        self.facts.variables.entry(symbol).or_default().push(source);
    }

    fn bind(&mut self, pattern: &'a BindingPattern<'a>, source: Source<'a>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => self.source(name.symbol_id(), source),
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let inner = match (source, key_name(&property.key)) {
                        (Source::Expression(from), Some(name)) => Source::Member(from, name),
                        (Source::Phaser, Some(name)) => Source::PhaserMember(name),
                        _ => Source::Unknown,
                    };
                    self.bind(&property.value, inner);
                }
                if let Some(rest) = &object.rest {
                    self.bind(&rest.argument, Source::Unknown);
                }
            }
            BindingPattern::ArrayPattern(array) => {
                let inner = match source {
                    Source::Expression(from) => Source::Element(from),
                    _ => Source::Unknown,
                };
                for element in array.elements.iter().flatten() {
                    self.bind(element, inner);
                }
                if let Some(rest) = &array.rest {
                    self.bind(&rest.argument, Source::Unknown);
                }
            }
            BindingPattern::AssignmentPattern(default) => {
                self.bind(&default.left, source);
                self.bind(&default.left, Source::Expression(&default.right));
            }
        }
    }

    fn bind_left(&mut self, left: &'a ForStatementLeft<'a>, source: Source<'a>) {
        if let ForStatementLeft::VariableDeclaration(declaration) = left {
            for variable in &declaration.declarations {
                self.bind(&variable.id, source);
            }
        }
    }

    fn parameters(&mut self, function: NodeId, parameters: &'a FormalParameters<'a>) {
        for (at, parameter) in parameters.items.iter().enumerate() {
            self.bind(&parameter.pattern, Source::Parameter { function, at });
        }
        if let Some(rest) = &parameters.rest {
            self.bind(&rest.rest.argument, Source::Unknown);
        }
    }

    /// A variable that is written in another way than by `=` has a value that is not followed.
    fn written(&mut self, id: NodeId, name: &oxc_ast::ast::IdentifierReference<'a>) {
        let reference = self.semantic.scoping().get_reference(name.reference_id());
        let (true, Some(symbol)) = (reference.is_write(), reference.symbol_id()) else { return };
        let is_followed = matches!(
            self.semantic.nodes().parent_kind(id),
            AstKind::AssignmentExpression(assignment) if is_plain(assignment.operator)
        );
        if !is_followed {
            self.source(symbol, Source::Unknown);
        }
    }

    fn assignment(&mut self, assignment: &'a AssignmentExpression<'a>) {
        if matches!(assignment.left, AssignmentTarget::StaticMemberExpression(_)) {
            self.facts.assignments.push(assignment);
        }
        match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                let symbol = self.semantic.scoping().get_reference(name.reference_id()).symbol_id();
                if let Some(symbol) = symbol.filter(|_| is_plain(assignment.operator)) {
                    self.source(symbol, Source::Expression(&assignment.right));
                }
            }
            other => {
                if let Some(target) = other.as_simple_assignment_target() {
                    self.target(target);
                } else {
                    self.facts.has_computed_names |= destructures_members(other);
                }
            }
        }
    }

    /// A member that is written is defined.
    fn target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        match target {
            SimpleAssignmentTarget::StaticMemberExpression(member) => {
                self.facts.defined.insert(member.property.name.as_str());
            }
            SimpleAssignmentTarget::ComputedMemberExpression(member) => {
                match member.static_property_name() {
                    Some(name) => {
                        self.facts.defined.insert(name.as_str());
                    }
                    None => self.facts.has_computed_names |= is_this(&member.object),
                }
            }
            _ => {}
        }
    }

    fn class(&mut self, id: NodeId, class: &'a Class<'a>) {
        if let Some(name) = class.id.as_ref().filter(|_| class.is_declaration()) {
            self.source(name.symbol_id(), Source::Class(id));
        }
        let base =
            class.heritage.as_ref().map_or(Base::None, |base| Base::Extends(&base.expression));
        let mut made = UserClass { base, members: HashMap::new(), has_static_fields: false };
        for element in &class.body.body {
            class_element(&mut made, element, &mut self.facts);
        }
        self.facts.add_class(id, made);
    }

    fn import(&mut self, import: &'a ImportDeclaration<'a>) {
        let is_phaser = is_phaser_module(import.source.value.as_str());
        self.facts.imports_others |= !is_phaser;
        for specifier in import.specifiers.iter().flatten() {
            let (local, source) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one) => {
                    (&one.local, Source::PhaserMember(one.imported.name().as_str()))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                    (&one.local, Source::Phaser)
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                    (&one.local, Source::Phaser)
                }
            };
            self.source(local.symbol_id(), if is_phaser { source } else { Source::Unknown });
        }
    }

    fn object_property(&mut self, property: &'a ObjectProperty<'a>) {
        match (key_name(&property.key), &property.value) {
            (Some("scene"), value) => self.scenes.push(value),
            (Some("matter"), _) => self.facts.uses_matter = true,
            (Some("mapping" | "sceneKey" | "systemKey"), Expression::StringLiteral(name)) => {
                self.facts.defined.insert(name.value.as_str());
            }
            (Some("map"), Expression::ObjectExpression(map)) => {
                for (_, value) in properties(map) {
                    if let Expression::StringLiteral(name) = value {
                        self.facts.defined.insert(name.value.as_str());
                    }
                }
            }
            (Some("extend"), Expression::ObjectExpression(map)) => {
                self.facts.defined.extend(properties(map).map(|(name, _)| name));
            }
            _ => {}
        }
    }

    fn call(&mut self, id: NodeId, call: &'a CallExpression<'a>) {
        if self.phaser_class(&call.callee, &call.arguments) {
            return;
        }
        if let Some(symbol) = symbol(&call.callee, self.semantic) {
            self.facts.calls.entry(symbol).or_default().push(&call.arguments);
        }
        if let Some((object, name)) = member(&call.callee) {
            self.method_call(object, name, call);
        }
        self.hand_over(id, &call.arguments);
    }

    fn method_call(
        &mut self,
        object: &'a Expression<'a>,
        name: &'a str,
        call: &'a CallExpression<'a>,
    ) {
        let lower = name.to_ascii_lowercase();
        self.facts.method_calls.entry(name).or_default().push(&call.arguments);
        if name == "add" && member(object).is_some_and(|(_, space)| space == "scene") {
            self.scenes.extend(call.arguments.get(1).and_then(Argument::as_expression));
        }
        if lower.contains("register") || lower.contains("plugin") || name == "defineProperty" {
            for argument in &call.arguments {
                if let Argument::StringLiteral(text) = argument {
                    self.facts.defined.insert(text.value.as_str());
                }
            }
        }
        if name == "assign" && object.is_specific_id("Object") {
            for argument in &call.arguments {
                if let Argument::ObjectExpression(object) = argument {
                    self.facts.defined.extend(properties(object).map(|(name, _)| name));
                }
            }
        }
    }

    /// Notes functions among the arguments that are given by name.
    fn hand_over(&mut self, call: NodeId, given: &'a [Argument<'a>]) {
        for (at, argument) in given.iter().enumerate().take(8) {
            let Some(expression) = argument.as_expression() else { continue };
            let handed = Handed { call, at };
            match expression {
                Expression::Identifier(_) => {
                    if let Some(symbol) = symbol(expression, self.semantic) {
                        self.facts.handed.entry(symbol).or_default().push(handed);
                    }
                }
                Expression::StaticMemberExpression(member) if is_this(&member.object) => {
                    let name = member.property.name.as_str();
                    self.facts.handed_methods.entry(name).or_default().push(handed);
                }
                _ => {}
            }
        }
    }

    /// The function that a statement is in.
    fn function_of(&self, node: NodeId) -> NodeId {
        let scoping = self.semantic.scoping();
        let scope = self.semantic.nodes().get_node(node).scope_id();
        let function = scoping
            .scope_ancestors(scope)
            .find(|scope| scoping.scope_flags(*scope).contains(ScopeFlags::Function));
        function.map_or(node, |scope| scoping.get_node_id(scope))
    }
}

fn is_plain(operator: AssignmentOperator) -> bool {
    operator.is_assign() || operator.is_logical()
}

fn destructures_members(target: &AssignmentTarget<'_>) -> bool {
    matches!(
        target,
        AssignmentTarget::ArrayAssignmentTarget(_) | AssignmentTarget::ObjectAssignmentTarget(_)
    )
}

fn class_element<'a>(
    class: &mut UserClass<'a>,
    element: &'a ClassElement<'a>,
    facts: &mut Facts<'a>,
) {
    match element {
        ClassElement::MethodDefinition(method) => {
            let Some(name) = key_name(&method.key) else { return };
            facts.defined.insert(name);
            if method.r#static {
                return;
            }
            let source = match method.kind {
                MethodDefinitionKind::Method => Source::Function(method.value.node_id.get()),
                MethodDefinitionKind::Constructor => return,
                _ => Source::Unknown,
            };
            class.members.entry(name).or_default().push(source);
        }
        ClassElement::PropertyDefinition(field) => {
            let Some(name) = key_name(&field.key) else { return };
            facts.defined.insert(name);
            if field.r#static {
                class.has_static_fields = true;
                return;
            }
            let members = class.members.entry(name).or_default();
            members.extend(field.value.as_ref().map(Source::Expression));
        }
        _ => {}
    }
}

/// Whether a module's name is that of Phaser: the package, or its file.
fn is_phaser_module(name: &str) -> bool {
    let mut segments = name.split('/');
    segments.any(|one| one == "phaser" || one.starts_with("phaser@") || one.starts_with("phaser."))
}
