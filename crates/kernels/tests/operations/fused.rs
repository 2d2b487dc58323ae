//! Projections of one input as one product, and norms with turns: beside compositions of the plain
//! operations.

use whetstone_kernels::attention::Shape;
use whetstone_kernels::fused_linear::{self, AugmentedWeight, FusedWeight, Gated, Narrow, Sizes};
use whetstone_kernels::qk_norm_rope::{self, Placing};
use whetstone_kernels::rope::RopeTable;
use whetstone_kernels::{Device, Matrix, MatrixMut, swiglu};

use crate::oracle;
use crate::shared::heads::{Case, both_ways};
use crate::support::{close, f64s, inner, numbers, same_bits, slopes};

const ROWS: usize = 21;
const SIZES: Sizes = Sizes { outputs: 13, inputs: 10, narrow: 8 };
const SCALE: f32 = 1.75;

/// The matrix, and its parts: weights, first halves, second halves.
fn weights() -> (Vec<f32>, [Vec<f64>; 3]) {
    let Sizes { outputs, inputs, narrow } = SIZES;
    let all = numbers(1, (outputs + narrow) * (inputs + narrow));
    let part = |rows: std::ops::Range<usize>, cols: std::ops::Range<usize>| {
        let row = |row: usize| f64s(&all[row * (inputs + narrow)..][cols.clone()]);
        rows.flat_map(row).collect::<Vec<_>>()
    };
    let parts = [
        part(0..outputs, 0..inputs),
        part(outputs..outputs + narrow, 0..inputs),
        part(0..outputs, inputs..inputs + narrow),
    ];
    (all, parts)
}

