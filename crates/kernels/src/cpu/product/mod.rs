//! Products of matrices.
//!
//! Every element of a result is `c + s · Σ a·b`, and the sum runs along the inner dimension, with
//! fused multiply-add, from first to last, in blocks whose length depends on the inner dimension
//! alone. The tile, the thread and the neighbours of an element do not change its bits: a row is
//! the same alone and among thousands, on any number of threads and any processor.
//!
//! One dimension of the result runs along vectors, elements of the other are broadcast one by one.
//! Many rows: vectors run along columns, whose operand is packed into panels. Few rows times a
//! weight: vectors run along the rows, which are few to pack, and the weight is read in place.

#![expect(unsafe_code, reason = "the loops take addresses")]

mod pack;
#[cfg(test)]
mod tests;
mod tile;

use std::cell::RefCell;

use pulp::{Arch, Simd, WithSimd};

use self::pack::{PANEL, Room, STRIP, Span, panels, strips};
use self::tile::{Broad, Single, TileTarget, tile};
use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::LANES;
use crate::buffer::Activation;
use crate::matmul::{Multiply, ScaledProduct, WriteMode};
use crate::offsets::Offsets;

/// Places of the inner side that are summed before the sum is added to the result, at most.
const DEPTH: usize = 768;

/// Numbers of packed panels that are used over and over: they stay in a core's own cache.
const PANELS: usize = 1 << 17;

/// Numbers of packed strips at a time; they are read once for each block of panels.
const STRIPS: usize = 1 << 20;

/// Up to this many rows, and with more columns, a weight is not worth packing.
const FEW: usize = 128;

/// An operand that meets so few rows or columns of the other is read in place.
const ONCE: usize = 64;

thread_local! {
    /// Panels and strips of each thread.
    static ROOMS: RefCell<(Room, Room)> = RefCell::default();
}

/// `to = [to +] scale · a · b`, where each piece of the inner dimension is a separate product that
/// is added to the result so far. Shapes were checked.
pub(crate) fn multiply(
    threads: &Threads,
    multiply: Multiply<'_, Activation, Activation, Activation>,
    pieces: Offsets<'_>,
) {
    let Multiply { mut to, mode, product: ScaledProduct { scale, a, b } } = multiply;
    let (m, n) = (to.rows, to.cols);
    if m == 0 || n == 0 {
        return;
    }
    let by_rows = m >= n;
    let side = m.max(n);
    let parts = threads.count().min(side.div_ceil(PANEL));
    let stride = to.stride;
    let all = Shared::new(to.data.host());
    let (a_all, b_all) = (a.data.host(), b.data.host());
    threads.each(parts, |part| {
        let (begin, end) = (bound(side, parts, part), bound(side, parts, part + 1));
        let (rows, cols) = if by_rows { (begin..end, 0..n) } else { (0..m, begin..end) };
        for (piece, ends) in pieces.windows(2).enumerate() {
            let (first, places) = (ends[0], ends[1] - ends[0]);
            let mode = if piece == 0 { mode } else { WriteMode::Accumulate };
            if places == 0 && mode == WriteMode::Accumulate {
                continue;
            }
            let call = ProductCall {
                shape: (rows.len(), cols.len(), places),
                to: all.at(rows.start * stride + cols.start),
                to_stride: stride,
                mode,
                scale,
                a: a_all[rows.start * a.row_stride + first * a.col_stride..].as_ptr(),
                a_strides: (a.row_stride, a.col_stride),
                b: b_all[cols.start * b.col_stride + first * b.row_stride..].as_ptr(),
                b_strides: (b.row_stride, b.col_stride),
            };
            // SAFETY: a `Matrix` is inside its view, so are its parts, and parts of the result do
            // not overlap.
            unsafe { call.run() };
        }
    });
}

/// The beginning of part `part` of `parts`; all parts but the last are whole vectors.
fn bound(side: usize, parts: usize, part: usize) -> usize {
    if part == parts { side } else { side * part / parts / LANES * LANES }
}

/// One product in this thread.
pub(crate) struct ProductCall {
    /// Rows and columns of the result, and the inner side.
    pub(crate) shape: (usize, usize, usize),
    pub(crate) to: *mut f32,
    pub(crate) to_stride: usize,
    pub(crate) mode: WriteMode,
    pub(crate) scale: f32,
    pub(crate) a: *const f32,
    /// From row to row, and from column to column.
    pub(crate) a_strides: (usize, usize),
    pub(crate) b: *const f32,
    pub(crate) b_strides: (usize, usize),
}

