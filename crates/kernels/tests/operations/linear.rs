//! Products and projections: strides, both kinds of weights, both ways.

use whetstone_kernels::int8::pack_row;
use whetstone_kernels::linear::{self, Weight, WeightGradient};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, WriteMode};

use crate::oracle;
use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slopes};

/// Rows of `x`, outputs and inputs. The third has several pieces of a byte weight, the last one is
/// divided among threads both ways.
const SHAPES: [(usize, usize, usize); 5] =
    [(1, 1, 1), (5, 7, 3), (3, 1100, 20), (66, 130, 33), (400, 300, 24)];

/// A weight as bytes: what is stored, and the numbers that this stands for.
struct Packed {
    bytes: Vec<i8>,
    scales: Vec<f32>,
    numbers: Vec<f64>,
}

fn bytes(weight: &[f32], inputs: usize) -> Packed {
    let mut bytes = vec![0; weight.len()];
    let rows = weight.chunks(inputs).zip(bytes.chunks_mut(inputs));
    let scales: Vec<f32> = rows.map(|(from, to)| pack_row(from, to)).collect();
    let number = |(at, byte): (usize, &i8)| f64::from(*byte) * f64::from(scales[at / inputs]);
    let numbers = bytes.iter().enumerate().map(number).collect();
    Packed { bytes, scales, numbers }
}

/// Calls `run` with a weight of numbers and with one of bytes, and what each really is.
fn with_both(
    weight: &[f32],
    inputs: usize,
    check: impl Fn(&dyn Fn(&Device, &mut dyn FnMut(Weight<'_>)), &[f64]),
) {
    let plain = |device: &Device, work: &mut dyn FnMut(Weight<'_>)| {
        let held = device.upload(weight);
        work(Weight::new(held.view(), weight.len() / inputs, inputs));
    };
    check(&plain, &f64s(weight));
    let small = bytes(weight, inputs);
    let packed = |device: &Device, work: &mut dyn FnMut(Weight<'_>)| {
        let (bytes, scales) = (device.upload(&small.bytes), device.upload(&small.scales));
        work(Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs });
    };
    check(&packed, &small.numbers);
}

#[test]
fn forward_is_the_formula_and_leaves_gaps_alone() {
    for (rows, outputs, inputs) in SHAPES {
        let x = numbers(1, rows * inputs);
        let old = numbers(3, rows * outputs);
        let from = Layout { rows, cols: inputs, stride: inputs + 3 };
        let to = Layout { rows, cols: outputs, stride: outputs + 5 };
        with_both(&numbers(2, outputs * inputs), inputs, |weight, truth| {
            let plain = oracle::linear(&f64s(&x), truth, inputs);
            for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
                let ours = same_bits(|device| {
                    let x = device.upload(&from.apart(&x));
                    let start =
                        if mode == WriteMode::Accumulate { to.apart(&old) } else { to.nothing() };
                    let mut y = device.upload::<Activation>(&start);
                    weight(device, &mut |weight| {
                        let x = Matrix::strided(x.view(), rows, inputs, from.stride);
                        let y = MatrixMut::strided(y.view_mut(), rows, outputs, to.stride);
                        linear::forward(
                            device,
                            y,
                            mode,
                            linear::Forward { scale: -0.75, x, weight },
                        );
                    });
                    vec![to.together(&device.read(y.view()))]
                });
                let kept = if mode == WriteMode::Accumulate { 1.0 } else { 0.0 };
                let sums = plain.iter().zip(&old);
                let truth: Vec<f64> =
                    sums.map(|(new, old)| kept * f64::from(*old) - 0.75 * new).collect();
                close(&ours[0], &truth, 1e-5);
            }
        });
    }
}

#[test]
fn the_gradient_of_the_input_is_the_slope() {
    for (rows, outputs, inputs) in [(1, 1, 1), (4, 7, 3), (2, 1100, 5)] {
        let x = f64s(&numbers(1, rows * inputs));
        let (dy, old) = (numbers(4, rows * outputs), numbers(5, rows * inputs));
        let from = Layout { rows, cols: outputs, stride: outputs + 1 };
        let to = Layout { rows, cols: inputs, stride: inputs + 2 };
        with_both(&numbers(2, outputs * inputs), inputs, |weight, truth| {
            let loss = |x: &[f64]| 1.5 * inner(&oracle::linear(x, truth, inputs), &f64s(&dy));
            let slopes = slopes(loss, &x);
            for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
                let ours = same_bits(|device| {
                    let dy = device.upload::<Activation>(&from.apart(&dy));
                    let start =
                        if mode == WriteMode::Accumulate { to.apart(&old) } else { to.nothing() };
                    let mut dx = device.upload(&start);
                    weight(device, &mut |weight| {
                        let dy = Matrix::strided(dy.view(), rows, outputs, from.stride);
                        let dx = MatrixMut::strided(dx.view_mut(), rows, inputs, to.stride);
                        linear::backward(
                            device,
                            dx,
                            mode,
                            linear::Backward { scale: 1.5, dy, weight },
                        );
                    });
                    vec![to.together(&device.read(dx.view()))]
                });
                let kept = if mode == WriteMode::Accumulate { 1.0 } else { 0.0 };
                let sums = slopes.iter().zip(&old);
                let truth: Vec<f64> = sums.map(|(new, old)| kept * f64::from(*old) + new).collect();
                close(&ours[0], &truth, 1e-5);
            }
        });
    }
}

