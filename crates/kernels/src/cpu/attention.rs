//! The twin of [`crate::attention`].
//!
//! Queries are processed [`BLOCK`] at a time with all keys they may attend to. The scores of a
//! block are a strip with a row for each key, so that an operation on the scores of a query is done
//! for sixteen queries at once, and no product needs a transposed operand. A strip is as long as
//! the sequence and never more than [`BLOCK`] wide.

#![expect(unsafe_code, reason = "heads interleave in a row and go to different threads")]

use std::cell::RefCell;

use super::product::ProductCall;
use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::{LANES, dot, exp, with_simd};
use crate::attention::{Output, Saved, Sequences, Shape};
use crate::matmul::{Matrix, MatrixMut, WriteMode};

/// Queries of a strip.
const BLOCK: usize = 32;

/// A number for each query of a block.
type Each = [f32; BLOCK];

thread_local! {
    /// Two strips for each thread, kept from call to call.
    static STRIPS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Some rows of one head inside a matrix.
#[derive(Clone, Copy)]
struct HeadSlice<'a> {
    data: &'a [f32],
    stride: usize,
    size: usize,
}

impl<'a> HeadSlice<'a> {
    /// Head `head` of the rows from `row` on.
    fn new(matrix: Matrix<'a>, row: usize, head: usize, size: usize) -> Self {
        let data = &matrix.data.host()[row * matrix.row_stride + head * size..];
        Self { data, stride: matrix.row_stride, size }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.stride..][..self.size]
    }
}

/// Some rows of one head, to write.
#[derive(Clone, Copy)]
struct HeadMut {
    to: *mut f32,
    stride: usize,
}

/// `scale · keys · queriesᵀ`.
#[derive(Clone, Copy)]
struct Scores<'a> {
    /// A row for each key.
    keys: HeadSlice<'a>,
    /// A row for each query.
    queries: HeadSlice<'a>,
    scale: f32,
}

/// A block of queries and the keys they see.
#[derive(Clone, Copy)]
struct QueryBlock {
    /// The first query's place in its sequence.
    first: usize,
    queries: usize,
}

impl QueryBlock {
    /// The blocks of a sequence.
    fn all(length: usize) -> impl Iterator<Item = Self> {
        let at = move |first| Self { first, queries: BLOCK.min(length - first) };
        (0..length).step_by(BLOCK).map(at)
    }

    fn keys(self) -> usize {
        self.first + self.queries
    }

    /// Numbers in a row of its strip: whole vectors.
    fn width(self) -> usize {
        self.queries.next_multiple_of(LANES)
    }

    /// Like [`Self::products`], with minus infinity where a key comes after a query.
    fn scores(self, strip: &mut [f32], scores: Scores<'_>) {
        self.products(strip, scores);
        for (later, row) in strip.chunks_exact_mut(self.width()).skip(self.first).enumerate() {
            row[..later].fill(f32::NEG_INFINITY);
        }
    }

    /// `scale · keys · queriesᵀ` into a strip.
    fn products(self, strip: &mut [f32], scores: Scores<'_>) {
        let Scores { keys: k, queries: q, scale } = scores;
        assert_eq!(strip.len(), self.keys() * self.width(), "a row for each key");
        let call = ProductCall {
            shape: (self.keys(), self.queries, q.size),
            to: strip.as_mut_ptr(),
            to_stride: self.width(),
            mode: WriteMode::Overwrite,
            scale,
            a: k.data.as_ptr(),
            a_strides: (k.stride, 1),
            b: q.data.as_ptr(),
            b_strides: (1, q.stride),
        };
        // SAFETY: the strip has room for it, and the heads that many rows.
        unsafe { call.run() };
    }

    /// `to = stripᵀ · x`: a row for each query, a sum over keys.
    ///
    /// # Safety
    ///
    /// `to` must have room for that and must not be used by another thread.
    unsafe fn over_keys(self, to: HeadMut, strip: &[f32], x: HeadSlice<'_>) {
        let call = ProductCall {
            shape: (self.queries, x.size, self.keys()),
            to: to.to,
            to_stride: to.stride,
            mode: WriteMode::Overwrite,
            scale: 1.0,
            a: strip.as_ptr(),
            a_strides: (1, self.width()),
            b: x.data.as_ptr(),
            b_strides: (x.stride, 1),
        };
        // SAFETY: the caller's.
        unsafe { call.run() };
    }

