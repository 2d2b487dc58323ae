//! Reads LP files in one pass over their words.

use std::collections::{HashMap, HashSet};

use super::expression::Expression;
use super::relation::{Limits, Relation};
use super::section::{self, Header, Section};
use super::token::{Token, Word, words};
use crate::format::{self, FormatError, INFINITE, add_constant, check_size, shown};
use crate::model::{Kind, Model, Objective, Row, Variable};

/// Reads a model from the text of an LP file.
pub fn read_lp(text: &str) -> Result<Model, FormatError> {
    check_size(text)?;
    let words = words(text)?;
    let mut reader = Reader {
        words: &words,
        at: 0,
        model: Model::new(Objective::Minimize),
        variables: HashMap::new(),
        rows: HashSet::new(),
        constant: 0.0,
    };
    reader.file()?;
    add_constant(&mut reader.model, reader.constant);
    Ok(reader.model)
}

/// The words of a file and the model so far.
pub(super) struct Reader<'a> {
    words: &'a [Word<'a>],
    pub(super) at: usize,
    model: Model,
    variables: HashMap<&'a str, usize>,
    rows: HashSet<String>,
    constant: f64,
}

impl<'a> Reader<'a> {
    fn file(&mut self) -> Result<(), FormatError> {
        let Some(Header { section: Section::Objective(objective), words }) = self.header() else {
            return Err(self
                .error("expected `Minimize` or `Maximize`", "the file begins with its objective"));
        };
        self.at += words;
        self.model.objective = objective;
        self.objective()?;
        let mut has_rows = false;
        loop {
            let Some(Header { section, words }) = self.header() else {
                return Err(self.error(
                    "expected the next section or `End`",
                    "the file was cut off, or a word is misspelt",
                ));
            };
            self.at += words;
            match section {
                Section::Objective(_) => {
                    return Err(self.error("a second objective", "keep one of them"));
                }
                Section::Rows => {
                    has_rows = true;
                    self.all(Self::row)?;
                }
                Section::Bounds => self.all(Self::bound)?,
                Section::General => self.all(|reader| reader.integer(Section::General))?,
                Section::Binary => self.all(|reader| reader.integer(Section::Binary))?,
                Section::End => return self.end(has_rows),
            }
        }
    }

    fn end(&self, has_rows: bool) -> Result<(), FormatError> {
        if !has_rows {
            return Err(self.error("no `Subject To`", "write the section, with or without rows"));
        }
        match self.peek() {
            None => Ok(()),
            Some(_) => {
                Err(self.error("expected nothing after `End`", "delete the rest of the file"))
            }
        }
    }

    /// Reads parts of a section up to the next header.
    fn all(
        &mut self,
        mut part: impl FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        while self.peek().is_some() && self.header().is_none() {
            part(self)?;
        }
        Ok(())
    }

    fn objective(&mut self) -> Result<(), FormatError> {
        if self.label().is_some() {
            self.at += 2;
        }
        if self.header().is_some() {
            return Ok(());
        }
        let expression = self.expression()?;
        for term in expression.terms {
            self.model.variables[term.variable].cost = term.coefficient;
        }
        self.constant = expression.constant;
        Ok(())
    }

    fn row(&mut self) -> Result<(), FormatError> {
        let line = self.line();
        let name = match self.label() {
            Some(name) => {
                self.at += 2;
                name.to_owned()
            }
            None => format!("R{}", self.model.rows.len() + 1),
        };
        if !self.rows.insert(name.clone()) {
            let problem = format!("row `{}` is there twice", shown(&name));
            return Err(FormatError::new(line, problem, "give one of them another name"));
        }
        let first = self.left()?;
        let relation = self.relation()?;
        let second = self.right()?;
        let (expression, limits) = if first.has_variable || !second.has_variable {
            (first, Limits::of(relation, self.constant_of(&second)?, line)?)
        } else {
            let limits = Limits::of(relation.turned(), first.constant, line)?;
            match self.peek_relation() {
                None => (second, limits),
                Some(_) => (second, limits.and(&self.limits()?)),
            }
        };
        if expression.constant != 0.0 && expression.has_variable {
            return Err(FormatError::new(
                line,
                format!("row `{}` has a constant beside its variables", shown(&name)),
                "move it to the right-hand side",
            ));
        }
        if expression.constant.abs() >= INFINITE {
            return Err(FormatError::new(
                line,
                format!("row `{}` compares an infinite number with another", shown(&name)),
                "compare variables with numbers",
            ));
        }
        let (lower, upper) = expression.limits(&limits);
        let (lower, upper) = (format::lower(lower, line)?, format::upper(upper, line)?);
        self.model.rows.push(Row { name, terms: expression.terms, lower, upper });
        Ok(())
    }

