//! The gate, there and back.

use whetstone_kernels::swiglu::{self, backward, forward};
use whetstone_kernels::{Device, Matrix, MatrixMut};

use crate::oracle;
use crate::support::{close, f64s, inner, numbers, same_bits, slope};

/// More than two threads' pieces, and not a whole number of them.
const COUNT: usize = 40_003;

fn gates() -> Vec<f32> {
    numbers(1, COUNT).iter().map(|g| g * 6.0).collect()
}

#[test]
fn forward_is_the_formula() {
    let (gate, up) = (gates(), numbers(2, COUNT));
    let ours = same_bits(|device| {
        let (gate, up) = (device.upload(&gate), device.upload(&up));
        let mut y = device.take(COUNT);
        forward(device, &mut y.view_mut(), gate.view(), up.view());
        vec![device.read(y.view())]
    });
    close(&ours[0], &oracle::swiglu(&f64s(&gate), &f64s(&up)), 2e-6);
}

#[test]
fn backward_gives_both_slopes_and_what_came_out() {
    let (gate, up, dy) = (gates(), numbers(2, COUNT), numbers(3, COUNT));
    let ours = same_bits(|device| {
        let upload = |x: &[f32]| device.upload(x);
        let (mut gate, mut up, mut dy) = (upload(&gate), upload(&up), upload(&dy));
        let (gate_view, up_view) = (&mut gate.view_mut(), &mut up.view_mut());
        backward(device, &mut dy.view_mut(), gate_view, up_view);
        vec![device.read(gate.view()), device.read(up.view()), device.read(dy.view())]
    });
    let one = |at: usize| [f64::from(gate[at]), f64::from(up[at])];
    let loss =
        |at: usize, x: &[f64]| inner(&oracle::swiglu(&x[..1], &x[1..]), &[f64::from(dy[at])]);
    let along = |which: usize| {
        (0..COUNT).map(|at| slope(|x| loss(at, x), &one(at), which)).collect::<Vec<_>>()
    };
    close(&ours[0], &along(0), 1e-5);
    close(&ours[1], &along(1), 1e-5);
    close(&ours[2], &oracle::swiglu(&f64s(&gate), &f64s(&up)), 2e-6);
}

#[test]
fn a_gate_far_out_is_shut_or_open() {
    let ours = same_bits(|device| {
        let (gate, up) = (device.upload(&[-200.0, 200.0, 0.0]), device.upload(&[3.0; 3]));
        let mut y = device.take(3);
        forward(device, &mut y.view_mut(), gate.view(), up.view());
        vec![device.read(y.view())]
    });
    assert!(ours[0][0].abs() < 1e-30, "{:?}", ours[0]);
    assert_eq!(ours[0][1..], [600.0, 0.0]);
}

#[test]
fn rows_of_both_side_by_side_are_those_of_both_apart() {
    let (rows, cols) = (9, 7);
    let (both, dy) = (numbers(1, rows * 2 * cols), numbers(2, rows * cols));
    let half = |first: usize| -> Vec<f32> {
        both.chunks(2 * cols).flat_map(|row| row[first..first + cols].to_vec()).collect()
    };
    let ours = same_bits(|device: &Device| {
        let (mut there, mut dy) = (device.upload(&both), device.upload(&dy));
        let mut y = device.upload(&vec![f32::NAN; rows * cols]);
        let to = MatrixMut::new(y.view_mut(), rows, cols);
        swiglu::forward_rows(device, to, Matrix::new(there.view(), rows, 2 * cols));
        let gradients = MatrixMut::new(there.view_mut(), rows, 2 * cols);
        swiglu::backward_rows(device, MatrixMut::new(dy.view_mut(), rows, cols), gradients);
        vec![device.read(y.view()), device.read(there.view()), device.read(dy.view())]
    });
    let apart = same_bits(|device: &Device| {
        let [mut gate, mut up, mut dy] =
            [half(0), half(cols), dy.clone()].map(|numbers| device.upload(&numbers));
        let mut y = device.zeros(rows * cols);
        forward(device, &mut y.view_mut(), gate.view(), up.view());
        let (gate_view, up_view) = (&mut gate.view_mut(), &mut up.view_mut());
        backward(device, &mut dy.view_mut(), gate_view, up_view);
        [&y, &gate, &up, &dy].map(|numbers| device.read(numbers.view())).to_vec()
    });
    assert_eq!((&ours[0], &ours[2]), (&apart[0], &apart[3]));
    for (row, (gate, up)) in
        ours[1].chunks(2 * cols).zip(apart[1].chunks(cols).zip(apart[2].chunks(cols)))
    {
        assert_eq!(row, [gate, up].concat());
    }
}
