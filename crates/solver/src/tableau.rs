//! The equations of a model, each solved for a variable of its own, in whole numbers.
//!
//! A row `a·x` is a variable itself, so that the rows are equations `Σ c_k v_k = 0` over bounded variables: first
//! those of the model, then one for each row.

use num_bigint::BigInt;

use crate::elimination::{Scaled, SparseRow, combine, count_in, count_out, entry};
use crate::view::{RowView, View};
use crate::whole::{Dyadic, Whole};

/// What a tableau may cost, the same on every machine.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// The most words of 64 bits that the equations may have at one time: what bounds the memory.
    pub(crate) words: u64,
    /// The most words that all exchanges read and write together: what bounds the time.
    pub(crate) work: u64,
}

impl Budget {
    /// Ten seconds or so, and below a gigabyte.
    pub(crate) const USUAL: Self = Self { words: 4_000_000, work: 100_000_000 };
}

/// `Σ c_k v_k = 0`.
pub(crate) struct Equation {
    /// The variable for which it is solved, which no other equation has.
    pub(crate) basic: usize,
    pub(crate) terms: SparseRow<BigInt>,
}

/// Equations with their basic variables.
pub(crate) struct Tableau {
    pub(crate) equations: Vec<Equation>,
    /// The costs of the variables that are not basic, up to a positive factor.
    pub(crate) costs: SparseRow<BigInt>,
    /// In how many equations each variable is.
    counts: Vec<usize>,
    words: u64,
    work: u64,
    budget: Budget,
}

impl Tableau {
    /// The rows of a view, solved for variables of low rank where there is a choice; `None` if that is too much.
    pub(crate) fn of(view: &View<'_>, ranks: &[Rank], budget: Budget) -> Option<Self> {
        let rows = view.rows.iter().enumerate().filter(|(_, row)| is_bounded(row));
        let equations = rows.map(|(index, row)| {
            let basic = view.columns.len() + index;
            Equation { basic, terms: whole_terms(row, basic) }
        });
        let mut tableau = Self {
            equations: equations.collect(),
            costs: Vec::new(),
            counts: vec![0; ranks.len()],
            words: 0,
            work: 0,
            budget,
        };
        for equation in &tableau.equations {
            count_in(&mut tableau.counts, &equation.terms);
            tableau.words += words(&equation.terms);
        }
        tableau.solve(ranks)?;
        Some(tableau)
    }

    /// In how many equations a variable is.
    pub(crate) fn count(&self, variable: usize) -> usize {
        self.counts[variable]
    }

    /// Exchanges basic variables for others of lower rank, the shortest equations first.
    fn solve(&mut self, ranks: &[Rank]) -> Option<()> {
        let mut open: Vec<usize> = (0..self.equations.len()).collect();
        while let Some(place) =
            (0..open.len()).min_by_key(|place| self.equations[open[*place]].terms.len())
        {
            let index = open.swap_remove(place);
            let Equation { basic, terms } = &self.equations[index];
            let variables = terms.iter().map(|(variable, _)| *variable);
            let best = variables.min_by_key(|variable| (ranks[*variable], self.counts[*variable]));
            if let Some(best) = best.filter(|best| ranks[*best] < ranks[*basic]) {
                self.exchange(index, best)?;
            }
        }
        Some(())
    }

    /// Makes a variable the basic one of an equation; `None` if that is too much work.
    pub(crate) fn exchange(&mut self, index: usize, entering: usize) -> Option<()> {
        self.equations[index].basic = entering;
        let pivot = std::mem::take(&mut self.equations[index].terms);
        for other in 0..self.equations.len() {
            if let Some(terms) = without(&self.equations[other].terms, entering, &pivot)? {
                self.replace(other, terms)?;
            }
        }
        if let Some(costs) = without(&self.costs, entering, &pivot)? {
            self.costs = costs;
        }
        self.equations[index].terms = pivot;
        // A step reads all equations to find the next.
        self.work += self.words;
        (self.work <= self.budget.work).then_some(())
    }

    fn replace(&mut self, index: usize, terms: SparseRow<BigInt>) -> Option<()> {
        let old = std::mem::replace(&mut self.equations[index].terms, terms);
        let new = &self.equations[index].terms;
        count_out(&mut self.counts, &old);
        count_in(&mut self.counts, new);
        self.words = self.words + words(new) - words(&old);
        self.work += words(new);
        (self.words <= self.budget.words && self.work <= self.budget.work).then_some(())
    }
}

/// How willingly an equation is solved for a variable, the first the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Without bounds.
    Free,
    /// With bounds.
    Bounded,
    /// Better at rest on a bound.
    Resting,
    /// With one value only.
    Fixed,
}

/// A positive multiple of a row without this variable, by means of another; `Some(None)` if it has none.
#[expect(clippy::option_option, reason = "too much work, nothing to do, or a row")]
fn without(
    row: &SparseRow<BigInt>,
    variable: usize,
    pivot: &SparseRow<BigInt>,
) -> Option<Option<SparseRow<BigInt>>> {
    let Some(own) = entry(row, variable) else { return Some(None) };
    let head = entry(pivot, variable)?;
    let divisor = head.gcd_with(&own);
    let (mut keep, mut subtract) = (head.over(&divisor), own.over(&divisor).negated());
    if !keep.is_positive() {
        (keep, subtract) = (keep.negated(), subtract.negated());
    }
    combine(&Scaled { row, by: &keep }, &Scaled { row: pivot, by: &subtract }).map(Some)
}

fn words(row: &SparseRow<BigInt>) -> u64 {
    row.iter().map(|(_, value)| value.bits() / 64 + 1).sum()
}

fn is_bounded(row: &RowView<'_>) -> bool {
    let is_empty = row.terms.iter().all(|term| term.coefficient == 0.0);
    !is_empty && (row.lower.is_finite() || row.upper.is_finite())
}

/// `a·x - v = 0` times a power of two, with the row's own variable `v`.
fn whole_terms(row: &RowView<'_>, own: usize) -> SparseRow<BigInt> {
    let terms = row.terms.iter().filter(|term| term.coefficient != 0.0);
    let mut terms: Vec<(usize, Dyadic)> =
        terms.map(|term| (term.variable, Dyadic::of(term.coefficient))).collect();
    terms.push((own, Dyadic::of(-1.0)));
    terms.sort_by_key(|(variable, _)| *variable);
    let exponent = terms.iter().map(|(_, number)| number.exponent).min().unwrap_or(0);
    let whole = |number: Dyadic| number.scaled(exponent).expect("the least exponent");
    terms.into_iter().map(|(variable, number)| (variable, whole(number))).collect()
}
