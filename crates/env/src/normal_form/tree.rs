//! A Python program from its syntax tree, as tokens in the order of the source.
//!
//! | in the program | here |
//! |---|---|
//! | a statement, expression or clause | its kind; blocks, calls and lists also have an end |
//! | a name that the program binds, or an attribute that it defines | how recently it was used |
//! | a name that it imports | what it imports, under whatever name |
//! | another name or attribute, an operator, a number, a text | as it is |
//! | a keyword of a call that names a parameter of the program | one token for all |
//! | comments, docstrings, annotations, parentheses, quotes, layout | nothing |

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{self as ast, AnyNodeRef, Expr, NodeKind, Stmt};

use super::bindings::{Bindings, NameOwner, OpenScopes, OwnName, identifier};
use super::grams::{Token, token};
use super::recency::Recency;
use crate::python::syntax::Module;
use crate::stack::BigStack;

/// Kinds of tokens.
const KIND: u8 = b'k';
const END: u8 = b'e';
const NAME: u8 = b'w';
const IMPORT: u8 = b'i';
const ATTRIBUTE: u8 = b'a';
const KEYWORD: u8 = b'=';
const OPERATOR: u8 = b'+';
const NUMBER: u8 = b'#';
const STRING: u8 = b's';

/// The tokens of a program.
pub(super) fn tokens(module: &Module<'_>, _stack: &BigStack) -> Vec<Token> {
    let body = &module.parsed.syntax().body;
    let mut walk = TokenWalk {
        bindings: Bindings::of(body),
        open: OpenScopes::new(),
        names: Recency::new(),
        tokens: Vec::new(),
    };
    walk_body(&mut walk, body);
    walk.tokens
}

/// The second walk, which knows all names.
struct TokenWalk<'a> {
    bindings: Bindings<'a>,
    open: OpenScopes,
    names: Recency<OwnName<'a>>,
    tokens: Vec<Token>,
}

impl<'a> TokenWalk<'a> {
    fn push(&mut self, kind: u8, text: &str) {
        self.tokens.push(token(kind, text));
    }

    fn name(&mut self, name: &'a str) {
        let token = match self.bindings.owner(&self.open, name) {
            NameOwner::Program(own) => self.names.use_of(own),
            NameOwner::Import(path) => token(IMPORT, path),
            NameOwner::Free => token(NAME, name),
        };
        self.tokens.push(token);
    }

    fn attribute(&mut self, name: &'a str) {
        let token = match self.bindings.own_attribute(name) {
            Some(own) => self.names.use_of(own),
            None => token(ATTRIBUTE, name),
        };
        self.tokens.push(token);
    }

    fn keyword(&mut self, name: &str) {
        let text = if self.bindings.is_own_keyword(name) { "" } else { name };
        self.push(KEYWORD, text);
    }

    /// The tokens of a node itself.
    fn own(&mut self, node: AnyNodeRef<'a>) {
        if let Some(kind) = shown_kind(node) {
            self.push(KIND, &format!("{kind:?}"));
        }
        match node {
            AnyNodeRef::StmtFunctionDef(function) => self.name(function.name.as_str()),
            AnyNodeRef::StmtClassDef(class) => self.name(class.name.as_str()),
            AnyNodeRef::ExprName(name) => self.name(name.id.as_str()),
            AnyNodeRef::ExprAttribute(attribute) => self.attribute(attribute.attr.as_str()),
            AnyNodeRef::Parameter(parameter) => self.name(parameter.name.as_str()),
            AnyNodeRef::PatternKeyword(keyword) => self.attribute(keyword.attr.as_str()),
            AnyNodeRef::Keyword(ast::Keyword { arg: Some(name), .. }) => {
                self.keyword(name.as_str());
            }
            AnyNodeRef::Alias(alias) => self.push(IMPORT, alias.name.as_str()),
            AnyNodeRef::StmtImportFrom(statement) => {
                self.push(IMPORT, statement.module.as_deref().unwrap_or("."));
            }
            AnyNodeRef::StmtGlobal(ast::StmtGlobal { names, .. })
            | AnyNodeRef::StmtNonlocal(ast::StmtNonlocal { names, .. }) => {
                for name in names {
                    self.name(name.as_str());
                }
            }
            other => match identifier(other) {
                Some(name) => self.name(name),
                None => self.literal(other),
            },
        }
    }

