//! A problem of a model that somebody brings, without a base model.
//!
//! It must be one that an episode can begin with: short enough to be shown, infeasible with a certificate, and with a
//! least repair to compare with. Names are made such that actions can name them: letters, digits, `_`, `.`, `[` and
//! `]`; other characters become `_`.

use std::collections::{HashMap, HashSet};

use whetstone_solver::{Model, SolverError};

use super::limits::limits;
use super::problem::{Problem, View};
use super::reward::Target;
use super::state::{State, Status};
use super::{render, statement_of};

/// How a model that was brought is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The form.
    pub view: View,
    /// Whether the IIS is shown at once, or has to be asked for.
    pub show_iis: bool,
    /// The longest statement.
    pub max_bytes: usize,
}

/// A problem of a model that was brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Brought {
    /// The problem.
    pub problem: Problem,
    /// What an episode begins with.
    pub statement: String,
    /// Members of the IIS that is shown first.
    pub iis: usize,
}

/// Why a model makes no problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// It has a solution.
    #[error("the model is feasible ({status}): nothing is to be repaired")]
    Feasible {
        /// `OPTIMAL` or `UNBOUNDED`.
        status: &'static str,
    },
    /// The solver gives no verdict that holds.
    #[error("the solver has no certified verdict on {what}: {source}")]
    Undecided {
        /// The model that it was asked about.
        what: &'static str,
        /// The solver's reason.
        source: SolverError,
    },
    /// The statement would be too long.
    #[error("its statement has {}{bytes} bytes, the limit is {limit}", if *.is_least { "at least " } else { "" })]
    TooLong {
        /// The length.
        bytes: usize,
        /// Whether it is an estimate from below.
        is_least: bool,
        /// The limit.
        limit: usize,
    },
    /// The solver takes no models of this size.
    #[error("{what} is too large for the solver: {source}")]
    TooLarge {
        /// The model that it was asked about.
        what: &'static str,
        /// The solver's reason.
        source: SolverError,
    },
}

impl Brought {
    /// The problem of a model.
    ///
    /// # Errors
    ///
    /// If it is feasible, too large, or the solver has no verdict on it.
    pub fn new(mut model: Model, look: Look) -> Result<Self, Unusable> {
        check_length(render::least_bytes(&model, look.view), look.max_bytes, IsLeast::Yes)?;
        plain_names(&mut model);
        check_length(render::model(&model, look.view).len(), look.max_bytes, IsLeast::Yes)?;
        let state = State::find(&model, &limits(&model)).map_err(|err| undecided("it", err))?;
        if !matches!(state.status, Status::Infeasible) {
            return Err(Unusable::Feasible { status: state.name() });
        }
        let Look { view, show_iis, max_bytes } = look;
        let (family, undo) = (String::new(), Vec::new());
        let problem = Problem { family, view, show_iis, broken: model, base: None, undo };
        Target::new(&problem, None).map_err(|err| undecided("its least repair", err))?;
        let statement = statement_of(&problem, &state);
        check_length(statement.len(), max_bytes, IsLeast::No)?;
        Ok(Self { problem, statement, iis: state.iis.len() })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsLeast {
    Yes,
    No,
}

fn check_length(bytes: usize, limit: usize, least: IsLeast) -> Result<(), Unusable> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Unusable::TooLong { bytes, is_least: least == IsLeast::Yes, limit })
}

fn undecided(what: &'static str, source: SolverError) -> Unusable {
    match source {
        SolverError::TooLarge { .. } => Unusable::TooLarge { what, source },
        source => Unusable::Undecided { what, source },
    }
}

/// Gives rows and variables names that actions can name, each once.
fn plain_names(model: &mut Model) {
    rename(model.rows.iter_mut().map(|row| &mut row.name).collect());
    rename(model.variables.iter_mut().map(|variable| &mut variable.name).collect());
}

/// Names that are plain already keep theirs, whatever the order.
fn rename(names: Vec<&mut String>) {
    let mut taken: HashSet<String> =
        names.iter().filter(|name| plain(name) == ***name).map(|name| (**name).clone()).collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for name in names {
        let wanted = plain(name);
        if wanted == *name {
            continue;
        }
        let mut free = wanted.clone();
        while !taken.insert(free.clone()) {
            let number = numbers.entry(wanted.clone()).or_insert(1);
            *number += 1;
            free = format!("{wanted}_{number}");
        }
        *name = free;
    }
}

/// The name as actions and diagnoses can name it.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
    let mut text: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if text.ends_with('.') {
        text.pop();
        text.push('_');
    }
    // `by` and `to` stand between arguments; a name such as `3` would read as a number.
    let begins = text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if !begins || ["by", "to"].contains(&text.as_str()) {
        text.insert(0, '_');
    }
    text
}
