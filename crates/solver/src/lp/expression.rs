//! Linear expressions of LP files.

use std::collections::HashMap;

use super::read::Reader;
use super::relation::Limits;
use super::token::Token;
use crate::format::FormatError;
use crate::model::Term;

/// A linear expression.
#[derive(Default)]
pub(super) struct Expression {
    pub(super) terms: Vec<Term>,
    pub(super) constant: f64,
    /// Whether anything was there, be it a term that is 0.
    pub(super) has_variable: bool,
}

impl Expression {
    /// The limits of a row; those of a row without variables are moved by its constant.
    pub(super) fn limits(&self, limits: &Limits) -> (f64, f64) {
        let shift = if self.has_variable { 0.0 } else { self.constant };
        let lower = limits.lower.unwrap_or(f64::NEG_INFINITY) - shift;
        (lower, limits.upper.unwrap_or(f64::INFINITY) - shift)
    }
}

impl Reader<'_> {
    /// Reads an expression up to a relation, a label or a header.
    pub(super) fn expression(&mut self) -> Result<Expression, FormatError> {
        let mut expression = Expression::default();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut is_start = true;
        while self.is_within(is_start) {
            is_start = false;
            let (coefficient, has_number) = self.factor()?;
            let name = self.token().and_then(|token| match token {
                Token::Name(name) if self.is_within_name() => Some(name),
                _ => None,
            });
            match name {
                Some(name) => {
                    self.at += 1;
                    let variable = self.variable(name);
                    expression.has_variable = true;
                    let place = *places.entry(variable).or_insert(expression.terms.len());
                    if place == expression.terms.len() {
                        expression.terms.push(Term { variable, coefficient: 0.0 });
                    }
                    expression.terms[place].coefficient += coefficient;
                }
                None if has_number => expression.constant += coefficient,
                None => {
                    return Err(
                        self.error("expected a variable or a number", "write terms as `3 x + 2 y`")
                    );
                }
            }
        }
        if is_start {
            return Err(self.error("expected an expression", "write terms as `3 x + 2 y`"));
        }
        self.finite(&expression)?;
        expression.terms.retain(|term| term.coefficient != 0.0);
        Ok(expression)
    }

    fn finite(&self, expression: &Expression) -> Result<(), FormatError> {
        let numbers = expression.terms.iter().map(|term| term.coefficient);
        if numbers.chain([expression.constant]).all(f64::is_finite) {
            return Ok(());
        }
        Err(self.error(
            "an infinite coefficient",
            "infinite numbers are for bounds and right-hand sides",
        ))
    }

    /// Whether the expression goes on: with a sign, or at its start with anything.
    fn is_within(&self, is_start: bool) -> bool {
        let Some(word) = self.peek() else { return false };
        if word.is_first && self.header().is_some() {
            return false;
        }
        match word.token {
            Token::Plus | Token::Minus => true,
            Token::Number(_) | Token::Name(_) => is_start,
            _ => false,
        }
    }

    /// Whether the name here belongs to the expression, and is neither a header nor a label.
    fn is_within_name(&self) -> bool {
        let is_header = self.peek().is_some_and(|word| word.is_first) && self.header().is_some();
        !is_header && self.label().is_none()
    }
}
