//! Int8 weights: each row has a scale, chosen so that its largest weight is 127. For frozen weights
//! only; updates would be smaller than a quantisation step.

use crate::buffer::{Real, View, ViewMut};
use crate::cpu::vectorized::with_simd;
use crate::cuda;
use crate::device::Device;

/// A row of weights as bytes; returns what one is worth. Halves are rounded to even.
///
/// # Panics
///
/// If the two are not equally long.
#[expect(clippy::cast_possible_truncation, reason = "rounded, and at most 127 in size")]
pub fn pack_row(from: &[f32], to: &mut [i8]) -> f32 {
    assert_eq!(from.len(), to.len(), "a row and its bytes");
    let size = from.iter().fold(0f32, |size, x| size.max(x.abs()));
    let scale = size / 127.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    for (to, from) in to.iter_mut().zip(from) {
        *to = (from * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
    }
    scale
}

/// Rows of bytes as numbers.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn unpack<T: Real>(
    device: &Device,
    to: &mut ViewMut<'_, T>,
    bytes: View<'_, i8>,
    scales: View<'_, f32>,
) {
    assert!(to.len() == bytes.len() && bytes.len().is_multiple_of(scales.len()), "rows of bytes");
    let cpu = match device {
        Device::Cpu(cpu) => cpu,
        Device::Cuda(cuda) => return cuda::elementwise::unpack(cuda, to, bytes, scales),
    };
    let inputs = bytes.len() / scales.len();
    cpu.threads.pieces(to.host(), inputs * 16, |piece, to| {
        let begin = piece * 16;
        let bytes = &bytes.host()[begin * inputs..];
        let rows = to.chunks_exact_mut(inputs).zip(bytes.chunks_exact(inputs));
        with_simd(
            #[inline(always)]
            || {
                for ((to, from), scale) in rows.zip(&scales.host()[begin..]) {
                    for (to, &from) in to.iter_mut().zip(from) {
                        *to = f32::from(from) * scale;
                    }
                }
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_weight_moves_by_more_than_half_a_step() {
        let device = Device::cpu(2).unwrap();
        let from: Vec<f32> = (0..37 * 50).map(|i| ((i * 71 % 997) as f32 - 400.0) / 99.0).collect();
        let mut bytes = vec![0; from.len()];
        let pairs = from.chunks(50).zip(bytes.chunks_mut(50));
        let scales: Vec<f32> = pairs.map(|(from, to)| pack_row(from, to)).collect();
        let mut to = device.take::<f32>(from.len());
        let (bytes, steps) = (device.upload(&bytes), device.upload(&scales));
        unpack(&device, &mut to.view_mut(), bytes.view(), steps.view());
        for (at, (from, to)) in from.iter().zip(device.read(to.view())).enumerate() {
            assert!((from - to).abs() <= scales[at / 50] * 0.5001, "{from} {to}");
        }
        assert!(device.read(to.view()).iter().any(|&x| x > 5.0));
    }

    #[test]
    fn a_row_of_zeros_stays_one() {
        let mut bytes = [1i8; 3];
        assert_eq!(pack_row(&[0.0; 3], &mut bytes).to_bits(), 0);
        assert_eq!(bytes, [0; 3]);
    }

    #[test]
    fn the_largest_of_a_row_is_127() {
        let mut bytes = [0i8; 3];
        let scale = pack_row(&[0.5, -2.0, 1.0], &mut bytes);
        assert_eq!(bytes, [32, -127, 64]);
        assert!((scale - 2.0 / 127.0).abs() < 1e-9);
    }
}
