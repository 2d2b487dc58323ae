//! A few rows times a weight, each number one sum whose order depends on nothing.
//!
//! Four rows of `x` meet four rows of the weight at a time, where they lie: sixteen sums, each in
//! sixteen lanes along the inner side. Nothing is packed, so a weight is read once, at the speed of
//! memory when there is one row and of arithmetic when there are dozens.

#![expect(unsafe_code, reason = "columns of the result for different threads")]

use super::shared::Shared;
use super::threads::Threads;
use super::wide::{LANES, fold, fold_many, wide};
use crate::linear::Weight;
use crate::matmul::{Before, Matrix, MatrixMut};

/// Rows of `x` and of the weight in a tile.
const TILE: usize = 4;

/// Rows of the weight that a thread takes at a time.
const PIECE: usize = 64;

/// What a weight is made of.
trait Entry: Copy + Send + Sync {
    fn number(self) -> f32;
}

impl Entry for f32 {
    #[inline(always)]
    fn number(self) -> f32 {
        self
    }
}

impl Entry for i8 {
    #[inline(always)]
    fn number(self) -> f32 {
        f32::from(self)
    }
}

/// Rows in a slice.
#[derive(Clone, Copy)]
struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    length: usize,
}

impl<'a, T> Rows<'a, T> {
    #[inline(always)]
    fn row(&self, at: usize) -> &'a [T] {
        &self.data[at * self.stride..][..self.length]
    }
}

/// `y = [y +] scale · x · Wᵀ`. Shapes were checked.
pub(crate) fn multiply(
    threads: &Threads,
    y: &mut MatrixMut<'_>,
    before: Before,
    (scale, x, weight): (f32, Matrix<'_>, Weight<'_>),
) {
    let x_rows = Rows { data: x.data.host(), stride: x.row_stride, length: x.cols };
    match weight {
        Weight::F32(w) => {
            assert!(w.col_stride == 1, "a weight by rows");
            let w = Rows { data: w.data.host(), stride: w.row_stride, length: w.cols };
            over_pieces(threads, y, before, (x_rows, w), |_| scale);
        }
        Weight::Int8 { bytes, scales, inputs } => {
            let w = Rows { data: bytes.host(), stride: inputs, length: inputs };
            let scales = scales.host();
            over_pieces(threads, y, before, (x_rows, w), |row| scale * scales[row]);
        }
    }
}

fn over_pieces<T: Entry>(
    threads: &Threads,
    y: &mut MatrixMut<'_>,
    before: Before,
    (x, w): (Rows<'_, f32>, Rows<'_, T>),
    scale: impl Fn(usize) -> f32 + Send + Sync,
) {
    let (count, outputs, stride) = (y.rows, y.cols, y.stride);
    let y = Shared::new(y.data.host());
    threads.each(outputs.div_ceil(PIECE), |piece| {
        let columns = piece * PIECE..outputs.min((piece + 1) * PIECE);
        let put = |row: usize, begin: usize, sums: &[f32]| {
            // SAFETY: pieces are different columns, and a place is written by one call at a time.
            let to = unsafe { y.part(row * stride + begin, sums.len()) };
            for (at, (to, sum)) in to.iter_mut().zip(sums).enumerate() {
                let new = sum * scale(begin + at);
                *to = if before == Before::Kept { *to + new } else { new };
            }
        };
        wide(|| {
            for column in columns.clone().step_by(TILE) {
                let width = TILE.min(columns.end - column);
                for row in (0..count).step_by(TILE) {
                    let height = TILE.min(count - row);
                    if width == TILE {
                        let rows = std::array::from_fn(|at| w.row(column + at));
                        match height {
                            TILE => full(&x, row, rows, |at, sums| put(row + at, column, sums)),
                            _ => (row..row + height).for_each(|row| {
                                put(row, column, &one(x.row(row), rows));
                            }),
                        }
                    } else {
                        for (row, at) in (row..row + height)
                            .flat_map(|row| (column..column + width).map(move |at| (row, at)))
                        {
                            put(row, at, &[lone(x.row(row), w.row(at))]);
                        }
                    }
                }
            }
        });
    });
}

