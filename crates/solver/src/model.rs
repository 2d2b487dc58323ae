//! A model: variables with bounds and integer marks, rows with a lower and an upper limit, an objective.
//!
//! ```text
//! minimize (or maximize)  Σ c_j x_j
//! with                    lower_i <= Σ a_ij x_j <= upper_i     for every row
//!                         lower_j <= x_j <= upper_j, some x_j integer
//! ```
//!
//! One form for all kinds of rows: `<=` has no lower limit, `>=` no upper one, `=` two equal ones, a range two
//! different ones, and a free row none.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// A linear or mixed-integer model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its name; may be empty.
    pub name: String,
    /// Whether the objective is minimized or maximized.
    pub objective: Objective,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// The direction of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The smallest value is sought.
    Minimize,
    /// The largest value is sought.
    Maximize,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name, unique among variables.
    pub name: String,
    /// Its coefficient in the objective.
    pub cost: f64,
    /// Its lower bound; may be `-inf`.
    pub lower: f64,
    /// Its upper bound; may be `inf`.
    pub upper: f64,
    /// Whether it must be an integer.
    pub kind: Kind,
}

/// The values that a variable can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Any number within the bounds.
    Continuous,
    /// Any integer within the bounds.
    Integer,
}

/// A row: a linear expression between two limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, unique among rows.
    pub name: String,
    /// The expression; each variable at most once, no coefficient 0.
    pub terms: Vec<Term>,
    /// The lower limit; `-inf` if there is none.
    pub lower: f64,
    /// The upper limit; `inf` if there is none.
    pub upper: f64,
}

/// A coefficient of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The index of the variable.
    pub variable: usize,
    /// The coefficient.
    pub coefficient: f64,
}

/// A model is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Two variables or two rows have one name.
    #[error("{noun} `{name}` is there twice")]
    Duplicate {
        /// `row` or `variable`.
        noun: &'static str,
        /// The name.
        name: String,
    },
    /// A number is NaN, or infinite where it must not be.
    #[error("{noun} `{name}` has {what} {value}, expected {expected}")]
    Number {
        /// `row` or `variable`.
        noun: &'static str,
        /// Its name.
        name: String,
        /// The number's meaning.
        what: &'static str,
        /// The number.
        value: String,
        /// The numbers that are allowed.
        expected: &'static str,
    },
    /// A row names a variable twice, or one that there is not.
    #[error("row `{row}` names variable {variable} twice, or there is none with that number")]
    Term {
        /// The row.
        row: String,
        /// The variable's index.
        variable: usize,
    },
}

impl Model {
    /// A model without rows and variables.
    pub fn new(objective: Objective) -> Self {
        Self { name: String::new(), objective, variables: Vec::new(), rows: Vec::new() }
    }

    /// The index of the row with this name.
    pub fn row(&self, name: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.name == name)
    }

    /// The index of the variable with this name.
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.name == name)
    }

    /// Whether any variable must be an integer.
    pub fn has_integers(&self) -> bool {
        self.variables.iter().any(|variable| variable.kind == Kind::Integer)
    }

    /// The objective at a point.
    pub fn objective_at(&self, values: &[f64]) -> f64 {
        self.variables.iter().zip(values).map(|(variable, value)| variable.cost * value).sum()
    }

    /// Checks names and numbers. Infinite limits are allowed on their open side alone.
    pub fn check(&self) -> Result<(), ModelError> {
        unique("variable", self.variables.iter().map(|variable| &variable.name))?;
        unique("row", self.rows.iter().map(|row| &row.name))?;
        self.variables.iter().try_for_each(Variable::check)?;
        self.rows.iter().try_for_each(|row| row.check(self.variables.len()))
    }
}

impl Variable {
    fn check(&self) -> Result<(), ModelError> {
        let owner = Owner { noun: "variable", name: &self.name };
        owner.number("objective coefficient", self.cost, Open::Neither)?;
        owner.number("lower bound", self.lower, Open::Below)?;
        owner.number("upper bound", self.upper, Open::Above)
    }
}

impl Row {
    /// The value of its expression at a point.
    pub fn activity(&self, values: &[f64]) -> f64 {
        self.terms.iter().map(|term| term.coefficient * values[term.variable]).sum()
    }

    /// The coefficient of a variable; 0 if the row lacks it.
    pub fn coefficient(&self, variable: usize) -> f64 {
        let found = self.terms.iter().find(|term| term.variable == variable);
        found.map_or(0.0, |term| term.coefficient)
    }

    fn check(&self, variables: usize) -> Result<(), ModelError> {
        let owner = Owner { noun: "row", name: &self.name };
        owner.number("lower limit", self.lower, Open::Below)?;
        owner.number("upper limit", self.upper, Open::Above)?;
        let mut seen = HashSet::new();
        for term in &self.terms {
            owner.number("coefficient", term.coefficient, Open::Neither)?;
            if term.variable >= variables || !seen.insert(term.variable) {
                return Err(ModelError::Term { row: self.name.clone(), variable: term.variable });
            }
        }
        Ok(())
    }
}

/// The side on which a number may be infinite.
#[derive(Clone, Copy)]
enum Open {
    Neither,
    Below,
    Above,
}

/// The row or variable that a number belongs to, for messages.
struct Owner<'a> {
    noun: &'static str,
    name: &'a str,
}

impl Owner<'_> {
    fn number(&self, what: &'static str, value: f64, open: Open) -> Result<(), ModelError> {
        let (allowed, expected) = match open {
            Open::Neither => (value.is_finite(), "a finite number"),
            Open::Below => (value < f64::INFINITY, "a finite number or -inf"),
            Open::Above => (value > f64::NEG_INFINITY, "a finite number or inf"),
        };
        if allowed {
            return Ok(());
        }
        let (noun, name, value) = (self.noun, self.name.to_owned(), value.to_string());
        Err(ModelError::Number { noun, name, what, value, expected })
    }
}

fn unique<'a>(
    noun: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), ModelError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ModelError::Duplicate { noun, name: name.clone() });
        }
    }
    Ok(())
}