    /// `to += strip · x`: a row for each key, a sum over queries.
    ///
    /// # Safety
    ///
    /// `to` must have room for that and must not be used by another thread.
    unsafe fn over_queries(self, to: HeadMut, strip: &[f32], x: HeadSlice<'_>) {
        let call = ProductCall {
            shape: (self.keys(), x.size, self.queries),
            to: to.to,
            to_stride: to.stride,
            mode: WriteMode::Accumulate,
            scale: 1.0,
            a: strip.as_ptr(),
            a_strides: (self.width(), 1),
            b: x.data.as_ptr(),
            b_strides: (x.stride, 1),
        };
        // SAFETY: the caller's.
        unsafe { call.run() };
    }
}

pub(crate) fn forward(
    threads: &Threads,
    output: Output<'_>,
    qkv: Matrix<'_>,
    sequences: Sequences<'_>,
) {
    let (Output { mut out, mut lse }, Sequences { shape, offsets }) = (output, sequences);
    let stride = out.stride;
    let (out, lse) = (Shared::new(out.data.host()), Shared::new(lse.host()));
    threads.each((offsets.len() - 1) * shape.heads, |part| {
        let (sequence, head) = (part / shape.heads, part % shape.heads);
        let (begin, end) = (offsets[sequence], offsets[sequence + 1]);
        if begin == end {
            return;
        }
        let of = |row: usize, head: usize| HeadSlice::new(qkv, begin + row, head, shape.size);
        let k_head = shape.heads + head / shape.group();
        let (k, v) = (of(0, k_head), of(0, k_head + shape.kv_heads));
        STRIPS.with_borrow_mut(|[strip, _]| {
            for block in QueryBlock::all(end - begin) {
                let strip = room(strip, block.keys() * block.width());
                let queries = of(block.first, head);
                block.scores(strip, Scores { keys: k, queries, scale: shape.scale });
                let (mut tops, mut sums) = ([f32::NEG_INFINITY; BLOCK], [0.0; BLOCK]);
                with_simd(
                    #[inline(always)]
                    || weigh(strip, block.width(), &mut tops, &mut sums),
                );
                let token = begin + block.first;
                let place = |query: usize| (token + query) * stride + head * shape.size;
                // SAFETY: these rows of this head are this part's alone.
                unsafe { block.over_keys(HeadMut { to: out.at(place(0)), stride }, strip, v) };
                for query in 0..block.queries {
                    let known = tops[query] + sums[query].ln();
                    // SAFETY: one place for each token and head.
                    unsafe { lse.put((token + query) * shape.heads + head, known) };
                    // SAFETY: as above.
                    let row = unsafe { out.part(place(query), shape.size) };
                    let inverse = 1.0 / sums[query];
                    for x in row {
                        *x *= inverse;
                    }
                }
            }
        });
    });
}

/// Turns scores into `e^(score - top)`, with the top and the sum of each query.
#[inline(always)]
fn weigh(strip: &mut [f32], width: usize, tops: &mut Each, sums: &mut Each) {
    for row in strip.chunks_exact(width) {
        for (row, tops) in row.as_chunks::<LANES>().0.iter().zip(tops.as_chunks_mut::<LANES>().0) {
            for at in 0..LANES {
                tops[at] = if row[at] > tops[at] { row[at] } else { tops[at] };
            }
        }
    }
    for row in strip.chunks_exact_mut(width) {
        let all = row.as_chunks_mut::<LANES>().0.iter_mut();
        let known = tops.as_chunks::<LANES>().0.iter().zip(sums.as_chunks_mut::<LANES>().0);
        for (row, (tops, sums)) in all.zip(known) {
            for at in 0..LANES {
                row[at] = exp(row[at] - tops[at]);
                sums[at] += row[at];
            }
        }
    }
}

