//! Products: the formula, and the one order of accumulation.

use whetstone_kernels::cuda::AccumulationOrder;
use whetstone_kernels::linear::{self, Weight, WeightGradient};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, WriteMode, nearest_bf16};

use crate::oracle;
use crate::support::{POISON, ROUNDED, close, device, f64s, numbers, twice};

/// Rows, inner side and columns: shapes that the library takes and shapes that it does not.
const SHAPES: [(usize, usize, usize); 5] =
    [(1, 1, 1), (5, 19, 7), (33, 64, 40), (64, 256, 136), (200, 128, 24)];

#[test]
fn a_product_is_the_formula_for_every_transpose_and_format() {
    let Some(device) = device() else { return };
    for (rows, inner, cols) in SHAPES {
        let (a, b) = (numbers(1, rows * inner), numbers(2, inner * cols));
        let old = numbers(3, rows * cols);
        let transposed = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
            (0..rows * cols).map(|at| x[at % rows * cols + at / rows]).collect()
        };
        let (a_turned, b_turned) = (transposed(&a, rows, inner), transposed(&b, inner, cols));
        let product = oracle::product(&f64s(&a), &f64s(&b), inner);
        for (turn_a, turn_b) in [(false, false), (false, true), (true, false), (true, true)] {
            for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
                let ours = twice(device, || {
                    let upload = |x: &[f32]| device.upload::<Activation>(x);
                    let first = upload(if turn_a { &a_turned } else { &a });
                    let second = upload(if turn_b { &b_turned } else { &b });
                    let a = if turn_a {
                        Matrix::new(first.view(), inner, rows).transposed()
                    } else {
                        Matrix::new(first.view(), rows, inner)
                    };
                    let b = if turn_b {
                        Matrix::new(second.view(), cols, inner).transposed()
                    } else {
                        Matrix::new(second.view(), inner, cols)
                    };
                    let begin = match mode {
                        WriteMode::Overwrite => vec![POISON; rows * cols],
                        WriteMode::Accumulate => old.clone(),
                    };
                    let mut exact = device.upload::<f32>(&begin);
                    let mut rounded = device.upload::<Activation>(&begin);
                    let to = MatrixMut::new(exact.view_mut(), rows, cols);
                    matmul(device, to, mode, ScaledProduct { scale: 0.5, a, b });
                    let to = MatrixMut::new(rounded.view_mut(), rows, cols);
                    matmul(device, to, mode, ScaledProduct { scale: 0.5, a, b });
                    vec![device.read(exact.view()), device.read(rounded.view())]
                });
                let kept = if mode == WriteMode::Accumulate { 1.0 } else { 0.0 };
                let pairs = product.iter().zip(&old);
                let truth: Vec<f64> =
                    pairs.map(|(p, old)| 0.5 * p + kept * f64::from(*old)).collect();
                close(&ours[0], &truth, 1e-5);
                close(&ours[1], &truth, ROUNDED);
            }
        }
    }
}

/// A row of a projection, alone and at places of larger batches, whoever computes it.
#[test]
fn a_row_alone_and_among_300_has_the_same_bits() {
    let Some(device) = device() else { return };
    for (inputs, outputs) in [(256, 136), (2048, 512), (576, 1536)] {
        let (x, w) = (numbers(1, 300 * inputs), numbers(2, outputs * inputs));
        let weight = device.upload::<Activation>(&w);
        let run = |x: &[f32]| {
            let (rows, from) = (x.len() / inputs, device.upload(x));
            let mut y = device.take::<Activation>(rows * outputs);
            let to = MatrixMut::new(y.view_mut(), rows, outputs);
            let from = Matrix::new(from.view(), rows, inputs);
            let weight = Weight::new(weight.view(), outputs, inputs);
            linear::forward(
                device,
                to,
                WriteMode::Overwrite,
                linear::Forward { scale: 1.0, x: from, weight },
            );
            device.read(y.view())
        };
        let all = run(&x);
        for (row, count) in [(0, 1), (7, 1), (299, 1), (13, 8), (64, 64), (100, 200)] {
            let ours = run(&x[row * inputs..(row + count) * inputs]);
            assert_eq!(ours, all[row * outputs..(row + count) * outputs], "{count} from {row}");
        }
    }
    device.check().unwrap();
}

