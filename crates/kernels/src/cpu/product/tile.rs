//! The innermost loop: some rows of numbers, each spread over a vector, by a few vectors.

#![expect(
    clippy::needless_range_loop,
    reason = "sums that are indexed by constants stay in registers"
)]

use pulp::Simd;

use crate::cpu::shared::prefetch;
use crate::cpu::vectorized::LANES;

/// Numbers along the vectors: for each index of the inner dimension, this many side by side.
#[derive(Clone, Copy)]
pub(super) struct Broad {
    pub(super) data: *const f32,
    /// From one place of the inner side to the next.
    pub(super) step: usize,
}

/// Rows of numbers, each of which is broadcast to a vector.
#[derive(Clone, Copy)]
pub(super) struct Single {
    pub(super) data: *const f32,
    /// From row to row.
    pub(super) row: usize,
    /// From one place of the inner side to the next.
    pub(super) step: usize,
}

/// `Σ single · broad` over the inner side, fused, from its first place to its last: `ROWS` by
/// `VECTORS` vectors of sums that begin at zero.
///
/// # Safety
///
/// Both operands must have `depth` places of that many numbers.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd, const VECTORS: usize, const ROWS: usize>(
    simd: S,
    depth: usize,
    broad: Broad,
    single: Single,
) -> [[S::f32s; VECTORS]; ROWS] {
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    let (mut broad_at, mut single_at) = (broad.data, single.data);
    // Four places at a time where a row's numbers lie side by side: their addresses then differ by
    // what an instruction can say.
    let fours = if single.step == 1 { depth / 4 } else { 0 };
    for four in 0..fours {
        // Meanwhile the rows of the next tile come nearer: a line of the cache is sixteen places.
        for at in 0..ROWS.div_ceil(4) {
            let next = ROWS + four % 4 * ROWS.div_ceil(4) + at;
            prefetch(single_at.wrapping_add(next * single.row));
        }
        for place in 0..4 {
            // SAFETY: the caller's: these are places of the inner side.
            unsafe {
                let data = single_at.add(place);
                let vectors = broad_at.add(place * broad.step);
                add_place(simd, &mut sums, vectors, Single { data, ..single });
            }
        }
        // SAFETY: the same, or one past the end.
        unsafe {
            broad_at = broad_at.add(4 * broad.step);
            single_at = single_at.add(4);
        }
    }
    for _ in fours * 4..depth {
        // SAFETY: the same.
        unsafe {
            add_place(simd, &mut sums, broad_at, Single { data: single_at, ..single });
            broad_at = broad_at.add(broad.step);
            single_at = single_at.add(single.step);
        }
    }
    sums
}

/// One place of the inner side.
///
/// # Safety
///
/// There must be `VECTORS` vectors and `ROWS` rows of numbers.
#[inline(always)]
unsafe fn add_place<S: Simd, const VECTORS: usize, const ROWS: usize>(
    simd: S,
    sums: &mut [[S::f32s; VECTORS]; ROWS],
    broad: *const f32,
    single: Single,
) {
    let mut vectors = [simd.splat_f32s(0.0); VECTORS];
    for at in 0..VECTORS {
        // SAFETY: the caller's; vectors are plain numbers.
        vectors[at] = unsafe { broad.add(at * S::F32_LANES).cast::<S::f32s>().read_unaligned() };
    }
    for at in 0..ROWS {
        // SAFETY: the caller's.
        let number = simd.splat_f32s(unsafe { single.data.add(at * single.row).read() });
        for vector in 0..VECTORS {
            sums[at][vector] = simd.mul_add_f32s(number, vectors[vector], sums[at][vector]);
        }
    }
}

/// The destination of a tile, and how it is written.
#[derive(Clone, Copy)]
pub(super) struct TileTarget {
    pub(super) to: *mut f32,
    pub(super) stride: usize,
    /// Whether rows of the tile are columns of the result.
    pub(super) turned: bool,
    /// Whether the destination is overwritten.
    pub(super) fresh: bool,
    pub(super) scale: f32,
}

impl TileTarget {
    /// Further on, by rows of the tile and by numbers along its vectors.
    ///
    /// # Safety
    ///
    /// That must be inside the result.
    #[inline(always)]
    pub(super) unsafe fn at(self, row: usize, along: usize) -> Self {
        let distance =
            if self.turned { along * self.stride + row } else { row * self.stride + along };
        // SAFETY: the caller's.
        Self { to: unsafe { self.to.add(distance) }, ..self }
    }

    /// Asks for the lines of the cache that a tile will be put to, so that they are there by then.
    #[inline(always)]
    pub(super) fn prefetch<S: Simd, const VECTORS: usize, const ROWS: usize>(self) {
        if !self.turned {
            for row in 0..ROWS {
                for at in 0..(VECTORS * S::F32_LANES).div_ceil(LANES) {
                    prefetch(self.to.wrapping_add(row * self.stride + at * LANES));
                }
            }
        }
    }

    /// Writes a tile, the first `width` numbers of whose vectors are valid.
    ///
    /// # Safety
    ///
    /// The result must have room for it, and no other thread may use that part of it.
    #[inline(always)]
    pub(super) unsafe fn put<S: Simd, const VECTORS: usize, const ROWS: usize>(
        self,
        simd: S,
        sums: [[S::f32s; VECTORS]; ROWS],
        width: usize,
    ) {
        if !self.turned && width == VECTORS * S::F32_LANES {
            let scale = simd.splat_f32s(self.scale);
            for row in 0..ROWS {
                for at in 0..VECTORS {
                    // SAFETY: the caller's.
                    unsafe {
                        let place = self.to.add(row * self.stride + at * S::F32_LANES);
                        let place = place.cast::<S::f32s>();
                        let new = if self.fresh {
                            simd.mul_f32s(sums[row][at], scale)
                        } else {
                            simd.mul_add_f32s(sums[row][at], scale, place.read_unaligned())
                        };
                        place.write_unaligned(new);
                    }
                }
            }
            return;
        }
        let first = sums.as_ptr().cast::<f32>();
        let lanes = VECTORS * S::F32_LANES;
        for along in 0..width {
            for row in 0..ROWS {
                // SAFETY: the caller's; the sums are plain numbers, row by row.
                unsafe {
                    let place = self.at(row, along).to;
                    let sum = first.add(row * lanes + along).read();
                    *place =
                        if self.fresh { sum * self.scale } else { sum.mul_add(self.scale, *place) };
                }
            }
        }
    }
}
