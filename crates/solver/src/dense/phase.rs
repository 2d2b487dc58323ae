//! The phases: steps from vertex to vertex until nothing improves.

use super::table::{SLOPE, Table};

/// The most entries that all steps of a phase may compute, about a second: a step computes all of them. There is no
/// clock here, so that an answer does not depend on the machine.
const MAX_WORK: usize = 1 << 30;

/// The least size of a pivot.
const PIVOT: f64 = 1e-7;
/// What a phase minimizes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The sum of violations.
    Feasible,
    /// The costs, with all bounds kept.
    Cheapest,
}

pub(super) enum End {
    Optimum,
    Unbounded,
}

/// Which of several steps is taken.
#[derive(Clone, Copy)]
enum Rule {
    Steepest,
    /// The least index: slow, but it cannot cycle.
    Bland,
}

/// A step: a nonbasic variable moves until something blocks it.
struct Step {
    column: usize,
    /// 1 up, -1 down.
    direction: f64,
}

/// What ends a step.
struct Block {
    length: f64,
    /// The basic variable that reaches a bound, and the bound; `None` if the entering one reaches its other bound.
    leaving: Option<Leaving>,
}

struct Leaving {
    row: usize,
    bound: f64,
}

impl Table {
    /// The first phase. Values are sums of many steps, so it begins anew with exact ones where they made a difference.
    pub(super) fn find_solution(&mut self) -> Option<()> {
        for _ in 0..3 {
            self.phase(Goal::Feasible)?;
            let before = self.violation();
            self.recompute();
            if (self.violation() - before).abs() <= self.tolerance {
                return Some(());
            }
        }
        None
    }

    /// Minimizes; `None` if it does not end well.
    pub(super) fn phase(&mut self, goal: Goal) -> Option<End> {
        let size = self.basic.len() + self.nonbasic.len();
        let mut idle = 0;
        for _ in 0..(20 * size + 100).min(MAX_WORK / self.entries.len().max(1)) {
            let rule = if idle > size + 20 { Rule::Bland } else { Rule::Steepest };
            let Some(step) = self.entering(goal, rule) else { return Some(End::Optimum) };
            let Some(block) = self.ratio(&step, goal, rule)? else { return Some(End::Unbounded) };
            idle = if block.length > 0.0 || self.drops(&block) { 0 } else { idle + 1 };
            self.take(&step, block);
        }
        None
    }

    /// Whether a step takes a fixed variable out of the basis, to which it never returns.
    fn drops(&self, block: &Block) -> bool {
        block.leaving.as_ref().is_some_and(|leaving| self.is_fixed(self.basic[leaving.row]))
    }

    /// The slopes of what a phase minimizes.
    fn slopes(&self, goal: Goal) -> Vec<f64> {
        if goal == Goal::Cheapest {
            return self.costs.clone();
        }
        let mut slopes = vec![0.0; self.nonbasic.len()];
        for index in 0..self.basic.len() {
            let sign = self.sign_of_violation(self.basic[index]);
            if sign != 0.0 {
                let pairs = slopes.iter_mut().zip(self.row(index));
                pairs.for_each(|(slope, entry)| *slope += sign * entry);
            }
        }
        slopes
    }

    /// The next step of a phase; `None` at the optimum.
    fn entering(&self, goal: Goal, rule: Rule) -> Option<Step> {
        let flat = if goal == Goal::Cheapest { self.flat } else { SLOPE };
        let mut best: Option<(f64, Step)> = None;
        for (column, slope) in self.slopes(goal).into_iter().enumerate() {
            let variable = self.nonbasic[column];
            let direction = if slope < -flat {
                1.0
            } else if slope > flat {
                -1.0
            } else {
                continue;
            };
            if !self.has_room(variable, direction) {
                continue;
            }
            let merit = match rule {
                Rule::Steepest => slope.abs(),
                #[expect(clippy::cast_precision_loss, reason = "far fewer variables than 2^53")]
                Rule::Bland => -(variable as f64),
            };
            if best.as_ref().is_none_or(|(most, _)| merit > *most) {
                best = Some((merit, Step { column, direction }));
            }
        }
        best.map(|(_, step)| step)
    }

    fn has_room(&self, variable: usize, direction: f64) -> bool {
        let value = self.value[variable];
        if direction > 0.0 { value < self.upper[variable] } else { value > self.lower[variable] }
    }

    /// What blocks a step: `Some(None)` if nothing does, `None` if only a pivot too small to divide by.
    #[expect(clippy::option_option, reason = "doubtful, unbounded, or a block")]
    fn ratio(&self, step: &Step, goal: Goal, rule: Rule) -> Option<Option<Block>> {
        let entering = self.nonbasic[step.column];
        let own = self.upper[entering] - self.lower[entering];
        let mut length = own;
        let mut is_doubtful = false;
        let mut leaving: Option<(f64, Leaving)> = None;
        for (row, variable) in self.basic.iter().enumerate() {
            let rate = self.entries[row * self.stride + step.column] * step.direction;
            let Some(bound) = self.bound_ahead(*variable, rate, goal) else { continue };
            if rate.abs() < PIVOT {
                is_doubtful |= rate != 0.0;
                continue;
            }
            let reach = ((bound - self.value[*variable]) / rate).max(0.0);
            let slack = 1e-12 * (1.0 + length.min(1e12));
            let preference = match rule {
                Rule::Steepest => rate.abs(),
                #[expect(clippy::cast_precision_loss, reason = "far fewer variables than 2^53")]
                Rule::Bland => -(*variable as f64),
            };
            let is_tie = (reach - length).abs() <= slack;
            if reach < length - slack
                || (is_tie && leaving.as_ref().is_none_or(|(most, _)| preference > *most))
            {
                length = length.min(reach);
                leaving = Some((preference, Leaving { row, bound }));
            }
        }
        if length.is_infinite() {
            return (!is_doubtful).then_some(None);
        }
        Some(Some(Block { length, leaving: leaving.map(|(_, leaving)| leaving) }))
    }

    /// The bound that stops a basic variable which moves with this rate.
    fn bound_ahead(&self, variable: usize, rate: f64, goal: Goal) -> Option<f64> {
        let sign = if goal == Goal::Feasible { self.sign_of_violation(variable) } else { 0.0 };
        let bound = match (rate > 0.0, sign) {
            (true, sign) if sign < 0.0 => self.lower[variable],
            (true, sign) if sign > 0.0 => return None,
            (true, _) => self.upper[variable],
            (false, sign) if sign > 0.0 => self.upper[variable],
            (false, sign) if sign < 0.0 => return None,
            (false, _) => self.lower[variable],
        };
        bound.is_finite().then_some(bound)
    }

    fn take(&mut self, step: &Step, block: Block) {
        let change = step.direction * block.length;
        for row in 0..self.basic.len() {
            self.value[self.basic[row]] += change * self.entries[row * self.stride + step.column];
        }
        let entering = self.nonbasic[step.column];
        match block.leaving {
            None if step.direction > 0.0 => self.value[entering] = self.upper[entering],
            None => self.value[entering] = self.lower[entering],
            Some(leaving) => {
                self.value[entering] += change;
                self.value[self.basic[leaving.row]] = leaving.bound;
                self.pivot(leaving.row, step.column);
            }
        }
    }
}