impl ProductCall {
    /// Computes it.
    ///
    /// # Safety
    ///
    /// The three matrices must be inside the memory of their addresses, and the result must not
    /// overlap the others or memory that another thread uses.
    pub(crate) unsafe fn run(self) {
        // SAFETY: the caller's.
        unsafe { self.run_on(|product| Arch::new().dispatch(product)) };
    }

    /// Like [`Self::run`], with the vectors that `processor` chooses.
    ///
    /// # Safety
    ///
    /// As of [`Self::run`].
    unsafe fn run_on(self, processor: impl FnOnce(Product<'_>)) {
        let (m, n, k) = self.shape;
        if m == 0 || n == 0 {
            return;
        }
        if k == 0 {
            for row in 0..if self.mode == WriteMode::Overwrite { m } else { 0 } {
                // SAFETY: the caller's.
                let row =
                    unsafe { std::slice::from_raw_parts_mut(self.to.add(row * self.to_stride), n) };
                row.fill(0.0);
            }
            return;
        }
        let rows =
            OperandSide { data: self.a, count: m, step: self.a_strides.0, inner: self.a_strides.1 };
        let columns =
            OperandSide { data: self.b, count: n, step: self.b_strides.1, inner: self.b_strides.0 };
        let turned = m <= FEW && m < n && columns.inner == 1;
        let (broad, single) = if turned { (rows, columns) } else { (columns, rows) };
        let target = TileTarget {
            to: self.to,
            stride: self.to_stride,
            turned,
            fresh: self.mode == WriteMode::Overwrite,
            scale: self.scale,
        };
        ROOMS.with_borrow_mut(|rooms| {
            processor(Product { broad, single, target, depth: k, rooms });
        });
    }
}

/// One side of the result, with the operand that has it.
#[derive(Clone, Copy)]
struct OperandSide {
    data: *const f32,
    count: usize,
    /// From one row (or column) to the next.
    step: usize,
    /// From one place of the inner side to the next.
    inner: usize,
}

/// The arguments of [`ProductCall::run`], whose safety requirements hold for everything below.
struct Product<'a> {
    /// The side along the vectors, and the other.
    broad: OperandSide,
    single: OperandSide,
    target: TileTarget,
    depth: usize,
    rooms: &'a mut (Room, Room),
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { broad, single, target, depth: inner, rooms } = self;
        let blocks = inner.div_ceil(DEPTH);
        let block = inner.div_ceil(blocks);
        for first in (0..inner).step_by(block) {
            let depth = block.min(inner - first);
            let target = TileTarget { fresh: target.fresh && first == 0, ..target };
            let packed = single.inner != 1 && single.count > ONCE;
            let at_once = if packed { STRIPS / depth / STRIP * STRIP } else { single.count };
            for row in (0..single.count).step_by(at_once) {
                let rows = at_once.min(single.count - row);
                // SAFETY: rows and places of the operand, and of the result.
                let (strip, target) = unsafe {
                    let strip = if packed {
                        let room = rooms.1.numbers(rows.next_multiple_of(STRIP) * depth);
                        let span = Span { begin: row, count: rows, first, depth };
                        strips(room, single, span);
                        Strip::Packed(room.as_ptr())
                    } else {
                        let data = single.data.add(row * single.step + first * single.inner);
                        Strip::There { data, row: single.step, step: single.inner }
                    };
                    (strip, target.at(row, 0))
                };
                let work = RowStrip { strip, count: rows, depth, target };
                let panels = (PANELS / depth / PANEL).max(1) * PANEL;
                for column in (0..broad.count).step_by(panels) {
                    let columns = panels.min(broad.count - column);
                    // SAFETY: the same.
                    unsafe {
                        let span = Span { begin: column, count: columns, first, depth };
                        work.by_columns(simd, broad, span, &mut rooms.0);
                    }
                }
            }
        }
    }
}

/// Rows of numbers that are spread over vectors.
#[derive(Clone, Copy)]
enum Strip {
    /// In place: with strides from row to row, and along the inner dimension.
    There { data: *const f32, row: usize, step: usize },
    /// In strips of [`STRIP`].
    Packed(*const f32),
}

#[derive(Clone, Copy)]
struct RowStrip {
    strip: Strip,
    count: usize,
    depth: usize,
    target: TileTarget,
}

/// Panels of the same width, and where their first number goes along the vectors.
#[derive(Clone, Copy)]
struct Panels {
    data: *const f32,
    /// From panel to panel, and from place to place.
    apart: usize,
    step: usize,
    count: usize,
    /// Numbers along the vectors that count, of each panel.
    width: usize,
    column: usize,
}

