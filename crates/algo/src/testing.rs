//! What the tests of several files share: nearness, and slopes by central differences.

/// Panics unless two numbers agree to twelve places.
#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64) {
    let near = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
    assert!(near, "{found} is not {expected}");
}

/// Panics unless two lists agree to twelve places.
#[track_caller]
pub(crate) fn assert_all_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} is not {expected:?}");
    for (&found, &expected) in found.iter().zip(expected) {
        assert_near(found, expected);
    }
}

/// The slope of `function` along each of its numbers, `(f(x + h) - f(x - h)) / 2h`.
pub(crate) fn slopes(at: &[f64], function: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let h = 1e-5;
    let moved = |which: usize, by: f64| {
        let mut numbers = at.to_vec();
        numbers[which] += by;
        function(&numbers)
    };
    (0..at.len()).map(|which| (moved(which, h) - moved(which, -h)) / (2.0 * h)).collect()
}

/// Panics unless a signal is the slope of its loss, as well as central differences can tell.
#[track_caller]
pub(crate) fn assert_slopes(signal: &[f64], at: &[f64], loss: impl Fn(&[f64]) -> f64) {
    let slopes = slopes(at, loss);
    assert_eq!(signal.len(), slopes.len());
    for (which, (signal, slope)) in signal.iter().zip(&slopes).enumerate() {
        let near = (signal - slope).abs() <= 1e-7 * slope.abs().max(1.0);
        assert!(near, "token {which}: the signal is {signal}, the slope {slope}");
    }
}
