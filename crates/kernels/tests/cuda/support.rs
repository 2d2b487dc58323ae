//! The device, numbers that it can hold, and comparisons of bits.

use std::sync::OnceLock;

use whetstone_kernels::{Device, DeviceError, nearest_bf16};

use crate::shared::bits;
pub(crate) use crate::shared::{close, f64s, inner, slopes};

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
    crate::shared::numbers(seed, count).into_iter().map(nearest_bf16).collect()
}

/// Runs twice; bits must be the same, and the device must not have failed.
pub(crate) fn twice(device: &Device, run: impl Fn() -> Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let (first, second) = (run(), run());
    device.check().unwrap();
    assert!(bits(&first) == bits(&second), "two runs have other bits");
    first
}

/// How far apart two lists are as a whole, relative to the second.
pub(crate) fn distance(ours: &[f32], truth: &[f32]) -> f64 {
    assert_eq!(ours.len(), truth.len());
    let off = f64s(ours).iter().zip(f64s(truth)).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
    let size: f64 = f64s(truth).iter().map(|x| x * x).sum();
    (off / size.max(f64::MIN_POSITIVE)).sqrt()
}

#[track_caller]
pub(crate) fn same_bits(ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len());
    let other = ours.iter().zip(theirs).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert_eq!(other, 0, "of {} numbers have other bits", ours.len());
}
