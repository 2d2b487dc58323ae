//! Log-probability and entropy, and both of their gradients.

use whetstone_kernels::head::{
    Input, Output, Signal, backward, backward_by_slope, backward_weight, forward,
};
use whetstone_kernels::int8::pack_row;
use whetstone_kernels::linear::Weight;
use whetstone_kernels::{Device, Matrix, MatrixMut};

use crate::oracle::head::head;
use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slope, slopes};

struct Case {
    width: usize,
    hidden: Vec<f32>,
    weight: Vec<f32>,
    targets: Vec<u32>,
    tau: f32,
    dlogp: Vec<f32>,
    dentropy: Vec<f32>,
}

impl Case {
    fn new(rows: usize, vocabulary: usize, width: usize, tau: f32) -> Self {
        Self {
            width,
            hidden: numbers(1, rows * width),
            weight: numbers(2, vocabulary * width).iter().map(|w| 2.0 * w).collect(),
            targets: (0..rows).map(|row| (row * 7 % vocabulary) as u32).collect(),
            tau,
            dlogp: numbers(3, rows),
            dentropy: numbers(4, rows),
        }
    }

    fn rows(&self) -> usize {
        self.targets.len()
    }

    /// `logp`, entropy, `dhidden` and, added to ones, `dweight`.
    fn run(&self, device: &Device, weight: Weight<'_>) -> Vec<Vec<f32>> {
        let rows = self.rows();
        let from = Layout { rows, cols: self.width, stride: self.width + 3 };
        let to = Layout { rows, cols: self.width, stride: self.width + 1 };
        let vocabulary = self.weight.len() / self.width;
        let back = Layout { rows: vocabulary, cols: self.width, stride: self.width + 2 };
        let (hidden, targets) =
            (device.upload(&from.apart(&self.hidden)), device.upload(&self.targets));
        let hidden = Matrix::strided(hidden.view(), rows, self.width, from.stride);
        let input =
            Input { hidden, weight, targets: targets.view(), inverse_temperature: self.tau };
        let mut known = [0; 3].map(|_| device.upload(&vec![f32::NAN; rows]));
        let [logp, entropy, lse] = &mut known;
        let output = Output {
            logp: logp.view_mut(),
            entropy: entropy.view_mut(),
            lse: lse.view_mut(),
            slope: None,
        };
        forward(device, output, input);
        let (dlogp, dentropy) = (device.upload(&self.dlogp), device.upload(&self.dentropy));
        let signal = Signal {
            lse: known[2].view(),
            entropy: known[1].view(),
            dlogp: dlogp.view(),
            dentropy: dentropy.view(),
        };
        let mut dhidden = device.upload(&to.nothing());
        let mut dweight = device.upload(&back.apart(&vec![1.0; self.weight.len()]));
        let dhidden_to = MatrixMut::strided(dhidden.view_mut(), rows, self.width, to.stride);
        let dweight_to =
            MatrixMut::strided(dweight.view_mut(), vocabulary, self.width, back.stride);
        backward(device, dhidden_to, input, signal);
        backward_weight(device, dweight_to, input, signal);
        vec![
            device.read(known[0].view()),
            device.read(known[1].view()),
            to.together(&device.read(dhidden.view())),
            back.together(&device.read(dweight.view())),
        ]
    }

    fn loss(&self, hidden: &[f64], weight: &[f64], rows: std::ops::Range<usize>) -> f64 {
        let (logp, entropy) =
            head(hidden, weight, &self.targets[rows.clone()], f64::from(self.tau));
        inner(&logp, &f64s(&self.dlogp[rows.clone()]))
            + inner(&entropy, &f64s(&self.dentropy[rows]))
    }

    /// Compares everything, the gradient of hidden states in some rows.
    fn check(&self, ours: &[Vec<f32>], weight: &[f64], some: &[usize]) {
        let hidden = f64s(&self.hidden);
        let (logp, entropy) = head(&hidden, weight, &self.targets, f64::from(self.tau));
        close(&ours[0], &logp, 1e-5);
        close(&ours[1], &entropy, 1e-5);
        for &row in some {
            let of = row * self.width..(row + 1) * self.width;
            let truth = slopes(|h| self.loss(h, weight, row..row + 1), &hidden[of.clone()]);
            close(&ours[2][of], &truth, 2e-5);
        }
        let loss = |weight: &[f64]| self.loss(&hidden, weight, 0..self.rows());
        let picked = || (0..weight.len()).step_by(weight.len().div_ceil(300));
        let truth: Vec<f64> = picked().map(|at| 1.0 + slope(loss, weight, at)).collect();
        let dweight: Vec<f32> = picked().map(|at| ours[3][at]).collect();
        close(&dweight, &truth, 2e-5);
    }
}

#[test]
fn a_weight_of_numbers_at_several_temperatures_and_over_several_chunks() {
    for (rows, vocabulary, width, tau) in
        [(1030, 37, 3, 1.0), (5, 16, 4, 1.6), (1, 1, 1, 1.0), (7, 100, 9, 0.4), (5, 1040, 3, 0.7)]
    {
        let case = Case::new(rows, vocabulary, width, tau);
        let ours = same_bits(|device| {
            let weight = device.upload(&case.weight);
            case.run(device, Weight::new(weight.view(), vocabulary, width))
        });
        let last = rows - 1;
        case.check(&ours, &f64s(&case.weight), &[0, last / 2, last.saturating_sub(6), last]);
    }
}

