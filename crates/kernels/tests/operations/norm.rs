//! The size of a gradient, and making it smaller.

use whetstone_kernels::Device;
use whetstone_kernels::norm::{dot, is_finite, scale, sum_of_squares};

use crate::support::{close, f64s, inner, numbers, same_bits};

#[test]
fn squares_are_summed_to_the_last_number() {
    for count in [0, 1, 5, 4096, 4097, 16 * 4096 * 2 + 77] {
        let x = numbers(1, count);
        let truth = inner(&f64s(&x), &f64s(&x));
        let sums = [1, 2, 3].map(|threads| {
            let device = Device::cpu(threads).unwrap();
            sum_of_squares(&device, device.upload(&x).view())
        });
        assert!((sums[0] - truth).abs() <= 1e-6 * truth, "{count}: {} {truth}", sums[0]);
        assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()), "{count}: {sums:?}");
    }
}

#[test]
fn products_are_summed_to_the_last_number() {
    for count in [0, 1, 5, 4096, 4097, 16 * 4096 * 2 + 77] {
        let (x, y) = (numbers(1, count), numbers(2, count));
        let (truth, size) = (inner(&f64s(&x), &f64s(&y)), inner(&f64s(&x), &f64s(&x)));
        let sums = [1, 2, 3].map(|threads| {
            let device = Device::cpu(threads).unwrap();
            dot(&device, device.upload(&x).view(), device.upload(&y).view())
        });
        assert!((sums[0] - truth).abs() <= 1e-6 * size, "{count}: {} {truth}", sums[0]);
        assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()), "{count}: {sums:?}");
    }
}

#[test]
fn one_number_that_is_none_is_found_wherever_it_is() {
    let count = 70_001;
    for threads in [1, 3] {
        let device = Device::cpu(threads).unwrap();
        let finite = |x: &[f32]| is_finite(&device, device.upload(x).view());
        let mut x = numbers(1, count);
        x[7] = f32::MAX;
        assert!(finite(&x) && finite(&[]));
        for at in [0, 40_000, count - 1] {
            for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let was = std::mem::replace(&mut x[at], wrong);
                assert!(!finite(&x), "{wrong} at {at}");
                x[at] = was;
            }
        }
    }
}

#[test]
fn scaling_reaches_every_number() {
    let x = numbers(1, 70_001);
    let ours = same_bits(|device| {
        let mut x = device.upload(&x);
        scale(device, &mut x.view_mut(), -0.125);
        vec![device.read(x.view())]
    });
    let truth: Vec<f64> = x.iter().map(|x| f64::from(*x) * -0.125).collect();
    close(&ours[0], &truth, 1e-7);
}
