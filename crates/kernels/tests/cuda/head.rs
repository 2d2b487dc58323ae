//! Log-probabilities, entropies and their gradients beside the formula, and their bits.

use whetstone_kernels::head::{
    Input, Output, Signal, backward, backward_by_slope, backward_weight, forward,
};
use whetstone_kernels::int8::pack_row;
use whetstone_kernels::linear::Weight;
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Activation, Buffer, Device, Matrix, MatrixMut, WriteMode, nearest_bf16};

use crate::oracle::head::head;
use crate::shared::slope;
use crate::support::{
    POISON, ROUNDED, close, device, f64s, inner, numbers, same_bits, slopes, twice,
};

/// Rows, vocabulary and width.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    rows: usize,
    vocabulary: usize,
    width: usize,
}

/// Numbers between rows.
const GAP: usize = 8;

struct Case {
    sizes: Sizes,
    hidden: Vec<f32>,
    weight: Vec<f32>,
    targets: Vec<u32>,
    tau: f32,
    dlogp: Vec<f32>,
    dentropy: Vec<f32>,
}

/// Everything that comes out.
struct Results {
    logp: Vec<f32>,
    entropy: Vec<f32>,
    dhidden: Vec<f32>,
    /// Added to ones.
    dweight: Vec<f32>,
    /// The gradient of hidden states by slopes, without entropies.
    by_slope: Vec<f32>,
}

#[expect(clippy::cast_possible_truncation, reason = "small sizes become u32")]
fn targets(sizes: Sizes) -> Vec<u32> {
    (0..sizes.rows).map(|row| (row * 7 % sizes.vocabulary) as u32).collect()
}

impl Case {
    fn new(sizes: Sizes, tau: f32) -> Self {
        let Sizes { rows, vocabulary, width } = sizes;
        Self {
            sizes,
            hidden: numbers(1, rows * width),
            weight: numbers(2, vocabulary * width).iter().map(|w| 2.0 * w).collect(),
            targets: targets(sizes),
            tau,
            dlogp: numbers(3, rows),
            dentropy: numbers(4, rows),
        }
    }

    fn row_range(&self, rows: std::ops::Range<usize>) -> Self {
        let of = rows.start * self.sizes.width..rows.end * self.sizes.width;
        Self {
            sizes: Sizes { rows: rows.len(), ..self.sizes },
            hidden: self.hidden[of].to_vec(),
            weight: self.weight.clone(),
            targets: self.targets[rows.clone()].to_vec(),
            tau: self.tau,
            dlogp: self.dlogp[rows.clone()].to_vec(),
            dentropy: self.dentropy[rows].to_vec(),
        }
    }

    fn run(&self, device: &Device, weight: Weight<'_>) -> Results {
        let Sizes { rows, vocabulary, width } = self.sizes;
        let apart: Vec<f32> =
            self.hidden.chunks(width).flat_map(|row| [row, &[POISON; GAP]].concat()).collect();
        let (hidden, targets) = (device.upload(&apart), device.upload(&self.targets));
        let input = Input {
            hidden: Matrix::strided(hidden.view(), rows, width, width + GAP),
            weight,
            targets: targets.view(),
            inverse_temperature: self.tau,
        };
        let [plain, known] = [false, true].map(|wanted| self.forward(device, input, wanted));
        same_bits(&device.read(plain.logp.view()), &device.read(known.logp.view()));
        let (dlogp, dentropy) = (device.upload(&self.dlogp), device.upload(&self.dentropy));
        let signal = Signal {
            lse: known.lse.view(),
            entropy: known.entropy.view(),
            dlogp: dlogp.view(),
            dentropy: dentropy.view(),
        };
        let poisoned = || device.upload::<Activation>(&vec![POISON; rows * width]);
        let (mut dhidden, mut by_slope) = (poisoned(), poisoned());
        backward(device, MatrixMut::new(dhidden.view_mut(), rows, width), input, signal);
        let mut dweight = device.upload::<f32>(&vec![1.0; vocabulary * width]);
        let to = MatrixMut::new(dweight.view_mut(), vocabulary, width);
        backward_weight(device, to, input, signal);
        let slope = Matrix::new(known.slope.view(), rows, width);
        let to = MatrixMut::new(by_slope.view_mut(), rows, width);
        backward_by_slope(device, to, slope, dlogp.view());
        Results {
            logp: device.read(known.logp.view()),
            entropy: device.read(known.entropy.view()),
            dhidden: device.read(dhidden.view()),
            dweight: device.read(dweight.view()),
            by_slope: device.read(by_slope.view()),
        }
    }