/// A gradient of a weight, whichever sequences come together.
#[test]
fn gradients_of_weights_do_not_depend_on_packing() {
    let Some(device) = device() else { return };
    let (inputs, outputs, sequences) = (64, 48, [0usize, 3, 90, 91, 231]);
    let (x, dy) = (numbers(1, 231 * inputs), numbers(2, 231 * outputs));
    let run = |device: &Device, splits: &[usize]| {
        let (x, dy) = (device.upload::<Activation>(&x), device.upload::<Activation>(&dy));
        let mut dweight = device.upload::<f32>(&vec![0.5; outputs * inputs]);
        for ends in splits.windows(2) {
            let (begin, end) = (sequences[ends[0]], sequences[ends[1]]);
            let part: Vec<usize> = sequences[ends[0]..=ends[1]].iter().map(|o| o - begin).collect();
            let x = Matrix::new(x.view(), 231, inputs).row_range(begin..end);
            let dy = Matrix::new(dy.view(), 231, outputs).row_range(begin..end);
            let to = MatrixMut::new(dweight.view_mut(), outputs, inputs);
            linear::backward_weight(device, WeightGradient { to, scale: 0.25, dy, x }, &part);
        }
        device.read(dweight.view())
    };
    let at_once = twice(device, || vec![run(device, &[0, 4])]);
    for splits in [&[0, 1, 2, 3, 4][..], &[0, 2, 4]] {
        assert_eq!(run(device, splits), at_once[0], "{splits:?}");
    }
    let turned: Vec<f32> = (0..outputs * 231).map(|at| dy[at % 231 * outputs + at / 231]).collect();
    let truth = oracle::product(&f64s(&turned), &f64s(&x), 231);
    let truth: Vec<f64> = truth.iter().map(|p| 0.5 + 0.25 * p).collect();
    close(&at_once[0], &truth, 1e-5);
}

/// The library has an algorithm that keeps the order for the products of a model; that another one
/// does not would be found, since a candidate is compared with our own kernel, bit by bit.
#[test]
fn products_of_a_models_shapes_keep_the_order() {
    let Some(Device::Cuda(cuda)) = device() else { return };
    for (cols, inner) in [(4096, 2048), (2048, 2048), (12288, 2048), (2048, 6144), (1536, 576)] {
        for rows in [1, 16, 64, 300, 1024] {
            let order = cuda.accumulation_order(rows, cols, inner);
            assert_eq!(order, AccumulationOrder::BitForBit, "{rows} x {inner} x {cols}");
        }
    }
    cuda.check().unwrap();
}

/// An addition to a bf16 result is one rounding of the f32 product and what was there, for shapes that
/// the library computes and shapes that it does not, and into rows that lie apart.
#[test]
fn an_added_product_is_rounded_once() {
    let Some(device) = device() else { return };
    let shapes =
        [(8, 2048, 4096), (300, 2048, 2048), (64, 6144, 2048), (65, 128, 1030), (5, 19, 7)];
    for (rows, inner, cols) in shapes {
        let stride = cols + 8;
        let (a, b) = (numbers(1, rows * inner), numbers(2, inner * cols));
        let old = numbers(3, rows * stride);
        let (first, second) = (device.upload::<Activation>(&a), device.upload::<Activation>(&b));
        for scale in [1.0, 0.7] {
            let ours = twice(device, || {
                let a = Matrix::new(first.view(), rows, inner);
                let b = Matrix::new(second.view(), cols, inner).transposed();
                let mut exact = device.upload::<f32>(&vec![POISON; rows * cols]);
                let mut added = device.upload::<Activation>(&old);
                let to = MatrixMut::new(exact.view_mut(), rows, cols);
                matmul(device, to, WriteMode::Overwrite, ScaledProduct { scale, a, b });
                let to = MatrixMut::strided(added.view_mut(), rows, cols, stride);
                matmul(device, to, WriteMode::Accumulate, ScaledProduct { scale, a, b });
                vec![device.read(exact.view()), device.read(added.view())]
            });
            let truth: Vec<f32> = (0..rows * stride)
                .map(|at| match at % stride {
                    col if col < cols => nearest_bf16(ours[0][at / stride * cols + col] + old[at]),
                    _ => old[at],
                })
                .collect();
            let wrong = ours[1].iter().zip(&truth).filter(|(a, b)| a.to_bits() != b.to_bits());
            assert_eq!(wrong.count(), 0, "{rows} x {inner} x {cols}, scaled by {scale}");
        }
    }
}
