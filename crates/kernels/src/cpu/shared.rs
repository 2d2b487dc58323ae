//! One slice for several threads that write to different parts of it, and memory that is called for
//! ahead of time.

#![expect(unsafe_code, reason = "parts that interleave cannot be split off as slices")]

use std::marker::PhantomData;

/// A slice whose parts are given to threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared<'a, T> {
    start: *mut T,
    length: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: every part is taken through `part`, whose callers take disjoint ones.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: the same.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(data: &'a mut [T]) -> Self {
        Self { start: data.as_mut_ptr(), length: data.len(), borrowed: PhantomData }
    }

    /// Part of the slice.
    ///
    /// # Safety
    ///
    /// No two parts that overlap may be in use at the same time.
    ///
    /// # Panics
    ///
    /// If it is not inside.
    pub(crate) unsafe fn part(&self, begin: usize, size: usize) -> &'a mut [T] {
        let inside = begin.checked_add(size).is_some_and(|end| end <= self.length);
        assert!(inside, "{begin}+{size} of {}", self.length);
        // SAFETY: in bounds, and disjoint from all other parts by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(begin), size) }
    }

    /// Writes one number.
    ///
    /// # Safety
    ///
    /// As of [`Self::part`].
    #[inline(always)]
    pub(crate) unsafe fn put(&self, at: usize, value: T) {
        // SAFETY: the caller's.
        let place = unsafe { self.part(at, 1) };
        place[0] = value;
    }

    /// The address of a number, for arithmetic on matrices.
    pub(crate) fn at(&self, begin: usize) -> *mut T {
        assert!(begin <= self.length, "{begin} of {}", self.length);
        // SAFETY: inside, or one past the end.
        unsafe { self.start.add(begin) }
    }
}

/// Asks for a line of the cache, so that it is there when it is needed.
#[inline(always)]
pub(crate) fn prefetch(place: *const f32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: asking does nothing that could be wrong, wherever it is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
