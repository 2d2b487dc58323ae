//! A model as the solver finds it: its status, and the IIS of an infeasible one.

use whetstone_core::judgement::Infrastructure;
use whetstone_solver::{Infeasibility, Limits, Model, Optimum, SolverError, Verdict, solve};

use super::limits::limits;
use super::render;
use crate::environment::EnvError;

/// Members of an IIS that are shown.
const SHOWN: usize = 64;

/// What the solver found.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) status: Status,
    /// The names of the IIS's members; empty unless it is infeasible.
    pub(super) iis: Vec<String>,
    /// Rows of the model.
    pub(super) rows: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Status {
    Optimal(Optimum),
    Infeasible,
    Unbounded,
}

impl State {
    /// Solves a model of the task. A solver that fails is infrastructure.
    pub(super) fn of(model: &Model) -> Result<Self, EnvError> {
        Self::find(model, &limits(model)).map_err(|err| broken(&err))
    }

    /// Solves a model.
    pub(super) fn find(model: &Model, limits: &Limits) -> Result<Self, SolverError> {
        let verdict = solve(model, limits)?;
        let rows = model.rows.len();
        Ok(match verdict {
            Verdict::Optimal(optimum) => {
                Self { status: Status::Optimal(optimum), iis: Vec::new(), rows }
            }
            Verdict::Unbounded(_) => Self { status: Status::Unbounded, iis: Vec::new(), rows },
            Verdict::Infeasible(found) => Self::infeasible(model, &found),
        })
    }

    /// An infeasible model, with the IIS that was found.
    pub(super) fn infeasible(model: &Model, found: &Infeasibility) -> Self {
        let names = found.members.iter().map(|&member| render::member(model, member));
        Self { status: Status::Infeasible, iis: names.collect(), rows: model.rows.len() }
    }

    pub(super) fn optimum(&self) -> Option<&Optimum> {
        match &self.status {
            Status::Optimal(optimum) => Some(optimum),
            Status::Infeasible | Status::Unbounded => None,
        }
    }

    /// `OPTIMAL`, `INFEASIBLE` or `UNBOUNDED`.
    pub(super) fn name(&self) -> &'static str {
        match self.status {
            Status::Optimal(_) => "OPTIMAL",
            Status::Infeasible => "INFEASIBLE",
            Status::Unbounded => "UNBOUNDED",
        }
    }

    /// What the model is told: `Status: INFEASIBLE` and, if it may see it, `IIS: [c1, c2]`.
    pub(super) fn told(&self, show_iis: bool) -> String {
        let status = format!("Status: {}", self.name());
        if show_iis && !self.iis.is_empty() {
            return format!("{status}\n{}", self.iis_line());
        }
        status
    }

    /// `IIS: [c1, c2]`.
    pub(super) fn iis_line(&self) -> String {
        format!("IIS: [{}]", self.shown())
    }

    fn shown(&self) -> String {
        let mut shown = self.iis.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if self.iis.len() > SHOWN {
            shown.push_str(", …");
        }
        shown
    }

    /// The state of a transition: status, rows, and the size of the IIS with its members.
    pub(super) fn summary(&self) -> String {
        let status = format!("Status: {}\nRows: {}", self.name(), self.rows);
        if self.iis.is_empty() {
            return status;
        }
        format!("{status}\nIIS: {} [{}]", self.iis.len(), self.shown())
    }
}

/// A solver that fails, or whose answer cannot be certified.
pub(super) fn broken(err: &SolverError) -> EnvError {
    EnvError::Judge(Infrastructure(format!("the solver gave no verdict: {err}")))
}
