//! Sums of rows, and over rows.

use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, add};

use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slopes};

#[test]
fn a_residual_is_added_number_by_number() {
    let count = 70_001;
    let (x, y) = (numbers(1, count), numbers(2, count));
    let ours = same_bits(|device| {
        let (mut x, y) = (device.upload(&x), device.upload(&y));
        add::add(device, &mut x.view_mut(), y.view());
        vec![device.read(x.view())]
    });
    let truth: Vec<f64> = f64s(&x).iter().zip(f64s(&y)).map(|(x, y)| x + y).collect();
    close(&ours[0], &truth, 1e-6);
}

#[test]
fn a_multiple_is_added_number_by_number() {
    let count = 70_001;
    let (x, y) = (numbers(1, count), numbers(2, count));
    let ours = same_bits(|device| {
        let (mut x, y) = (device.upload(&x), device.upload(&y));
        add::scaled(device, &mut x.view_mut(), -1.75, y.view());
        vec![device.read(x.view())]
    });
    let truth: Vec<f64> = f64s(&x).iter().zip(f64s(&y)).map(|(x, y)| x - 1.75 * y).collect();
    close(&ours[0], &truth, 1e-7);
}

/// Rows, columns and the gap: few wide rows, and more narrow ones than a thread takes at a time.
const SHAPES: [(usize, usize, usize); 3] = [(3, 600, 7), (20_000, 4, 1), (1, 1, 0)];

#[test]
fn every_row_gets_the_bias_and_no_gap_does() {
    for (rows, cols, gap) in SHAPES {
        let layout = Layout { rows, cols, stride: cols + gap };
        let (x, bias) = (numbers(1, rows * cols), numbers(2, cols));
        let ours = same_bits(|device| {
            let mut x = device.upload::<Activation>(&layout.apart(&x));
            let bias = device.upload(&bias);
            let to = MatrixMut::strided(x.view_mut(), rows, cols, layout.stride);
            add::bias(device, to, bias.view());
            vec![layout.together(&device.read(x.view()))]
        });
        let truth: Vec<f64> =
            x.iter().zip(bias.iter().cycle()).map(|(x, b)| f64::from(*x) + f64::from(*b)).collect();
        close(&ours[0], &truth, 1e-6);
    }
}

#[test]
fn the_gradient_of_a_bias_is_the_slope() {
    for (rows, cols, gap) in [(3, 600, 7), (50, 4, 1), (1, 1, 0)] {
        let layout = Layout { rows, cols, stride: cols + gap };
        let (dy, old) = (numbers(1, rows * cols), numbers(2, cols));
        let ours = same_bits(|device| {
            let dy = device.upload::<Activation>(&layout.apart(&dy));
            let mut dbias = device.upload(&old);
            let dy = Matrix::strided(dy.view(), rows, cols, layout.stride);
            add::bias_backward(device, &mut dbias.view_mut(), dy);
            vec![device.read(dbias.view())]
        });
        let loss = |bias: &[f64]| {
            let y: Vec<f64> = (0..rows).flat_map(|_| bias.to_vec()).collect();
            inner(&y, &f64s(&dy))
        };
        let slopes = slopes(loss, &vec![0.0; cols]);
        let truth: Vec<f64> = slopes.iter().zip(&old).map(|(n, o)| n + f64::from(*o)).collect();
        close(&ours[0], &truth, 1e-5);
    }
}

#[test]
fn rows_in_one_call_and_in_several_give_a_bias_the_same_gradient() {
    let (rows, cols) = (150, 300);
    let dy = numbers(1, rows * cols);
    let run = |device: &Device, splits: &[usize]| {
        let (dy, mut dbias) = (device.upload::<Activation>(&dy), device.upload(&vec![0.3; cols]));
        for ends in splits.windows(2) {
            let rows = Matrix::new(dy.view(), rows, cols).row_range(ends[0]..ends[1]);
            add::bias_backward(device, &mut dbias.view_mut(), rows);
        }
        vec![device.read(dbias.view())]
    };
    let at_once = same_bits(|device| run(device, &[0, rows]));
    for splits in [&[0, 1, 64, 65, rows][..], &[0, 149, rows]] {
        assert_eq!(same_bits(|device| run(device, splits)), at_once, "{splits:?}");
    }
}
