//! Sums, steps of the optimizer and measures of gradients: numbers in f32.

use whetstone_kernels::adamw::{AdamState, AdamW, Tensor, step, step_all};
use whetstone_kernels::fused_linear::{AugmentedWeight, Sizes};
use whetstone_kernels::int8::{pack_row, unpack};
use whetstone_kernels::master::{MasterWeight, Shape as MasterShape};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, add, nearest_bf16, norm};

use crate::support::{POISON, ROUNDED, close, device, f64s, numbers, twice};

#[test]
fn a_residual_a_multiple_and_a_bias_are_added() {
    let Some(device) = device() else { return };
    let (rows, cols) = (70, 301);
    let (x, y, bias) = (numbers(1, rows * cols), numbers(2, rows * cols), numbers(3, cols));
    let ours = twice(device, || {
        let mut sum = device.upload::<Activation>(&x);
        add::add(device, &mut sum.view_mut(), device.upload(&y).view());
        let mut multiple = device.upload::<f32>(&x);
        add::scaled(device, &mut multiple.view_mut(), -1.75, device.upload(&y).view());
        norm::scale(device, &mut multiple.view_mut(), 0.5);
        let mut biased = device.upload::<Activation>(&x);
        let to = MatrixMut::new(biased.view_mut(), rows, cols);
        add::bias(device, to, device.upload(&bias).view());
        vec![device.read(sum.view()), device.read(multiple.view()), device.read(biased.view())]
    });
    let both = x.iter().zip(&y);
    let truth: Vec<f32> = both.clone().map(|(x, y)| nearest_bf16(x + y)).collect();
    assert_eq!(ours[0], truth);
    let truth: Vec<f32> = both.map(|(x, y)| (x + -1.75 * y) * 0.5).collect();
    assert_eq!(ours[1], truth);
    let each = x.iter().zip(bias.iter().cycle());
    let truth: Vec<f32> = each.map(|(x, b)| nearest_bf16(x + b)).collect();
    assert_eq!(ours[2], truth);
}

#[test]
fn a_biass_gradient_is_the_sum_row_by_row_in_one_call_and_in_several() {
    let Some(device) = device() else { return };
    let (rows, cols) = (150, 300);
    let dy = numbers(1, rows * cols);
    let run = |splits: &[usize]| {
        twice(device, || {
            let (dy, mut dbias) = (device.upload::<Activation>(&dy), device.upload(&[0.3; 300]));
            for ends in splits.windows(2) {
                let rows = Matrix::new(dy.view(), rows, cols).row_range(ends[0]..ends[1]);
                add::bias_backward(device, &mut dbias.view_mut(), rows);
            }
            vec![device.read(dbias.view())]
        })
    };
    let mut sums = vec![0.3f32; cols];
    for row in dy.chunks(cols) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    for splits in [&[0, rows][..], &[0, 1, 64, 65, rows]] {
        assert_eq!(run(splits)[0], sums, "{splits:?}");
    }
}

/// A step of the optimizer.
const RULE: AdamW = AdamW {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-6,
    decay: 0.1,
    step: 7,
    gradient_scale: 0.37,
};

/// The formula is the same, operation by operation, and so are the bits.
#[test]
fn a_step_of_the_optimizer_has_the_bits_of_processors() {
    let Some(device) = device() else { return };
    let count = 40_003;
    let [start, mean, gradient] = [1, 2, 3].map(|seed| numbers(seed, count));
    let square: Vec<f32> = numbers(4, count).iter().map(|v| v * v).collect();
    let run = |device: &Device| {
        let upload = |x: &[f32]| device.upload::<f32>(x);
        let gradient = upload(&gradient);
        let mut all = [upload(&start), upload(&mean), upload(&square)];
        let [weight, mean, square] = &mut all;
        let state = AdamState {
            weight: weight.view_mut(),
            mean: mean.view_mut(),
            square: square.view_mut(),
        };
        step(device, state, gradient.view(), &RULE);
        all.map(|x| device.read(x.view())).to_vec()
    };
    assert_eq!(twice(device, || run(device)), run(&Device::cpu(1).unwrap()));
}

/// Tensors around the ends of blocks; the copies of some lie among other weights.
#[test]
fn all_tensors_step_at_once_with_the_bits_of_processors_and_their_copies_follow() {
    let Some(device) = device() else { return };
    let shapes = [(1, 1), (3, 5), (1, 8191), (2, 4096), (1, 8193), (33, 129), (64, 200)];
    let run = |device: &Device| {
        let mut masters = Vec::new();
        let mut means = Vec::new();
        for (seed, (rows, cols)) in (1..).zip(shapes) {
            let count = rows * cols;
            let mut master = MasterWeight::new(device, device.upload(&numbers(seed, count)));
            if rows > 2 {
                let narrow = 8;
                let sizes = Sizes { outputs: rows, inputs: cols, narrow };
                let place = AugmentedWeight::new(device, sizes, 1.0).weight(0);
                master.move_to(device, place, MasterShape { rows, cols });
            }
            masters.push(master);
            let square: Vec<f32> = numbers(seed + 40, count).iter().map(|v| v * v).collect();
            let all = [numbers(seed + 20, count), square, numbers(seed + 60, count)];
            means.push(all.map(|x| device.upload::<f32>(&x)));
        }
        let mut tensors = Vec::new();
        for (at, (master, [mean, square, gradient])) in
            masters.iter_mut().zip(&mut means).enumerate()
        {
            let (weight, copy) = master.both_mut();
            let state = AdamState { weight, mean: mean.view_mut(), square: square.view_mut() };
            let is_decayed = at % 2 == 0;
            tensors.push(Tensor { state, gradient: gradient.view(), copy, is_decayed });
        }
        step_all(device, &mut tensors, &RULE);
        drop(tensors);
        let mut read = Vec::new();
        for (mut master, [mean, square, _]) in masters.into_iter().zip(means) {
            read.push(device.read(master.numbers()));
            read.extend([device.read(mean.view()), device.read(square.view())]);
            master.freeze();
            let copy = device.read(master.to_numbers(device).view());
            read.push(copy.into_iter().map(nearest_bf16).collect());
        }
        read
    };
    assert_eq!(twice(device, || run(device)), run(&Device::cpu(1).unwrap()));
}

