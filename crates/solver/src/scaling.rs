//! Powers of two that bring the coefficients of sides near 1.
//!
//! Geometric scaling: sides and variables are divided in turn by the root of the product of their smallest and
//! largest coefficient. Powers of two leave the digits of the coefficients as they are.

use crate::side::Side;

const PASSES: usize = 3;

/// Divisors of sides and of variables.
pub(crate) struct Scaling {
    pub(crate) sides: Vec<f64>,
    pub(crate) variables: Vec<f64>,
}

impl Scaling {
    pub(crate) fn of(sides: &[Side<'_>]) -> Self {
        let count = sides.iter().flat_map(|side| side.terms().map(|term| term.variable + 1)).max();
        let count = count.unwrap_or(0);
        let mut scaling = Self { sides: vec![1.0; sides.len()], variables: vec![1.0; count] };
        for _ in 0..PASSES {
            scaling.pass(sides);
        }
        scaling
            .sides
            .iter_mut()
            .chain(&mut scaling.variables)
            .for_each(|scale| *scale = power_of_two(*scale));
        scaling
    }

    fn pass(&mut self, sides: &[Side<'_>]) {
        let mut columns = vec![Span::default(); self.variables.len()];
        for (side, scale) in sides.iter().zip(&mut self.sides) {
            let mut span = Span::default();
            side.terms()
                .for_each(|term| span.add(term.coefficient / self.variables[term.variable]));
            *scale = span.middle();
            side.terms().for_each(|term| columns[term.variable].add(term.coefficient / *scale));
        }
        for (scale, span) in self.variables.iter_mut().zip(&columns) {
            *scale = span.middle();
        }
    }
}

/// The smallest and the largest magnitude of some numbers.
#[derive(Clone, Copy)]
struct Span {
    least: f64,
    most: f64,
}

impl Default for Span {
    fn default() -> Self {
        Self { least: f64::INFINITY, most: 0.0 }
    }
}

impl Span {
    fn add(&mut self, number: f64) {
        self.least = self.least.min(number.abs());
        self.most = self.most.max(number.abs());
    }

    /// The root of their product; 1 where that is no usual number.
    fn middle(&self) -> f64 {
        let middle = self.least.sqrt() * self.most.sqrt();
        if middle.is_normal() { middle } else { 1.0 }
    }
}

fn power_of_two(number: f64) -> f64 {
    number.log2().round().exp2()
}
