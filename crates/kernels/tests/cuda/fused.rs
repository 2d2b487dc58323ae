//! Projections of one input as one product, and norms with turns: beside compositions of the plain
//! operations.

// size: tests of one layout of weights, which share the helpers that lay it out.

use whetstone_kernels::attention::Shape;
use whetstone_kernels::fused_linear::{
    self, AdapterRange, AugmentedWeight, FusedWeight, Gated, Narrow, Sizes,
};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::qk_norm_rope::{self, Placing};
use whetstone_kernels::rope::RopeTable;
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, WriteMode, nearest_bf16, swiglu};

use crate::oracle;
use crate::shared::heads::{Case, both_ways};
use crate::support::{
    POISON, ROUNDED, close, device, f64s, inner, numbers, same_bits, slopes, twice,
};

const SCALE: f32 = 1.75;

const ALL: [Sizes; 3] = [
    Sizes { outputs: 256, inputs: 128, narrow: 16 },
    Sizes { outputs: 72, inputs: 200, narrow: 24 },
    Sizes { outputs: 512, inputs: 2048, narrow: 192 },
];

/// Sizes, where the outputs of each of several adapters end, and where its narrow columns do.
const DIVIDED: [(Sizes, &[[usize; 2]]); 4] = [
    (Sizes { outputs: 256, inputs: 128, narrow: 192 }, &[[128, 64], [192, 128], [256, 192]]),
    // Parts that share a tile and a step of the tensor core, and one without an adapter between.
    (Sizes { outputs: 272, inputs: 64, narrow: 64 }, &[[40, 8], [48, 8], [136, 40], [272, 64]]),
    (Sizes { outputs: 3072, inputs: 32, narrow: 96 }, &[[1536, 80], [3072, 96]]),
    // More than a kernel is told of.
    (
        Sizes { outputs: 80, inputs: 64, narrow: 48 },
        &[[16, 8], [32, 16], [48, 24], [64, 32], [80, 48]],
    ),
];

/// The same numbers with zeros beside outputs where columns belong to another adapter, and the parts.
fn divided(all: &mut [f32], sizes: Sizes, ends: &[[usize; 2]]) -> Vec<AdapterRange> {
    let Sizes { outputs, inputs, narrow } = sizes;
    let mut begin = [0, 0];
    let part = |&[output_end, narrow_end]: &[usize; 2]| {
        let [outputs, own] = [begin[0]..output_end, begin[1]..narrow_end];
        begin = [output_end, narrow_end];
        AdapterRange { outputs, narrow: own }
    };
    let parts: Vec<AdapterRange> = ends.iter().map(part).collect();
    for (row, numbers) in all.chunks_mut(sizes.stride()).take(outputs).enumerate() {
        let own = parts.iter().find(|part| part.outputs.contains(&row)).unwrap().narrow.clone();
        for column in (0..narrow).filter(|column| !own.contains(column)) {
            numbers[inputs + column] = 0.0;
        }
    }
    parts
}

/// A sum that leaves out the zeros of other adapters has the bits of one that does not.
#[test]
fn adapters_with_outputs_of_their_own_have_the_bits_of_one_for_all() {
    let Some(device) = device() else { return };
    for ((sizes, ends), rows) in DIVIDED.into_iter().flat_map(|one| ROWS.map(|rows| (one, rows))) {
        let Sizes { outputs, inputs, narrow } = sizes;
        let mut all = numbers(1, (outputs + narrow) * sizes.stride());
        let parts = divided(&mut all, sizes, ends);
        let (x, old) = (numbers(2, rows * inputs), numbers(3, rows * outputs));
        let ours = twice(device, || {
            let whole = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
            let apart = whole.clone().with_parts(parts.clone());
            let results = [&whole, &apart].map(|weight| {
                let fused = FusedWeight { weight, narrow: Narrow::With };
                let room = vec![POISON; rows * narrow];
                let mut from = device.upload::<Activation>(&beside(&x, &room, rows));
                let mut x = MatrixMut::new(from.view_mut(), rows, sizes.stride());
                let poison = |cols: usize| vec![POISON; rows * cols];
                let mut y = device.upload::<Activation>(&poison(outputs));
                let old = device.upload::<Activation>(&old);
                let residual = Some(Matrix::new(old.view(), rows, outputs));
                let to = MatrixMut::new(y.view_mut(), rows, outputs);
                let output = fused_linear::Output { y: to, residual };
                fused_linear::forward(device, output, &mut x, fused);
                let mut open = device.upload::<Activation>(&poison(outputs / 2));
                let to = MatrixMut::new(open.view_mut(), rows, outputs / 2);
                fused_linear::forward_gated(device, to, &mut x, fused);
                [y, open, from].map(|buffer| device.read(buffer.view()))
            });
            results.concat()
        });
        for (whole, apart) in ours[..3].iter().zip(&ours[3..]) {
            same_bits(apart, whole);
        }
    }
}

