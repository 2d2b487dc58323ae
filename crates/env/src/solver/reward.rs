//! The reward of an episode, in [0, 1].
//!
//! ```text
//! solved:    R = 0.97^max(0, steps - s) · (0.35 + 0.65 K) - 0.03 · invalid,  at least 0.2
//! unsolved:  R = 0.05 · share of valid actions
//! K = 0.4 P_in + 0.25 P_out + kept · (0.2 P_obj + 0.15 P_min),   kept = (0.4 P_in + 0.25 P_out) / 0.65
//! ```
//!
//! | term | against the hidden base model |
//! |---|---|
//! | `base_rows_kept` `P_in` | the repaired optimum satisfies the base model: exp(-v / 0.05), v the sum of violations by the scale of each row |
//! | `base_optimum_kept` `P_out` | 1 if the base optimum is feasible in the repaired model |
//! | `objective_kept` `P_obj` | max(0, 1 - abs(z - z0) / (abs(z0) + 1)) |
//! | `small_repair` `P_min` | cost of undoing the injections / cost of the edits made, at most 1 |
//!
//! A similar objective or a cheap repair counts only as far as the base model is kept: paid apart, they made dropping
//! any row of the IIS worth more than half of the reward (`docs/adr/0019-solver-reward.md`).
//!
//! s is the number of injections. "OPTIMAL" alone is worth little, because dropping any row of the IIS often reaches
//! it. Nothing is paid for printing the IIS, nor for a smaller one: the size of an IIS is not monotone.
//! A model that was brought without a base has K = `P_min`, measured against the elastic model.

use std::collections::BTreeMap;

use whetstone_core::reward::{Reward, Term as RewardTerm};
use whetstone_solver::{Kind, Model, Optimum, SolverError};

use super::limits::limits;
use super::problem::Problem;
use super::{edit, elastic};

/// The least that a solved episode is paid. No other episode can be paid as much.
pub const SOLVED_FLOOR: f64 = 0.2;
/// What an unsolved episode is paid at most.
const UNSOLVED: f64 = 0.05;
/// What reaching OPTIMAL alone is worth.
const OPTIMAL: f64 = 0.35;
/// The price of an invalid action.
const INVALID: f64 = 0.03;
/// More than the rounding error of a sum of terms, which must not end below the floor.
const ROUNDING: f64 = 1e-12;
/// What is left of the pay after each step more than needed.
const PER_STEP: f64 = 0.97;
/// The sum of violations, by row scale, at which `exp` has fallen to 1/e.
const VIOLATION: f64 = 0.05;
/// How far a point may be off a limit, by the limit's scale.
const TOLERANCE: f64 = 1e-6;

/// What an episode did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Done {
    /// Replies.
    pub(super) steps: usize,
    /// Replies without a valid action.
    pub(super) invalid: usize,
}

/// How much of the base model a repair keeps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Kept {
    /// The four parts, each in [0, 1].
    pub(super) rows: f64,
    pub(super) optimum: f64,
    pub(super) objective: f64,
    pub(super) small: f64,
    /// Whether there is a base model to compare with.
    pub(super) has_base: bool,
}

/// What a problem's repairs are compared with.
#[derive(Debug, Clone)]
pub(super) struct Target {
    base: Option<(Model, Optimum)>,
    /// The cost of the reference repair.
    cost: f64,
    /// Steps that the reference repair takes.
    pub(super) steps: usize,
}

impl Target {
    /// `base` is the base model with its optimum.
    pub(super) fn new(
        problem: &Problem,
        base: Option<(Model, Optimum)>,
    ) -> Result<Self, SolverError> {
        let mut model = problem.broken.clone();
        let undone = problem.undo.iter().map(|action| edit::apply(&mut model, action));
        // The problem was checked: every action of `undo` applies.
        let undone: f64 = undone.filter_map(Result::ok).sum();
        let cost = if base.is_some() {
            undone
        } else {
            elastic::least_cost(&problem.broken, &limits(&problem.broken))?.unwrap_or(1.0)
        };
        Ok(Self { base, cost, steps: problem.undo.len().max(1) })
    }