    fn literal(&mut self, node: AnyNodeRef<'a>) {
        match node {
            AnyNodeRef::ExprNumberLiteral(number) => {
                self.push(NUMBER, &format!("{:?}", number.value));
            }
            AnyNodeRef::ExprBooleanLiteral(literal) => {
                self.push(NUMBER, if literal.value { "True" } else { "False" });
            }
            AnyNodeRef::ExprStringLiteral(text) => self.push(STRING, text.value.to_str()),
            AnyNodeRef::StringLiteral(text) => self.push(STRING, &text.value),
            AnyNodeRef::InterpolatedStringLiteralElement(text) => self.push(STRING, &text.value),
            AnyNodeRef::ExprBytesLiteral(literal) => {
                let bytes: Vec<u8> = literal.value.bytes().collect();
                self.push(STRING, &String::from_utf8_lossy(&bytes));
            }
            AnyNodeRef::PatternMatchSingleton(pattern) => {
                self.push(NUMBER, &format!("{:?}", pattern.value));
            }
            _ => {}
        }
    }
}

/// The kind that stands for a node; none of nodes that are seen by what is in them.
fn shown_kind(node: AnyNodeRef<'_>) -> Option<NodeKind> {
    match node {
        // An annotation is no token, so both assign.
        AnyNodeRef::StmtAnnAssign(_) => Some(NodeKind::StmtAssign),
        AnyNodeRef::ParameterWithDefault(_)
        | AnyNodeRef::ExprName(_)
        | AnyNodeRef::ExprNumberLiteral(_)
        | AnyNodeRef::ExprBooleanLiteral(_)
        | AnyNodeRef::ExprStringLiteral(_)
        | AnyNodeRef::StringLiteral(_)
        | AnyNodeRef::InterpolatedStringLiteralElement(_)
        | AnyNodeRef::Keyword(_)
        | AnyNodeRef::Alias(_)
        | AnyNodeRef::Arguments(_) => None,
        other => Some(other.kind()),
    }
}

/// Whether the end of a node is a token: without it, what follows could belong to it.
fn has_end(node: AnyNodeRef<'_>) -> bool {
    matches!(
        node,
        AnyNodeRef::StmtFunctionDef(_)
            | AnyNodeRef::StmtClassDef(_)
            | AnyNodeRef::StmtFor(_)
            | AnyNodeRef::StmtWhile(_)
            | AnyNodeRef::StmtIf(_)
            | AnyNodeRef::StmtWith(_)
            | AnyNodeRef::StmtTry(_)
            | AnyNodeRef::StmtMatch(_)
            | AnyNodeRef::ExprLambda(_)
            | AnyNodeRef::ExprCall(_)
            | AnyNodeRef::ExprSubscript(_)
            | AnyNodeRef::ExprList(_)
            | AnyNodeRef::ExprTuple(_)
            | AnyNodeRef::ExprDict(_)
            | AnyNodeRef::ExprSet(_)
    )
}

/// A text that is a statement says something to readers alone.
fn is_docstring(node: AnyNodeRef<'_>) -> bool {
    matches!(node, AnyNodeRef::StmtExpr(ast::StmtExpr { value, .. })
        if matches!(**value, Expr::StringLiteral(_)))
}

impl<'a> SourceOrderVisitor<'a> for TokenWalk<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        if is_docstring(node) {
            return TraversalSignal::Skip;
        }
        self.own(node);
        self.open.enter(node);
        match node {
            AnyNodeRef::ExprStringLiteral(_) | AnyNodeRef::ExprBytesLiteral(_) => {
                TraversalSignal::Skip
            }
            _ => TraversalSignal::Traverse,
        }
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        self.open.leave(node);
        if has_end(node) {
            self.push(END, "");
        }
    }

    fn visit_body(&mut self, body: &'a [Stmt]) {
        if !body.is_empty() {
            self.push(KIND, "body");
            walk_body(self, body);
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    /// Names are tokens of the nodes around them.
    fn visit_identifier(&mut self, _: &'a ast::Identifier) {}

    fn visit_bool_op(&mut self, operator: &'a ast::BoolOp) {
        self.push(OPERATOR, operator.as_str());
    }

    fn visit_operator(&mut self, operator: &'a ast::Operator) {
        self.push(OPERATOR, operator.as_str());
    }

    fn visit_unary_op(&mut self, operator: &'a ast::UnaryOp) {
        self.push(OPERATOR, operator.as_str());
    }

    fn visit_cmp_op(&mut self, operator: &'a ast::CmpOp) {
        self.push(OPERATOR, operator.as_str());
    }
}
