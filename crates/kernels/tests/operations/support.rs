//! Numbers to compute with, rows with gaps between them, and comparisons.

use whetstone_kernels::Device;

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

/// What lies between rows: no number, and one that arithmetic would not make.
const GAP: u32 = 0x7fc1_2345;

/// Rows of `cols` numbers that lie `stride` apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
}

impl Layout {
    /// Puts rows apart, with gaps between them and behind the last.
    pub(crate) fn apart(self, values: &[f32]) -> Vec<f32> {
        assert_eq!(values.len(), self.rows * self.cols);
        let mut data = vec![f32::from_bits(GAP); self.rows * self.stride];
        for row in 0..self.rows {
            let from = &values[row * self.cols..][..self.cols];
            data[row * self.stride..][..self.cols].copy_from_slice(from);
        }
        data
    }

    /// Gaps alone.
    pub(crate) fn nothing(self) -> Vec<f32> {
        vec![f32::from_bits(GAP); self.rows * self.stride]
    }

    /// The rows without the gaps, which must be as they were.
    pub(crate) fn together(self, data: &[f32]) -> Vec<f32> {
        assert_eq!(data.len(), self.rows * self.stride);
        let mut values = Vec::new();
        for row in data.chunks(self.stride) {
            values.extend_from_slice(&row[..self.cols]);
            assert!(row[self.cols..].iter().all(|x| x.to_bits() == GAP), "a gap was written to");
        }
        values
    }
}

/// Runs on one, two and three threads, which must give the same bits.
pub(crate) fn same_bits(run: impl Fn(&Device) -> Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let bits = |all: &[Vec<f32>]| {
        all.iter().map(|x| x.iter().map(|x| x.to_bits()).collect()).collect::<Vec<Vec<u32>>>()
    };
    let alone = run(&Device::cpu(1).unwrap());
    for threads in [2, 3] {
        let other = run(&Device::cpu(threads).unwrap());
        assert!(bits(&alone) == bits(&other), "{threads} threads give other bits than one");
    }
    alone
}

/// Every number is within `tolerance` of the truth, relative to it and to what is usual there.
#[track_caller]
pub(crate) fn close(ours: &[f32], truth: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), truth.len());
    let squares: f64 = truth.iter().map(|t| t * t).sum();
    let usual = (squares / truth.len().max(1) as f64).sqrt();
    for (at, (ours, truth)) in ours.iter().zip(truth).enumerate() {
        let off = (f64::from(*ours) - truth).abs();
        // Written so that no number is never close.
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
