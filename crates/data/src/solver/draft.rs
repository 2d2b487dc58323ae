//! A base model in the making: rows around a hidden plan of whole numbers, which therefore satisfies them all.

use whetstone_solver::{Kind, Model, Objective, Row, Term, Variable};

use crate::random::Random;

/// A model whose rows and variables have a role instead of a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) model: Model,
    /// The hidden plan.
    pub(super) plan: Vec<i64>,
}

/// The sense of a row that is drawn around the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    AtMost,
    AtLeast,
    Equal,
}

/// A variable to add.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewVariable {
    pub(super) word: &'static str,
    pub(super) cost: i64,
    /// Its value in the plan.
    pub(super) plan: i64,
    pub(super) upper: Option<i64>,
    pub(super) kind: Kind,
}

impl Draft {
    pub(super) fn new(objective: Objective) -> Self {
        Self { model: Model::new(objective), plan: Vec::new() }
    }

    /// Adds a variable; its name is its role until names are drawn.
    pub(super) fn variable(&mut self, new: NewVariable) -> usize {
        let upper = new.upper.map_or(f64::INFINITY, real);
        let name = new.word.to_owned();
        let (cost, kind) = (real(new.cost), new.kind);
        self.model.variables.push(Variable { name, cost, lower: 0.0, upper, kind });
        self.plan.push(new.plan);
        self.plan.len() - 1
    }

    /// A continuous variable without an upper bound.
    pub(super) fn amount(&mut self, word: &'static str, cost: i64, plan: i64) -> usize {
        self.variable(NewVariable { word, cost, plan, upper: None, kind: Kind::Continuous })
    }

    /// Adds a row that the plan satisfies, with so much room.
    pub(super) fn row(&mut self, word: &str, terms: &[(usize, i64)], sense: Sense, room: i64) {
        let at_plan: i64 = terms.iter().map(|&(variable, by)| by * self.plan[variable]).sum();
        let (lower, upper) = match sense {
            Sense::AtMost => (f64::NEG_INFINITY, real(at_plan + room)),
            Sense::AtLeast => (real(at_plan - room), f64::INFINITY),
            Sense::Equal => (real(at_plan), real(at_plan)),
        };
        let terms = terms.iter().filter(|(_, by)| *by != 0);
        let terms = terms.map(|&(variable, by)| Term { variable, coefficient: real(by) }).collect();
        self.model.rows.push(Row { name: word.to_owned(), terms, lower, upper });
    }

    /// Puts rows in another order.
    pub(super) fn shuffle(&mut self, random: &mut Random) {
        for last in (1..self.model.rows.len()).rev() {
            self.model.rows.swap(last, random.below(last + 1));
        }
    }
}

/// A whole number as a coefficient.
#[expect(clippy::cast_precision_loss, reason = "numbers of generated models are far below 2^53")]
pub(super) fn real(number: i64) -> f64 {
    number as f64
}

/// Stands between the role of a row or variable and its number until names are drawn.
const MARK: char = '#';

/// The name of a row or variable until names are drawn.
pub(super) fn unique(role: &str, number: usize) -> String {
    format!("{role}{MARK}{number}")
}

/// The role in such a name.
pub(super) fn role(name: &str) -> &str {
    name.split(MARK).next().unwrap_or(name)
}