    /// A relation and a number.
    fn limits(&mut self) -> Result<Limits, FormatError> {
        let line = self.line();
        let relation = self.relation()?;
        let value = self.signed_number()?;
        Limits::of(relation, value, line)
    }

    /// What stands before the first relation: an expression, or a number that may be infinite.
    fn left(&mut self) -> Result<Expression, FormatError> {
        let start = self.at;
        if let Ok(constant) = self.signed_number()
            && self.peek_relation().is_some()
        {
            return Ok(Expression { constant, ..Expression::default() });
        }
        self.at = start;
        self.expression()
    }

    /// What stands after it. A number ends with its line: the next one may begin another row.
    fn right(&mut self) -> Result<Expression, FormatError> {
        let start = self.at;
        if let Ok(constant) = self.signed_number() {
            let goes_on = self.peek().is_some_and(|word| !word.is_first);
            if !goes_on || self.peek_relation().is_some() {
                return Ok(Expression { constant, ..Expression::default() });
            }
        }
        self.at = start;
        self.expression()
    }

    fn constant_of(&self, expression: &Expression) -> Result<f64, FormatError> {
        if expression.has_variable {
            return Err(self.error("variables on both sides", "move them to the left"));
        }
        Ok(expression.constant)
    }

    fn bound(&mut self) -> Result<(), FormatError> {
        let line = self.line();
        if let Some(Token::Name(_)) = self.token().filter(|token| !is_infinity(token)) {
            let variable = self.known()?;
            if let Some(Token::Name(word)) = self.token()
                && word.eq_ignore_ascii_case("free")
            {
                self.at += 1;
                let bounds = &mut self.model.variables[variable];
                (bounds.lower, bounds.upper) = (f64::NEG_INFINITY, f64::INFINITY);
                return Ok(());
            }
            let limits = self.limits()?;
            self.apply(variable, &limits);
            return Ok(());
        }
        let value = self.signed_number()?;
        let limits = Limits::of(self.relation()?.turned(), value, line)?;
        let variable = self.known()?;
        self.apply(variable, &limits);
        if self.peek_relation().is_some() {
            let limits = self.limits()?;
            self.apply(variable, &limits);
        }
        Ok(())
    }

    fn apply(&mut self, variable: usize, limits: &Limits) {
        let bounds = &mut self.model.variables[variable];
        bounds.lower = limits.lower.unwrap_or(bounds.lower);
        bounds.upper = limits.upper.unwrap_or(bounds.upper);
    }

    fn integer(&mut self, section: Section) -> Result<(), FormatError> {
        let variable = self.known()?;
        let variable = &mut self.model.variables[variable];
        variable.kind = Kind::Integer;
        if section == Section::Binary {
            (variable.lower, variable.upper) = (0.0, 1.0);
        }
        Ok(())
    }

    /// The index of a variable that occurs in the objective or a row.
    fn known(&mut self) -> Result<usize, FormatError> {
        let Some(Token::Name(name)) = self.token() else {
            return Err(self.error(
                "expected a variable",
                "one bound a line: `x <= 4`, `-1 <= x <= 4` or `x free`",
            ));
        };
        let Some(index) = self.variables.get(name).copied() else {
            let problem = format!("unknown variable `{}`", shown(name));
            let hint =
                "name it in the objective or in a row, with 0 if need be; names keep their case";
            return Err(self.error(&problem, hint));
        };
        self.at += 1;
        Ok(index)
    }

