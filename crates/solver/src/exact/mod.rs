//! The dual simplex method in whole numbers, for conflicts that floating point does not pin down.
//!
//! Each equation of the [`Tableau`] has a basic variable; the other variables rest on one of their limits. A basic
//! variable beyond a limit is exchanged for one that can bring it back, the one with the least quotient of cost and
//! coefficient. An equation whose sum is above 0, or below, wherever within their limits its variables are, is a
//! Farkas certificate: the limits are the sides, the coefficients their weights. Between variables that are not
//! basic there is no equation, so that this one is the only one among its variables: the certificate is irreducible.
//!
//! What floating point knows decides how soon the end comes: sides with weight are rested on, and their weights are
//! the costs, so that the start is close to the optimum of the program in [`crate::farkas`]. Any costs are valid
//! that keep a variable on its limit; a tie of quotients could make the method cycle, which the bound on exchanges
//! ends.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use crate::bounds::{Bounds, member, variable};
use crate::certificate::Weighted;
use crate::elimination::{SparseRow, entry};
use crate::tableau::{Budget, Equation, Rank, Tableau};
use crate::verdict::{Multiplier, Sense};
use crate::view::View;
use crate::whole::{Whole, ratio, reduce};

/// The most exchanges of one search.
const MAX_EXCHANGES: usize = 1_000;

/// The largest cost: weights are rounded to whole shares of it.
const LARGEST_COST: f64 = 1e12;

/// What a search in whole numbers found.
pub(crate) enum Outcome {
    /// The multipliers of an irreducible conflict.
    Conflict(Vec<Multiplier>),
    /// There is a point within all limits.
    Feasible,
    /// The model or the search is too large.
    OutOfBudget,
}

/// Searches a conflict of the rows and bounds over continuous variables, from these weights in floating point.
pub(crate) fn find(view: &View<'_>, support: &[Weighted<'_>], budget: Budget) -> Outcome {
    Search::start(view, support, budget).and_then(Search::run).unwrap_or(Outcome::OutOfBudget)
}

struct Search<'a, 'b> {
    view: &'b View<'a>,
    tableau: Tableau,
    bounds: Vec<Bounds>,
    /// The limit on which each variable rests while it is not basic; at 0 where it has none.
    rests: Vec<Option<Sense>>,
}

/// A basic variable beyond a limit.
struct Violation {
    equation: usize,
    limit: Sense,
    size: f64,
}

/// An equation that no values within their limits fulfil.
struct Conflict {
    equation: usize,
    /// The limits of the positive terms; the negative ones take the opposite.
    positive: Sense,
}

