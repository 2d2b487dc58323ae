//! Norms, gates, turns, tables: operations on rows.

use whetstone_kernels::rms_norm::{self, Gain, Gradient, GradientBeside, Heads, Norm};
use whetstone_kernels::rope::{Angles, RopeTable, Rotate, turn};
use whetstone_kernels::{Activation, Matrix, MatrixMut, WriteMode, copy, embedding, swiglu};

use crate::oracle;
use crate::support::{
    POISON, ROUNDED, close, device, f64s, inner, numbers, same_bits, slopes, twice,
};

const EPSILON: f32 = 0.02;

/// Odd sizes, unaligned rows, heads inside rows, and rows as wide as a model's.
const SHAPES: [(usize, usize, usize, usize); 6] =
    [(1, 1, 1, 0), (3, 1, 19, 0), (5, 2, 8, 3), (130, 2, 3, 2), (9, 4, 128, 256), (4, 1, 2048, 0)];

/// The heads without the gaps, which must be as they were.
fn together(data: &[f32], shape: Heads) -> Vec<f32> {
    let used = shape.heads * shape.size;
    let rows = data.chunks(shape.stride);
    rows.flat_map(|row| {
        assert!(row[used..].iter().all(|x| x.to_bits() == gap().to_bits()), "a gap was written");
        row[..used].to_vec()
    })
    .collect()
}

fn gap() -> f32 {
    whetstone_kernels::nearest_bf16(POISON)
}

fn apart(values: &[f32], shape: Heads) -> Vec<f32> {
    let used = shape.heads * shape.size;
    let mut data = vec![gap(); shape.rows * shape.stride];
    for (row, values) in data.chunks_mut(shape.stride).zip(values.chunks(used)) {
        row[..used].copy_from_slice(values);
    }
    data
}

#[test]
fn a_norm_is_the_formula() {
    let Some(device) = device() else { return };
    for (rows, heads, size, gap) in SHAPES {
        let shape = Heads { rows, heads, size, stride: heads * size + gap };
        let to = Heads { stride: heads * size + 1, ..shape };
        let (x, gain) = (numbers(1, rows * heads * size), numbers(2, size));
        let ours = twice(device, || {
            let upload = |x: &[f32]| device.upload::<Activation>(x);
            let (x, gain) = (upload(&apart(&x, shape)), upload(&gain));
            let mut y = upload(&apart(&vec![POISON; rows * heads * size], to));
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let output = rms_norm::Output { data: y.view_mut(), shape: to };
            let input = rms_norm::Input { data: x.view(), shape };
            rms_norm::forward(device, output, input, norm);
            vec![together(&device.read(y.view()), to)]
        });
        let truth = oracle::rms_norm(&f64s(&x), &f64s(&gain), f64::from(EPSILON));
        close(&ours[0], &truth, ROUNDED);
    }
}

#[test]
fn a_norms_gradients_are_the_slopes() {
    let Some(device) = device() else { return };
    for (rows, heads, size, gap) in &SHAPES[..4] {
        let (rows, heads, size) = (*rows, *heads, *size);
        let shape = Heads { rows, heads, size, stride: heads * size + gap };
        let count = rows * heads * size;
        let (x, gain, dy) = (numbers(1, count), numbers(2, size), numbers(3, count));
        let (old, old_gain) = (numbers(5, count), numbers(6, size));
        let loss = |x: &[f64], gain: &[f64]| {
            inner(&oracle::rms_norm(x, gain, f64::from(EPSILON)), &f64s(&dy))
        };
        let dx = slopes(|x| loss(x, &f64s(&gain)), &f64s(&x));
        let dgain = slopes(|gain| loss(&f64s(&x), gain), &f64s(&gain));
        for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
            let kept = if mode == WriteMode::Accumulate { 1.0 } else { 0.0 };
            let ours = twice(device, || {
                let upload = |x: &[f32]| device.upload::<Activation>(x);
                let (x, gain) = (upload(&apart(&x, shape)), upload(&gain));
                let dy = upload(&apart(&dy, shape));
                let mut dx = match mode {
                    WriteMode::Overwrite => upload(&apart(&vec![POISON; count], shape)),
                    WriteMode::Accumulate => upload(&apart(&old, shape)),
                };
                let mut dgain = device.upload(&old_gain);
                let sequences = &[0, 1, 1, rows];
                let to = Some(Gain { to: dgain.view_mut(), sequences });
                let gradient = Gradient { dx: dx.view_mut(), mode, dgain: to };
                let norm = Norm { gain: gain.view(), epsilon: EPSILON };
                let x = rms_norm::Input { data: x.view(), shape };
                let dy = rms_norm::Input { data: dy.view(), shape };
                rms_norm::backward(device, gradient, rms_norm::Saved { x, dy }, norm);
                vec![together(&device.read(dx.view()), shape), device.read(dgain.view())]
            });
            let sum = |kept: f64, new: &[f64], old: &[f32]| {
                new.iter().zip(old).map(|(n, o)| n + kept * f64::from(*o)).collect::<Vec<_>>()
            };
            close(&ours[0], &sum(kept, &dx, &old), ROUNDED);
            close(&ours[1], &sum(1.0, &dgain, &old_gain), 1e-5);
        }
    }
}