#[test]
fn the_gradient_of_the_weight_is_the_slope_and_leaves_gaps_alone() {
    for (rows, outputs, inputs) in [(1, 1, 1), (4, 7, 3), (9, 70, 5), (12, 5, 66)] {
        let (x, dy) = (numbers(1, rows * inputs), numbers(4, rows * outputs));
        let old = numbers(5, outputs * inputs);
        let (from_x, from_dy) = (
            Layout { rows, cols: inputs, stride: inputs + 3 },
            Layout { rows, cols: outputs, stride: outputs + 1 },
        );
        let to = Layout { rows: outputs, cols: inputs, stride: inputs + 2 };
        let ours = same_bits(|device| {
            let x = device.upload(&from_x.apart(&x));
            let dy = device.upload::<Activation>(&from_dy.apart(&dy));
            let x = Matrix::strided(x.view(), rows, inputs, from_x.stride);
            let dy = Matrix::strided(dy.view(), rows, outputs, from_dy.stride);
            let mut dweight = device.upload(&to.apart(&old));
            let to_part = MatrixMut::strided(dweight.view_mut(), outputs, inputs, to.stride);
            let sequences = [0, rows / 3, rows / 3, rows];
            let gradient = WeightGradient { to: to_part, scale: 1.5, dy, x };
            linear::backward_weight(device, gradient, &sequences);
            vec![to.together(&device.read(dweight.view()))]
        });
        let loss =
            |weight: &[f64]| 1.5 * inner(&oracle::linear(&f64s(&x), weight, inputs), &f64s(&dy));
        let slopes = slopes(loss, &vec![0.0; outputs * inputs]);
        let truth: Vec<f64> = slopes.iter().zip(&old).map(|(n, o)| n + f64::from(*o)).collect();
        close(&ours[0], &truth, 1e-5);
    }
}