/// One part for each sequence and head of keys: its gradients are sums over queries and over the
/// query heads that share it, always in the same order.
pub(crate) fn backward(
    threads: &Threads,
    dqkv: &mut MatrixMut<'_>,
    saved: Saved<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    let stride = dqkv.stride;
    let dqkv = Shared::new(dqkv.data.host());
    threads.each((offsets.len() - 1) * shape.kv_heads, |part| {
        let (sequence, kv_head) = (part / shape.kv_heads, part % shape.kv_heads);
        let (begin, end) = (offsets[sequence], offsets[sequence + 1]);
        let place = |row: usize, head: usize| (begin + row) * stride + head * shape.size;
        let k_head = shape.heads + kv_head;
        let v_head = k_head + shape.kv_heads;
        for (row, head) in (0..end - begin).flat_map(|row| [(row, k_head), (row, v_head)]) {
            // SAFETY: keys and values of this head and sequence are this part's alone.
            unsafe { dqkv.part(place(row, head), shape.size) }.fill(0.0);
        }
        for head in kv_head * shape.group()..(kv_head + 1) * shape.group() {
            let work = OneHead { saved: &saved, shape, head, begin };
            for block in QueryBlock::all(end - begin) {
                let to = [(block.first, head), (0, k_head), (0, v_head)];
                let to = to.map(|(row, head)| HeadMut { to: dqkv.at(place(row, head)), stride });
                // SAFETY: these rows of these heads are this part's alone.
                unsafe { work.block(block, to) };
            }
        }
    });
}

/// One query head of one sequence on its way back.
struct OneHead<'a> {
    saved: &'a Saved<'a>,
    shape: &'a Shape,
    head: usize,
    begin: usize,
}

impl OneHead<'_> {
    /// One block of queries: writes `dq`, adds to `dk` and `dv`.
    ///
    /// # Safety
    ///
    /// These must have room for that and must not be used by another thread.
    unsafe fn block(&self, block: QueryBlock, [dq, dk, dv]: [HeadMut; 3]) {
        let (shape, size) = (self.shape, block.keys() * block.width());
        let of = |matrix, row, head| HeadSlice::new(matrix, self.begin + row, head, shape.size);
        let k_head = shape.heads + self.head / shape.group();
        let q = of(self.saved.packed.qkv, block.first, self.head);
        let k = of(self.saved.packed.qkv, 0, k_head);
        let v = of(self.saved.packed.qkv, 0, k_head + shape.kv_heads);
        let out = of(self.saved.out, block.first, self.head);
        let dout = of(self.saved.dout, block.first, self.head);
        let known = &self.saved.lse.host()[(self.begin + block.first) * shape.heads + self.head..];
        let (mut lse, mut shift) = ([0.0; BLOCK], [0.0; BLOCK]);
        STRIPS.with_borrow_mut(|[p, ds]| {
            let (p, ds) = (room(p, size), room(ds, size));
            block.scores(p, Scores { keys: k, queries: q, scale: shape.scale });
            block.products(ds, Scores { keys: v, queries: dout, scale: 1.0 });
            with_simd(
                #[inline(always)]
                || {
                    for query in 0..block.queries {
                        lse[query] = known[query * shape.heads];
                        shift[query] = dot(dout.row(query), out.row(query));
                    }
                    let queries = QueryStats { lse: &lse, shift: &shift, scale: shape.scale };
                    score_gradients(p, ds, block.width(), queries);
                },
            );
            // SAFETY: the caller's.
            unsafe {
                block.over_keys(dq, ds, k);
                block.over_queries(dk, ds, q);
                block.over_queries(dv, p, dout);
            }
        });
    }
}

/// Numbers of each query of a block.
#[derive(Clone, Copy)]
struct QueryStats<'a> {
    lse: &'a Each,
    /// `do·o`.
    shift: &'a Each,
    /// Of every score.
    scale: f32,
}

/// `p` from scores, and `ds` from `dp`.
#[inline(always)]
fn score_gradients(p: &mut [f32], ds: &mut [f32], width: usize, queries: QueryStats<'_>) {
    let QueryStats { lse, shift, scale } = queries;
    for (p, ds) in p.chunks_exact_mut(width).zip(ds.chunks_exact_mut(width)) {
        let both = p.as_chunks_mut::<LANES>().0.iter_mut().zip(ds.as_chunks_mut::<LANES>().0);
        let known = lse.as_chunks::<LANES>().0.iter().zip(shift.as_chunks::<LANES>().0);
        for ((p, ds), (lse, shift)) in both.zip(known) {
            for at in 0..LANES {
                p[at] = exp(p[at] - lse[at]);
                ds[at] = p[at] * (ds[at] - shift[at]) * scale;
            }
        }
    }
}

/// The beginning of a strip, which grows when it must.
fn room(strip: &mut Vec<f32>, size: usize) -> &mut [f32] {
    if strip.len() < size {
        strip.resize(size, 0.0);
    }
    &mut strip[..size]
}
