//! The tableau: basic variables as sums of nonbasic ones.

use crate::model::Objective;
use crate::view::View;

/// Slopes up to this share of a typical cost count as 0.
pub(super) const SLOPE: f64 = 1e-9;
/// Basic variables as sums of nonbasic ones.
pub(super) struct Table {
    /// A row for each basic variable, `stride` apart; of each the first `nonbasic.len()` entries are in use.
    pub(super) entries: Vec<f64>,
    pub(super) stride: usize,
    /// What fixed variables that are no longer in the table add to each basic one.
    pub(super) constants: Vec<f64>,
    /// The slopes of the costs along the nonbasic variables.
    pub(super) costs: Vec<f64>,
    pub(super) basic: Vec<usize>,
    pub(super) nonbasic: Vec<usize>,
    /// The bounds and the value of each variable, those of the rows behind those of the columns.
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) value: Vec<f64>,
    pub(super) tolerance: f64,
    /// Slopes of the costs up to this count as 0.
    pub(super) flat: f64,
}

impl Table {
    pub(super) fn of(view: &View<'_>, tolerance: f64) -> Self {
        let (columns, rows) = (view.columns.len(), view.rows.len());
        let mut entries = vec![0.0; columns * rows];
        for (row, entries) in view.rows.iter().zip(entries.chunks_mut(columns.max(1))) {
            row.terms.iter().for_each(|term| entries[term.variable] += term.coefficient);
        }
        let sign = match view.objective {
            Objective::Minimize => 1.0,
            Objective::Maximize => -1.0,
        };
        let costs: Vec<f64> = view.columns.iter().map(|column| sign * column.cost).collect();
        let lower = view.columns.iter().map(|column| column.lower);
        let lower: Vec<f64> = lower.chain(view.rows.iter().map(|row| row.lower)).collect();
        let upper = view.columns.iter().map(|column| column.upper);
        let upper: Vec<f64> = upper.chain(view.rows.iter().map(|row| row.upper)).collect();
        let rest = |index: usize| 0.0_f64.max(lower[index]).min(upper[index]);
        let rest: Vec<f64> =
            (0..columns).map(|index| resting(rest(index), lower[index], upper[index])).collect();
        let value = rest.into_iter().chain(std::iter::repeat_n(0.0, rows)).collect();
        let flat = SLOPE * typical(&costs);
        let mut table = Self {
            entries,
            stride: columns,
            constants: vec![0.0; rows],
            costs,
            basic: (columns..columns + rows).collect(),
            nonbasic: (0..columns).collect(),
            lower,
            upper,
            value,
            tolerance,
            flat,
        };
        table.recompute();
        table
    }

    pub(super) fn row(&self, index: usize) -> &[f64] {
        &self.entries[index * self.stride..][..self.nonbasic.len()]
    }

    /// Computes the values of the basic variables anew.
    pub(super) fn recompute(&mut self) {
        for index in 0..self.basic.len() {
            let products = self.row(index).iter().zip(&self.nonbasic);
            let sum: f64 = products.map(|(entry, variable)| entry * self.value[*variable]).sum();
            self.value[self.basic[index]] = self.constants[index] + sum;
        }
    }

    #[expect(clippy::float_cmp, reason = "a fixed variable has the very same bound twice")]
    pub(super) fn is_fixed(&self, variable: usize) -> bool {
        self.lower[variable] == self.upper[variable]
    }

    /// How far a variable is above its upper bound, or below its lower one as a negative number.
    pub(super) fn excess(&self, variable: usize) -> f64 {
        let value = self.value[variable];
        (value - self.upper[variable]).max(0.0) + (value - self.lower[variable]).min(0.0)
    }

    /// The violation that counts: beyond the tolerance, which grows with the bound.
    pub(super) fn sign_of_violation(&self, variable: usize) -> f64 {
        let excess = self.excess(variable);
        let bound = self.value[variable] - excess;
        if excess.abs() > self.tolerance * (1.0 + bound.abs()) { excess.signum() } else { 0.0 }
    }

    /// The largest relative violation.
    pub(super) fn violation(&self) -> f64 {
        let relative = self.basic.iter().map(|variable| {
            let excess = self.excess(*variable);
            excess.abs() / (1.0 + (self.value[*variable] - excess).abs())
        });
        relative.fold(0.0, f64::max)
    }

    /// Whether a violation is larger than what rounding may cause.
    pub(super) fn is_clearly_violated(&self) -> bool {
        self.violation() > 1e-6
    }

    /// Exchanges a basic and a nonbasic variable.
    pub(super) fn pivot(&mut self, row: usize, column: usize) {
        let width = self.nonbasic.len();
        let mut pivot = self.row(row).to_vec();
        let inverse = 1.0 / pivot[column];
        for entry in &mut pivot {
            *entry *= -inverse;
        }
        pivot[column] = inverse;
        let constant = -self.constants[row] * inverse;
        for other in (0..self.basic.len()).filter(|other| *other != row) {
            let entries = &mut self.entries[other * self.stride..][..width];
            let factor = std::mem::take(&mut entries[column]);
            if factor != 0.0 {
                entries.iter_mut().zip(&pivot).for_each(|(entry, by)| *entry += factor * by);
                self.constants[other] += factor * constant;
            }
        }
        let factor = std::mem::take(&mut self.costs[column]);
        self.costs.iter_mut().zip(&pivot).for_each(|(cost, by)| *cost += factor * by);
        self.entries[row * self.stride..][..width].copy_from_slice(&pivot);
        self.constants[row] = constant;
        std::mem::swap(&mut self.basic[row], &mut self.nonbasic[column]);
        if self.is_fixed(self.nonbasic[column]) {
            self.drop_column(column);
        }
    }

    /// Takes out a nonbasic variable that will not move again.
    pub(super) fn drop_column(&mut self, column: usize) {
        let (last, value) = (self.nonbasic.len() - 1, self.value[self.nonbasic[column]]);
        for row in 0..self.basic.len() {
            let entries = &mut self.entries[row * self.stride..];
            self.constants[row] += entries[column] * value;
            entries[column] = entries[last];
        }
        self.costs.swap_remove(column);
        self.nonbasic.swap_remove(column);
    }

    /// The values of the first variables, the basic ones computed anew.
    pub(super) fn values(&mut self, count: usize) -> Vec<f64> {
        self.recompute();
        let clamped = (0..count).map(|index| {
            let value = self.value[index];
            let excess = self.excess(index);
            if excess.abs() <= self.tolerance * (1.0 + value.abs()) {
                value - excess
            } else {
                value
            }
        });
        clamped.collect()
    }
}

/// The median of the costs that are not 0: one huge cost must not make all others count as 0.
fn typical(costs: &[f64]) -> f64 {
    let mut sizes: Vec<f64> =
        costs.iter().map(|cost| cost.abs()).filter(|cost| *cost > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(1.0)
}
/// Where a variable rests: on the bound nearest to 0, which is 0 itself only without bounds on either side of it.
fn resting(nearest: f64, lower: f64, upper: f64) -> f64 {
    if nearest <= lower || nearest >= upper {
        return nearest;
    }
    if lower.is_finite() {
        lower
    } else if upper.is_finite() {
        upper
    } else {
        nearest
    }
}