    /// Signs and a number, both optional; whether there was a number.
    pub(super) fn factor(&mut self) -> Result<(f64, bool), FormatError> {
        let mut factor = 1.0;
        let start = self.at;
        while let Some(token @ (Token::Plus | Token::Minus)) = self.token() {
            if token == Token::Minus {
                factor = -factor;
            }
            self.at += 1;
            if self.at - start > 2 {
                return Err(self.error("three signs in a row", "write one sign a term"));
            }
        }
        match self.token() {
            Some(Token::Number(value)) => {
                self.at += 1;
                Ok((factor * value, true))
            }
            _ => Ok((factor, false)),
        }
    }

    /// A number with an optional sign, which may be infinite.
    fn signed_number(&mut self) -> Result<f64, FormatError> {
        let start = self.at;
        let (factor, has_number) = self.factor()?;
        if has_number {
            return Ok(factor);
        }
        if self.token().is_some_and(|token| is_infinity(&token)) {
            self.at += 1;
            return Ok(factor * f64::INFINITY);
        }
        let error = self.error("expected a number", "write it as 12, -0.5, 1e-3 or inf");
        self.at = start;
        Err(error)
    }

    fn relation(&mut self) -> Result<Relation, FormatError> {
        match self.peek_relation() {
            Some(relation) => {
                self.at += 1;
                Ok(relation)
            }
            None => Err(self
                .error("expected <=, >= or =", "the file was cut off, or an operator is missing")),
        }
    }

    fn peek_relation(&self) -> Option<Relation> {
        match self.token()? {
            Token::AtMost => Some(Relation::AtMost),
            Token::AtLeast => Some(Relation::AtLeast),
            Token::Equal => Some(Relation::Equal),
            _ => None,
        }
    }

    pub(super) fn variable(&mut self, name: &'a str) -> usize {
        let next = self.model.variables.len();
        let index = *self.variables.entry(name).or_insert(next);
        if index == next {
            let (cost, lower, upper) = (0.0, 0.0, f64::INFINITY);
            let (name, kind) = (name.to_owned(), Kind::Continuous);
            self.model.variables.push(Variable { name, cost, lower, upper, kind });
        }
        index
    }

    /// The name before a colon here.
    pub(super) fn label(&self) -> Option<&'a str> {
        match (self.token()?, self.words.get(self.at + 1)?.token) {
            (Token::Name(name), Token::Colon) => Some(name),
            _ => None,
        }
    }

    /// The header here; none where a colon makes its word a label.
    pub(super) fn header(&self) -> Option<Header> {
        let first = self.peek().filter(|word| word.is_first)?;
        let Token::Name(name) = first.token else { return None };
        if self.label().is_some() {
            return None;
        }
        let second = self.words.get(self.at + 1).map(|word| word.token);
        let second = match second {
            Some(Token::Name(name)) => name.to_ascii_lowercase(),
            _ => String::new(),
        };
        section::header(&name.to_ascii_lowercase(), &second)
    }

    pub(super) fn token(&self) -> Option<Token<'a>> {
        self.peek().map(|word| word.token)
    }

    pub(super) fn peek(&self) -> Option<&'a Word<'a>> {
        self.words.get(self.at)
    }

    fn line(&self) -> usize {
        self.peek().or(self.words.last()).map_or(1, |word| word.line)
    }

    pub(super) fn error(&self, problem: &str, hint: &str) -> FormatError {
        let found = match self.token() {
            Some(Token::Name(name)) => format!(" at `{}`", shown(name)),
            Some(Token::Number(value)) => format!(" at `{value}`"),
            Some(_) => " at a sign".to_owned(),
            None => " at the end of the file".to_owned(),
        };
        FormatError::new(self.line(), format!("{problem}{found}"), hint)
    }
}

fn is_infinity(token: &Token<'_>) -> bool {
    let Token::Name(name) = token else { return false };
    name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity")
}