/// Norms, turns and pages in the pass that ends a product have the bits of a pass of their own.
#[test]
fn heads_in_the_same_pass_have_the_bits_of_those_placed_behind_it() {
    let Some(device) = device() else { return };
    let shape = |heads, kv_heads, size| Shape { heads, kv_heads, size, scale: 0.1 };
    let shapes = [shape(4, 2, 128), shape(2, 1, 64), shape(3, 1, 128), shape(3, 1, 64)];
    // One adapter for each, one of two steps and one of none, and narrow columns that share a step.
    let ranks = [[64, 64, 64], [80, 0, 16], [8, 16, 8]];
    for (shape, ranks) in shapes.into_iter().flat_map(|one| ranks.map(|ranks| (one, ranks))) {
        for rows in [1, 16, 67, 300, 600] {
            let case = Case { shape, ranks, inputs: 128, rows };
            for with in [Narrow::With, Narrow::Without] {
                let ours = twice(device, || both_ways(device, &case, with, numbers));
                same_bits(&ours[0], &ours[2]);
                same_bits(&ours[1], &ours[3]);
                // One row alone has no slot.
                assert!(rows == 1 || ours[1].iter().any(|x| *x != 0.0), "{case:?}");
            }
        }
    }
}

/// Rows that few and many algorithms take.
const ROWS: [usize; 4] = [1, 64, 300, 600];

/// `rows` of `inner` numbers times `inner` rows of `cols` numbers, or times the transpose of such.
struct Plain<'a> {
    a: &'a [f32],
    rows: usize,
    inner: usize,
    b: &'a [f32],
    cols: usize,
    is_turned: bool,
}

/// A product of rows with the transpose of rows, or with rows, as the plain operation gives it.
fn plain<T: whetstone_kernels::Real<Host = f32>>(
    device: &Device,
    scale: f32,
    product: &Plain<'_>,
) -> Vec<f32> {
    let Plain { a, rows, inner, b, cols, is_turned } = *product;
    let (a, b) = (device.upload::<Activation>(a), device.upload::<Activation>(b));
    let mut to = device.zeros::<T>(rows * cols);
    let by = if is_turned {
        Matrix::new(b.view(), cols, inner).transposed()
    } else {
        Matrix::new(b.view(), inner, cols)
    };
    let a = Matrix::new(a.view(), rows, inner);
    matmul(
        device,
        MatrixMut::new(to.view_mut(), rows, cols),
        WriteMode::Overwrite,
        ScaledProduct { scale, a, b: by },
    );
    device.read(to.view())
}

/// Some rows and columns of the matrix of weights.
fn part(
    all: &[f32],
    stride: usize,
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
) -> Vec<f32> {
    rows.flat_map(|row| all[row * stride..][cols.clone()].to_vec()).collect()
}

/// Rows side by side.
fn beside(left: &[f32], right: &[f32], rows: usize) -> Vec<f32> {
    let (a, b) = (left.len() / rows, right.len() / rows);
    (0..rows).flat_map(|row| [&left[row * a..][..a], &right[row * b..][..b]].concat()).collect()
}

