//! A few rows times a weight, each number one sum whose order depends on nothing.
//!
//! Four rows of `x` meet four rows of the weight at a time, where they lie: sixteen sums, each in
//! sixteen lanes along the inner side, which begin at zero and are folded at the end. Nothing is
//! packed, so a weight is read once, at the speed of memory when there is one row and of arithmetic
//! when there are dozens. The sums are vectors by type, since the compiler does not find them in a
//! plain loop; a processor with shorter vectors has several for sixteen lanes, and the same bits.

#![expect(unsafe_code, reason = "columns of the result for different threads, and vectors")]

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::shared::Shared;
use super::threads::Threads;
use super::wide::{LANES, fold};
use crate::linear::Weight;
use crate::matmul::{Before, Matrix, MatrixMut};

/// Rows of `x` and of the weight in a tile.
const TILE: usize = 4;

/// Rows of the weight that a thread takes at a time.
const PIECE: usize = 64;

/// What a weight is made of.
trait Entry: Copy + Default + Send + Sync {
    fn numbers(from: &[Self; LANES]) -> [f32; LANES];
}

impl Entry for f32 {
    #[inline(always)]
    fn numbers(from: &[Self; LANES]) -> [f32; LANES] {
        *from
    }
}

impl Entry for i8 {
    #[inline(always)]
    fn numbers(from: &[Self; LANES]) -> [f32; LANES] {
        let mut to = [0.0; LANES];
        for at in 0..LANES {
            to[at] = f32::from(from[at]);
        }
        to
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

    #[inline(always)]
    fn some<const COUNT: usize>(&self, first: usize) -> [&'a [T]; COUNT] {
        let mut rows: [&[T]; COUNT] = [&[]; COUNT];
        for (at, row) in rows.iter_mut().enumerate() {
            *row = self.row(first + at);
        }
        rows
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
        Arch::new().dispatch(Piece { x, w, count, columns, put });
    });
}

/// Some columns of the result.
struct Piece<'a, T, P> {
    x: Rows<'a, f32>,
    w: Rows<'a, T>,
    count: usize,
    columns: Range<usize>,
    /// Takes a row, its first column and the sums from there on.
    put: P,
}

impl<T: Entry, P: Fn(usize, usize, &[f32])> WithSimd for Piece<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.over_tiles::<S, 1>(simd),
            8 => self.over_tiles::<S, 2>(simd),
            4 => self.over_tiles::<S, 4>(simd),
            1 => self.over_tiles::<S, 16>(simd),
            other => unreachable!("vectors of {other}"),
        }
    }
}

impl<T: Entry, P: Fn(usize, usize, &[f32])> Piece<'_, T, P> {
    #[inline(always)]
    fn over_tiles<S: Simd, const PARTS: usize>(&self, simd: S) {
        let end = self.columns.end;
        for column in self.columns.clone().step_by(TILE) {
            if column + TILE > end {
                for column in column..end {
                    self.over_rows::<S, 1, PARTS>(simd, column, 0);
                }
                return;
            }
            let mut row = 0;
            while row + TILE <= self.count {
                self.put_tile::<S, TILE, TILE, PARTS>(simd, row, column);
                row += TILE;
            }
            self.over_rows::<S, TILE, PARTS>(simd, column, row);
        }
    }

    /// One row at a time, from `row` on, by `WIDTH` rows of the weight: the same sums.
    #[inline(always)]
    fn over_rows<S: Simd, const WIDTH: usize, const PARTS: usize>(
        &self,
        simd: S,
        column: usize,
        row: usize,
    ) {
        for row in row..self.count {
            self.put_tile::<S, 1, WIDTH, PARTS>(simd, row, column);
        }
    }

    #[inline(always)]
    fn put_tile<S: Simd, const HEIGHT: usize, const WIDTH: usize, const PARTS: usize>(
        &self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let (x, w) = (self.x.some::<HEIGHT>(row), self.w.some::<WIDTH>(column));
        let lanes = tile::<S, T, HEIGHT, WIDTH, PARTS>(simd, x, w);
        for (at, lanes) in lanes.iter().enumerate() {
            let mut sums = [0.0; WIDTH];
            for j in 0..WIDTH {
                sums[j] = fold(lanes[j]);
            }
            (self.put)(row + at, column, &sums);
        }
    }
}