/// Where all of them lie differently, with the bits of one that is added to in place.
#[test]
fn a_norms_gradient_beside_what_it_is_added_to_has_the_same_bits() {
    let Some(device) = device() else { return };
    let sizes = [(1, 1, 1), (5, 2, 8), (130, 1, 19), (300, 1, 2048), (9, 4, 128), (7, 1, 2056)];
    // Many, of which a warp takes each.
    let many = [(2049, 1, 2048), (2048, 1, 576), (1025, 2, 1024)];
    for (rows, heads, size) in sizes.into_iter().chain(many) {
        let shape = |gap| Heads { rows, heads, size, stride: heads * size + gap };
        let count = rows * heads * size;
        let (x, gain) = (numbers(1, count), numbers(2, size));
        let (dy, old) = (numbers(3, count), numbers(5, count));
        for [to, added] in [[shape(0), shape(0)], [shape(8), shape(64)], [shape(3), shape(1)]] {
            let ours = twice(device, || {
                let upload = |x: &[f32]| device.upload::<Activation>(x);
                let (x, gain, dy) = (upload(&x), upload(&gain), upload(&dy));
                let norm = Norm { gain: gain.view(), epsilon: EPSILON };
                let input = |data| rms_norm::Input { data, shape: shape(0) };
                let saved = rms_norm::Saved { x: input(x.view()), dy: input(dy.view()) };
                let mut in_place = upload(&old);
                let mode = WriteMode::Accumulate;
                let gradient = Gradient { dx: in_place.view_mut(), mode, dgain: None };
                rms_norm::backward(device, gradient, saved, norm);
                let beside = upload(&apart(&old, added));
                let mut dx = upload(&apart(&vec![POISON; count], to));
                let mut again = upload(&apart(&vec![POISON; count], added));
                let gradient = GradientBeside {
                    dx: rms_norm::Output { data: dx.view_mut(), shape: to },
                    added: rms_norm::Input { data: beside.view(), shape: added },
                    normed: Some(rms_norm::Output { data: again.view_mut(), shape: added }),
                    dgain: None,
                };
                rms_norm::backward_beside(device, gradient, saved, norm);
                let mut y = upload(&vec![POISON; count]);
                let output = rms_norm::Output { data: y.view_mut(), shape: shape(0) };
                rms_norm::forward(device, output, saved.x, norm);
                vec![
                    device.read(in_place.view()),
                    together(&device.read(dx.view()), to),
                    device.read(y.view()),
                    together(&device.read(again.view()), added),
                ]
            });
            same_bits(&ours[1], &ours[0]);
            same_bits(&ours[3], &ours[2]);
        }
    }
}

/// By the threads of a block, as when sampling, and by a warp, as in training.
#[test]
fn a_row_is_normed_to_the_same_bits_alone_and_among_many() {
    let Some(device) = device() else { return };
    for (rows, size) in [(2100, 2048), (2100, 576), (2050, 1024), (2050, 1032)] {
        let (x, gain) = (numbers(1, rows * size), numbers(2, size));
        let normed = |x: &[f32]| {
            let (x, gain) = (device.upload::<Activation>(x), device.upload::<Activation>(&gain));
            let mut y = device.upload::<Activation>(&vec![POISON; x.len()]);
            let shape = Heads::rows(x.len() / size, size);
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let output = rms_norm::Output { data: y.view_mut(), shape };
            rms_norm::forward(device, output, rms_norm::Input { data: x.view(), shape }, norm);
            device.read(y.view())
        };
        let few: Vec<f32> = x.chunks(size * 300).flat_map(normed).collect();
        same_bits(&normed(&x), &few);
    }
}