#[test]
fn fused_projections_have_the_bits_of_plain_products() {
    let Some(device) = device() else { return };
    for (sizes, rows) in ALL.into_iter().flat_map(|sizes| ROWS.map(|rows| (sizes, rows))) {
        let Sizes { outputs, inputs, narrow } = sizes;
        let stride = sizes.stride();
        let all = numbers(1, (outputs + narrow) * stride);
        let (x, old) = (numbers(2, rows * inputs), numbers(3, rows * outputs));
        let halves = part(&all, stride, outputs..outputs + narrow, 0..inputs);
        let u = plain::<Activation>(
            device,
            SCALE,
            &Plain { a: &x, rows, inner: inputs, b: &halves, cols: narrow, is_turned: true },
        );
        for with in [Narrow::With, Narrow::Without] {
            let inner = if with == Narrow::With { stride } else { inputs };
            let whole = if with == Narrow::With { beside(&x, &u, rows) } else { x.clone() };
            let weights = part(&all, stride, 0..outputs, 0..inner);
            let truth = plain::<f32>(
                device,
                1.0,
                &Plain { a: &whole, rows, inner, b: &weights, cols: outputs, is_turned: true },
            );
            for is_added in [false, true] {
                let ours = twice(device, || {
                    let weight = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
                    let room = vec![POISON; rows * narrow];
                    let mut x_all = device.upload::<Activation>(&beside(&x, &room, rows));
                    let mut x = MatrixMut::new(x_all.view_mut(), rows, stride);
                    let mut y = device.upload::<Activation>(&vec![POISON; rows * outputs]);
                    let to = MatrixMut::new(y.view_mut(), rows, outputs);
                    let old = device.upload::<Activation>(&old);
                    let old = is_added.then(|| Matrix::new(old.view(), rows, outputs));
                    let fused = FusedWeight { weight: &weight, narrow: with };
                    let output = fused_linear::Output { y: to, residual: old };
                    fused_linear::forward(device, output, &mut x, fused);
                    vec![device.read(y.view()), device.read(x_all.view())]
                });
                if with == Narrow::With {
                    same_bits(&ours[1], &beside(&x, &u, rows));
                }
                let added = |(at, y): (usize, &f32)| if is_added { y + old[at] } else { *y };
                let truth: Vec<f32> =
                    truth.iter().enumerate().map(|one| nearest_bf16(added(one))).collect();
                same_bits(&ours[0], &truth);
            }
        }
    }
}

#[test]
fn a_gate_in_the_same_pass_has_the_bits_of_one_behind_it() {
    let Some(device) = device() else { return };
    for (sizes, rows) in ALL.into_iter().flat_map(|sizes| ROWS.map(|rows| (sizes, rows))) {
        let Sizes { outputs, inputs, narrow } = sizes;
        let all = numbers(1, (outputs + narrow) * sizes.stride());
        let (x, half) = (numbers(2, rows * inputs), outputs / 2);
        for with in [Narrow::With, Narrow::Without] {
            let ours = twice(device, || {
                let weight = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
                let room = vec![POISON; rows * narrow];
                let mut x = device.upload::<Activation>(&beside(&x, &room, rows));
                let mut x = MatrixMut::new(x.view_mut(), rows, sizes.stride());
                let mut y = device.upload::<Activation>(&vec![POISON; rows * half]);
                let to = MatrixMut::new(y.view_mut(), rows, half);
                let fused = FusedWeight { weight: &weight, narrow: with };
                fused_linear::forward_gated(device, to, &mut x, fused);
                let mut both = device.upload::<Activation>(&vec![POISON; rows * outputs]);
                let to = MatrixMut::new(both.view_mut(), rows, outputs);
                let output = fused_linear::Output { y: to, residual: None };
                fused_linear::forward(device, output, &mut x, fused);
                let mut behind = device.upload::<Activation>(&vec![POISON; rows * half]);
                let to = MatrixMut::new(behind.view_mut(), rows, half);
                swiglu::forward_rows(device, to, Matrix::new(both.view(), rows, outputs));
                vec![device.read(y.view()), device.read(behind.view())]
            });
            same_bits(&ours[0], &ours[1]);
        }
    }
}

