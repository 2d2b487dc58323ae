//! Norms over rows and over heads, with different strides on the two sides.

use whetstone_kernels::WriteMode;
use whetstone_kernels::rms_norm::{
    Gain, Gradient, GradientBeside, Heads, Input, Norm, Output, Saved, backward, backward_beside,
    forward,
};

use crate::oracle;
use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slopes};

/// Not small beside the mean of squares, so that a wrong place for it shows.
const EPSILON: f32 = 0.02;

/// Rows, heads and numbers in a head; numbers between the rows of `x` and between those of `y`.
#[derive(Clone, Copy)]
struct Sizes {
    rows: usize,
    heads: usize,
    size: usize,
    x_gap: usize,
    y_gap: usize,
}

const SHAPES: [Sizes; 5] = [
    Sizes { rows: 1, heads: 1, size: 1, x_gap: 0, y_gap: 0 },
    Sizes { rows: 3, heads: 1, size: 19, x_gap: 0, y_gap: 0 },
    Sizes { rows: 5, heads: 2, size: 8, x_gap: 3, y_gap: 1 },
    Sizes { rows: 2, heads: 3, size: 17, x_gap: 0, y_gap: 5 },
    Sizes { rows: 130, heads: 2, size: 3, x_gap: 2, y_gap: 0 },
];

struct Case {
    from: Heads,
    to: Heads,
    x: Vec<f32>,
    gain: Vec<f32>,
    dy: Vec<f32>,
}

fn case(sizes: Sizes) -> Case {
    let Sizes { rows, heads, size, x_gap, y_gap } = sizes;
    let shape = |gap| Heads { rows, heads, size, stride: heads * size + gap };
    let count = rows * heads * size;
    let gain = numbers(2, size).iter().map(|g| g + 1.5).collect();
    Case { from: shape(x_gap), to: shape(y_gap), x: numbers(1, count), gain, dy: numbers(3, count) }
}

fn layout(heads: Heads) -> Layout {
    Layout { rows: heads.rows, cols: heads.heads * heads.size, stride: heads.stride }
}

#[test]
fn forward_is_the_formula() {
    for shape in SHAPES {
        let Case { from, to, x, gain, .. } = case(shape);
        let ours = same_bits(|device| {
            let (x, gain) = (device.upload(&layout(from).apart(&x)), device.upload(&gain));
            let mut y = device.upload(&layout(to).nothing());
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let output = Output { data: y.view_mut(), shape: to };
            let input = Input { data: x.view(), shape: from };
            forward(device, output, input, norm);
            vec![layout(to).together(&device.read(y.view()))]
        });
        let truth = oracle::rms_norm(&f64s(&x), &f64s(&gain), f64::from(EPSILON));
        close(&ours[0], &truth, 2e-6);
    }
}

#[test]
fn gradients_of_input_and_gain_are_the_slopes() {
    for shape in SHAPES {
        let Case { from, to, x, gain, dy } = case(shape);
        let (old, old_gain) = (numbers(5, x.len()), numbers(6, gain.len()));
        let loss = |x: &[f64], gain: &[f64]| {
            inner(&oracle::rms_norm(x, gain, f64::from(EPSILON)), &f64s(&dy))
        };
        let dx = slopes(|x| loss(x, &f64s(&gain)), &f64s(&x));
        let dgain = slopes(|gain| loss(&f64s(&x), gain), &f64s(&gain));
        for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
            let kept = if mode == WriteMode::Accumulate { 1.0 } else { 0.0 };
            let ours = same_bits(|device| {
                let upload = |of, x: &[f32]| device.upload(&layout(of).apart(x));
                let (x, dy, gain) = (upload(from, &x), upload(to, &dy), device.upload(&gain));
                let mut dx = match mode {
                    WriteMode::Overwrite => device.upload(&layout(from).nothing()),
                    WriteMode::Accumulate => upload(from, &old),
                };
                let mut dgain = device.upload(&old_gain);
                let gain_to = Gain { to: dgain.view_mut(), sequences: &[0, 1, 1, from.rows] };
                let gradient = Gradient { dx: dx.view_mut(), mode, dgain: Some(gain_to) };
                let norm = Norm { gain: gain.view(), epsilon: EPSILON };
                let x = Input { data: x.view(), shape: from };
                let dy = Input { data: dy.view(), shape: to };
                backward(device, gradient, Saved { x, dy }, norm);
                vec![layout(from).together(&device.read(dx.view())), device.read(dgain.view())]
            });
            let sum = |kept: f64, new: &[f64], old: &[f32]| {
                new.iter().zip(old).map(|(n, o)| n + kept * f64::from(*o)).collect::<Vec<_>>()
            };
            close(&ours[0], &sum(kept, &dx, &old), 1e-5);
            close(&ours[1], &sum(1.0, &dgain, &old_gain), 1e-5);
        }
    }
}