/// Sequences of one row, of none, and of more than are summed at a time; weights that are divided
/// among threads by rows and by columns.
#[test]
fn what_a_sequence_adds_to_a_weight_does_not_depend_on_its_neighbours() {
    let sequences = [0, 1, 40, 40, 841, 845];
    for (outputs, inputs) in [(130, 20), (20, 130), (3, 200), (1, 70)] {
        let (x, dy) = (numbers(1, 845 * inputs), numbers(2, 845 * outputs));
        let run = |device: &Device, splits: &[usize]| {
            let (x, dy) = (device.upload(&x), device.upload(&dy));
            let mut to = device.upload(&vec![0.3; outputs * inputs]);
            for ends in splits.windows(2) {
                let (begin, end) = (sequences[ends[0]], sequences[ends[1]]);
                let part = sequences[ends[0]..=ends[1]].iter().map(|offset| offset - begin);
                let both = [(&dy, outputs), (&x, inputs)].map(|(of, cols)| {
                    Matrix::new(of.view().part(begin * cols..end * cols), end - begin, cols)
                });
                let to = MatrixMut::new(to.view_mut(), outputs, inputs);
                let part: Vec<usize> = part.collect();
                let gradient = WeightGradient { to, scale: 0.7, dy: both[0], x: both[1] };
                linear::backward_weight(device, gradient, &part);
            }
            vec![device.read(to.view())]
        };
        let at_once = same_bits(|device| run(device, &[0, 5]));
        for splits in [&[0, 1, 2, 3, 4, 5][..], &[0, 2, 5], &[0, 1, 5], &[0, 4, 5]] {
            let split = same_bits(|device| run(device, splits));
            assert!(split == at_once, "{outputs}x{inputs} {splits:?}");
        }
    }
}

#[test]
fn columns_of_matrices_are_multiplied_where_they_lie() {
    let (rows, inner, cols) = (150, 40, 210);
    let (a, b) = (numbers(1, rows * inner), numbers(2, inner * cols));
    let (from_a, from_b) = (
        Layout { rows, cols: inner, stride: inner + 9 },
        Layout { rows: inner, cols, stride: cols + 1 },
    );
    let (wide, begin) = (Layout { rows, cols: cols + 20, stride: cols + 24 }, 13);
    let old = numbers(3, wide.rows * wide.cols);
    let ours = same_bits(|device| {
        let a = device.upload::<Activation>(&from_a.apart(&a));
        let b = device.upload::<Activation>(&from_b.apart(&b));
        let mut to = device.upload::<f32>(&wide.apart(&old));
        let mut whole = MatrixMut::strided(to.view_mut(), rows, wide.cols, wide.stride);
        let a = Matrix::strided(a.view(), rows, inner, from_a.stride).columns(10..inner);
        let b = Matrix::strided(b.view(), inner, cols, from_b.stride).transposed();
        let b = b.columns(10..inner).transposed();
        matmul(
            device,
            whole.columns(begin..begin + cols),
            WriteMode::Overwrite,
            ScaledProduct { scale: 1.0, a, b },
        );
        vec![wide.together(&device.read(to.view()))]
    });
    let part = |a: &[f32]| {
        let rows = a.chunks(inner).flat_map(|row| row[10..].to_vec());
        rows.map(f64::from).collect::<Vec<_>>()
    };
    let product = oracle::product(&part(&a), &f64s(&b[10 * cols..]), inner - 10);
    let mut truth = f64s(&old);
    for (row, product) in product.chunks(cols).enumerate() {
        truth[row * wide.cols + begin..][..cols].copy_from_slice(product);
    }
    close(&ours[0], &truth, 1e-5);
}

#[test]
fn an_empty_sum_is_nothing() {
    let device = Device::cpu(2).unwrap();
    let none = device.take::<Activation>(0);
    for (mode, rest) in [(WriteMode::Overwrite, 0.0f32), (WriteMode::Accumulate, 2.0)] {
        let mut to = device.upload::<f32>(&[2.0; 6]);
        let (a, b) = (Matrix::new(none.view(), 2, 0), Matrix::strided(none.view(), 0, 3, 3));
        matmul(
            &device,
            MatrixMut::new(to.view_mut(), 2, 3),
            mode,
            ScaledProduct { scale: 1.0, a, b },
        );
        let bits: Vec<u32> = device.read(to.view()).into_iter().map(f32::to_bits).collect();
        assert_eq!(bits, [rest.to_bits(); 6]);
    }
}