/// `x·Wᵀ [+ s·(x·Aᵀ)·Bᵀ]`.
fn projected(x: &[f64], part: Narrow) -> Vec<f64> {
    let (_, [whole, first_half, second_half]) = weights();
    let mut sums = oracle::linear(x, &whole, SIZES.inputs);
    if part == Narrow::With {
        let narrow = oracle::linear(x, &first_half, SIZES.inputs);
        let scaled: Vec<f64> = narrow.iter().map(|number| number * f64::from(SCALE)).collect();
        let more = oracle::linear(&scaled, &second_half, SIZES.narrow);
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    sums
}

/// Rows with room behind them.
fn with_room(values: &[f32], cols: usize, room: usize) -> Vec<f32> {
    values.chunks(cols).flat_map(|row| [row, &vec![9.0; room]].concat()).collect()
}

#[test]
fn projections_with_and_without_adapters_are_the_sums_of_plain_ones() {
    let Sizes { outputs, inputs, narrow } = SIZES;
    let (x, residual) = (numbers(2, ROWS * inputs), numbers(3, ROWS * outputs));
    for part in [Narrow::With, Narrow::Without] {
        for added in [false, true] {
            let ours = same_bits(|device: &Device| {
                let weight = AugmentedWeight::with_numbers(device, SIZES, SCALE, &weights().0);
                let mut x = device.upload(&with_room(&x, inputs, narrow));
                let mut x = MatrixMut::new(x.view_mut(), ROWS, inputs + narrow);
                let mut y = device.upload(&vec![f32::NAN; ROWS * outputs]);
                let to = MatrixMut::new(y.view_mut(), ROWS, outputs);
                let beside = device.upload(&residual);
                let beside = added.then(|| Matrix::new(beside.view(), ROWS, outputs));
                let fused = FusedWeight { weight: &weight, narrow: part };
                let output = fused_linear::Output { y: to, residual: beside };
                fused_linear::forward(device, output, &mut x, fused);
                vec![device.read(y.view())]
            });
            let mut truth = projected(&f64s(&x), part);
            if added {
                truth.iter_mut().zip(f64s(&residual)).for_each(|(y, old)| *y += old);
            }
            close(&ours[0], &truth, 2e-6);
        }
    }
}

#[test]
fn the_first_half_of_the_outputs_is_a_gate_for_the_second() {
    let sizes = Sizes { outputs: 12, ..SIZES };
    let all = numbers(1, (12 + SIZES.narrow) * SIZES.stride());
    let x = numbers(2, ROWS * SIZES.inputs);
    let ours = same_bits(|device: &Device| {
        let weight = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
        let mut x = device.upload(&with_room(&x, sizes.inputs, sizes.narrow));
        let mut x = MatrixMut::new(x.view_mut(), ROWS, sizes.stride());
        let mut both = device.zeros(ROWS * 12);
        let to = MatrixMut::new(both.view_mut(), ROWS, 12);
        let fused = FusedWeight { weight: &weight, narrow: Narrow::With };
        let output = fused_linear::Output { y: to, residual: None };
        fused_linear::forward(device, output, &mut x, fused);
        let mut y = device.upload(&vec![f32::NAN; ROWS * 6]);
        let to = MatrixMut::new(y.view_mut(), ROWS, 6);
        fused_linear::forward_gated(device, to, &mut x, fused);
        vec![device.read(y.view()), device.read(both.view())]
    });
    let side = |first: usize| -> Vec<f64> {
        ours[1].chunks(12).flat_map(|row| f64s(&row[first..first + 6])).collect()
    };
    close(&ours[0], &oracle::swiglu(&side(0), &side(6)), 2e-6);
}

#[test]
fn what_comes_back_through_projections_is_the_slope() {
    let Sizes { outputs, inputs, narrow } = SIZES;
    let (x, dy) = (numbers(2, ROWS * inputs), numbers(4, ROWS * outputs));
    for part in [Narrow::With, Narrow::Without] {
        let ours = same_bits(|device: &Device| {
            let weight = AugmentedWeight::with_numbers(device, SIZES, SCALE, &weights().0);
            let mut dy = device.upload(&with_room(&dy, outputs, narrow));
            let mut dy = MatrixMut::new(dy.view_mut(), ROWS, outputs + narrow);
            let mut dx = device.upload(&vec![f32::NAN; ROWS * inputs]);
            let to = MatrixMut::new(dx.view_mut(), ROWS, inputs);
            let fused = FusedWeight { weight: &weight, narrow: part };
            fused_linear::backward(device, to, &mut dy, fused);
            vec![device.read(dx.view())]
        });
        let truth = slopes(|x| inner(&projected(x, part), &f64s(&dy)), &f64s(&x));
        close(&ours[0], &truth, 2e-6);
    }
}

/// A narrow product that is ready is not computed again: one of other numbers shows in the result.
#[test]
fn what_is_ready_of_a_narrow_product_is_used_as_it_is() {
    let Sizes { outputs, inputs, narrow } = SIZES;
    let (x, other) = (numbers(2, ROWS * inputs), numbers(5, ROWS * narrow));
    let beside = |right: &[f32]| -> Vec<f32> {
        x.chunks(inputs).zip(right.chunks(narrow)).flat_map(|(x, u)| [x, u].concat()).collect()
    };
    let run = |right: &[f32], part: Narrow| {
        same_bits(|device: &Device| {
            let weight = AugmentedWeight::with_numbers(device, SIZES, SCALE, &weights().0);
            let mut x = device.upload(&beside(right));
            let mut x = MatrixMut::new(x.view_mut(), ROWS, SIZES.stride());
            let mut y = device.upload(&vec![f32::NAN; ROWS * outputs]);
            let to = MatrixMut::new(y.view_mut(), ROWS, outputs);
            let fused = FusedWeight { weight: &weight, narrow: part };
            let output = fused_linear::Output { y: to, residual: None };
            fused_linear::forward(device, output, &mut x, fused);
            let right = x.view().columns(inputs..SIZES.stride());
            let mut narrow_part = device.upload(&vec![f32::NAN; ROWS * narrow]);
            let to = MatrixMut::new(narrow_part.view_mut(), ROWS, narrow);
            whetstone_kernels::copy::copy_matrix(device, to, right);
            vec![device.read(y.view()), device.read(narrow_part.view())]
        })
    };
    let computed = run(&other, Narrow::With);
    assert_ne!(computed[1], other);
    assert_eq!(run(&computed[1], Narrow::Ready), computed);
    let given = run(&other, Narrow::Ready);
    assert_eq!(given[1], other);
    assert_ne!(given[0], computed[0]);
}

/// A processor leaves the narrow products to the projections.
#[test]
fn a_gate_and_its_gradients_are_swiglu_in_rows_with_room() {
    let sizes = Sizes { outputs: 12, inputs: 6, narrow: 8 };
    let all = numbers(1, (sizes.outputs + sizes.narrow) * sizes.stride());
    let (both, dy) = (numbers(2, ROWS * 12), numbers(3, ROWS * 6));
    let ours = same_bits(|device: &Device| {
        let weight = AugmentedWeight::with_numbers(device, sizes, SCALE, &all);
        let fused = FusedWeight { weight: &weight, narrow: Narrow::With };
        let from = device.upload(&both);
        let mut kept = device.upload(&vec![9.0; ROWS * 8]);
        let mut x = device.upload(&with_room(&dy, 6, 8));
        let gated = Gated { both: Matrix::new(from.view(), ROWS, 12), kept: kept.view_mut() };
        let to = &mut MatrixMut::new(x.view_mut(), ROWS, 14);
        assert_eq!(fused_linear::gated_input(device, to, gated, fused), Narrow::With);
        let mut back = device.upload(&with_room(&both, 12, 8));
        let mut slopes = device.upload(&dy);
        let rows = &mut MatrixMut::new(back.view_mut(), ROWS, 20);
        let to = MatrixMut::new(slopes.view_mut(), ROWS, 6);
        assert_eq!(fused_linear::gated_backward(device, to, rows, fused), Narrow::With);
        [kept, x, back, slopes].map(|buffer| device.read(buffer.view())).to_vec()
    });
    let plain = same_bits(|device: &Device| {
        let from = device.upload(&both);
        let mut x = device.upload(&dy);
        let to = MatrixMut::new(x.view_mut(), ROWS, 6);
        swiglu::forward_rows(device, to, Matrix::new(from.view(), ROWS, 12));
        let (mut back, mut slopes) = (device.upload(&both), device.upload(&dy));
        let to = MatrixMut::new(slopes.view_mut(), ROWS, 6);
        swiglu::backward_rows(device, to, MatrixMut::new(back.view_mut(), ROWS, 12));
        [x, back, slopes].map(|buffer| device.read(buffer.view())).to_vec()
    });
    assert!(ours[0].iter().all(|kept| kept.to_bits() == 9f32.to_bits()));
    assert_eq!(ours[1], with_room(&plain[0], 6, 8));
    assert_eq!(ours[2], with_room(&plain[1], 12, 8));
    assert_eq!(ours[3], plain[2]);
}

const SHAPE: Shape = Shape { heads: 3, kv_heads: 2, size: 6, scale: 1.0 };
const FREQUENCIES: [f32; 3] = [1.0, 0.3125, 0.015_625];
const EPSILON: f32 = 0.02;
/// Numbers between the beginnings of two rows.
const STRIDE: usize = 45;

fn positions() -> Vec<u32> {
    (0..ROWS as u32).map(|row| row * 13 % 40).collect()
}

/// Norms, then turns; values as they are.
fn placed(qkv: &[f64]) -> Vec<f64> {
    let gains = [numbers(5, 6), numbers(6, 6)].map(|gain| f64s(&gain));
    let frequencies = FREQUENCIES.map(f64::from);
    let rows = qkv.chunks(SHAPE.packed_width()).zip(positions());
    rows.flat_map(|(row, position)| {
        let head = |(at, head): (usize, &[f64])| {
            if at >= SHAPE.heads + SHAPE.kv_heads {
                return head.to_vec();
            }
            let gain = &gains[usize::from(at >= SHAPE.heads)];
            let normed = oracle::rms_norm(head, gain, f64::from(EPSILON));
            oracle::rope(&normed, f64::from(position), &frequencies, 1.0)
        };
        row.chunks(SHAPE.size).enumerate().flat_map(head).collect::<Vec<_>>()
    })
    .collect()
}

/// Calls with what places heads, on rows that lie apart.
fn place(run: impl Fn(&Device, MatrixMut<'_>, Matrix<'_>, Placing<'_>)) -> Vec<f32> {
    let width = SHAPE.packed_width();
    let (qkv, old) = (numbers(7, ROWS * width), numbers(8, ROWS * width));
    let apart = |values: &[f32]| with_room(values, width, STRIDE - width);
    let ours = same_bits(|device| {
        let turns = RopeTable::new(device, &FREQUENCIES, 1.0, 40);
        let positions = device.upload(&positions());
        let (q_gain, k_gain) = (device.upload(&numbers(5, 6)), device.upload(&numbers(6, 6)));
        let (qkv, mut to) = (device.upload(&apart(&qkv)), device.upload(&apart(&old)));
        let placing = Placing {
            shape: &SHAPE,
            q_gain: q_gain.view(),
            k_gain: k_gain.view(),
            epsilon: EPSILON,
            turns: &turns,
            positions: positions.view(),
        };
        let qkv = Matrix::strided(qkv.view(), ROWS, width, STRIDE);
        run(device, MatrixMut::strided(to.view_mut(), ROWS, width, STRIDE), qkv, placing);
        let all = device.read(to.view());
        let gaps = all.chunks(STRIDE).flat_map(|row| &row[width..]);
        assert!(gaps.clone().all(|gap| gap.to_bits() == 9f32.to_bits()), "a gap was written to");
        vec![all.chunks(STRIDE).flat_map(|row| row[..width].to_vec()).collect()]
    });
    ours.into_iter().next().unwrap()
}

#[test]
fn heads_are_normed_and_then_turned_and_values_stay() {
    let ours = place(qk_norm_rope::forward);
    let qkv = numbers(7, ROWS * SHAPE.packed_width());
    close(&ours, &placed(&f64s(&qkv)), 2e-6);
}

#[test]
fn values_are_left_out_where_there_is_no_room_for_them() {
    let rotated = (SHAPE.heads + SHAPE.kv_heads) * SHAPE.size;
    let whole = place(qk_norm_rope::forward);
    let ours = place(|device, mut to, qkv, placing| {
        qk_norm_rope::forward(device, to.columns(0..rotated), qkv, placing);
    });
    let width = SHAPE.packed_width();
    let old = numbers(8, ROWS * width);
    for ((ours, whole), old) in ours.chunks(width).zip(whole.chunks(width)).zip(old.chunks(width)) {
        assert_eq!(ours, [&whole[..rotated], &old[rotated..]].concat());
    }
}

#[test]
fn what_comes_back_through_norms_and_turns_is_the_slope() {
    let ours = place(qk_norm_rope::backward);
    let width = SHAPE.packed_width();
    let (qkv, dy) = (numbers(7, ROWS * width), f64s(&numbers(8, ROWS * width)));
    close(&ours, &slopes(|qkv| inner(&placed(qkv), &dy), &f64s(&qkv)), 4e-6);
}

#[test]
fn heads_of_a_projection_are_placed_as_those_behind_it() {
    let shape = Shape { heads: 4, ..SHAPE };
    let case = Case { shape, ranks: [8, 0, 8], inputs: 10, rows: ROWS };
    for with in [Narrow::With, Narrow::Without] {
        let ours = same_bits(|device| both_ways(device, &case, with, numbers));
        assert_eq!(ours[..2], ours[2..]);
        assert!(ours[1].iter().any(|x| *x != 0.0));
    }
}