/// Where all of them lie differently, with the bits of one that is added to in place.
#[test]
fn a_gradient_beside_what_it_is_added_to_has_the_same_bits() {
    for shape in SHAPES {
        let Case { from, to, x, gain, dy } = case(shape);
        let (old, old_gain) = (numbers(5, x.len()), numbers(6, gain.len()));
        let [apart, further] = [4, 6].map(|gap| Heads { stride: from.stride + gap, ..from });
        let ours = same_bits(|device| {
            let upload = |of, x: &[f32]| device.upload(&layout(of).apart(x));
            let (x, dy, gain) = (upload(from, &x), upload(to, &dy), device.upload(&gain));
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let x = Input { data: x.view(), shape: from };
            let saved = Saved { x, dy: Input { data: dy.view(), shape: to } };
            let sequences = &[0, 1, 1, from.rows];
            let mut dgains = [device.upload(&old_gain), device.upload(&old_gain)];
            let [first, second] = &mut dgains;
            let mut in_place = upload(from, &old);
            let dgain = Some(Gain { to: first.view_mut(), sequences });
            let mode = WriteMode::Accumulate;
            backward(device, Gradient { dx: in_place.view_mut(), mode, dgain }, saved, norm);
            let mut dx = device.upload(&layout(apart).nothing());
            let beside = upload(further, &old);
            let mut again = device.upload(&layout(further).nothing());
            let gradient = GradientBeside {
                dx: Output { data: dx.view_mut(), shape: apart },
                added: Input { data: beside.view(), shape: further },
                normed: Some(Output { data: again.view_mut(), shape: further }),
                dgain: Some(Gain { to: second.view_mut(), sequences }),
            };
            backward_beside(device, gradient, saved, norm);
            let mut y = device.upload(&layout(apart).nothing());
            forward(device, Output { data: y.view_mut(), shape: apart }, saved.x, norm);
            vec![
                [layout(from).together(&device.read(in_place.view())), device.read(first.view())]
                    .concat(),
                [layout(apart).together(&device.read(dx.view())), device.read(second.view())]
                    .concat(),
                layout(apart).together(&device.read(y.view())),
                layout(further).together(&device.read(again.view())),
            ]
        });
        assert_eq!(ours[0], ours[1]);
        assert_eq!(ours[2], ours[3]);
    }
}

#[test]
fn a_gain_that_is_not_trained_changes_nothing_for_the_input() {
    let Case { from, to, x, gain, dy } = case(SHAPES[2]);
    let run = |trained: bool| {
        same_bits(|device| {
            let upload = |of, x: &[f32]| device.upload(&layout(of).apart(x));
            let (x, dy, gain) = (upload(from, &x), upload(to, &dy), device.upload(&gain));
            let mut dx = device.upload(&layout(from).nothing());
            let mut dgain = device.zeros(from.size);
            let sequences = &[0, from.rows];
            let dgain = trained.then(|| Gain { to: dgain.view_mut(), sequences });
            let gradient = Gradient { dx: dx.view_mut(), mode: WriteMode::Overwrite, dgain };
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let x = Input { data: x.view(), shape: from };
            let dy = Input { data: dy.view(), shape: to };
            backward(device, gradient, Saved { x, dy }, norm);
            vec![layout(from).together(&device.read(dx.view()))]
        })
    };
    assert_eq!(run(true), run(false));
}

/// Sequences shorter and longer than what a thread takes at a time.
#[test]
fn what_a_sequence_adds_to_a_gain_does_not_depend_on_its_neighbours() {
    let Case { from, x, gain, dy, .. } =
        case(Sizes { rows: 231, heads: 2, size: 5, x_gap: 0, y_gap: 0 });
    let sequences = [0, 3, 90, 91, 91, 231];
    let run = |device: &whetstone_kernels::Device, splits: &[usize]| {
        let (x, dy, gain) = (device.upload(&x), device.upload(&dy), device.upload(&gain));
        let mut dgain = device.upload(&[0.3; 5]);
        for ends in splits.windows(2) {
            let begin = sequences[ends[0]];
            let part: Vec<usize> = sequences[ends[0]..=ends[1]].iter().map(|o| o - begin).collect();
            let rows = Heads { rows: sequences[ends[1]] - begin, ..from };
            let of = begin * from.stride..sequences[ends[1]] * from.stride;
            let mut dx = device.take(of.len());
            let dgain = Some(Gain { to: dgain.view_mut(), sequences: &part });
            let gradient = Gradient { dx: dx.view_mut(), mode: WriteMode::Overwrite, dgain };
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let x = Input { data: x.view().part(of.clone()), shape: rows };
            let dy = Input { data: dy.view().part(of), shape: rows };
            backward(device, gradient, Saved { x, dy }, norm);
        }
        vec![device.read(dgain.view())]
    };
    let at_once = same_bits(|device| run(device, &[0, 5]));
    for splits in [&[0, 1, 2, 3, 4, 5][..], &[0, 2, 5], &[0, 1, 5], &[0, 4, 5]] {
        assert_eq!(same_bits(|device| run(device, splits)), at_once, "{splits:?}");
    }
}