    fn forward(&self, device: &Device, input: Input<'_>, wanted: bool) -> Known {
        let Sizes { rows, width, .. } = self.sizes;
        let numbers = || device.upload::<f32>(&vec![POISON; rows]);
        let mut known = Known {
            logp: numbers(),
            entropy: numbers(),
            lse: numbers(),
            slope: device.upload(&vec![POISON; rows * width]),
        };
        let slope = MatrixMut::new(known.slope.view_mut(), rows, width);
        let output = Output {
            logp: known.logp.view_mut(),
            entropy: known.entropy.view_mut(),
            lse: known.lse.view_mut(),
            slope: wanted.then_some(slope),
        };
        forward(device, output, input);
        known
    }

    fn on(&self, device: &Device) -> Results {
        let weight = device.upload::<Activation>(&self.weight);
        self.run(device, Weight::new(weight.view(), self.sizes.vocabulary, self.sizes.width))
    }

    fn loss(&self, hidden: &[f64], weight: &[f64], rows: std::ops::Range<usize>) -> f64 {
        let (logp, entropy) =
            head(hidden, weight, &self.targets[rows.clone()], f64::from(self.tau));
        inner(&logp, &f64s(&self.dlogp[rows.clone()]))
            + inner(&entropy, &f64s(&self.dentropy[rows]))
    }

    fn check(&self, ours: &Results, weight: &[f64]) {
        let hidden = f64s(&self.hidden);
        let (logp, entropy) = head(&hidden, weight, &self.targets, f64::from(self.tau));
        close(&ours.logp, &logp, 2e-5);
        close(&ours.entropy, &entropy, 2e-5);
        let last = self.sizes.rows - 1;
        for row in [0, last / 2, last.saturating_sub(6), last] {
            let of = row * self.sizes.width..(row + 1) * self.sizes.width;
            let own = &hidden[of.clone()];
            let truth = slopes(|h| self.loss(h, weight, row..row + 1), own);
            close(&ours.dhidden[of.clone()], &truth, 2.0 * ROUNDED);
            let plain = |h: &[f64]| {
                let target = &self.targets[row..=row];
                head(h, weight, target, f64::from(self.tau)).0[0] * f64::from(self.dlogp[row])
            };
            close(&ours.by_slope[of], &slopes(plain, own), 3.0 * ROUNDED);
        }
        let loss = |weight: &[f64]| self.loss(&hidden, weight, 0..self.sizes.rows);
        let picked = || (0..weight.len()).step_by(weight.len().div_ceil(200));
        let truth: Vec<f64> = picked().map(|at| 1.0 + slope(loss, weight, at)).collect();
        let dweight: Vec<f32> = picked().map(|at| ours.dweight[at]).collect();
        close(&dweight, &truth, ROUNDED);
    }
}

/// What is known after the way forward.
struct Known {
    logp: Buffer<f32>,
    entropy: Buffer<f32>,
    lse: Buffer<f32>,
    slope: Buffer,
}

impl Results {
    fn all(self) -> Vec<Vec<f32>> {
        let Self { logp, entropy, dhidden, dweight, by_slope } = self;
        vec![logp, entropy, dhidden, dweight, by_slope]
    }

    fn from(all: Vec<Vec<f32>>) -> Self {
        let [logp, entropy, dhidden, dweight, by_slope] = all.try_into().unwrap();
        Self { logp, entropy, dhidden, dweight, by_slope }
    }
}

/// Over the ends of chunks and of tiles, sizes that the library takes and others.
#[test]
fn the_head_is_the_formula_at_several_temperatures() {
    let Some(device) = device() else { return };
    for (rows, vocabulary, width, tau) in [
        (1030, 37, 8, 1.0),
        (5, 16, 16, 1.6),
        (1, 1, 1, 1.0),
        (7, 100, 9, 0.4),
        (5, 1040, 16, 0.7),
        (9, 1305, 24, 1.0),
    ] {
        let case = Case::new(Sizes { rows, vocabulary, width }, tau);
        let ours = Results::from(twice(device, || case.on(device).all()));
        case.check(&ours, &f64s(&case.weight));
    }
}

