//! The operations as their formulas say them, in f64, one number at a time.

pub(crate) mod attention;
pub(crate) mod head;

/// `a` (rows x inner) times `b` (inner x cols).
pub(crate) fn product(a: &[f64], b: &[f64], inner: usize) -> Vec<f64> {
    let (rows, cols) = (a.len() / inner, b.len() / inner);
    let one = |i: usize, j: usize| (0..inner).map(|p| a[i * inner + p] * b[p * cols + j]).sum();
    (0..rows * cols).map(|at| one(at / cols, at % cols)).collect()
}

/// `x · wᵀ` for rows of `inputs` numbers.
pub(crate) fn linear(x: &[f64], w: &[f64], inputs: usize) -> Vec<f64> {
    let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    x.chunks(inputs).flat_map(|x| w.chunks(inputs).map(move |w| dot(x, w))).collect()
}

/// `x / √(mean(x²) + ε) · g` for heads of `gain.len()` numbers.
pub(crate) fn rms_norm(x: &[f64], gain: &[f64], epsilon: f64) -> Vec<f64> {
    let one = |x: &[f64]| {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let root = (mean + epsilon).sqrt();
        x.iter().zip(gain).map(|(x, g)| x / root * g).collect::<Vec<_>>()
    };
    x.chunks(gain.len()).flat_map(one).collect()
}

/// One head at a position: each pair is a complex number that is multiplied by `e^(i·p·f)`.
pub(crate) fn rope(head: &[f64], position: f64, frequencies: &[f64], factor: f64) -> Vec<f64> {
    let half = frequencies.len();
    let mut turned = vec![0.0; 2 * half];
    for (i, f) in frequencies.iter().enumerate() {
        let (sin, cos) = (position * f).sin_cos();
        turned[i] = factor * (head[i] * cos - head[i + half] * sin);
        turned[i + half] = factor * (head[i] * sin + head[i + half] * cos);
    }
    turned
}

/// `g / (1 + e^-g) · u`.
pub(crate) fn swiglu(gate: &[f64], up: &[f64]) -> Vec<f64> {
    gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect()
}
