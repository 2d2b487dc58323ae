//! The search for injections that make a base model infeasible, several of them without a common row.
//!
//! Most injections leave a model feasible, and a solve is what costs time. So an injection is first tried on the
//! solutions that are known already, of the base model and of earlier tries; and each conflict is sought among the
//! rows that no earlier one uses, which makes every conflict that is found one of its own.

use std::collections::BTreeSet;

use whetstone_env::solver::{Action, limits};
use whetstone_solver::{Existence, Infeasibility, Member, Model, Row, find_solution};

use super::inject::inject;
use super::injection_kind::InjectionKind;
use super::options::SolverOptions;
use crate::random::Random;

/// Tries of one kind of injection before another kind is drawn.
const TRIES: usize = 8;
/// Kinds that are drawn for one conflict before the whole model is drawn again.
const KINDS: usize = 8;
/// Solves for one conflict before the whole model is drawn again.
const SOLVES: usize = 12;
/// By how much a known solution may miss a row or bound.
const TOLERANCE: f64 = 1e-9;

/// A base model with the conflicts that were injected into it.
pub(super) struct Conflicts<'a> {
    options: &'a SolverOptions,
    /// The base model without the rows that conflicts use.
    rest: Model,
    broken: Model,
    undo: Vec<Action>,
    /// The names of variables with an injected bound.
    bounded: BTreeSet<String>,
    /// Solutions of the base model, and of it with injections that left it feasible.
    solutions: Vec<Vec<f64>>,
}

impl<'a> Conflicts<'a> {
    /// A base model without conflicts, with some of its solutions.
    pub(super) fn new(base: &Model, options: &'a SolverOptions, solutions: Vec<Vec<f64>>) -> Self {
        let (rest, broken) = (base.clone(), base.clone());
        Self { options, rest, broken, undo: Vec::new(), bounded: BTreeSet::new(), solutions }
    }

    /// The model with all conflicts, and the actions that undo them.
    pub(super) fn finish(self) -> (Model, Vec<Action>) {
        (self.broken, self.undo)
    }

    /// Adds a conflict; none if the search found no injection that makes one.
    pub(super) fn add(&mut self, random: &mut Random) -> Option<()> {
        let mut solves = 0;
        for _ in 0..KINDS {
            let kind = self.options.draw_injection(random);
            for _ in 0..TRIES {
                let Some(injected) = self.inject(kind, random) else { continue };
                if solves == SOLVES {
                    return None;
                }
                solves += 1;
                match find_solution(&injected.model, &limits(&injected.model)).ok()? {
                    Existence::Solution(point) => self.solutions.push(point),
                    Existence::Infeasible(found) if self.options.takes_iis(found.members.len()) => {
                        return self.take(&injected, &found, random);
                    }
                    Existence::Infeasible(_) => {}
                }
            }
        }
        None
    }

    /// Draws an injection among the rows that are left; none if it is plain that it will not do.
    fn inject(&self, kind: InjectionKind, random: &mut Random) -> Option<Injected> {
        let mut model = self.rest.clone();
        let undo = inject(&mut model, kind, self.options, random)?;
        let is_taken = matches!(&undo, Action::ChangeBound { variable, .. } if self.bounded.contains(variable));
        let is_in_vain = is_taken
            || self.solutions.iter().any(|point| satisfies(&model, point))
            || !self.options.takes_iis(2) && has_pair(&model);
        (!is_in_vain).then_some(Injected { model, undo })
    }

    /// Brings an injection into the broken model, and takes the rows of its conflict from those that are left.
    fn take(
        &mut self,
        injected: &Injected,
        found: &Infeasibility,
        random: &mut Random,
    ) -> Option<()> {
        transfer(&self.rest, &injected.model, &mut self.broken, random)?;
        for member in &found.members {
            if let Member::Row(at) = *member {
                let name = &injected.model.rows[at].name;
                self.rest.rows.retain(|row| row.name != *name);
            }
        }
        if let Action::ChangeBound { variable, .. } = &injected.undo {
            self.bounded.insert(variable.clone());
        }
        self.undo.push(injected.undo.clone());
        Some(())
    }
}

/// The rows that are left with one injection, and the action that undoes it.
struct Injected {
    model: Model,
    undo: Action,
}

/// Whether a point is within rounding of every row and bound.
fn satisfies(model: &Model, point: &[f64]) -> bool {
    let within = |value: f64, lower: f64, upper: f64| {
        lower - TOLERANCE <= value && value <= upper + TOLERANCE
    };
    let at = |row: &Row| row.terms.iter().map(|term| term.coefficient * point[term.variable]).sum();
    model.rows.iter().all(|row| within(at(row), row.lower, row.upper))
        && model
            .variables
            .iter()
            .zip(point)
            .all(|(variable, value)| within(*value, variable.lower, variable.upper))
}

/// Whether two bounds or rows of one variable contradict each other.
fn has_pair(model: &Model) -> bool {
    let mut limits: Vec<_> =
        model.variables.iter().map(|variable| (variable.lower, variable.upper)).collect();
    for row in &model.rows {
        if let [term] = row.terms.as_slice() {
            let ends = [row.lower / term.coefficient, row.upper / term.coefficient];
            let limit = &mut limits[term.variable];
            *limit = (limit.0.max(ends[0].min(ends[1])), limit.1.min(ends[0].max(ends[1])));
        }
    }
    limits.iter().any(|(lower, upper)| lower > upper)
}

/// Brings the one difference between two models into a third; none if two injected rows have one name.
fn transfer(from: &Model, to: &Model, broken: &mut Model, random: &mut Random) -> Option<()> {
    for row in &to.rows {
        let before = from.rows.iter().find(|other| other.name == row.name);
        match (before, broken.row(&row.name)) {
            (None, None) => {
                let at = random.below(broken.rows.len() + 1);
                broken.rows.insert(at, row.clone());
            }
            (None, Some(_)) => return None,
            (Some(before), Some(at)) if before != row => broken.rows[at] = row.clone(),
            _ => {}
        }
    }
    for (at, variable) in to.variables.iter().enumerate() {
        if from.variables[at] != *variable {
            broken.variables[at] = variable.clone();
        }
    }
    Some(())
}
