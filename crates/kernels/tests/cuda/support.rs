//! The device, numbers to compute with, and comparisons.

use std::sync::OnceLock;

use whetstone_kernels::{Device, DeviceError, nearest_bf16};

/// One bf16 result: half a unit in its last place, and a little for sums.
pub(crate) const ROUNDED: f64 = 1.0 / 256.0;

/// What no operation makes: a result that was not written shows.
pub(crate) const POISON: f32 = -12_345.0;

/// The GPU, opened once; none on a machine without one, which is said.
pub(crate) fn device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Result<Device, DeviceError>> = OnceLock::new();
    match DEVICE.get_or_init(|| Device::cuda(0)) {
        Ok(device) => Some(device),
        Err(missing @ (DeviceError::NoDriver | DeviceError::NoDevice { .. })) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

/// So many numbers between -1 and 1 that bf16 can hold, the same for the same seed.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        nearest_bf16((state >> 40) as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn f64s(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

/// Runs twice; bits must be the same, and the device must not have failed.
pub(crate) fn twice(device: &Device, run: impl Fn() -> Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let bits = |all: &[Vec<f32>]| {
        all.iter().map(|x| x.iter().map(|x| x.to_bits()).collect()).collect::<Vec<Vec<u32>>>()
    };
    let (first, second) = (run(), run());
    device.check().unwrap();
    assert!(bits(&first) == bits(&second), "two runs have other bits");
    first
}

/// Every number is within `tolerance` of the truth, relative to it and to what is usual there.
#[track_caller]
pub(crate) fn close(ours: &[f32], truth: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), truth.len());
    let squares: f64 = truth.iter().map(|t| t * t).sum();
    let usual = (squares / truth.len().max(1) as f64).sqrt();
    for (at, (ours, truth)) in ours.iter().zip(truth).enumerate() {
        let off = (f64::from(*ours) - truth).abs();
        let near = off <= tolerance * (truth.abs() + usual);
        assert!(near, "number {at} is {ours} instead of {truth}");
    }
}

/// The slope of `f` along every coordinate.
pub(crate) fn slopes(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    let step = 1e-4;
    let along = |at: usize| {
        let moved = |by: f64| {
            let mut x = x.to_vec();
            x[at] += by;
            f(&x)
        };
        let (near, far) = (moved(step) - moved(-step), moved(2.0 * step) - moved(-2.0 * step));
        (8.0 * near - far) / (12.0 * step)
    };
    (0..x.len()).map(along).collect()
}

/// `Σ x·y`.
pub(crate) fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
