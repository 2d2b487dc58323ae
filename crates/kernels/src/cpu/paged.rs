//! The twin of [`crate::paged`].

#![expect(unsafe_code, reason = "heads interleave in a row and go to different threads")]

use std::cell::RefCell;

use super::shared::{Shared, prefetch};
use super::threads::Threads;
use super::vectorized::{exp, largest, sum_by, with_simd};
use crate::paged::{Attend, PAGE, Store};

/// Places of a head whose sums are kept in registers at a time.
const PLACES: usize = 64;

thread_local! {
    /// Scores of one row and its heads, kept from call to call.
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn store(threads: &Threads, store: Store<'_>) {
    let begin = store.begin();
    let Store { cache, qkv, slots, .. } = store;
    let (shape, slots) = (*cache.shape(), slots.host());
    let (size, page_size, there) = (shape.size, cache.page_size(), cache.pages() * PAGE);
    assert!(slots.iter().all(|&slot| (slot as usize) < there), "a slot of the cache");
    let (mut keys, mut values) = (cache.keys.view_mut(), cache.values.view_mut());
    let (keys, values) = (Shared::new(keys.host()), Shared::new(values.host()));
    // By heads, since two rows may share a page but not a place in it.
    threads.each(shape.kv_heads, |head| {
        for (row, &slot) in slots.iter().enumerate() {
            let (page, place) = (slot as usize / PAGE, slot as usize % PAGE);
            let at = begin + page * page_size + head * size * PAGE;
            let row = &qkv.data.host()[row * qkv.row_stride..];
            let key = &row[(shape.heads + head) * size..][..size];
            let value = &row[(shape.heads + shape.kv_heads + head) * size..][..size];
            // SAFETY: this head of any page is this part's alone.
            let keys = unsafe { keys.part(at, size * PAGE) };
            // SAFETY: the same.
            let values = unsafe { values.part(at, size * PAGE) };
            for (column, key) in keys.chunks_exact_mut(PAGE).zip(key) {
                column[place] = *key;
            }
            values[place * size..][..size].copy_from_slice(value);
        }
    });
}

pub(crate) fn attend(threads: &Threads, attend: Attend<'_>) {
    let Attend { mut out, cache, layer, qkv, tables } = attend;
    let shape = cache.shape();
    let (size, stride) = (shape.size, out.stride);
    let out = Shared::new(out.data.host());
    let (keys, values) = (cache.keys.view().host(), cache.values.view().host());
    let begin = layer * cache.layer_size();
    let there = |&page: &u32| (page as usize) < cache.pages();
    assert!(tables.pages.host().iter().all(there), "a page of the cache");
    // Heads that share keys and values go together: a page is read once for all of them.
    let (group, kv_heads) = (shape.group(), shape.kv_heads);
    threads.each(qkv.rows * kv_heads, |part| {
        let (row, head) = (part / kv_heads, part % kv_heads);
        let length = tables.lengths.host()[row] as usize;
        let pages = &tables.pages.host()[tables.starts.host()[row] as usize..];
        let pages = &pages[..length.div_ceil(PAGE)];
        let q = &qkv.data.host()[row * qkv.row_stride + head * group * size..][..group * size];
        let place = |page: u32| begin + page as usize * cache.page_size() + head * size * PAGE;
        // SAFETY: each head of each row is one part's alone.
        let out = unsafe { out.part(row * stride + head * group * size, group * size) };
        SCORES.with_borrow_mut(|scores| {
            let room = pages.len() * PAGE;
            scores.resize(group * room, 0.0);
            with_simd(
                #[inline(always)]
                || {
                    for (at, &page) in pages.iter().enumerate() {
                        // A page is where the processor's own foresight ends.
                        let mut next = match pages.get(at + 1) {
                            Some(&next) => &raw const keys[place(next)],
                            None => &raw const values[place(pages[0])],
                        };
                        let keys = &keys[place(page)..][..size * PAGE];
                        for (q, scores) in q.chunks_exact(size).zip(scores.chunks_exact_mut(room)) {
                            let scores = &mut scores[at * PAGE..][..PAGE];
                            scores.copy_from_slice(&page_scores(q, keys, next, shape.scale));
                            next = keys.as_ptr();
                        }
                    }
                    for scores in scores.chunks_exact_mut(room) {
                        soft_max(&mut scores[..length]);
                    }
                },
            );
            with_simd(
                #[inline(always)]
                || {
                    for first in (0..size).step_by(PLACES) {
                        let values = |page| &values[place(page) + first..][..size * PAGE - first];
                        let count = PLACES.min(size - first);
                        let weighted = WeightedValues { scores, length, pages, values };
                        add_values(out, weighted, PositionRange { size, first, count });
                    }
                },
            );
        });
    });
}

/// Weights that sum up to 1.
#[inline(always)]
fn soft_max(scores: &mut [f32]) {
    let top = largest(scores);
    for s in scores.iter_mut() {
        *s = exp(*s - top);
    }
    let inverse = 1.0 / sum_by(scores, |p| p);
    for s in scores.iter_mut() {
        *s *= inverse;
    }
}

/// The scores of a page's tokens.
#[inline(always)]
fn page_scores(q: &[f32], keys: &[f32], next: *const f32, scale: f32) -> [f32; PAGE] {
    let mut sums = [[0.0f32; PAGE]; 4];
    let (columns, _) = keys.as_chunks::<PAGE>();
    let (fours, rest) = columns.as_chunks::<4>();
    let (q_fours, q_rest) = q.as_chunks::<4>();
    for (four, (columns, q)) in fours.iter().zip(q_fours).enumerate() {
        for at in 0..4 {
            prefetch(next.wrapping_add((four * 4 + at) * PAGE));
            for lane in 0..PAGE {
                sums[at][lane] = q[at].mul_add(columns[at][lane], sums[at][lane]);
            }
        }
    }
    for (column, q) in rest.iter().zip(q_rest) {
        for lane in 0..PAGE {
            sums[0][lane] = q.mul_add(column[lane], sums[0][lane]);
        }
    }
    let mut scores = [0.0; PAGE];
    for lane in 0..PAGE {
        let [low, high] = [sums[0][lane] + sums[1][lane], sums[2][lane] + sums[3][lane]];
        scores[lane] = (low + high) * scale;
    }
    scores
}

/// Values of a sequence, and the weight of each token.
struct WeightedValues<'a, V> {
    /// For each head a score for each place of the pages.
    scores: &'a [f32],
    /// Tokens of the sequence.
    length: usize,
    pages: &'a [u32],
    /// The values of a page.
    values: V,
}

