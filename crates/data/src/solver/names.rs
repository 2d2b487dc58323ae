//! Names of rows and variables, drawn after everything was injected, so that none of them tells.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use whetstone_env::solver::Action;
use whetstone_solver::Model;

use super::draft::role;

/// How rows and variables are named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// By their role: `demand2`, `make1`.
    #[default]
    Words,
    /// `c1`, `c2`; `x1`, `x2`.
    Plain,
}

/// New names for all that a broken model has.
pub(super) struct Renaming {
    rows: HashMap<String, String>,
    variables: HashMap<String, String>,
}

impl Renaming {
    /// The names of a broken model, in the order of its rows and variables.
    pub(super) fn of(broken: &Model, names: Names) -> Self {
        let rows = broken.rows.iter().map(|row| row.name.as_str());
        let variables = broken.variables.iter().map(|variable| variable.name.as_str());
        Self { rows: named(rows, names, "c"), variables: named(variables, names, "x") }
    }

    pub(super) fn model(&self, model: &mut Model) {
        model.rows.iter_mut().for_each(|row| row.name = self.rows[&row.name].clone());
        let variables = model.variables.iter_mut();
        variables.for_each(|variable| variable.name = self.variables[&variable.name].clone());
    }

    pub(super) fn action(&self, action: &mut Action) {
        match action {
            Action::CheckSlack { row }
            | Action::RelaxConstraint { row, .. }
            | Action::DropConstraint { row }
            | Action::UpdateRhs { row, .. }
            | Action::FlipSense { row } => *row = self.rows[row.as_str()].clone(),
            Action::SetCoef { row, variable, .. } => {
                *row = self.rows[row.as_str()].clone();
                *variable = self.variables[variable.as_str()].clone();
            }
            Action::ChangeBound { variable, .. } | Action::SetType { variable, .. } => {
                *variable = self.variables[variable.as_str()].clone();
            }
            Action::GetIis | Action::Reset | Action::Submit => {}
        }
    }
}

fn named<'a>(
    old: impl Iterator<Item = &'a str>,
    names: Names,
    letter: &str,
) -> HashMap<String, String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let new = |name: &'a str| {
        let word = match names {
            Names::Words => role(name),
            Names::Plain => letter,
        };
        let count = counts.entry(if names == Names::Words { role(name) } else { "" }).or_default();
        *count += 1;
        (name.to_owned(), format!("{word}{count}"))
    };
    old.map(new).collect()
}
