//! Operands brought into the order in which the innermost loop reads them.

use super::OperandSide;
use crate::cpu::vectorized::LANES;

/// Numbers along the vectors of a panel: whole vectors of the widest kind.
pub(super) const PANEL: usize = 4 * LANES;

/// Rows of a packed strip.
pub(super) const STRIP: usize = 6;

/// Places of the inner side that are packed together: few enough that what is read of them stays
/// in the nearest cache until the next strip reads what lies beside it.
const PLACES: usize = 16;

/// Memory that a thread keeps from product to product, in whole lines of the cache.
#[derive(Debug, Default)]
pub(super) struct Room(Vec<AlignedLanes>);

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct AlignedLanes([f32; LANES]);

impl Room {
    /// A buffer of at least this many numbers.
    #[inline(always)]
    pub(super) fn numbers(&mut self, count: usize) -> &mut [f32] {
        let lines = count.div_ceil(LANES);
        if self.0.len() < lines {
            self.0.resize(lines, AlignedLanes([0.0; LANES]));
        }
        // SAFETY: a line is sixteen numbers and nothing else.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), lines * LANES) }
    }
}

/// Some rows or columns of an operand, and some places of its inner side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first row or column, and how many.
    pub(super) begin: usize,
    pub(super) count: usize,
    /// The first place, and how many.
    pub(super) first: usize,
    pub(super) depth: usize,
}

/// Panels of [`PANEL`] columns, the last one of as many whole vectors as it needs, with zeros
/// behind its last column. In a panel, numbers of one place of the inner side lie side by side.
///
/// # Safety
///
/// The side must have these columns and places.
#[inline(always)]
pub(super) unsafe fn panels(to: &mut [f32], side: OperandSide, span: Span) {
    let Span { begin, count, first, depth } = span;
    // SAFETY: the caller's.
    let data = unsafe { side.data.add(begin * side.step + first * side.inner) };
    for (panel, column) in (0..count).step_by(PANEL).enumerate() {
        let width = PANEL.min(count - column);
        let room = width.next_multiple_of(LANES);
        let to = &mut to[panel * PANEL * depth..][..room * depth];
        // SAFETY: the same.
        let data = unsafe { data.add(column * side.step) };
        if side.step == 1 {
            for (place, to) in to.chunks_exact_mut(room).enumerate() {
                // SAFETY: the same: a row of the panel.
                let from =
                    unsafe { std::slice::from_raw_parts(data.add(place * side.inner), width) };
                if let (Some(to), Some(from)) = (to.first_chunk_mut::<PANEL>(), from.first_chunk())
                {
                    *to = *from;
                } else {
                    to[..width].copy_from_slice(from);
                    to[width..].fill(0.0);
                }
            }
        } else {
            // SAFETY: the same.
            unsafe { transposed_panel(to, OperandSide { data, ..side }, width, depth) };
        }
    }
}

/// A panel whose columns lie along the inner side.
///
/// # Safety
///
/// As of [`panels`].
#[inline(always)]
unsafe fn transposed_panel(to: &mut [f32], side: OperandSide, width: usize, depth: usize) {
    let (data, room) = (side.data, width.next_multiple_of(LANES));
    for begin in (0..room).step_by(LANES) {
        let there = width.saturating_sub(begin).min(LANES);
        for place in 0..depth {
            let to: &mut [f32; LANES] =
                to[place * room + begin..].first_chunk_mut().expect("room for whole vectors");
            if there == LANES {
                for (at, to) in to.iter_mut().enumerate() {
                    // SAFETY: the caller's.
                    *to = unsafe { data.add((begin + at) * side.step + place * side.inner).read() };
                }
            } else {
                to.fill(0.0);
                for (at, to) in to.iter_mut().enumerate().take(there) {
                    // SAFETY: the caller's.
                    *to = unsafe { data.add((begin + at) * side.step + place * side.inner).read() };
                }
            }
        }
    }
}

/// Strips of [`STRIP`] rows; in a strip, numbers of one place of the inner side lie side by side.
///
/// # Safety
///
/// The side must have these rows and places.
#[inline(always)]
pub(super) unsafe fn strips(to: &mut [f32], side: OperandSide, span: Span) {
    let Span { begin, count, first, depth } = span;
    // SAFETY: the caller's.
    let data = unsafe { side.data.add(begin * side.step + first * side.inner) };
    for place in (0..depth).step_by(PLACES) {
        let places = place..depth.min(place + PLACES);
        for (strip, row) in (0..count).step_by(STRIP).enumerate() {
            let to = &mut to[strip * STRIP * depth..][..STRIP * depth];
            let (to, _) = to.as_chunks_mut::<STRIP>();
            for (place, to) in places.clone().zip(&mut to[places.clone()]) {
                // SAFETY: the same.
                let data = unsafe { data.add(row * side.step + place * side.inner) };
                if side.step == 1 && row + STRIP <= count {
                    // SAFETY: the same: a whole strip, side by side.
                    *to = unsafe { data.cast::<[f32; STRIP]>().read() };
                } else {
                    for (at, to) in to.iter_mut().enumerate().take(count - row) {
                        // SAFETY: the same.
                        *to = unsafe { data.add(at * side.step).read() };
                    }
                }
            }
        }
    }
}
