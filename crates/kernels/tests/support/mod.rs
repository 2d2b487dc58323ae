//! Numbers to compute with and comparisons, for the tests of all devices.

pub(crate) mod heads;

/// So many numbers between -1 and 1, the same for the same seed.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn f64s(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

/// The bits of several results.
pub(crate) fn bits(all: &[Vec<f32>]) -> Vec<Vec<u32>> {
    all.iter().map(|x| x.iter().map(|x| x.to_bits()).collect()).collect()
}

/// Every number is within `tolerance` of the truth, relative to it and to what is usual there.
#[track_caller]
pub(crate) fn close(ours: &[f32], truth: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), truth.len());
    let squares: f64 = truth.iter().map(|t| t * t).sum();
    let usual = (squares / truth.len().max(1) as f64).sqrt();
    for (at, (ours, truth)) in ours.iter().zip(truth).enumerate() {
        let off = (f64::from(*ours) - truth).abs();
        // Written so that NaN is never close.
        let near = off <= tolerance * (truth.abs() + usual);
        assert!(near, "number {at} is {ours} instead of {truth}");
    }
}

/// The slope of `f` along coordinate `at`.
pub(crate) fn slope(f: impl Fn(&[f64]) -> f64, x: &[f64], at: usize) -> f64 {
    let step = 1e-4;
    let moved = |by: f64| {
        let mut x = x.to_vec();
        x[at] += by;
        f(&x)
    };
    // The fourth order, so that the step need not be tiny.
    let near = moved(step) - moved(-step);
    let far = moved(2.0 * step) - moved(-2.0 * step);
    (8.0 * near - far) / (12.0 * step)
}

/// The slopes along every coordinate.
pub(crate) fn slopes(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    (0..x.len()).map(|at| slope(&f, x, at)).collect()
}

/// `Σ x·y`: what a gradient of `y` by `x` is the gradient of.
pub(crate) fn inner(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