#[test]
fn several_gradients_are_measured_and_cleared_at_once() {
    let Some(device) = device() else { return };
    let lengths = [1, 4096, 0, 4097, 70_001, 12];
    let all: Vec<Vec<f32>> = (1..).zip(lengths).map(|(seed, n)| numbers(seed, n)).collect();
    let mut there: Vec<_> = all.iter().map(|x| device.upload::<f32>(x)).collect();
    let pairs: Vec<_> = there.iter().map(|x| norm::Pair { x: x.view(), y: x.view() }).collect();
    let apart: f64 = there.iter().map(|x| norm::sum_of_squares(device, x.view())).sum();
    assert_eq!(norm::dot_all(device, &pairs).to_bits(), apart.to_bits());
    let views: Vec<_> = there.iter().map(|x| x.view()).collect();
    assert_eq!(norm::first_not_finite(device, &views), None);
    drop(views);
    device.fill(&mut there[3].view_mut().part(4096..4097), f32::NAN);
    let views: Vec<_> = there.iter().map(|x| x.view()).collect();
    assert_eq!(norm::first_not_finite(device, &views), Some(3));
    drop(views);
    let mut views: Vec<_> = there.iter_mut().map(|x| x.view_mut()).collect();
    norm::clear(device, &mut views[1..]);
    drop(views);
    assert_eq!(device.read(there[0].view()), all[0]);
    for x in &there[1..] {
        assert!(device.read(x.view()).iter().all(|x| x.to_bits() == 0));
    }
    device.check().unwrap();
}

#[test]
fn a_masters_copy_follows_it() {
    let Some(device) = device() else { return };
    let numbers: Vec<f32> = (0..1003).map(|at| 1.0 + at as f32 / 4096.0).collect();
    let mut weight = MasterWeight::new(device, device.upload(&numbers));
    let rounded: Vec<f32> = numbers.iter().map(|&x| nearest_bf16(x)).collect();
    assert_eq!(device.read(weight.numbers()), numbers);
    assert_eq!(device.read(weight.activations()), rounded);
    norm::scale(device, &mut weight.numbers_mut(), 3.0);
    weight.refresh(device);
    let rounded: Vec<f32> = numbers.iter().map(|&x| nearest_bf16(x * 3.0)).collect();
    assert_eq!(device.read(weight.activations()), rounded);
    device.check().unwrap();
}

#[test]
fn gradients_are_measured_and_what_is_no_number_is_found() {
    let Some(device) = device() else { return };
    let count = 70_001;
    let (x, y) = (numbers(1, count), numbers(2, count));
    let on = |x: &[f32]| device.upload::<f32>(x);
    let dot = || norm::dot(device, on(&x).view(), on(&y).view());
    let truth: f64 = f64s(&x).iter().zip(f64s(&y)).map(|(x, y)| x * y).sum();
    let squares = norm::sum_of_squares(device, on(&x).view());
    let size: f64 = f64s(&x).iter().map(|x| x * x).sum();
    assert!((dot() - truth).abs() < 1e-5 * size && (squares - size).abs() < 1e-6 * size);
    assert_eq!(dot().to_bits(), dot().to_bits());
    assert!(norm::is_finite(device, on(&x).view()));
    for (at, wrong) in [(0, f32::NAN), (count - 1, f32::INFINITY), (4096, f32::NEG_INFINITY)] {
        let mut x = x.clone();
        x[at] = wrong;
        assert!(!norm::is_finite(device, on(&x).view()), "{wrong} at {at}");
    }
    device.check().unwrap();
}

#[test]
fn bytes_become_numbers_by_the_scale_of_their_row() {
    let Some(device) = device() else { return };
    let (rows, cols) = (37, 50);
    let from: Vec<f32> = numbers(1, rows * cols);
    let mut bytes = vec![0; from.len()];
    let pairs = from.chunks(cols).zip(bytes.chunks_mut(cols));
    let scales: Vec<f32> = pairs.map(|(from, to)| pack_row(from, to)).collect();
    let ours = twice(device, || {
        let (bytes, scales) = (device.upload(&bytes), device.upload(&scales));
        let mut rounded = device.upload::<Activation>(&vec![POISON; from.len()]);
        let mut exact = device.upload::<f32>(&vec![POISON; from.len()]);
        unpack(device, &mut rounded.view_mut(), bytes.view(), scales.view());
        unpack(device, &mut exact.view_mut(), bytes.view(), scales.view());
        vec![device.read(rounded.view()), device.read(exact.view())]
    });
    let truth: Vec<f32> =
        bytes.iter().enumerate().map(|(at, &b)| f32::from(b) * scales[at / cols]).collect();
    assert_eq!(ours[1], truth);
    close(&ours[0], &f64s(&truth), ROUNDED);
}
