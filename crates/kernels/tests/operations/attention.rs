//! Attention of packed sequences beside that of one sequence after another.

use whetstone_kernels::attention::{Output, Packed, Saved, Sequences, Shape, backward, forward};
use whetstone_kernels::{Device, Matrix, MatrixMut};

use crate::oracle::attention::attention;
use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slope};

/// Shared heads of keys, each its own, and one for all; widths that are no whole vectors.
const SHAPES: [Shape; 3] = [
    Shape { heads: 4, kv_heads: 2, size: 8, scale: 0.35 },
    Shape { heads: 3, kv_heads: 3, size: 5, scale: 1.7 },
    Shape { heads: 6, kv_heads: 1, size: 17, scale: 0.9 },
];

/// Around the height of a strip of queries, and a sequence without tokens.
const LENGTHS: [usize; 6] = [1, 63, 64, 0, 65, 130];

fn offsets() -> Vec<usize> {
    let ends = LENGTHS.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Queries, keys and values; what comes out; and their gradients, with gaps of different widths.
fn layouts(shape: &Shape, rows: usize) -> [Layout; 3] {
    let (packed, width) = (shape.packed_width(), shape.width());
    [(packed, 3), (width, 2), (packed, 6)].map(|(cols, gap)| Layout {
        rows,
        cols,
        stride: cols + gap,
    })
}

/// Where values lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Behind,
    Elsewhere,
}

/// `o`, `lse` and the gradients of `qkv`.
fn ours(device: &Device, shape: &Shape, offsets: &[usize], x: [&[f32]; 2]) -> Vec<Vec<f32>> {
    with_values(device, Sequences { shape, offsets }, x, Values::Behind)
}

/// Rows of values that have nothing else to read.
fn values_alone(qkv: &[f32], shape: &Shape) -> Vec<f32> {
    let first = shape.packed_width() - shape.kv_heads * shape.size;
    let alone = |row: &[f32]| [&vec![f32::NAN; first], &row[first..]].concat();
    qkv.chunks(shape.packed_width()).flat_map(alone).collect()
}

fn with_values(
    device: &Device,
    sequences: Sequences<'_>,
    x: [&[f32]; 2],
    values: Values,
) -> Vec<Vec<f32>> {
    let Sequences { shape, offsets } = sequences;
    let rows = x[0].len() / shape.packed_width();
    let [from, to, back] = layouts(shape, rows);
    let (qkv, dout) = (device.upload(&from.apart(x[0])), device.upload(&to.apart(x[1])));
    let mut out = device.upload(&to.nothing());
    let mut lse = device.upload(&vec![f32::NAN; rows * shape.heads]);
    let mut dqkv = device.upload(&back.nothing());
    let qkv = Matrix::strided(qkv.view(), rows, from.cols, from.stride);
    let whole = MatrixMut::strided(out.view_mut(), rows, to.cols, to.stride);
    let output = Output { out: whole, lse: lse.view_mut() };
    let elsewhere = device.upload(&values_alone(x[0], shape));
    let rotated = from.cols - shape.kv_heads * shape.size;
    let packed = match values {
        Values::Behind => qkv.into(),
        Values::Elsewhere => Packed {
            qkv: qkv.columns(0..rotated),
            values: Some(Matrix::new(elsewhere.view(), rows, from.cols)),
        },
    };
    forward(device, output, packed, sequences);
    let saved = Saved {
        packed,
        out: Matrix::strided(out.view(), rows, to.cols, to.stride),
        dout: Matrix::strided(dout.view(), rows, to.cols, to.stride),
        lse: lse.view(),
    };
    let whole = MatrixMut::strided(dqkv.view_mut(), rows, back.cols, back.stride);
    backward(device, whole, saved, Sequences { shape, offsets });
    vec![
        to.together(&device.read(out.view())),
        device.read(lse.view()),
        back.together(&device.read(dqkv.view())),
    ]
}

