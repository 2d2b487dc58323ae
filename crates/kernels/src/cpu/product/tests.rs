//! Products beside the formula, and their bits.

#![expect(unsafe_code, reason = "a product on chosen vectors takes addresses")]
#![expect(clippy::many_single_char_names, reason = "the names of the sides of a product")]

use pulp::Simd;

use super::{Call, Product};
use crate::Activation;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
}

/// The product of `a` (m x k, or its transpose) and `b` by the formula, in f64.
fn oracle(shape: (usize, usize, usize), a: &[f32], b: &[f32], turned: (bool, bool)) -> Vec<f64> {
    let (m, n, k) = shape;
    let at = |i: usize, p: usize| if turned.0 { a[p * m + i] } else { a[i * k + p] };
    let bt = |p: usize, j: usize| if turned.1 { b[j * k + p] } else { b[p * n + j] };
    (0..m * n)
        .map(|x| (0..k).map(|p| f64::from(at(x / n, p)) * f64::from(bt(p, x % n))).sum())
        .collect()
}

fn product(
    device: &Device,
    shape: (usize, usize, usize),
    (a, b): (&[f32], &[f32]),
    turned: (bool, bool),
    before: (WriteMode, f32),
) -> Vec<f32> {
    let (m, n, k) = shape;
    let (a, b) = (device.upload::<Activation>(a), device.upload::<Activation>(b));
    let mut to = device.upload::<Activation>(&vec![before.1; m * n]);
    let left = if turned.0 {
        Matrix::new(a.view(), k, m).transposed()
    } else {
        Matrix::new(a.view(), m, k)
    };
    let right = if turned.1 {
        Matrix::new(b.view(), n, k).transposed()
    } else {
        Matrix::new(b.view(), k, n)
    };
    matmul(
        device,
        MatrixMut::new(to.view_mut(), m, n),
        before.0,
        ScaledProduct { scale: 0.5, a: left, b: right },
    );
    device.read(to.view())
}

/// Ends of tiles, panels, strips and blocks, and few and many rows.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 70, 33),
    (65, 1, 600),
    (5, 7, 2),
    (64, 64, 64),
    (130, 70, 515),
    (257, 300, 40),
    (16, 1000, 600),
    (600, 3, 1030),
    (130, 60, 1030),
    (40, 150, 1030),
    (200, 333, 7),
    (129, 700, 515),
    (33, 47, 1),
];