impl<'a, 'b> Search<'a, 'b> {
    fn start(view: &'b View<'a>, support: &[Weighted<'_>], budget: Budget) -> Option<Self> {
        let bounds = Bounds::all(view);
        let mut rests: Vec<Option<Sense>> = bounds.iter().map(Bounds::rest).collect();
        let mut ranks: Vec<Rank> = bounds.iter().map(Bounds::rank).collect();
        let mut weights = BTreeMap::new();
        for Weighted { side, weight } in support {
            let variable = variable(view, side.member);
            rests[variable] = Some(side.sense);
            ranks[variable] = ranks[variable].max(Rank::Resting);
            weights.insert(variable, *weight);
        }
        let tableau = Tableau::of(view, &ranks, budget)?;
        let mut search = Self { view, tableau, bounds, rests };
        search.tableau.costs = search.costs(&weights);
        Some(search)
    }

    /// Costs that keep each variable on its limit: its weight, or a little.
    fn costs(&self, weights: &BTreeMap<usize, f64>) -> SparseRow<BigInt> {
        let largest = weights.values().copied().fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "at most the largest cost")]
        let whole = |weight: &f64| (weight / largest * LARGEST_COST).round().max(1.0) as i64;
        let cost = |variable: usize| BigInt::from(weights.get(&variable).map_or(1, whole));
        let equations = self.tableau.equations.iter();
        let basic: BTreeSet<usize> = equations.map(|equation| equation.basic).collect();
        let others = (0..self.bounds.len())
            .filter(|variable| !basic.contains(variable) && !self.bounds[*variable].is_fixed());
        let costs = others.filter_map(|variable| match self.rests[variable]? {
            Sense::Lower => Some((variable, cost(variable))),
            Sense::Upper => Some((variable, -cost(variable))),
        });
        costs.collect()
    }

    /// `None` if the budget is spent.
    fn run(mut self) -> Option<Outcome> {
        for _ in 0..MAX_EXCHANGES {
            if let Some(conflict) = self.conflict() {
                return Some(Outcome::Conflict(self.multipliers(&conflict)));
            }
            let Some(violation) = self.worst() else { return Some(Outcome::Feasible) };
            // Without one the equation would be a conflict.
            let entering = self.entering(&violation)?;
            let leaving = self.tableau.equations[violation.equation].basic;
            self.rests[leaving] = Some(violation.limit);
            self.tableau.exchange(violation.equation, entering)?;
        }
        None
    }

    fn conflict(&self) -> Option<Conflict> {
        (0..self.tableau.equations.len()).find_map(|equation| {
            let terms = &self.tableau.equations[equation].terms;
            let is_above = self.extreme(terms, Sense::Lower).is_some_and(|sum| sum.is_positive());
            let is_below = self.extreme(terms, Sense::Upper).is_some_and(|sum| is_negative(&sum));
            match () {
                () if is_above => Some(Conflict { equation, positive: Sense::Lower }),
                () if is_below => Some(Conflict { equation, positive: Sense::Upper }),
                () => None,
            }
        })
    }

    /// The least or the greatest sum within the limits; `None` if that is infinite.
    fn extreme(&self, terms: &SparseRow<BigInt>, positive: Sense) -> Option<BigInt> {
        let limits = terms.iter().map(|(variable, value)| {
            let limit = self.bounds[*variable].at(side(value, positive))?;
            Some((value, limit))
        });
        // Most are infinite, which is told before any product is made.
        let limits: Vec<(&BigInt, &BigInt)> = limits.collect::<Option<_>>()?;
        Some(limits.into_iter().map(|(value, limit)| value * limit).sum())
    }

    /// The basic variable farthest beyond a limit; `None` if all are within theirs.
    fn worst(&self) -> Option<Violation> {
        let equations = 0..self.tableau.equations.len();
        let found = equations.filter_map(|equation| self.violation(equation));
        // The first of equal ones.
        found.reduce(|worst, next| if next.size > worst.size { next } else { worst })
    }

    fn violation(&self, index: usize) -> Option<Violation> {
        let equation = &self.tableau.equations[index];
        let head = head(equation)?;
        // Terms at the limits of their variables, of which those of the basic variable and of ones at 0 have none.
        let terms = equation.terms.iter().filter(|(variable, _)| *variable != equation.basic);
        let products = terms.filter_map(|(variable, value)| Some(value * self.resting(*variable)?));
        let rest: BigInt = products.sum();
        [Sense::Lower, Sense::Upper].into_iter().find_map(|limit| {
            // With the basic variable on its limit; the sum is 0 at its value.
            let sum = head * self.bounds[equation.basic].at(limit)? + &rest;
            let is_below = !sum.is_zero() && sum.is_positive() == head.is_positive();
            let is_above = !sum.is_zero() && !is_below;
            let is_beyond = if limit == Sense::Lower { is_below } else { is_above };
            let size = || ratio(&sum, head).abs();
            is_beyond.then(|| Violation { equation: index, limit, size: size() })
        })
    }

    /// The limit that a variable rests on; `None` for one at 0.
    fn resting(&self, variable: usize) -> Option<&BigInt> {
        self.bounds[variable].at(self.rests[variable]?)
    }

    /// The variable that brings the basic one back: the least quotient of cost and coefficient, then the fewest
    /// equations.
    fn entering(&self, violation: &Violation) -> Option<usize> {
        let equation = &self.tableau.equations[violation.equation];
        let head = head(equation)?;
        let terms = equation.terms.iter().filter(|(variable, _)| *variable != equation.basic);
        let helpful = terms.filter(|(variable, value)| {
            // Of equal signs, one rises as the other falls.
            let is_equal = value.is_positive() == head.is_positive();
            let end = if is_equal { violation.limit } else { violation.limit.opposite() };
            self.rests[*variable] != Some(end) && !self.bounds[*variable].is_fixed()
        });
        let quotients = helpful.map(|(variable, value)| {
            let cost = entry(&self.tableau.costs, *variable).unwrap_or_default();
            Quotient { variable: *variable, cost: magnitude(&cost), value: magnitude(value) }
        });
        let count = |quotient: &Quotient| self.tableau.count(quotient.variable);
        let order = |a: &Quotient, b: &Quotient| a.cmp(b).then_with(|| count(a).cmp(&count(b)));
        quotients.min_by(order).map(|quotient| quotient.variable)
    }

    fn multipliers(&self, conflict: &Conflict) -> Vec<Multiplier> {
        let terms = &self.tableau.equations[conflict.equation].terms;
        let mut weights: Vec<BigInt> = terms.iter().map(|(_, value)| magnitude(value)).collect();
        reduce(&mut weights);
        let entries = terms.iter().zip(weights);
        entries
            .map(|((variable, value), weight)| {
                let sense = side(value, conflict.positive);
                Multiplier { member: member(self.view, *variable, sense), sense, weight }
            })
            .collect()
    }
}

/// The cost of a variable by its coefficient, both not negative.
struct Quotient {
    variable: usize,
    cost: BigInt,
    value: BigInt,
}

impl Quotient {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.cost * &other.value).cmp(&(&other.cost * &self.value))
    }
}

/// The coefficient of the basic variable.
fn head(equation: &Equation) -> Option<&BigInt> {
    let place = equation.terms.binary_search_by_key(&equation.basic, |(variable, _)| *variable);
    place.ok().map(|place| &equation.terms[place].1)
}

/// The limit that a term takes where the positive ones take this.
fn side(value: &BigInt, positive: Sense) -> Sense {
    if value.is_positive() { positive } else { positive.opposite() }
}

fn magnitude(value: &BigInt) -> BigInt {
    value.magnitude().clone().into()
}

fn is_negative(value: &BigInt) -> bool {
    Whole::sign(value).is_lt()
}