#[test]
fn each_sequence_is_the_formula_there_and_back() {
    for shape in SHAPES {
        let (offsets, packed, width) = (offsets(), shape.packed_width(), shape.width());
        let rows = *offsets.last().unwrap();
        let (qkv, dout) = (numbers(1, rows * packed), numbers(2, rows * width));
        let all = same_bits(|device| ours(device, &shape, &offsets, [&qkv, &dout]));
        for tokens in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
            let of = |width: usize| tokens.start * width..tokens.end * width;
            let (qkv, dout) = (f64s(&qkv[of(packed)]), f64s(&dout[of(width)]));
            let (out, lse) = attention(&qkv, &shape);
            close(&all[0][of(width)], &out, 1e-5);
            close(&all[1][of(shape.heads)], &lse, 1e-5);
            // All of a short sequence; of a long one a part that has every column.
            let step = if tokens.len() < 5 { 1 } else { 211 };
            let loss = |qkv: &[f64]| inner(&attention(qkv, &shape).0, &dout);
            let picked = (0..qkv.len()).step_by(step);
            let truth: Vec<f64> = picked.clone().map(|at| slope(loss, &qkv, at)).collect();
            let gradient = &all[2][of(packed)];
            let gradient: Vec<f32> = picked.map(|at| gradient[at]).collect();
            close(&gradient, &truth, 2e-5);
        }
    }
}

#[test]
fn values_that_lie_elsewhere_have_the_same_results() {
    let shape = SHAPES[0];
    let (offsets, width) = (offsets(), shape.width());
    let rows = *offsets.last().unwrap();
    let (qkv, dout) = (numbers(1, rows * shape.packed_width()), numbers(2, rows * width));
    let [behind, elsewhere] = [Values::Behind, Values::Elsewhere].map(|values| {
        let sequences = Sequences { shape: &shape, offsets: &offsets };
        same_bits(|device| with_values(device, sequences, [&qkv, &dout], values))
    });
    assert_eq!(behind, elsewhere);
}

#[test]
fn a_sequence_has_the_same_bits_alone_and_packed() {
    let shape = SHAPES[0];
    let (offsets, packed, width) = (offsets(), shape.packed_width(), shape.width());
    let rows = *offsets.last().unwrap();
    let (qkv, dout) = (numbers(1, rows * packed), numbers(2, rows * width));
    let device = Device::cpu(2).unwrap();
    let all = ours(&device, &shape, &offsets, [&qkv, &dout]);
    for tokens in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
        let of = |width: usize| tokens.start * width..tokens.end * width;
        let parts = [&qkv[of(packed)], &dout[of(width)]];
        let alone = ours(&device, &shape, &[0, tokens.len()], parts);
        for (which, width) in [width, shape.heads, packed].into_iter().enumerate() {
            let packed = all[which][of(width)].iter().zip(&alone[which]);
            assert!(packed.map(|(a, b)| a.to_bits() ^ b.to_bits()).all(|bits| bits == 0));
        }
    }
}

#[test]
fn scores_of_hundreds_do_not_overflow() {
    let shape = Shape { heads: 1, kv_heads: 1, size: 4, scale: 200.0 };
    let (qkv, dout) = (numbers(1, 9 * 12), numbers(2, 9 * 4));
    let all = same_bits(|device| ours(device, &shape, &[0, 9], [&qkv, &dout]));
    let (out, lse) = attention(&f64s(&qkv), &shape);
    close(&all[0], &out, 1e-4);
    close(&all[1], &lse, 1e-5);
    assert!(all[2].iter().all(|x| x.is_finite()));
}

#[test]
#[should_panic(expected = "sequences that cover 4 rows")]
fn offsets_that_leave_tokens_out_are_refused() {
    let device = Device::cpu(1).unwrap();
    let shape = SHAPES[0];
    let (qkv, dout) = (numbers(1, 4 * shape.packed_width()), numbers(2, 4 * shape.width()));
    ours(&device, &shape, &[0, 3], [&qkv, &dout]);
}
