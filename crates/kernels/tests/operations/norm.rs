//! The size of a gradient, and making it smaller.

use whetstone_kernels::Device;
use whetstone_kernels::norm::{scale, sum_of_squares};

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