#[test]
fn what_comes_back_through_fused_projections_has_the_bits_of_plain_products() {
    let Some(device) = device() else { return };
    for (sizes, rows) in ALL.into_iter().flat_map(|sizes| ROWS.map(|rows| (sizes, rows))) {
        let Sizes { outputs, inputs, narrow } = sizes;
        let stride = sizes.stride();
        let all = numbers(1, (outputs + narrow) * stride);
        let dy = numbers(4, rows * outputs);
        let halves = part(&all, stride, 0..outputs, inputs..stride);
        let du = plain::<Activation>(
            device,
            SCALE,
            &Plain { a: &dy, rows, inner: outputs, b: &halves, cols: narrow, is_turned: false },
        );
        for with in [Narrow::With, Narrow::Without] {
            let inner = if with == Narrow::With { outputs + narrow } else { outputs };
            let whole = if with == Narrow::With { beside(&dy, &du, rows) } else { dy.clone() };
            let weights = part(&all, stride, 0..inner, 0..inputs);
            let truth = plain::<Activation>(
                device,
                1.0,
                &Plain { a: &whole, rows, inner, b: &weights, cols: inputs, is_turned: false },
            );
            let ours = twice(device, || {
                let weight = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
                let room = vec![POISON; rows * narrow];
                let mut dy = device.upload::<Activation>(&beside(&dy, &room, rows));
                let mut dy = MatrixMut::new(dy.view_mut(), rows, outputs + narrow);
                let mut dx = device.upload::<Activation>(&vec![POISON; rows * inputs]);
                let to = MatrixMut::new(dx.view_mut(), rows, inputs);
                let fused = FusedWeight { weight: &weight, narrow: with };
                fused_linear::backward(device, to, &mut dy, fused);
                vec![device.read(dx.view())]
            });
            same_bits(&ours[0], &truth);
        }
    }
}

/// As many as a chip needs to be busy with whole rows, and not a multiple of a block's.
const MANY_ROWS: usize = 8190;

/// Outputs of a gate and what goes through it, where each side's narrow columns begin and end, and the narrow
/// columns of the projection behind the gate.
const GATES: [(usize, [[usize; 2]; 2], usize); 3] =
    [(512, [[0, 64], [64, 128]], 64), (128, [[0, 16], [16, 24]], 24), (384, [[0, 0], [0, 32]], 8)];

#[test]
fn a_gate_with_a_narrow_product_has_the_bits_of_both_one_after_the_other() {
    let Some(device) = device() else { return };
    let mut ready = 0;
    for (outputs, [gate, up], narrow) in GATES {
        let (rows, half) = (MANY_ROWS, outputs / 2);
        let wide = Sizes { outputs, inputs: 72, narrow: up[1] };
        let behind = Sizes { outputs: 64, inputs: half, narrow };
        let mut all = numbers(1, (outputs + wide.narrow) * wide.stride());
        let parts = divided(&mut all, wide, &[[half, gate[1]], [outputs, up[1]]]);
        let down = numbers(2, (64 + narrow) * behind.stride());
        let (both, dy) = (numbers(3, rows * outputs), numbers(4, rows * half));
        let room = |cols: usize| vec![POISON; rows * cols];
        let run = |is_fused: bool| {
            let wide_weight =
                AugmentedWeight::with_numbers(device, wide, SCALE, &all).with_parts(parts.clone());
            let down_weight = AugmentedWeight::with_numbers(device, behind, SCALE, &down);
            let from = device.upload::<Activation>(&both);
            let from = Matrix::new(from.view(), rows, outputs);
            let mut x = device.upload::<Activation>(&beside(&room(half), &room(narrow), rows));
            let mut kept = device.upload::<Activation>(&room(narrow));
            let mut to = MatrixMut::new(x.view_mut(), rows, behind.stride());
            let mut back = device.upload::<Activation>(&beside(&both, &room(wide.narrow), rows));
            let mut slopes = device.upload::<Activation>(&beside(&dy, &room(narrow), rows));
            let mut rows_back = MatrixMut::new(back.view_mut(), rows, outputs + wide.narrow);
            let slopes_to = MatrixMut::strided(slopes.view_mut(), rows, half, half + narrow);
            let mut narrows = [Narrow::With; 2];
            if is_fused {
                let fused = FusedWeight { weight: &down_weight, narrow: Narrow::With };
                let gated = Gated { both: from, kept: kept.view_mut() };
                narrows[0] = fused_linear::gated_input(device, &mut to, gated, fused);
                let fused = FusedWeight { weight: &wide_weight, narrow: Narrow::With };
                narrows[1] = fused_linear::gated_backward(device, slopes_to, &mut rows_back, fused);
            } else {
                swiglu::forward_rows(device, to.columns(0..half), from);
                swiglu::backward_rows(device, slopes_to, rows_back.columns(0..outputs));
            }
            if narrows[0] != Narrow::Ready {
                fused_linear::narrow(device, &mut to, &down_weight);
                let u = to.view().columns(half..behind.stride());
                let kept = MatrixMut::new(kept.view_mut(), rows, narrow);
                whetstone_kernels::copy::copy_matrix(device, kept, u);
            }
            if narrows[1] != Narrow::Ready {
                fused_linear::backward_narrow(device, &mut rows_back, &wide_weight);
            }
            (narrows, [x, kept, back, slopes].map(|buffer| device.read(buffer.view())))
        };
        let plain = twice(device, || run(false).1.to_vec());
        let fused = twice(device, || run(true).1.to_vec());
        for (ours, theirs) in fused.iter().zip(&plain) {
            same_bits(ours, theirs);
        }
        let narrows = run(true).0;
        ready += narrows.iter().filter(|narrow| **narrow == Narrow::Ready).count();
        assert_eq!(narrows[0], narrows[1]);
    }
    // A chip with other shared memory leaves the narrow products to the projections.
    assert!([0, 2 * GATES.len()].contains(&ready), "{ready} in one pass");
}

