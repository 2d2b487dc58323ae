//! Numbers on a device, from a pool.
//!
//! A buffer goes back to its pool when it is dropped and is handed out again, as it was left, to the
//! next who asks for about that much. Sizes are rounded up to an eighth of a power of two, so that
//! batches of slightly different lengths use the same memory.

#![expect(unsafe_code, reason = "one kind of memory for every kind of number")]

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a buffer can hold: plain numbers for which every pattern of bits is a value.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
    impl Sealed for i8 {}
}

impl Element for f32 {}
impl Element for u32 {}
impl Element for i8 {}

/// A line of the cache, so that the widest vectors are aligned.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; 16]);

const LINE_BYTES: usize = size_of::<Line>();

/// Memory of a device that waits to be used again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<BTreeMap<usize, Vec<Box<[Line]>>>>,
    held_lines: AtomicUsize,
}

impl Pool {
    pub(crate) fn take<T: Element>(pool: &Arc<Self>, length: usize) -> Buffer<T> {
        let bytes = length.checked_mul(size_of::<T>()).expect("a size that can be counted");
        let lines = class(bytes.div_ceil(LINE_BYTES));
        let waiting = pool.shelves().get_mut(&lines).and_then(Vec::pop);
        let lines = waiting.unwrap_or_else(|| {
            pool.held_lines.fetch_add(lines, Ordering::Relaxed);
            vec![Line([0; 16]); lines].into_boxed_slice()
        });
        Buffer { lines, length, pool: Arc::clone(pool), kind: PhantomData }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held_lines.load(Ordering::Relaxed) * LINE_BYTES
    }

    pub(crate) fn trim(&self) {
        let free = std::mem::take(&mut *self.shelves());
        let lines = free.values().flatten().map(|lines| lines.len()).sum();
        self.held_lines.fetch_sub(lines, Ordering::Relaxed);
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Box<[Line]>>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a buffer of so many bytes really takes.
pub fn taken_bytes(bytes: usize) -> usize {
    class(bytes.div_ceil(LINE_BYTES)).saturating_mul(LINE_BYTES)
}

/// The size that is really taken for so many lines.
fn class(lines: usize) -> usize {
    let lines = lines.max(1);
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.next_multiple_of(step)
}

/// Numbers in the memory of a device.
#[derive(Debug)]
pub struct Buffer<T: Element = f32> {
    lines: Box<[Line]>,
    length: usize,
    pool: Arc<Pool>,
    kind: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of it, to read.
    pub fn view(&self) -> View<'_, T> {
        // SAFETY: the lines hold at least `length` numbers, are aligned for all of them, and every
        // pattern of bits is a number of each kind of `Element`.
        View(unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) })
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        // SAFETY: as in `view`, and this is the only reference.
        ViewMut(unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length)
        })
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.pool.shelves().entry(lines.len()).or_default().push(lines);
    }
}

/// A part of a buffer, to read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T: Element = f32>(&'a [T]);

/// A part of a buffer, to write.
#[derive(Debug)]
pub struct ViewMut<'a, T: Element = f32>(&'a mut [T]);

impl<'a, T: Element> View<'a, T> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A smaller part.
    ///
    /// # Panics
    ///
    /// If it is not inside.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        Self(&self.0[range])
    }

    pub(crate) fn host(self) -> &'a [T] {
        self.0
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A smaller part.
    ///
    /// # Panics
    ///
    /// If it is not inside.
    pub fn part(&mut self, range: Range<usize>) -> ViewMut<'_, T> {
        ViewMut(&mut self.0[range])
    }

    /// The same, to read.
    pub fn view(&self) -> View<'_, T> {
        View(self.0)
    }

    /// The same, for a call that takes it by value.
    pub fn again(&mut self) -> ViewMut<'_, T> {
        ViewMut(self.0)
    }

    pub(crate) fn host(&mut self) -> &mut [T] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_handed_out_again() {
        let pool = Arc::default();
        let mut first: Buffer<f32> = Pool::take(&pool, 1000);
        first.view_mut().host().fill(7.0);
        let held = pool.held_bytes();
        drop(first);
        let second: Buffer<u32> = Pool::take(&pool, 990);
        assert_eq!(pool.held_bytes(), held);
        assert_eq!(second.view().host()[0], 7f32.to_bits());
    }

    #[test]
    fn rounding_up_costs_at_most_an_eighth() {
        for lines in 1..5000 {
            let taken = class(lines);
            assert!(taken >= lines && (taken - lines) * 8 <= lines.max(8), "{lines} {taken}");
            assert_eq!(class(taken), taken);
            let bytes = taken_bytes(lines * LINE_BYTES);
            let pool = Arc::default();
            let buffer: Buffer<i8> = Pool::take(&pool, lines * LINE_BYTES);
            assert_eq!(pool.held_bytes(), bytes);
            drop(buffer);
        }
    }

    #[test]
    fn trimming_gives_back_only_what_waits() {
        let pool = Arc::default();
        let kept: Buffer<i8> = Pool::take(&pool, 64);
        drop(Pool::take::<f32>(&pool, 1 << 16));
        pool.trim();
        assert_eq!(pool.held_bytes(), 64);
        drop(kept);
    }
}
