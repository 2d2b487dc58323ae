//! Products beside the formula, and their bits.

#![expect(unsafe_code, reason = "a product on chosen vectors takes addresses")]
#![expect(clippy::many_single_char_names, reason = "the names of the sides of a product")]

use pulp::Simd;

use super::{Product, ProductCall};
use crate::Activation;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
}

/// Rows and columns of a product, and its inner side.
type Shape = (usize, usize, usize);

/// Whether operands are the transposes of what is uploaded.
#[derive(Debug, Clone, Copy)]
struct Turned {
    a: bool,
    b: bool,
}

const PLAIN: Turned = Turned { a: false, b: false };
const A: Turned = Turned { a: true, b: false };
const B: Turned = Turned { a: false, b: true };
const BOTH: Turned = Turned { a: true, b: true };

/// The operands of a product.
#[derive(Clone, Copy)]
struct Operands<'a> {
    shape: Shape,
    a: &'a [f32],
    b: &'a [f32],
    turned: Turned,
}

/// The product of `a` (m x k, or its transpose) and `b` by the formula, in f64.
fn oracle(operands: Operands<'_>) -> Vec<f64> {
    let Operands { shape: (m, n, k), a, b, turned } = operands;
    let at = |i: usize, p: usize| if turned.a { a[p * m + i] } else { a[i * k + p] };
    let bt = |p: usize, j: usize| if turned.b { b[j * k + p] } else { b[p * n + j] };
    (0..m * n)
        .map(|x| (0..k).map(|p| f64::from(at(x / n, p)) * f64::from(bt(p, x % n))).sum())
        .collect()
}

/// Half the product, written to numbers that are all `old`.
fn product(device: &Device, operands: Operands<'_>, mode: WriteMode, old: f32) -> Vec<f32> {
    let Operands { shape: (m, n, k), a, b, turned } = operands;
    let (a, b) = (device.upload::<Activation>(a), device.upload::<Activation>(b));
    let mut to = device.upload::<Activation>(&vec![old; m * n]);
    let left = if turned.a {
        Matrix::new(a.view(), k, m).transposed()
    } else {
        Matrix::new(a.view(), m, k)
    };
    let right = if turned.b {
        Matrix::new(b.view(), n, k).transposed()
    } else {
        Matrix::new(b.view(), k, n)
    };
    let product = ScaledProduct { scale: 0.5, a: left, b: right };
    matmul(device, MatrixMut::new(to.view_mut(), m, n), mode, product);
    device.read(to.view())
}

/// Ends of tiles, panels, strips and blocks, and few and many rows.
const SHAPES: [Shape; 14] = [
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
        for turned in [PLAIN, B, A, BOTH] {
            let operands = Operands { shape, a: &a, b: &b, turned };
            let truth = oracle(operands);
            for (mode, old) in [(WriteMode::Overwrite, f32::NAN), (WriteMode::Accumulate, 3.0)] {
                let ours = product(&device, operands, mode, old);
                let base = if mode == WriteMode::Accumulate { 3.0 } else { 0.0 };
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
        for turned in [B, A] {
            let operands = Operands { shape, a: &a, b: &b, turned };
            let bits = |device| {
                let ours = product(device, operands, WriteMode::Accumulate, 1.0);
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
            let operands = Operands { shape, a: x, b: &w, turned: B };
            let y = product(&device, operands, WriteMode::Accumulate, 0.3);
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
        for turned in [PLAIN, B, A, BOTH] {
            let a = if turned.a { &a_turned } else { &a };
            let b = if turned.b { &b_turned } else { &b };
            let operands = Operands { shape, a, b, turned };
            let ours = product(&device, operands, WriteMode::Accumulate, 0.7);
            let ours: Vec<u32> = ours.into_iter().map(f32::to_bits).collect();
            assert_eq!(ours, definition, "{shape:?} {turned:?}");
        }
    }
}

/// A product of `a` and `b` by rows on vectors of a chosen kind.
fn on_vectors<S: Simd>(simd: S, shape: Shape, a: &[f32], b: &[f32]) -> Vec<u32> {
    let (m, n, k) = shape;
    let mut to = vec![0.7; m * n];
    let call = ProductCall {
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
        let operands = Operands { shape, a: &a, b: &b, turned: B };
        let widest = product(&device, operands, WriteMode::Accumulate, 0.7);
        let widest: Vec<u32> = widest.into_iter().map(f32::to_bits).collect();
        assert_eq!(on_vectors(pulp::Scalar::new(), shape, &a, &b), widest, "{shape:?}");
        #[cfg(target_arch = "x86_64")]
        if let Some(eight) = pulp::x86::V3::try_new() {
            assert_eq!(on_vectors(eight, shape, &a, &b), widest, "{shape:?}");
        }
    }
}