    /// How much of the base model the repaired one keeps.
    pub(super) fn kept(&self, repaired: &Model, optimum: &Optimum, cost: f64) -> Kept {
        let small = if cost > 0.0 { (self.cost / cost).min(1.0) } else { 1.0 };
        let Some((base, base_optimum)) = &self.base else {
            return Kept { small, ..Kept::default() };
        };
        let violated = violation(base, &optimum.values);
        let base_stays = violation(repaired, &base_optimum.values) <= TOLERANCE;
        let (z, z0) = (optimum.objective, base_optimum.objective);
        Kept {
            rows: if violated <= TOLERANCE { 1.0 } else { (-violated / VIOLATION).exp() },
            optimum: f64::from(u8::from(base_stays)),
            objective: (1.0 - (z - z0).abs() / (z0.abs() + 1.0)).max(0.0),
            small,
            has_base: true,
        }
    }

    /// The share of the base model's rows that the repaired model still has, unchanged; none without a base model.
    pub(super) fn rows_kept(&self, repaired: &Model) -> Option<f64> {
        let (base, _) = self.base.as_ref()?;
        let kept = base.rows.iter().filter(|row| repaired.rows.contains(row)).count();
        #[expect(clippy::cast_precision_loss, reason = "rows are far below 2^53")]
        Some(kept as f64 / base.rows.len().max(1) as f64)
    }
}

/// The sum of violations of rows, bounds and integer marks at a point, each by its scale.
fn violation(model: &Model, point: &[f64]) -> f64 {
    let outside = |value: f64, lower: f64, upper: f64| (lower - value).max(value - upper).max(0.0);
    let rows = model.rows.iter().map(|row| {
        let by = outside(row.activity(point), row.lower, row.upper) / edit::scale(row);
        if by <= TOLERANCE { 0.0 } else { by }
    });
    let variables = model.variables.iter().zip(point).map(|(variable, &value)| {
        let scale = value.abs().max(1.0);
        let off = outside(value, variable.lower, variable.upper) / scale;
        let fraction =
            if variable.kind == Kind::Integer { (value - value.round()).abs() } else { 0.0 };
        let by = off.max(fraction);
        if by <= TOLERANCE { 0.0 } else { by }
    });
    rows.chain(variables).sum()
}

/// The reward of a solved episode.
pub(super) fn solved(kept: Kept, done: Done, needed: usize) -> Reward {
    let extra = done.steps.saturating_sub(needed);
    let factor = PER_STEP.powi(i32::try_from(extra).unwrap_or(i32::MAX));
    let keeping = (1.0 - OPTIMAL) * factor;
    let share = (0.4 * kept.rows + 0.25 * kept.optimum) / 0.65;
    let with_base = [0.4, 0.25, 0.2 * share, 0.15 * share];
    let weights = if kept.has_base { with_base } else { [0.0, 0.0, 0.0, 1.0] };
    let values = [kept.rows, kept.optimum, kept.objective, kept.small];
    let names = ["base_rows_kept", "base_optimum_kept", "objective_kept", "small_repair"];
    let mut terms = BTreeMap::from([term("optimal", 1.0, OPTIMAL * factor)]);
    let parts = names.into_iter().zip(values).zip(weights);
    terms.extend(parts.map(|((name, value), weight)| term(name, value, keeping * weight)));
    let paid: f64 = terms.values().map(|term| term.paid()).sum();
    let count = count(done.invalid);
    let price = if done.invalid > 0 {
        INVALID.min((paid - SOLVED_FLOOR - ROUNDING).max(0.0) / count)
    } else {
        INVALID
    };
    terms.extend([term("invalid_actions", count, -price), term("speed", factor, 0.0)]);
    Reward::new(terms, BTreeMap::new()).expect("finite terms and weights")
}

/// The reward of an episode that did not reach OPTIMAL.
pub(super) fn unsolved(done: Done) -> Reward {
    let valid = count(done.steps.saturating_sub(done.invalid)) / count(done.steps.max(1));
    let terms =
        BTreeMap::from([term("optimal", 0.0, OPTIMAL), term("valid_actions", valid, UNSOLVED)]);
    Reward::new(terms, BTreeMap::new()).expect("finite terms and weights")
}

#[expect(clippy::cast_precision_loss, reason = "replies are far below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}

fn term(name: &str, value: f64, weight: f64) -> (String, RewardTerm) {
    (name.to_owned(), RewardTerm { value, weight })
}
