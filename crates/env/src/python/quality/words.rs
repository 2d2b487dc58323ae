//! The words of a program's names, to tell a remark about it from any other text.

use std::collections::HashSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::flow::{live_part, walk_live};
use super::live::Live;

/// Lower-case parts of the names in live code, and the names themselves.
#[derive(Debug, Default)]
pub(super) struct Words(HashSet<String>);

impl Words {
    pub(super) fn of(live: &Live<'_>) -> Self {
        let mut words = Self::default();
        live.walk(&mut words);
        for definition in &live.definitions {
            words.add(definition.name());
        }
        words
    }

    /// Whether a lower-case word, or its singular, is part of a name.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.0.contains(word) || word.strip_suffix('s').is_some_and(|one| self.0.contains(one))
    }

    fn add(&mut self, name: &str) {
        for part in parts(name).filter(|part| part.chars().count() > 2) {
            self.0.insert(part);
        }
    }
}

/// `maxValue_of` is `max`, `value`, `of`.
pub(super) fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut last_lower = false;
    for c in name.chars() {
        if c == '_' || c.is_ascii_digit() || (c.is_uppercase() && last_lower) {
            parts.push(String::new());
        }
        last_lower = c.is_lowercase();
        if let (true, Some(part)) = (c.is_alphabetic(), parts.last_mut()) {
            part.extend(c.to_lowercase());
        }
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

/// The words of a text in lower case; each character of a script without blanks is one.
pub(super) fn text(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
        if !alone && (c.is_alphanumeric() || c == '_') {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if alone {
            words.push(c.to_string());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

impl<'a> Visitor<'a> for Words {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for stmt in live_part(body) {
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.add(&function.name),
            Stmt::ClassDef(class) => self.add(&class.name),
            _ => {}
        }
        walk_live(self, stmt);
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.add(&parameter.name);
        visitor::walk_parameter(self, parameter);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.add(&name.id),
            Expr::Attribute(attribute) => self.add(&attribute.attr),
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