/// Sequences one at a time and together.
#[test]
fn what_a_sequence_adds_to_a_gain_does_not_depend_on_its_neighbours() {
    let Some(device) = device() else { return };
    let (rows, size) = (231, 40);
    let (x, gain, dy) = (numbers(1, rows * size), numbers(2, size), numbers(3, rows * size));
    let sequences = [0, 3, 90, 91, 91, 231];
    let run = |splits: &[usize]| {
        twice(device, || {
            let upload = |x: &[f32]| device.upload::<Activation>(x);
            let (x, gain, dy) = (upload(&x), upload(&gain), upload(&dy));
            let mut dgain = device.upload(&vec![0.3; size]);
            for ends in splits.windows(2) {
                let (begin, end) = (sequences[ends[0]], sequences[ends[1]]);
                let of = begin * size..end * size;
                let part: Vec<usize> =
                    sequences[ends[0]..=ends[1]].iter().map(|o| o - begin).collect();
                let shape = Heads::rows(end - begin, size);
                let mut dx = device.take(of.len());
                let to = Some(Gain { to: dgain.view_mut(), sequences: &part });
                let gradient =
                    Gradient { dx: dx.view_mut(), mode: WriteMode::Overwrite, dgain: to };
                let norm = Norm { gain: gain.view(), epsilon: EPSILON };
                let x = rms_norm::Input { data: x.view().part(of.clone()), shape };
                let dy = rms_norm::Input { data: dy.view().part(of), shape };
                rms_norm::backward(device, gradient, rms_norm::Saved { x, dy }, norm);
            }
            vec![device.read(dgain.view())]
        })
    };
    let at_once = run(&[0, 5]);
    for splits in [&[0, 1, 2, 3, 4, 5][..], &[0, 2, 5], &[0, 4, 5]] {
        assert_eq!(run(splits), at_once, "{splits:?}");
    }
}

/// A row has the same bits wherever it lies and whatever lies beside it.
#[test]
fn a_row_alone_and_among_300_is_normalised_to_the_same_bits() {
    let Some(device) = device() else { return };
    let (rows, size) = (300, 2048);
    let (x, gain) = (numbers(1, rows * size), numbers(2, size));
    let run = |x: &[f32]| {
        let (from, gain) = (device.upload::<Activation>(x), device.upload::<Activation>(&gain));
        let mut y = device.take(x.len());
        let shape = Heads::rows(x.len() / size, size);
        let norm = Norm { gain: gain.view(), epsilon: EPSILON };
        let output = rms_norm::Output { data: y.view_mut(), shape };
        let input = rms_norm::Input { data: from.view(), shape };
        rms_norm::forward(device, output, input, norm);
        device.read(y.view())
    };
    let all = run(&x);
    for row in [0, 1, 7, 150, 299] {
        let place = row * size..(row + 1) * size;
        assert_eq!(run(&x[place.clone()]), all[place], "row {row}");
    }
    device.check().unwrap();
}

/// Rows at multiples of 16 bytes go through kernels that ask ahead, others through plain ones; also many more
/// rows than there are blocks.
#[test]
fn a_norm_has_the_same_bits_wherever_rows_begin() {
    let Some(device) = device() else { return };
    for (rows, heads, size) in [(3000, 1, 2048), (700, 5, 128), (9, 1, 512)] {
        let count = rows * heads * size;
        let (x, gain, dy, old) =
            (numbers(1, count), numbers(2, size), numbers(3, count), numbers(4, count));
        let run = |gap: usize, mode: WriteMode| {
            let shape = Heads { rows, heads, size, stride: heads * size + gap };
            let upload = |x: &[f32]| device.upload::<Activation>(&apart(x, shape));
            let (from, dy, gain) = (upload(&x), upload(&dy), device.upload::<Activation>(&gain));
            let (mut y, mut dx) = (upload(&vec![POISON; count]), upload(&old));
            let norm = Norm { gain: gain.view(), epsilon: EPSILON };
            let output = rms_norm::Output { data: y.view_mut(), shape };
            let input = rms_norm::Input { data: from.view(), shape };
            rms_norm::forward(device, output, input, norm);
            let mut dgain = device.upload::<f32>(&vec![0.5; size]);
            let to = Some(Gain { to: dgain.view_mut(), sequences: &[0, 2, rows] });
            let gradient = Gradient { dx: dx.view_mut(), mode, dgain: to };
            let x = rms_norm::Input { data: from.view(), shape };
            let dy = rms_norm::Input { data: dy.view(), shape };
            rms_norm::backward(device, gradient, rms_norm::Saved { x, dy }, norm);
            let rows = [y, dx].map(|buffer| together(&device.read(buffer.view()), shape));
            [rows.concat(), device.read(dgain.view())].concat()
        };
        for mode in [WriteMode::Overwrite, WriteMode::Accumulate] {
            let (ahead, plain) = (run(8, mode), run(3, mode));
            assert!(ahead == plain, "{rows} rows of {heads} heads of {size}, {mode:?}");
        }
    }
    device.check().unwrap();
}