#[test]
fn a_weight_of_bytes_is_the_formula_too() {
    let Some(device) = device() else { return };
    let sizes = Sizes { rows: 4, vocabulary: 1100, width: 16 };
    let case = Case::new(sizes, 0.8);
    let mut bytes = vec![0; case.weight.len()];
    let each = case.weight.chunks(sizes.width).zip(bytes.chunks_mut(sizes.width));
    let scales: Vec<f32> = each.map(|(from, to)| pack_row(from, to)).collect();
    let ours = Results::from(twice(device, || {
        let (bytes, scales) = (device.upload(&bytes), device.upload(&scales));
        let weight =
            Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs: sizes.width };
        case.run(device, weight).all()
    }));
    let number = |(at, byte): (usize, &i8)| {
        f64::from(nearest_bf16(f32::from(*byte) * scales[at / sizes.width]))
    };
    let truth: Vec<f64> = bytes.iter().enumerate().map(number).collect();
    case.check(&ours, &truth);
}

/// A token that is all but certain still has a slope: what is missing to one is not lost in
/// rounding.
#[test]
fn the_slope_of_a_certain_token_is_small_and_right() {
    let Some(device) = device() else { return };
    let sizes = Sizes { rows: 6, vocabulary: 300, width: 16 };
    let mut case = Case::new(sizes, 1.0);
    case.dlogp.fill(1.0);
    // Each row's target is worth 9 more than anything else.
    for row in 0..sizes.rows {
        let target = case.targets[row] as usize * sizes.width;
        let own = case.hidden[row * sizes.width..(row + 1) * sizes.width].to_vec();
        let square: f32 = own.iter().map(|x| x * x).sum();
        for (w, h) in case.weight[target..target + sizes.width].iter_mut().zip(own) {
            *w = nearest_bf16(h * 14.0 / square);
        }
    }
    let ours = case.on(device);
    let (hidden, weight) = (f64s(&case.hidden), f64s(&case.weight));
    for row in 0..sizes.rows {
        let of = row * sizes.width..(row + 1) * sizes.width;
        let plain = |h: &[f64]| head(h, &weight, &case.targets[row..=row], 1.0).0[0];
        assert!(plain(&hidden[of.clone()]) > -0.3, "all but certain");
        close(&ours.by_slope[of.clone()], &slopes(plain, &hidden[of]), 3.0 * ROUNDED);
    }
}

#[test]
fn logits_of_hundreds_are_still_probabilities() {
    let Some(device) = device() else { return };
    let mut case = Case::new(Sizes { rows: 6, vocabulary: 700, width: 8 }, 256.0);
    case.dentropy.fill(0.0);
    let ours = case.on(device);
    let (logp, _) = head(&f64s(&case.hidden), &f64s(&case.weight), &case.targets, 256.0);
    close(&ours.logp, &logp, 1e-5);
    // Powers by that of a target far below others would not be finite.
    assert!(logp.iter().any(|logp| *logp < -60.0), "{logp:?}");
    close(&ours.by_slope, &f64s(&ours.dhidden), 3.0 * ROUNDED);
    assert!(ours.all().concat().iter().all(|x| x.is_finite()));
    device.check().unwrap();
}

/// Rows of any batch, chunks of which end elsewhere.
#[test]
fn a_row_has_the_same_bits_alone_and_among_others() {
    let Some(device) = device() else { return };
    let sizes = Sizes { rows: 1100, vocabulary: 1305, width: 64 };
    let case = Case::new(sizes, 0.7);
    let all = case.on(device);
    for rows in [0..1, 5..6, 37..1090, 1023..1025, 1099..1100] {
        let some = case.row_range(rows.clone()).on(device);
        let of = rows.start * sizes.width..rows.end * sizes.width;
        same_bits(&some.logp, &all.logp[rows.clone()]);
        same_bits(&some.entropy, &all.entropy[rows.clone()]);
        same_bits(&some.dhidden, &all.dhidden[of.clone()]);
        same_bits(&some.by_slope, &all.by_slope[of]);
    }
    device.check().unwrap();
}

/// The value head: one column, a weight of f32.
#[test]
fn a_value_is_one_column_of_a_product() {
    let Some(device) = device() else { return };
    let (rows, width) = (70, 96);
    let (h, w) = (numbers(1, rows * width), numbers(2, width));
    let ours = twice(device, || {
        let (h, w) = (device.upload::<Activation>(&h), device.upload::<f32>(&w));
        let mut values = device.upload::<f32>(&vec![POISON; rows]);
        let to = MatrixMut::new(values.view_mut(), rows, 1);
        let (h, w) = (Matrix::new(h.view(), rows, width), Matrix::new(w.view(), 1, width));
        let product = ScaledProduct { scale: 1.0, a: h, b: w.transposed() };
        matmul(device, to, WriteMode::Overwrite, product);
        vec![device.read(values.view())]
    });
    close(&ours[0], &crate::oracle::linear(&f64s(&h), &f64s(&w), width), 1e-5);
}
