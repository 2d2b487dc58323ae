//! A model as the algorithms see it: numbers without names, of which rows and bounds can be taken out.
//!
//! The bounds of integer variables are rounded inwards here, once: `x >= 0.5` is `x >= 1` for an integer `x`.

use crate::model::{Kind, Model, Objective, Term};
use crate::verdict::Member;

/// A model without names.
#[derive(Clone)]
pub(crate) struct View<'a> {
    pub(crate) objective: Objective,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<RowView<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) cost: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy)]
pub(crate) struct RowView<'a> {
    pub(crate) terms: &'a [Term],
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl<'a> View<'a> {
    pub(crate) fn of(model: &'a Model) -> Self {
        let columns = model.variables.iter().map(|variable| {
            let (lower, upper) = match variable.kind {
                Kind::Continuous => (variable.lower, variable.upper),
                Kind::Integer => (variable.lower.ceil(), variable.upper.floor()),
            };
            Column { cost: variable.cost, lower, upper, kind: variable.kind }
        });
        let rows = model.rows.iter().map(|row| RowView {
            terms: &row.terms,
            lower: row.lower,
            upper: row.upper,
        });
        Self { objective: model.objective, columns: columns.collect(), rows: rows.collect() }
    }

    /// The same rows and bounds over continuous variables.
    pub(crate) fn relaxed(&self) -> Self {
        let mut view = self.clone();
        view.columns.iter_mut().for_each(|column| column.kind = Kind::Continuous);
        view
    }

    /// The same rows and bounds without an objective: whether there is a solution at all.
    pub(crate) fn without_objective(&self) -> Self {
        let mut view = self.clone();
        view.objective = Objective::Minimize;
        view.columns.iter_mut().for_each(|column| column.cost = 0.0);
        view
    }

    pub(crate) fn has_integers(&self) -> bool {
        self.columns.iter().any(|column| column.kind == Kind::Integer)
    }

    /// Takes out a row or a bound.
    pub(crate) fn remove(&mut self, member: Member) {
        match member {
            Member::Row(row) => {
                self.rows[row].lower = f64::NEG_INFINITY;
                self.rows[row].upper = f64::INFINITY;
            }
            Member::LowerBound(variable) => self.columns[variable].lower = f64::NEG_INFINITY,
            Member::UpperBound(variable) => self.columns[variable].upper = f64::INFINITY,
        }
    }

    /// The view with these members alone.
    pub(crate) fn only(&self, members: &[Member]) -> Self {
        let mut view = self.clone();
        let keep: std::collections::HashSet<Member> = members.iter().copied().collect();
        for member in self.members().into_iter().filter(|member| !keep.contains(member)) {
            view.remove(member);
        }
        view
    }

    /// Every row that is not free and every finite bound.
    pub(crate) fn members(&self) -> Vec<Member> {
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(|(_, row)| row.lower.is_finite() || row.upper.is_finite());
        let mut members: Vec<Member> = rows.map(|(index, _)| Member::Row(index)).collect();
        for (index, column) in self.columns.iter().enumerate() {
            if column.lower.is_finite() {
                members.push(Member::LowerBound(index));
            }
            if column.upper.is_finite() {
                members.push(Member::UpperBound(index));
            }
        }
        members
    }
}
