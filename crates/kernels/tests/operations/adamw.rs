//! Three steps beside PyTorch's.

use whetstone_kernels::Device;
use whetstone_kernels::adamw::{AdamState, AdamW, Tensor, step, step_all};

use crate::support::{close, numbers, same_bits};

const RULE: AdamW = AdamW {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-6,
    decay: 0.1,
    step: 0,
    gradient_scale: 1.0,
};

const START: [f32; 5] = [1.0, -0.5, 0.25, 3.0, -2.0];

const GRADIENTS: [[f32; 5]; 3] =
    [[0.1, -2.0, 0.0, 1e-4, 30.0], [-0.3, 1.0, 0.5, 1e-4, -10.0], [0.2, 0.1, -0.5, -2e-4, 5.0]];

/// The weight and both means after each step, by PyTorch 2 on a CPU:
///
/// ```python
/// w = torch.tensor([1.0, -0.5, 0.25, 3.0, -2.0], requires_grad=True)
/// rule = torch.optim.AdamW([w], lr=0.01, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.1, foreach=False)
/// for g in GRADIENTS:
///     w.grad = torch.tensor(g)
///     rule.step()
///     print(w, rule.state[w]["exp_avg"], rule.state[w]["exp_avg_sq"])
/// ```
const PYTORCH: [[[f64; 5]; 3]; 3] = [
    [
        [0.989_000_142, -0.489_500_016, 0.249_750_003, 2.987_098_93, -2.008_000_14],
        [0.010_000_000_7, -0.200_000_003, 0.0, 9.999_999_75e-6, 3.0],
        [0.000_500_000_024, 0.200_000_003, 0.0, 4.999_999_86e-10, 45.0],
    ],
    [
        [0.992_904_127, -0.486_326_814, 0.242_150_679, 2.974_210_74, -2.010_035_28],
        [-0.020_999_999_7, -0.079_999_998_2, 0.050_000_000_7, 1.899_999_92e-5, 1.699_999_93],
        [0.004_975_000_4, 0.239_999_995, 0.012_500_000_2, 9.749_999_7e-10, 47.75],
    ],
    [
        [0.991_724_312, -0.484_033_018, 0.242_354_84, 2.971_978_43, -2.012_168_65],
        [0.001_100_000_69, -0.061_999_999, -0.005_000_001_29, -2.900_000_48e-6, 2.029_999_97],
        [0.006_726_250_52, 0.228_499_979, 0.024_374_999_1, 2.926_249_91e-9, 46.612_499_2],
    ],
];

/// Each number by itself, since they differ by ten orders. A mean near zero is a difference of
/// larger ones, so a few units of their last place are allowed.
#[track_caller]
fn each_close(ours: &[f32], truth: &[f64]) {
    for (ours, truth) in ours.iter().zip(truth) {
        close(&[*ours], &[*truth], 2e-6);
    }
}

#[test]
fn three_steps_are_those_of_pytorch() {
    let device = Device::cpu(2).unwrap();
    let mut all = [device.upload(&START), device.zeros(5), device.zeros(5)];
    for (at, gradient) in GRADIENTS.iter().enumerate() {
        let [weight, mean, square] = &mut all;
        let state = AdamState {
            weight: weight.view_mut(),
            mean: mean.view_mut(),
            square: square.view_mut(),
        };
        // Twice the gradient and half of it: the scale comes before everything else.
        let twice = device.upload(&gradient.map(|g| 2.0 * g));
        let rule = AdamW { step: at as u64 + 1, gradient_scale: 0.5, ..RULE };
        step(&device, state, twice.view(), &rule);
        for (ours, truth) in all.iter().zip(PYTORCH[at]) {
            each_close(&device.read(ours.view()), &truth);
        }
    }
}

#[test]
fn every_piece_of_a_long_weight_gets_its_own_step() {
    let count = 40_003;
    let [start, mean, gradient] = [1, 2, 3].map(|seed| numbers(seed, count));
    let square: Vec<f32> = numbers(4, count).iter().map(|v| v * v).collect();
    let rule = AdamW { step: 7, ..RULE };
    let run = |device: &Device, range: std::ops::Range<usize>| {
        let upload = |x: &[f32]| device.upload(&x[range.clone()]);
        let gradient = upload(&gradient);
        let mut all = [upload(&start), upload(&mean), upload(&square)];
        let [weight, mean, square] = &mut all;
        let state = AdamState {
            weight: weight.view_mut(),
            mean: mean.view_mut(),
            square: square.view_mut(),
        };
        step(device, state, gradient.view(), &rule);
        all.map(|x| device.read(x.view())).to_vec()
    };
    let whole = same_bits(|device| run(device, 0..count));
    let device = Device::cpu(1).unwrap();
    for at in [0, 1, 16_383, 16_384, 32_768, count - 1] {
        let alone = run(&device, at..at + 1);
        for (whole, alone) in whole.iter().zip(alone) {
            assert_eq!(whole[at].to_bits(), alone[0].to_bits(), "number {at}");
        }
    }
}

#[test]
fn tensors_step_together_as_they_do_alone_and_only_some_decay() {
    let rule = AdamW { step: 3, ..RULE };
    let together = same_bits(|device: &Device| {
        let mut all: Vec<_> = [5, 40_003, 1]
            .map(|count| [1, 2, 3, 4].map(|seed| device.upload(&numbers(seed, count))))
            .into();
        for [_, _, square, _] in &mut all {
            let squares: Vec<f32> = device.read(square.view()).iter().map(|v| v * v).collect();
            *square = device.upload(&squares);
        }
        let mut tensors = Vec::new();
        for (at, [weight, mean, square, gradient]) in all.iter_mut().enumerate() {
            let (weight, mean) = (weight.view_mut(), mean.view_mut());
            let state = AdamState { weight, mean, square: square.view_mut() };
            let gradient = gradient.view();
            tensors.push(Tensor { state, gradient, copy: None, is_decayed: at != 1 });
        }
        step_all(device, &mut tensors, &rule);
        drop(tensors);
        all.iter().map(|[weight, ..]| device.read(weight.view())).collect()
    });
    let device = Device::cpu(1).unwrap();
    for (at, count) in [5, 40_003, 1].into_iter().enumerate() {
        let [mut weight, mut mean, gradient] =
            [1, 2, 4].map(|seed| device.upload::<f32>(&numbers(seed, count)));
        let squares: Vec<f32> = numbers(3, count).iter().map(|v| v * v).collect();
        let mut square = device.upload(&squares);
        let state = AdamState {
            weight: weight.view_mut(),
            mean: mean.view_mut(),
            square: square.view_mut(),
        };
        let rule = AdamW { decay: if at == 1 { 0.0 } else { RULE.decay }, ..rule };
        step(&device, state, gradient.view(), &rule);
        assert_eq!(device.read(weight.view()), together[at]);
    }
}
