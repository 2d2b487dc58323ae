//! The twin of [`crate::attention`].
//!
//! Queries are taken [`BLOCK`] at a time with all the keys they may see, so the scores of a block
//! are a strip, and both products over it are calls of the matrix kernel. A strip is as long as the
//! sequence and never more than [`BLOCK`] high.

#![expect(unsafe_code, reason = "heads interleave in a row and go to different threads")]

use std::cell::RefCell;

use super::gemm::Call;
use super::shared::Shared;
use super::threads::Threads;
use super::wide::{dot, exp, largest, sum_by, wide};
use crate::attention::{Offsets, Saved, Shape};
use crate::matmul::{Before, Matrix, MatrixMut};

/// Queries of a strip.
const BLOCK: usize = 64;

thread_local! {
    /// Two strips for each thread, kept from call to call.
    static STRIPS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Some rows of one head inside a matrix.
#[derive(Clone, Copy)]
struct Head<'a> {
    data: &'a [f32],
    stride: usize,
    size: usize,
}

impl<'a> Head<'a> {
    /// Head `head` of the rows from `row` on.
    fn new(matrix: Matrix<'a>, row: usize, head: usize, size: usize) -> Self {
        let data = &matrix.data.host()[row * matrix.row_stride + head * size..];
        Self { data, stride: matrix.row_stride, size }
    }

    fn from(self, row: usize) -> Self {
        Self { data: &self.data[row * self.stride..], ..self }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.stride..][..self.size]
    }
}