impl RowStrip {
    /// These rows by some columns of the other side.
    #[inline(always)]
    unsafe fn by_columns<S: Simd>(self, simd: S, side: OperandSide, span: Span, room: &mut Room) {
        let Span { begin: column, count: columns, first, .. } = span;
        let (whole, width) = (columns / PANEL, columns % PANEL);
        let there = side.step == 1 && self.count <= ONCE && width.is_multiple_of(LANES);
        // SAFETY: the caller's.
        let (data, apart, step, last_step) = unsafe {
            if there {
                (side.data.add(column + first * side.inner), PANEL, side.inner, side.inner)
            } else {
                let room = room.numbers(columns.next_multiple_of(LANES) * self.depth);
                panels(room, side, span);
                (room.as_ptr(), PANEL * self.depth, PANEL, width.next_multiple_of(LANES))
            }
        };
        // SAFETY: the same; the rest comes after the whole panels.
        unsafe {
            if whole > 0 {
                let count = whole;
                self.by_panels(simd, Panels { data, apart, step, count, width: PANEL, column });
            }
            if width > 0 {
                let (data, column) = (data.add(whole * apart), column + whole * PANEL);
                let last = Panels { data, apart, step: last_step, count: 1, width, column };
                self.by_panels(simd, last);
            }
        }
    }

    /// As many sums as a processor has registers for: wide and low, or narrow and high.
    #[inline(always)]
    unsafe fn by_panels<S: Simd>(self, simd: S, panels: Panels) {
        // SAFETY: the caller's.
        unsafe {
            match (S::F32_LANES, panels.width.div_ceil(LANES), self.strip) {
                (16, 4, _) | (4, ..) => self.in_tiles::<S, 4, STRIP>(simd, panels),
                (16, 3, Strip::There { .. }) => self.in_tiles::<S, 3, 8>(simd, panels),
                (16, 3, Strip::Packed(..)) => self.in_tiles::<S, 3, STRIP>(simd, panels),
                (16, 2, Strip::There { .. }) => self.in_tiles::<S, 2, 8>(simd, panels),
                (16, _, Strip::There { .. }) => self.in_tiles::<S, 1, 16>(simd, panels),
                (16, 1, Strip::Packed(..)) => self.in_tiles::<S, 1, STRIP>(simd, panels),
                (16, _, Strip::Packed(..)) | (8, ..) => self.in_tiles::<S, 2, STRIP>(simd, panels),
                (1, ..) => self.in_tiles::<S, 16, STRIP>(simd, panels),
                (other, ..) => unreachable!("vectors of {other}"),
            }
        }
    }

    #[inline(always)]
    unsafe fn in_tiles<S: Simd, const VECTORS: usize, const ROWS: usize>(
        self,
        simd: S,
        panels: Panels,
    ) {
        let mut row = 0;
        // SAFETY: the caller's.
        unsafe {
            while row + ROWS <= self.count {
                for panel in 0..panels.count {
                    self.one_tile::<S, VECTORS, ROWS>(simd, row, panels, panel);
                }
                row += ROWS;
            }
            while row + 4 <= self.count {
                for panel in 0..panels.count {
                    self.one_tile::<S, VECTORS, 4>(simd, row, panels, panel);
                }
                row += 4;
            }
            while row < self.count {
                for panel in 0..panels.count {
                    self.one_tile::<S, VECTORS, 1>(simd, row, panels, panel);
                }
                row += 1;
            }
        }
    }

    #[inline(always)]
    unsafe fn one_tile<S: Simd, const VECTORS: usize, const ROWS: usize>(
        self,
        simd: S,
        row: usize,
        panels: Panels,
        panel: usize,
    ) {
        let lanes = VECTORS * S::F32_LANES;
        // SAFETY: the caller's: rows, panels and the result have these places.
        unsafe {
            let single = match self.strip {
                Strip::There { data, row: apart, step } => {
                    Single { data: data.add(row * apart), row: apart, step }
                }
                Strip::Packed(data) => {
                    let data = data.add(row / STRIP * STRIP * self.depth + row % STRIP);
                    Single { data, row: 1, step: STRIP }
                }
            };
            for begin in (0..panels.width).step_by(lanes) {
                let data = panels.data.add(panel * panels.apart + begin);
                let broad = Broad { data, step: panels.step };
                let target = self.target.at(row, panels.column + panel * PANEL + begin);
                target.prefetch::<S, VECTORS, ROWS>();
                let sums = tile::<S, VECTORS, ROWS>(simd, self.depth, broad, single);
                target.put(simd, sums, lanes.min(panels.width - begin));
            }
        }
    }
}