/// Some places of a head.
#[derive(Clone, Copy)]
struct PositionRange {
    /// Numbers in a head.
    size: usize,
    first: usize,
    count: usize,
}

/// `Σ p·v` for up to [`PLACES`] places of each of some heads. Places of a page behind the last token
/// are not looked at: another sequence may have left anything there.
#[inline(always)]
fn add_values<'a>(
    out: &mut [f32],
    weighted: WeightedValues<'a, impl Fn(u32) -> &'a [f32]>,
    places: PositionRange,
) {
    let WeightedValues { scores, length, pages, values } = weighted;
    let PositionRange { size, first, count } = places;
    let room = pages.len() * PAGE;
    for (at, &page) in pages.iter().enumerate() {
        let there = values(page);
        let mut next = pages.get(at + 1).map_or(there, |&next| values(next)).as_ptr();
        let tokens = at * PAGE..length.min((at + 1) * PAGE);
        for (out, scores) in out.chunks_exact_mut(size).zip(scores.chunks_exact(room)) {
            let out = &mut out[first..first + count];
            let mut sums = [0.0f32; PLACES];
            if at > 0 {
                sums[..count].copy_from_slice(out);
            }
            let page = PageValues { scores: &scores[tokens.clone()], values: there, next };
            weighted_values(&mut sums, page, places);
            out.copy_from_slice(&sums[..count]);
            next = there.as_ptr();
        }
    }
}

/// Values of a page, and the weight of each token.
#[derive(Clone, Copy)]
struct PageValues<'a> {
    scores: &'a [f32],
    values: &'a [f32],
    /// The next rows to read.
    next: *const f32,
}

/// Adds `Σ p·v` of a page.
#[inline(always)]
fn weighted_values(sums: &mut [f32; PLACES], page: PageValues<'_>, places: PositionRange) {
    match places.count {
        PLACES => add_page::<PLACES>(sums, page, places.size),
        32 => add_page::<32>(sums, page, places.size),
        count => {
            for (token, p) in page.scores.iter().enumerate() {
                let values = &page.values[token * places.size..][..count];
                page.prefetch(token * places.size, count);
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = p.mul_add(*value, *sum);
                }
            }
        }
    }
}

/// The same where the compiler knows the number of places: the sums stay in registers.
#[inline(always)]
fn add_page<const COUNT: usize>(sums: &mut [f32; PLACES], page: PageValues<'_>, size: usize) {
    let sums: &mut [f32; COUNT] = sums.first_chunk_mut().expect("at most all places");
    let mut local = *sums;
    for (token, p) in page.scores.iter().enumerate() {
        page.prefetch(token * size, COUNT);
        let values: &[f32; COUNT] = page.values[token * size..].first_chunk().expect("a head");
        for at in 0..COUNT {
            local[at] = p.mul_add(values[at], local[at]);
        }
    }
    *sums = local;
}

impl PageValues<'_> {
    /// Has the processor read the same places of the next rows.
    #[inline(always)]
    fn prefetch(&self, at: usize, count: usize) {
        for line in (0..count).step_by(PAGE) {
            prefetch(self.next.wrapping_add(at + line));
        }
    }
}
