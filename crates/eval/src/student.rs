//! The quantile of Student's distribution that 95 % intervals of few values are made with.
//!
//! ```text
//! P(|T| < √ν·tan θ) = sin θ · (1 + 1/2·cos²θ + (1·3)/(2·4)·cos⁴θ + …)              ν even, to cos^(ν-2)
//!                   = 2/π · (θ + sin θ · (cos θ + 2/3·cos³θ + (2·4)/(3·5)·cos⁵θ + …))      ν odd
//! ```
//!
//! (Abramowitz and Stegun, 26.7.3 and 26.7.4), solved for the angle by bisection. From a hundred degrees on it is the
//! series of Cornish and Fisher around the normal quantile (26.7.5), which below ten degrees is too small: 9.7 and not
//! 12.7 for one, 4.17 and not 4.30 for two.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use crate::bootstrap::{mean, number};

/// The quantile of the normal distribution that leaves 2.5 % above.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The probability between both quantiles.
const INSIDE: f64 = 0.95;

/// The degrees of freedom from which on the series is used.
const MANY: usize = 100;

/// Halvings of the angle, more than a double has bits.
const HALVINGS: usize = 60;

/// The quantile that leaves 2.5 % above, with this many degrees of freedom; with none, that of one.
pub(crate) fn student(degrees: usize) -> f64 {
    let degrees = degrees.max(1);
    if degrees >= MANY {
        return series(number(degrees));
    }
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if inside(middle, degrees) < INSIDE { low = middle } else { high = middle }
    }
    number(degrees).sqrt() * f64::midpoint(low, high).tan()
}

/// Half the width of the 95 % interval of a mean; `values` must not be empty.
pub(crate) fn half_width(values: &[f64]) -> f64 {
    let (count, middle) = (number(values.len()), mean(values));
    let degrees = values.len().saturating_sub(1).max(1);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    student(degrees) * (squares / number(degrees) / count).sqrt()
}

/// The probability of a value nearer to 0 than `√degrees · tan(angle)`.
fn inside(angle: f64, degrees: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let first = degrees % 2;
    let mut term = if first == 0 { 1.0 } else { cos };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    for power in (first + 2..degrees).step_by(2) {
        term *= cos * cos * number(power - 1) / number(power);
        sum += term;
    }
    if first == 0 { sin * sum } else { FRAC_2_PI * (angle + sin * sum) }
}

fn series(degrees: f64) -> f64 {
    let z = NORMAL;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    let smaller = |sum: f64, term: f64| (sum + term) / degrees;
    z + terms.iter().rev().copied().fold(0.0, smaller)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 6e-4, "{found} is not {expected}");
    }

    /// From the printed tables of Student's distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (29, 2.045),
            (60, 2.000),
            (99, 1.984),
            (100, 1.984),
            (1_000_000_000, 1.960),
        ];
        for (degrees, expected) in table {
            near(student(degrees), expected);
        }
    }
}