#[test]
fn a_gate_is_the_formula_and_its_gradient_the_slope() {
    let Some(device) = device() else { return };
    let count = 40_003;
    let gate: Vec<f32> = numbers(1, count).iter().map(|g| g * 8.0).collect();
    let (up, dy) = (numbers(2, count), numbers(3, count));
    let ours = twice(device, || {
        let upload = |x: &[f32]| device.upload::<Activation>(x);
        let (mut gate, mut up, mut dy) = (upload(&gate), upload(&up), upload(&dy));
        let mut y = upload(&vec![POISON; count]);
        swiglu::forward(device, &mut y.view_mut(), gate.view(), up.view());
        let (gate_view, up_view) = (&mut gate.view_mut(), &mut up.view_mut());
        swiglu::backward(device, &mut dy.view_mut(), gate_view, up_view);
        vec![
            device.read(y.view()),
            device.read(dy.view()),
            device.read(gate.view()),
            device.read(up.view()),
        ]
    });
    let truth = oracle::swiglu(&f64s(&gate), &f64s(&up));
    close(&ours[0], &truth, ROUNDED);
    assert_eq!(ours[0], ours[1], "y comes out of both ways");
    let slope = |at: usize, which: usize| {
        let of = |x: &[f64]| oracle::swiglu(&x[..1], &x[1..])[0] * f64::from(dy[at]);
        slopes(of, &[f64::from(gate[at]), f64::from(up[at])])[which]
    };
    for which in [0, 1] {
        let truth: Vec<f64> = (0..count).map(|at| slope(at, which)).collect();
        close(&ours[2 + which], &truth, ROUNDED);
    }
}

#[test]
fn heads_are_turned_there_and_back() {
    let Some(device) = device() else { return };
    let frequencies = [1.0, 0.3125, 0.015_625];
    let shape = Heads { rows: 70, heads: 2, size: 6, stride: 15 };
    let positions: Vec<u32> = (0..70).map(|row| row * 13 % 40).collect();
    let x = numbers(1, 70 * 12);
    for (direction, sign) in [(Rotate::Forward, 1.0), (Rotate::Inverse, -1.0)] {
        let ours = twice(device, || {
            let turns = RopeTable::new(device, &frequencies, 1.25, 40);
            let positions = device.upload(&positions);
            let mut x = device.upload::<Activation>(&apart(&x, shape));
            let angles = Angles { table: &turns, positions: positions.view(), direction };
            turn(device, &mut x.view_mut(), shape, angles);
            vec![together(&device.read(x.view()), shape)]
        });
        let truth: Vec<f64> = f64s(&x)
            .chunks(6)
            .enumerate()
            .flat_map(|(at, head)| {
                let position = sign * f64::from(positions[at / 2]);
                oracle::rope(head, position, &frequencies.map(f64::from), 1.25)
            })
            .collect();
        close(&ours[0], &truth, ROUNDED);
    }
}

#[test]
fn rows_of_a_table_are_gathered_and_their_gradients_added_in_order() {
    let Some(device) = device() else { return };
    for width in [3, 64, 2048] {
        let (rows, count) = (31, 700);
        let ids: Vec<u32> = (0..count).map(|t| t * 7 % 29).collect();
        let (table, dy) = (numbers(1, rows * width), numbers(2, ids.len() * width));
        let ours = twice(device, || {
            let (from, list) = (device.upload(&table), device.upload(&ids));
            let mut to = device.upload::<Activation>(&vec![POISON; dy.len()]);
            embedding::gather(device, &mut to.view_mut(), from.view(), list.view());
            let dy = device.upload(&dy);
            let mut dtable = device.upload::<f32>(&vec![0.25; rows * width]);
            embedding::scatter(device, &mut dtable.view_mut(), dy.view(), list.view());
            vec![device.read(to.view()), device.read(dtable.view())]
        });
        let mut sums = vec![0.25f32; rows * width];
        for (at, &id) in ids.iter().enumerate() {
            let row = id as usize * width..(id as usize + 1) * width;
            assert_eq!(ours[0][at * width..][..width], table[row.clone()], "token {at}");
            for (sum, dy) in sums[row].iter_mut().zip(&dy[at * width..]) {
                *sum += dy;
            }
        }
        assert_eq!(ours[1], sums, "f32 sums in the order of the tokens have one value");
    }
}

#[test]
fn rows_that_lie_apart_are_copied_and_gaps_are_not() {
    let Some(device) = device() else { return };
    for (cols, stride) in [(3, 7), (64, 96)] {
        let from = numbers(1, 11 * cols);
        let shape = Heads { rows: 11, heads: 1, size: cols, stride };
        let ours = twice(device, || {
            let source = device.upload::<Activation>(&from);
            let mut to = device.upload::<Activation>(&apart(&vec![POISON; 11 * cols], shape));
            let matrix = MatrixMut::strided(to.view_mut(), 11, cols, stride);
            copy::copy_matrix(device, matrix, Matrix::new(source.view(), 11, cols));
            vec![together(&device.read(to.view()), shape)]
        });
        assert_eq!(ours[0], from);
    }
}
