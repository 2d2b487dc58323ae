//! The simplex method on a dense tableau, for small programs over continuous variables.
//!
//! A row `L <= a·x <= U` is a variable of its own, `v = a·x`, so that all that limits anything are bounds of
//! variables. At first the rows are basic; a nonbasic variable rests on one of its bounds, or at 0 without any. The
//! first phase minimizes the sum of violations, the second the costs. The entering variable is the one with the
//! steepest slope, and the one with the least index (Bland's rule) after steps that led nowhere, against cycles.
//!
//! Like every answer of [`crate::simplex`] the answers here are not taken on trust. Whatever is doubtful, small
//! pivots, an end that does not satisfy the rows, too many steps, is no answer, and microlp is asked instead.

mod phase;
mod table;
#[cfg(test)]
mod tests;

use crate::simplex::Answer;
use crate::view::View;
use phase::{End, Goal};
use table::Table;

/// The most entries of a tableau: beyond them a sparse method is faster.
const MAX_ENTRIES: usize = 1 << 16;

/// The answer to a view without integers; `None` if it is too large or the answer would be doubtful.
pub(crate) fn run(view: &View<'_>, tolerance: f64) -> Option<Answer> {
    let entries = view.rows.len().checked_mul(view.columns.len())?;
    if entries > MAX_ENTRIES || view.has_integers() {
        return None;
    }
    let mut table = Table::of(view, tolerance);
    table.find_solution()?;
    if table.violation() > tolerance {
        return table.is_clearly_violated().then_some(Answer::Infeasible);
    }
    if let End::Unbounded = table.phase(Goal::Cheapest)? {
        return Some(Answer::Unbounded);
    }
    let values = table.values(view.columns.len());
    satisfies(view, &values, tolerance).then_some(Answer::Point(values))
}

/// Whether values satisfy all rows and bounds within a tolerance that grows with what is added up.
fn satisfies(view: &View<'_>, values: &[f64], tolerance: f64) -> bool {
    let holds = |value: f64, limits: [f64; 2], size: f64| {
        let slack = tolerance * (1.0 + size);
        value >= limits[0] - slack && value <= limits[1] + slack
    };
    let rows = view.rows.iter().all(|row| {
        let products = row.terms.iter().map(|term| term.coefficient * values[term.variable]);
        let sums =
            products.fold([0.0, 0.0], |[sum, size], product| [sum + product, size + product.abs()]);
        holds(sums[0], [row.lower, row.upper], sums[1])
    });
    let columns = view.columns.iter().zip(values);
    rows && columns
        .into_iter()
        .all(|(column, value)| holds(*value, [column.lower, column.upper], 0.0))
}
