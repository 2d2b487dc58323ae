//! Plain loops at the full width of the processor.
//!
//! The binary is built for any x86-64, so a plain loop would get the vectors of 2003. [`with_simd`] runs
//! a loop compiled for the widest vectors that the processor has. Nothing is reassociated, and a
//! product is fused with a sum only where the loop says `mul_add`.
//!
//! What is not inlined into [`with_simd`] is compiled for any x86-64 after all, and there `mul_add` is a
//! call of the C library, fifty times slower than the loop. So a closure for [`with_simd`] says
//! `#[inline(always)]`, as does every function that computes inside it, and loops are `for` loops.
//! `objdump -d` of a release build shows no call of `fmaf` from this crate.

/// Numbers that are added side by side: one vector of the widest kind. Part of the definition of
/// every sum here, on every processor.
pub(crate) const LANES: usize = 16;

/// Runs `work` with the widest vectors. It must be `#[inline(always)]`, and so must what it calls.
#[inline(always)]
pub(crate) fn with_simd<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// The sum of sixteen partial sums, always in the same order: the second half is added to the
/// first until one is left.
#[inline(always)]
pub(crate) fn fold(lanes: [f32; LANES]) -> f32 {
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for at in 0..8 {
        eight[at] = lanes[at] + lanes[at + 8];
    }
    for at in 0..4 {
        four[at] = eight[at] + eight[at + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// `Σ f(x)`.
#[inline(always)]
pub(crate) fn sum_by(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            lanes[at] += f(chunk[at]);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane += f(x);
    }
    fold(lanes)
}

/// `Σ x·y`.
#[inline(always)]
pub(crate) fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for at in 0..LANES {
            lanes[at] = x[at].mul_add(y[at], lanes[at]);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane = x.mul_add(y, *lane);
    }
    fold(lanes)
}

/// The largest, `-∞` of none.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            lanes[at] = if chunk[at] > lanes[at] { chunk[at] } else { lanes[at] };
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = if x > *lane { x } else { *lane };
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// `e^x` within two units of the last place; 0 below -87.3, where the true value is no normal
/// number, and the value at 88 above it.
///
/// `x = n·ln 2 + r` with `|r| ≤ ln 2 / 2`, a polynomial for `e^r` (its Taylor series to the seventh
/// power, whose remainder is below 1e-8 there), and `2^n` by its bits.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // ln 2 in two pieces: the first has so few bits that its products are exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Adding 1.5 · 2^23 rounds to a whole number, which stands in the lowest bits until that is
    // taken away again. A conversion would be checked, number by number.
    const ROUND: f32 = 12_582_912.0;
    let bounded = if x > 88.0 { 88.0 } else { x };
    let bounded = if bounded < -87.3 { -87.3 } else { bounded };
    let shifted = bounded.mul_add(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_HIGH, bounded);
    let r = n.mul_add(-LN_2_LOW, r);
    let mut p = 1.0 / 5040.0f32;
    p = p.mul_add(r, 1.0 / 720.0);
    p = p.mul_add(r, 1.0 / 120.0);
    p = p.mul_add(r, 1.0 / 24.0);
    p = p.mul_add(r, 1.0 / 6.0);
    p = p.mul_add(r, 0.5);
    p = p.mul_add(r, 1.0);
    p = p.mul_add(r, 1.0);
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let value = p * power;
    if x < -87.3 { 0.0 } else { value }
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "the nearest f32")]
    fn exp_is_within_two_units_of_the_last_place() {
        let mut worst = 0.0f64;
        for step in 0..2_000_000 {
            let x = -87.0 + 175.0 * (step as f32) / 2_000_000.0;
            let (ours, truth) = (f64::from(exp(x)), f64::from(x).exp());
            let unit = f64::from(truth as f32) * f64::from(f32::EPSILON);
            worst = worst.max((ours - truth).abs() / unit);
        }
        assert!(worst < 2.0, "{worst}");
    }

    #[test]
    fn exp_at_the_ends() {
        assert_eq!(exp(0.0).to_bits(), 1f32.to_bits());
        assert_eq!(exp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exp(-1000.0).to_bits(), 0);
        assert!(exp(1000.0).is_finite() && exp(1000.0) > 1e38);
    }

    #[test]
    fn exp_of_no_number_is_no_number() {
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn halves_are_folded_onto_halves() {
        let lanes: [f32; LANES] = std::array::from_fn(|at| ((at * 17) % 23) as f32 / 3.0 - 2.0);
        let mut left = lanes.to_vec();
        while left.len() > 1 {
            let (low, high) = left.split_at(left.len() / 2);
            left = low.iter().zip(high).map(|(low, high)| low + high).collect();
        }
        assert_eq!(fold(lanes).to_bits(), left[0].to_bits());
    }

    #[test]
    fn sums_do_not_depend_on_the_width() {
        let x: Vec<f32> = (0..1003).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
        let y: Vec<f32> = (0..1003).map(|i| ((i * 53 % 97) as f32 - 48.0) / 9.0).collect();
        assert_eq!(
            with_simd(
                #[inline(always)]
                || dot(&x, &y)
            )
            .to_bits(),
            dot(&x, &y).to_bits()
        );
        assert_eq!(
            with_simd(
                #[inline(always)]
                || sum_by(&x, exp)
            )
            .to_bits(),
            sum_by(&x, exp).to_bits()
        );
        let truth: f64 = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
        assert!((f64::from(dot(&x, &y)) - truth).abs() < 1e-2);
        assert_eq!(largest(&x).to_bits(), x.iter().copied().fold(f32::MIN, f32::max).to_bits());
    }
}