#[test]
fn values_are_left_out_where_there_is_no_room_for_them() {
    let Some(device) = device() else { return };
    for (size, tokens) in [(40, 21), (64, 530), (128, 21), (128, 530)] {
        let shape = Shape { heads: 4, kv_heads: 2, size, scale: 1.0 };
        let (width, rotated) = (shape.packed_width(), 6 * size);
        let whole = place(device, &shape, tokens, qk_norm_rope::forward);
        let ours = place(device, &shape, tokens, |device, mut to, qkv, placing| {
            qk_norm_rope::forward(device, to.columns(0..rotated), qkv, placing);
        });
        let old = numbers(8, tokens * width);
        for (at, row) in ours.chunks(width).enumerate() {
            same_bits(&row[..rotated], &whole[at * width..][..rotated]);
            same_bits(&row[rotated..], &old[at * width + rotated..(at + 1) * width]);
        }
    }
}

const EPSILON: f32 = 0.02;

/// Tokens that are few, and many: other kernels.
const TOKENS: [usize; 2] = [21, 530];

fn frequencies(size: usize) -> Vec<f32> {
    // So few bits that an angle is the same number in f32 and in f64.
    (0..size / 2).map(|at| 1.0 / (1 << (at % 7)) as f32).collect()
}

fn positions(tokens: usize) -> Vec<u32> {
    (0..).map(|row| row * 13 % 40).take(tokens).collect()
}

fn placed(qkv: &[f64], shape: &Shape) -> Vec<f64> {
    let size = shape.size;
    let gains = [numbers(5, size), numbers(6, size)].map(|gain| f64s(&gain));
    let frequencies = f64s(&frequencies(size));
    let rows = qkv.chunks(shape.packed_width());
    let positions = positions(rows.len());
    rows.zip(positions)
        .flat_map(|(row, position)| {
            let head = |(at, head): (usize, &[f64])| {
                if at >= shape.heads + shape.kv_heads {
                    return head.to_vec();
                }
                let gain = &gains[usize::from(at >= shape.heads)];
                let normed = oracle::rms_norm(head, gain, f64::from(EPSILON));
                oracle::rope(&normed, f64::from(position), &frequencies, 1.0)
            };
            row.chunks(size).enumerate().flat_map(head).collect::<Vec<_>>()
        })
        .collect()
}