pub(crate) fn forward(
    threads: &Threads,
    (out, lse): (&mut MatrixMut<'_>, &mut [f32]),
    qkv: Matrix<'_>,
    (shape, offsets): (&Shape, Offsets<'_>),
) {
    let sequences = offsets.len() - 1;
    let stride = out.stride;
    let (out, lse) = (Shared::new(out.data.host()), Shared::new(lse));
    threads.each(sequences * shape.heads, |part| {
        let (sequence, head) = (part / shape.heads, part % shape.heads);
        let (begin, end) = (offsets[sequence], offsets[sequence + 1]);
        if begin == end {
            return;
        }
        let q = Head::new(qkv, begin, head, shape.size);
        let k = Head::new(qkv, begin, shape.heads + head / shape.group(), shape.size);
        let v =
            Head::new(qkv, begin, shape.heads + shape.kv_heads + head / shape.group(), shape.size);
        STRIPS.with_borrow_mut(|[strip, _]| {
            for first in (0..end - begin).step_by(BLOCK) {
                let rows = BLOCK.min(end - begin - first);
                let seen = first + rows;
                let strip = room(strip, rows * seen);
                scores(strip, (q.from(first), k), (rows, seen), shape.scale);
                wide(
                    #[inline(always)]
                    || {
                        for (row, strip) in strip.chunks_exact_mut(seen).enumerate() {
                            let at = (begin + first + row) * shape.heads + head;
                            // SAFETY: one place for each token and head.
                            unsafe { lse.put(at, softmax(strip, first + row + 1)) };
                        }
                    },
                );
                let call = Call {
                    shape: (rows, shape.size, seen),
                    to: out.at((begin + first) * stride + head * shape.size),
                    to_stride: stride,
                    before: Before::Gone,
                    scale: 1.0,
                    a: strip.as_ptr(),
                    a_strides: (seen, 1),
                    b: v.data.as_ptr(),
                    b_strides: (v.stride, 1),
                };
                // SAFETY: these rows of this head are this part's alone.
                unsafe { call.run() };
            }
        });
    });
}

/// `scale · q · kᵀ` into a strip.
fn scores(
    strip: &mut [f32],
    (q, k): (Head<'_>, Head<'_>),
    (rows, seen): (usize, usize),
    scale: f32,
) {
    let call = Call {
        shape: (rows, seen, q.size),
        to: strip.as_mut_ptr(),
        to_stride: seen,
        before: Before::Gone,
        scale,
        a: q.data.as_ptr(),
        a_strides: (q.stride, 1),
        b: k.data.as_ptr(),
        b_strides: (1, k.stride),
    };
    // SAFETY: the strip has `rows · seen` numbers, and the heads that many rows.
    unsafe { call.run() };
}

/// Turns the first `valid` scores into weights and the rest into zeros; returns `lse`.
#[inline(always)]
fn softmax(scores: &mut [f32], valid: usize) -> f32 {
    let (seen, later) = scores.split_at_mut(valid);
    later.fill(0.0);
    let top = largest(seen);
    for s in seen.iter_mut() {
        *s = exp(*s - top);
    }
    let sum = sum_by(seen, |p| p);
    let inverse = 1.0 / sum;
    for s in seen {
        *s *= inverse;
    }
    top + sum.ln()
}

/// One part for each sequence and head of keys: its gradients are sums over queries and over the
/// query heads that share it, always in the same order.
pub(crate) fn backward(
    threads: &Threads,
    dqkv: &mut MatrixMut<'_>,
    saved: Saved<'_>,
    (shape, offsets): (&Shape, Offsets<'_>),
) {
    let sequences = offsets.len() - 1;
    let stride = dqkv.stride;
    let dqkv = Shared::new(dqkv.data.host());
    threads.each(sequences * shape.kv_heads, |part| {
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
            let mut work = OneHead { saved: &saved, shape, head, begin };
            for first in (0..end - begin).step_by(BLOCK) {
                let rows = BLOCK.min(end - begin - first);
                let to = [(first, head), (0, k_head), (0, v_head)];
                work.block((first, rows), to.map(|(row, head)| dqkv.at(place(row, head))), stride);
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
    fn block(&mut self, (first, rows): (usize, usize), to: [*mut f32; 3], stride: usize) {
        let (shape, seen) = (self.shape, first + rows);
        let of = |matrix, row, head| Head::new(matrix, self.begin + row, head, shape.size);
        let k_head = shape.heads + self.head / shape.group();
        let q = of(self.saved.qkv, first, self.head);
        let k = of(self.saved.qkv, 0, k_head);
        let v = of(self.saved.qkv, 0, k_head + shape.kv_heads);
        let out = of(self.saved.out, first, self.head);
        let dout = of(self.saved.dout, first, self.head);
        let lse = &self.saved.lse.host()[(self.begin + first) * shape.heads + self.head..];
        STRIPS.with_borrow_mut(|[p, ds]| {
            let (p, ds) = (room(p, rows * seen), room(ds, rows * seen));
            scores(p, (q, k), (rows, seen), shape.scale);
            scores(ds, (dout, v), (rows, seen), 1.0);
            wide(
                #[inline(always)]
                || {
                    let strips = p.chunks_exact_mut(seen).zip(ds.chunks_exact_mut(seen));
                    for (row, (p, ds)) in strips.enumerate() {
                        let shift = dot(dout.row(row), out.row(row));
                        let lse = lse[row * shape.heads];
                        score_gradient((p, ds), first + row + 1, (lse, shift, shape.scale));
                    }
                },
            );
            let product = |to, (m, k), before, a: &[f32], a_strides, b: Head<'_>| Call {
                shape: (m, shape.size, k),
                to,
                to_stride: stride,
                before,
                scale: 1.0,
                a: a.as_ptr(),
                a_strides,
                b: b.data.as_ptr(),
                b_strides: (b.stride, 1),
            };
            let dq = product(to[0], (rows, seen), Before::Gone, ds, (seen, 1), k);
            let dk = product(to[1], (seen, rows), Before::Kept, ds, (1, seen), q);
            let dv = product(to[2], (seen, rows), Before::Kept, p, (1, seen), dout);
            for call in [dq, dk, dv] {
                // SAFETY: these rows of these heads are this part's alone.
                unsafe { call.run() };
            }
        });
    }
}

/// `p` from scores, and `ds` from `dp`, for a row whose first `valid` keys are seen.
#[inline(always)]
fn score_gradient(
    (p, ds): (&mut [f32], &mut [f32]),
    valid: usize,
    (lse, shift, scale): (f32, f32, f32),
) {
    let ((p, p_later), (ds, ds_later)) = (p.split_at_mut(valid), ds.split_at_mut(valid));
    p_later.fill(0.0);
    ds_later.fill(0.0);
    for (p, ds) in p.iter_mut().zip(ds) {
        *p = exp(*p - lse);
        *ds = *p * (*ds - shift) * scale;
    }
}

/// The beginning of a strip, which grows when it must.
fn room(strip: &mut Vec<f32>, size: usize) -> &mut [f32] {
    if strip.len() < size {
        strip.resize(size, 0.0);
    }
    &mut strip[..size]
}