#[test]
fn a_weight_of_bytes_over_several_pieces_of_it() {
    let width = 5;
    let case = Case::new(4, 1100, width, 0.8);
    let mut bytes = vec![0; case.weight.len()];
    let rows = case.weight.chunks(width).zip(bytes.chunks_mut(width));
    let scales: Vec<f32> = rows.map(|(from, to)| pack_row(from, to)).collect();
    let ours = same_bits(|device| {
        let (bytes, scales) = (device.upload(&bytes), device.upload(&scales));
        case.run(device, Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs: width })
    });
    let number = |(at, byte): (usize, &i8)| f64::from(*byte) * f64::from(scales[at / width]);
    let truth: Vec<f64> = bytes.iter().enumerate().map(number).collect();
    case.check(&ours, &truth, &[0, 1, 2, 3]);
}

#[test]
fn logits_of_hundreds_are_still_probabilities() {
    let case = Case::new(6, 50, 4, 300.0);
    let ours = same_bits(|device| {
        let weight = device.upload(&case.weight);
        case.run(device, Weight::new(weight.view(), 50, 4))
    });
    let (logp, entropy) = head(&f64s(&case.hidden), &f64s(&case.weight), &case.targets, 300.0);
    close(&ours[0], &logp, 1e-5);
    for (ours, truth) in ours[1].iter().zip(entropy) {
        assert!((f64::from(*ours) - truth).abs() < 1e-3, "{ours} {truth}");
    }
    assert!(ours[2].iter().chain(&ours[3]).all(|x| x.is_finite()));
}

/// Rows that are taken a thousand at a time are taken from the beginning of what was asked for.
#[test]
fn some_rows_of_an_input_and_its_signal_are_those_rows() {
    let (rows, vocabulary, width) = (1100, 40, 4);
    let case = Case::new(rows, vocabulary, width, 1.0);
    let ours = same_bits(|device| {
        let (hidden, targets) = (device.upload(&case.hidden), device.upload(&case.targets));
        let weight = device.upload(&case.weight);
        let signals = [&case.dlogp, &case.dentropy].map(|signal| device.upload(signal));
        let known = [5, 6].map(|seed| device.upload(&numbers(seed, rows)));
        let input = Input {
            hidden: Matrix::new(hidden.view(), rows, width),
            weight: Weight::new(weight.view(), vocabulary, width),
            targets: targets.view(),
            inverse_temperature: 1.0,
        };
        let signal = Signal {
            lse: known[0].view(),
            entropy: known[1].view(),
            dlogp: signals[0].view(),
            dentropy: signals[1].view(),
        };
        let mut dhidden = device.take(rows * width);
        backward(device, MatrixMut::new(dhidden.view_mut(), rows, width), input, signal);
        let (begin, end) = (37, 1090);
        let mut part = device.take((end - begin) * width);
        let to = MatrixMut::new(part.view_mut(), end - begin, width);
        backward(device, to, input.row_range(begin..end), signal.row_range(begin..end));
        let whole = device.read(dhidden.view());
        vec![whole[begin * width..end * width].to_vec(), device.read(part.view())]
    });
    assert_eq!(ours[0], ours[1]);
}

/// Over the ends of rows and of tokens that are worked on together, and where the largest logit comes
/// late.
#[test]
fn the_slope_is_that_of_the_log_probability_and_changes_nothing_else() {
    for ((rows, vocabulary, width), tau) in [((5, 1040, 3), 0.7), ((1030, 37, 4), 1.3)] {
        let mut case = Case::new(rows, vocabulary, width, tau);
        case.dentropy.fill(0.0);
        let last = case.weight.len() - width;
        for w in &mut case.weight[last..] {
            *w *= 30.0;
        }
        let mut bytes = vec![0; case.weight.len()];
        let each = case.weight.chunks(width).zip(bytes.chunks_mut(width));
        let scales: Vec<f32> = each.map(|(from, to)| pack_row(from, to)).collect();
        for small in [false, true] {
            let ours = same_bits(|device| {
                let (plain, bytes) = (device.upload(&case.weight), device.upload(&bytes));
                let scales = device.upload(&scales);
                let weight = if small {
                    Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs: width }
                } else {
                    Weight::new(plain.view(), vocabulary, width)
                };
                let without = case.run(device, weight);
                let (hidden, targets) = (device.upload(&case.hidden), device.upload(&case.targets));
                let input = Input {
                    hidden: Matrix::new(hidden.view(), rows, width),
                    weight,
                    targets: targets.view(),
                    inverse_temperature: tau,
                };
                let mut known = [0; 3].map(|_| device.take(rows));
                let [logp, entropy, lse] = &mut known;
                let to = Layout { rows, cols: width, stride: width + 2 };
                let mut slope = device.upload(&to.nothing());
                let output = Output {
                    logp: logp.view_mut(),
                    entropy: entropy.view_mut(),
                    lse: lse.view_mut(),
                    slope: Some(MatrixMut::strided(slope.view_mut(), rows, width, to.stride)),
                };
                forward(device, output, input);
                let dlogp = device.upload(&case.dlogp);
                let mut dhidden = device.take(rows * width);
                let slope = Matrix::strided(slope.view(), rows, width, to.stride);
                let back = MatrixMut::new(dhidden.view_mut(), rows, width);
                backward_by_slope(device, back, slope, dlogp.view());
                let [logp, entropy, _] = known;
                assert_eq!(device.read(logp.view()), without[0]);
                assert_eq!(device.read(entropy.view()), without[1]);
                vec![device.read(dhidden.view()), without[2].clone()]
            });
            close(&ours[0], &f64s(&ours[1]), 2e-5);
        }
    }
}
