//! The rates at which a device copies and multiplies, to compare other measurements with.

use std::time::Instant;

use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Activation, Buffer, Device, DeviceError, Matrix, MatrixMut, WriteMode};

use super::median;

/// Rounds of which the middle one counts.
const ROUNDS: usize = 5;

/// What a device does in a second.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Bytes that a copy moves, read and written together.
    pub copy_bytes: f64,
    /// Floating-point operations of a large square product.
    pub product_flop: f64,
}

/// Measures both.
///
/// # Errors
///
/// If the device fails.
#[expect(clippy::cast_precision_loss, reason = "sizes become rates")]
pub fn rates(device: &Device) -> Result<Rates, DeviceError> {
    // Larger than a cache, and on a GPU long enough that launching does not count.
    let (copied, side, repeats) = match device {
        Device::Cpu(_) => (1 << 25, 1024, 1),
        Device::Cuda(_) => (1 << 29, 8192, 8),
    };
    let from: Buffer = noise(device, copied);
    let mut to: Buffer = device.take(copied);
    let copy = seconds(device, repeats, || device.copy(&mut to.view_mut(), from.view()))?;
    let bytes = 2.0 * (copied * activation_bytes(device)) as f64;
    drop((from, to));
    let (a, b) = (noise(device, side * side), noise(device, side * side));
    let mut to: Buffer = device.take(side * side);
    let product = seconds(device, repeats, || {
        let to = MatrixMut::new(to.view_mut(), side, side);
        let b = Matrix::new(b.view(), side, side).transposed();
        let product = ScaledProduct { scale: 1.0, a: Matrix::new(a.view(), side, side), b };
        matmul(device, to, WriteMode::Overwrite, product);
    })?;
    drop((a, b, to));
    device.trim();
    let flop = 2.0 * (side as f64).powi(3);
    Ok(Rates { copy_bytes: bytes / copy, product_flop: flop / product })
}

/// Bytes of a number on its way through the layers.
pub(super) fn activation_bytes(device: &Device) -> usize {
    match device {
        Device::Cpu(_) => size_of::<f32>(),
        Device::Cuda(_) => size_of::<u16>(),
    }
}

/// Seconds of one of `repeats`.
#[expect(clippy::cast_precision_loss, reason = "a few repetitions")]
fn seconds(device: &Device, repeats: usize, mut work: impl FnMut()) -> Result<f64, DeviceError> {
    work();
    device.check()?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..repeats {
            work();
        }
        device.check()?;
        times.push(begin.elapsed().as_secs_f64() / repeats as f64);
    }
    Ok(median(times))
}

/// Numbers of a block of noise: hundreds of rows of a large product. Where a few rows are there again and again
/// fewer bits change from one to the next, and a GPU at its power limit computes the product up to a fifth faster
/// than one of weights.
const NOISE: u32 = 1 << 22;

/// Numbers between -0.5 and 0.5, a block of them again and again.
fn noise(device: &Device, count: usize) -> Buffer<Activation> {
    let most = u32::try_from(count).unwrap_or(NOISE).min(NOISE);
    let block: Vec<f32> = (0..most).map(number).collect();
    let block = device.upload::<Activation>(&block);
    let mut to: Buffer<Activation> = device.take(count);
    for begin in (0..count).step_by(block.len()) {
        let end = count.min(begin + block.len());
        let mut all = to.view_mut();
        device.copy(&mut all.part(begin..end), block.view().part(0..end - begin));
    }
    to
}

/// The upper bits of a multiplicative hash.
fn number(at: u32) -> f32 {
    let mixed = at.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519);
    f32::from(u16::try_from(mixed >> 16).unwrap_or(0)) / 65_536.0 - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 8192 numbers, as of the product that is timed.
    #[test]
    fn no_row_of_noise_is_there_twice() {
        let row = |row: u32| (0..8192).map(|at| number(row * 8192 + at).to_bits()).collect();
        let rows: std::collections::BTreeSet<Vec<u32>> = (0..64).map(row).collect();
        assert_eq!(rows.len(), 64);
        let mean = (0..8192).map(number).sum::<f32>() / 8192.0;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((0..8192).map(number).all(|x| (-0.5..0.5).contains(&x)));
    }
}