/// Four rows by four rows.
#[inline(always)]
fn full<T: Entry>(
    x: &Rows<'_, f32>,
    row: usize,
    w: [&[T]; TILE],
    mut put: impl FnMut(usize, &[f32]),
) {
    let x: [&[f32]; TILE] = std::array::from_fn(|at| x.row(row + at));
    let mut sums = [[0.0f32; LANES]; LANES];
    let whole = x[0].len() / LANES * LANES;
    let mut at = 0;
    while at < whole {
        let xs: [&[f32; LANES]; TILE] = std::array::from_fn(|i| lanes(x[i], at));
        let ws: [[f32; LANES]; TILE] = std::array::from_fn(|j| lanes(w[j], at).map(Entry::number));
        for i in 0..TILE {
            for j in 0..TILE {
                for lane in 0..LANES {
                    let sum = &mut sums[i * TILE + j][lane];
                    *sum = xs[i][lane].mul_add(ws[j][lane], *sum);
                }
            }
        }
        at += LANES;
    }
    for at in whole..x[0].len() {
        for i in 0..TILE {
            for j in 0..TILE {
                let sum = &mut sums[i * TILE + j][at - whole];
                *sum = x[i][at].mul_add(w[j][at].number(), *sum);
            }
        }
    }
    let sums = fold_many(&sums);
    for (i, sums) in sums.chunks_exact(TILE).enumerate() {
        put(i, sums);
    }
}

/// One row by four rows: the same sums.
#[inline(always)]
fn one<T: Entry>(x: &[f32], w: [&[T]; TILE]) -> [f32; TILE] {
    let mut sums = [[0.0f32; LANES]; TILE];
    let whole = x.len() / LANES * LANES;
    let mut at = 0;
    while at < whole {
        let xs = lanes(x, at);
        for (sums, w) in sums.iter_mut().zip(w) {
            let w = lanes(w, at);
            for lane in 0..LANES {
                sums[lane] = xs[lane].mul_add(w[lane].number(), sums[lane]);
            }
        }
        at += LANES;
    }
    for at in whole..x.len() {
        for (sums, w) in sums.iter_mut().zip(w) {
            let sum = &mut sums[at - whole];
            *sum = x[at].mul_add(w[at].number(), *sum);
        }
    }
    sums.map(fold)
}

/// One row by one row: the same sum.
#[inline(always)]
fn lone<T: Entry>(x: &[f32], w: &[T]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (at, (x, w)) in x.iter().zip(w).enumerate() {
        let sum = &mut sums[at % LANES];
        *sum = x.mul_add(w.number(), *sum);
    }
    fold(sums)
}

/// Sixteen numbers from `at` on.
#[inline(always)]
fn lanes<T>(from: &[T], at: usize) -> &[T; LANES] {
    from[at..].first_chunk().expect("sixteen more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::int8::pack_row;
    use crate::linear::{each_row, forward};

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
    }

    #[test]
    fn a_row_is_the_same_alone_and_with_others_on_any_number_of_threads() {
        for (rows, outputs, inputs) in [(9, 70, 100), (64, 130, 64), (5, 3, 33), (4, 64, 16)] {
            let (x, w) = (numbers(rows * inputs, 3), numbers(outputs * inputs, 5));
            let run = |x: &[f32], threads| {
                let device = Device::cpu(threads).unwrap();
                let rows = x.len() / inputs;
                let (x, w) = (device.upload(x), device.upload(&w));
                let mut y = device.take(rows * outputs);
                let weight = Weight::new(w.view(), outputs, inputs);
                let x = Matrix::new(x.view(), rows, inputs);
                let to = MatrixMut::new(y.view_mut(), rows, outputs);
                each_row(&device, to, Before::Gone, (1.0, x, weight));
                device.read(y.view()).into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let all = run(&x, 1);
            assert_eq!(run(&x, 3), all);
            for (x, all) in x.chunks(inputs).zip(all.chunks(outputs)) {
                assert_eq!(run(x, 1), all);
            }
        }
    }

    #[test]
    fn few_rows_and_many_rows_agree_for_numbers_and_bytes() {
        let device = Device::cpu(2).unwrap();
        let (rows, outputs, inputs) = (7, 1100, 70);
        let (x, w) = (numbers(rows * inputs, 3), numbers(outputs * inputs, 5));
        let mut bytes = vec![0; w.len()];
        let scales: Vec<f32> =
            w.chunks(inputs).zip(bytes.chunks_mut(inputs)).map(|(w, b)| pack_row(w, b)).collect();
        let (x, w) = (device.upload(&x), device.upload(&w));
        let (bytes, scales) = (device.upload(&bytes), device.upload(&scales));
        let plain = Weight::new(w.view(), outputs, inputs);
        let small = Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs };
        for weight in [plain, small] {
            let x = Matrix::new(x.view(), rows, inputs);
            let run = |few: bool| {
                let mut y = device.upload(&vec![2.0; rows * outputs]);
                let to = MatrixMut::new(y.view_mut(), rows, outputs);
                let call = if few { each_row } else { forward };
                call(&device, to, Before::Kept, (0.5, x, weight));
                device.read(y.view())
            };
            for (few, many) in run(true).iter().zip(run(false)) {
                assert!((few - many).abs() < 1e-4, "{few} {many}");
            }
        }
    }
}