#[test]
fn every_transpose_is_the_formula_with_and_without_what_was_there() {
    let device = Device::cpu(2).unwrap();
    for shape in SHAPES {
        let (m, n, k) = shape;
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        for turned in [(false, false), (false, true), (true, false), (true, true)] {
            let truth = oracle(shape, &a, &b, turned);
            for before in [(WriteMode::Overwrite, f32::NAN), (WriteMode::Accumulate, 3.0)] {
                let ours = product(&device, shape, (&a, &b), turned, before);
                let base = if before.0 == WriteMode::Accumulate { 3.0 } else { 0.0 };
                for (ours, truth) in ours.iter().zip(&truth) {
                    let truth = base + 0.5 * truth;
                    let near = 2e-6 * (k as f64).max(10.0);
                    assert!((f64::from(*ours) - truth).abs() < near, "{shape:?} {turned:?}");
                }
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let alone = Device::cpu(1).unwrap();
    let many = [2, 3, 5].map(|count| Device::cpu(count).unwrap());
    for shape in SHAPES {
        let (m, n, k) = shape;
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        for turned in [(false, true), (true, false)] {
            let bits = |device| {
                let ours = product(device, shape, (&a, &b), turned, (WriteMode::Accumulate, 1.0));
                ours.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let one = bits(&alone);
            for device in &many {
                assert_eq!(bits(device), one, "{shape:?} {turned:?}");
            }
        }
    }
}

#[test]
fn a_row_is_the_same_alone_and_with_any_others() {
    for (rows, outputs, inputs) in
        [(9, 70, 100), (64, 130, 64), (5, 3, 33), (150, 65, 1030), (40, 20, 7)]
    {
        let (x, w) = (numbers(rows * inputs, 3), numbers(outputs * inputs, 5));
        let run = |x: &[f32], threads| {
            let device = Device::cpu(threads).unwrap();
            let shape = (x.len() / inputs, outputs, inputs);
            let y = product(&device, shape, (x, &w), (false, true), (WriteMode::Accumulate, 0.3));
            y.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let all = run(&x, 1);
        assert_eq!(run(&x, 3), all);
        for count in [1, 2, 17, 33, 50] {
            let some = count.min(rows);
            assert_eq!(run(&x[..some * inputs], 1), all[..some * outputs], "{some} of {rows}");
        }
        let last = (rows - 1) * inputs;
        assert_eq!(run(&x[last..], 1), all[(rows - 1) * outputs..]);
    }
}

/// The definition, number by number: fused sums along blocks of the inner side.
#[test]
fn bits_are_those_of_the_definition() {
    let device = Device::cpu(2).unwrap();
    for shape in SHAPES {
        let (m, n, k) = shape;
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let block = k.div_ceil(k.div_ceil(768));
        let definition: Vec<u32> = (0..m * n)
            .map(|x| {
                let mut sum = 0.7f32;
                for first in (0..k).step_by(block) {
                    let places = first..k.min(first + block);
                    let part = places
                        .fold(0.0f32, |sum, p| a[x / n * k + p].mul_add(b[p * n + x % n], sum));
                    sum = part.mul_add(0.5, sum);
                }
                sum.to_bits()
            })
            .collect();
        let turn = |from: &[f32], rows: usize, cols: usize| -> Vec<f32> {
            (0..rows * cols).map(|x| from[x % rows * cols + x / rows]).collect()
        };
        let (a_turned, b_turned) = (turn(&a, m, k), turn(&b, k, n));
        for turned in [(false, false), (false, true), (true, false), (true, true)] {
            let a = if turned.0 { &a_turned } else { &a };
            let b = if turned.1 { &b_turned } else { &b };
            let ours = product(&device, shape, (a, b), turned, (WriteMode::Accumulate, 0.7));
            let ours: Vec<u32> = ours.into_iter().map(f32::to_bits).collect();
            assert_eq!(ours, definition, "{shape:?} {turned:?}");
        }
    }
}

/// A product of `a` and `b` by rows on vectors of a chosen kind.
fn on_vectors<S: Simd>(simd: S, shape: (usize, usize, usize), a: &[f32], b: &[f32]) -> Vec<u32> {
    let (m, n, k) = shape;
    let mut to = vec![0.7; m * n];
    let call = Call {
        shape,
        to: to.as_mut_ptr(),
        to_stride: n,
        mode: WriteMode::Accumulate,
        scale: 0.5,
        a: a.as_ptr(),
        a_strides: (k, 1),
        b: b.as_ptr(),
        b_strides: (1, k),
    };
    // SAFETY: the three have that many numbers.
    unsafe { call.run_on(|product: Product<'_>| simd.vectorize(product)) };
    to.into_iter().map(f32::to_bits).collect()
}

#[test]
fn narrower_vectors_and_none_give_the_same_bits() {
    for shape in SHAPES {
        let (m, n, k) = shape;
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let device = Device::cpu(1).unwrap();
        let widest = product(&device, shape, (&a, &b), (false, true), (WriteMode::Accumulate, 0.7));
        let widest: Vec<u32> = widest.into_iter().map(f32::to_bits).collect();
        assert_eq!(on_vectors(pulp::Scalar::new(), shape, &a, &b), widest, "{shape:?}");
        #[cfg(target_arch = "x86_64")]
        if let Some(eight) = pulp::x86::V3::try_new() {
            assert_eq!(on_vectors(eight, shape, &a, &b), widest, "{shape:?}");
        }
    }
}