/// Lanes of the sums of some rows by some rows. What is missing from the last sixteen numbers is
/// zero, which changes no sum.
#[inline(always)]
fn tile<S: Simd, T: Entry, const HEIGHT: usize, const WIDTH: usize, const PARTS: usize>(
    simd: S,
    x: [&[f32]; HEIGHT],
    w: [&[T]; WIDTH],
) -> [[[f32; LANES]; WIDTH]; HEIGHT] {
    let mut sums = [[load::<S, PARTS>(&[0.0; LANES]); WIDTH]; HEIGHT];
    let inputs = x[0].len();
    let whole = inputs / LANES * LANES;
    let mut at = 0;
    while at < whole {
        let mut ws = [load::<S, PARTS>(&[0.0; LANES]); WIDTH];
        for j in 0..WIDTH {
            ws[j] = load::<S, PARTS>(&T::numbers(lanes(w[j], at)));
        }
        for i in 0..HEIGHT {
            add(simd, &mut sums[i], load::<S, PARTS>(lanes(x[i], at)), &ws);
        }
        at += LANES;
    }
    if whole < inputs {
        let mut ws = [load::<S, PARTS>(&[0.0; LANES]); WIDTH];
        for j in 0..WIDTH {
            ws[j] = load::<S, PARTS>(&T::numbers(&padded(&w[j][whole..])));
        }
        for i in 0..HEIGHT {
            add(simd, &mut sums[i], load::<S, PARTS>(&padded(&x[i][whole..])), &ws);
        }
    }
    let mut to = [[[0.0; LANES]; WIDTH]; HEIGHT];
    for (to, sums) in to.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        store::<S, PARTS>(to, *sums);
    }
    to
}

/// `sums += x · w`, fused, for one row of `x`.
#[inline(always)]
fn add<S: Simd, const WIDTH: usize, const PARTS: usize>(
    simd: S,
    sums: &mut [[S::f32s; PARTS]; WIDTH],
    x: [S::f32s; PARTS],
    w: &[[S::f32s; PARTS]; WIDTH],
) {
    for j in 0..WIDTH {
        for part in 0..PARTS {
            sums[j][part] = simd.mul_add_f32s(x[part], w[j][part], sums[j][part]);
        }
    }
}

/// Sixteen lanes as the processor's vectors.
#[inline(always)]
fn load<S: Simd, const PARTS: usize>(from: &[f32; LANES]) -> [S::f32s; PARTS] {
    assert!(size_of::<[S::f32s; PARTS]>() == size_of::<[f32; LANES]>(), "sixteen lanes");
    // SAFETY: vectors are plain numbers, and these are as long as the sixteen.
    unsafe { std::ptr::from_ref(from).cast::<[S::f32s; PARTS]>().read_unaligned() }
}

#[inline(always)]
fn store<S: Simd, const PARTS: usize>(to: &mut [f32; LANES], from: [S::f32s; PARTS]) {
    assert!(size_of::<[S::f32s; PARTS]>() == size_of::<[f32; LANES]>(), "sixteen lanes");
    // SAFETY: as above.
    unsafe { std::ptr::from_mut(to).cast::<[S::f32s; PARTS]>().write_unaligned(from) };
}

/// Sixteen numbers from `at` on.
#[inline(always)]
fn lanes<T>(from: &[T], at: usize) -> &[T; LANES] {
    from[at..].first_chunk().expect("sixteen more")
}

/// The last numbers of a row, and zeros.
#[inline(always)]
fn padded<T: Entry>(from: &[T]) -> [T; LANES] {
    let mut to = [T::default(); LANES];
    to[..from.len()].copy_from_slice(from);
    to
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