/// Back through turns and norms, by the formula; values as they are.
fn placed_back(qkv: &[f64], dy: &[f64], shape: &Shape) -> Vec<f64> {
    let (size, width) = (shape.size, shape.packed_width());
    let gains = [numbers(5, size), numbers(6, size)].map(|gain| f64s(&gain));
    let frequencies = f64s(&frequencies(size));
    let rows = qkv.chunks(width).zip(dy.chunks(width)).zip(positions(qkv.len() / width));
    rows.flat_map(|((row, dy), position)| {
        let heads = row.chunks(size).zip(dy.chunks(size)).enumerate();
        let head = |(at, (x, dy)): (usize, (&[f64], &[f64]))| {
            if at >= shape.heads + shape.kv_heads {
                return dy.to_vec();
            }
            let gain = &gains[usize::from(at >= shape.heads)];
            let back = oracle::rope(dy, -f64::from(position), &frequencies, 1.0);
            let z: Vec<f64> = back.iter().zip(gain).map(|(dy, gain)| dy * gain).collect();
            let count = x.len() as f64;
            let r = 1.0 / (inner(x, x) / count + f64::from(EPSILON)).sqrt();
            let along = r.powi(3) * inner(&z, x) / count;
            z.iter().zip(x).map(|(z, x)| r * z - x * along).collect()
        };
        heads.flat_map(head).collect::<Vec<_>>()
    })
    .collect()
}

fn place(
    device: &Device,
    shape: &Shape,
    tokens: usize,
    run: impl Fn(&Device, MatrixMut<'_>, Matrix<'_>, Placing<'_>),
) -> Vec<f32> {
    let width = shape.packed_width();
    let stride = width + 8;
    assert!(qk_norm_rope::is_there(device, shape, stride), "{shape:?}");
    let room = vec![POISON; tokens * 8];
    let apart = |seed| beside(&numbers(seed, tokens * width), &room, tokens);
    let ours = twice(device, || {
        let turns = RopeTable::new(device, &frequencies(shape.size), 1.0, 40);
        let positions = device.upload(&positions(tokens));
        let upload = |x: &[f32]| device.upload::<Activation>(x);
        let (q_gain, k_gain) = (upload(&numbers(5, shape.size)), upload(&numbers(6, shape.size)));
        let (qkv, mut to) = (upload(&apart(7)), upload(&apart(8)));
        let placing = Placing {
            shape,
            q_gain: q_gain.view(),
            k_gain: k_gain.view(),
            epsilon: EPSILON,
            turns: &turns,
            positions: positions.view(),
        };
        let qkv = Matrix::strided(qkv.view(), tokens, width, stride);
        run(device, MatrixMut::strided(to.view_mut(), tokens, width, stride), qkv, placing);
        let all = device.read(to.view());
        let gap = nearest_bf16(POISON).to_bits();
        let mut gaps = all.chunks(stride).flat_map(|row| &row[width..]);
        assert!(gaps.all(|x| x.to_bits() == gap), "a gap was written to");
        vec![all.chunks(stride).flat_map(|row| row[..width].to_vec()).collect()]
    });
    ours.into_iter().next().unwrap()
}

#[test]
fn heads_are_normed_and_turned_in_one_pass_there_and_back() {
    let Some(device) = device() else { return };
    let shapes = [(3, 1, 8), (3, 1, 40), (4, 2, 64), (5, 1, 64), (2, 2, 128), (3, 1, 128)];
    for (heads, kv_heads, size) in shapes {
        let shape = Shape { heads, kv_heads, size, scale: 1.0 };
        let width = shape.packed_width();
        for tokens in TOKENS {
            let (qkv, dy) = (f64s(&numbers(7, tokens * width)), f64s(&numbers(8, tokens * width)));
            let ours = place(device, &shape, tokens, qk_norm_rope::forward);
            close(&ours, &placed(&qkv, &shape), ROUNDED);
            let back = place(device, &shape, tokens, qk_norm_rope::backward);
            let truth = placed_back(&qkv, &dy, &shape);
            close(&back, &truth, ROUNDED);
            if size == 8 && tokens == TOKENS[0] {
                let slopes = slopes(|qkv| inner(&placed(qkv, &shape), &dy), &qkv);
                close(&back, &slopes, ROUNDED);
            }
        }
    }
}

/// A token's bits do not depend on how many there are.
#[test]
fn few_tokens_are_normed_and_turned_as_many() {
    let Some(device) = device() else { return };
    for size in [40, 64, 128] {
        let shape = Shape { heads: 5, kv_heads: 2, size, scale: 1.0 };
        let [few, many] = TOKENS.map(|tokens| place(device, &shape, tokens, qk_norm_rope::forward));
        same_bits(&few, &many[..few.len()]);
    }
}
