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

use crate::cuda::{Address, Block, UNIT};
pub use crate::element::{Activation, Element, Real};
use crate::size_class::class;

/// A line of the cache, so that the widest vectors are aligned.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u32; 16]);

const LINE_BYTES: usize = size_of::<CacheLine>();

/// Memory of a device that waits to be used again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<BTreeMap<usize, Vec<Box<[CacheLine]>>>>,
    held_lines: AtomicUsize,
}

impl Pool {
    pub(crate) fn take<T: Element>(pool: &Arc<Self>, length: usize) -> Buffer<T> {
        let bytes = length.checked_mul(size_of::<T::Host>()).expect("a size that can be counted");
        let lines = class(bytes.div_ceil(LINE_BYTES));
        let waiting = pool.shelves().get_mut(&lines).and_then(Vec::pop);
        let lines = waiting.unwrap_or_else(|| {
            pool.held_lines.fetch_add(lines, Ordering::Relaxed);
            vec![CacheLine([0; 16]); lines].into_boxed_slice()
        });
        let memory = BufferMemory::Host { lines, pool: Arc::clone(pool) };
        Buffer { memory, length, kind: PhantomData }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held_lines.load(Ordering::Relaxed) * LINE_BYTES
    }

    pub(crate) fn trim(&self) {
        let free = std::mem::take(&mut *self.shelves());
        let lines = free.values().flatten().map(|lines| lines.len()).sum();
        self.held_lines.fetch_sub(lines, Ordering::Relaxed);
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Box<[CacheLine]>>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The allocated size of a buffer of `bytes` bytes.
pub fn taken_bytes(bytes: usize) -> usize {
    class(bytes.div_ceil(LINE_BYTES)).saturating_mul(LINE_BYTES)
}

/// The allocated size on CUDA.
pub fn taken_bytes_on_cuda(bytes: usize) -> usize {
    class(bytes.div_ceil(UNIT)).saturating_mul(UNIT)
}

/// Numbers in the memory of a device.
#[derive(Debug)]
pub struct Buffer<T: Element = Activation> {
    memory: BufferMemory,
    length: usize,
    kind: PhantomData<T>,
}

/// The owned memory; it is returned to its pool on drop.
#[derive(Debug)]
enum BufferMemory {
    Host { lines: Box<[CacheLine]>, pool: Arc<Pool> },
    Cuda(Block),
}

impl<T: Element> Buffer<T> {
    /// A block of a CUDA device with room for `length` numbers.
    pub(crate) fn on_cuda(block: Block, length: usize) -> Self {
        Self { memory: BufferMemory::Cuda(block), length, kind: PhantomData }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of it, to read.
    pub fn view(&self) -> View<'_, T> {
        View(match &self.memory {
            // SAFETY: the lines hold at least `length` numbers, are aligned for all of them, and every
            // pattern of bits is a number of each kind of `Element`.
            BufferMemory::Host { lines, .. } => ViewData::Host(unsafe {
                std::slice::from_raw_parts(lines.as_ptr().cast(), self.length)
            }),
            BufferMemory::Cuda(block) => {
                ViewData::Cuda(DeviceSlice::new(block.address(), self.length))
            }
        })
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut(match &mut self.memory {
            // SAFETY: as in `view`, and this is the only reference.
            BufferMemory::Host { lines, .. } => PlaceMut::Host(unsafe {
                std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), self.length)
            }),
            BufferMemory::Cuda(block) => {
                PlaceMut::Cuda(DeviceSlice::new(block.address(), self.length))
            }
        })
    }
}

impl Drop for BufferMemory {
    fn drop(&mut self) {
        if let Self::Host { lines, pool } = self {
            let lines = std::mem::take(lines);
            pool.shelves().entry(lines.len()).or_default().push(lines);
        }
    }
}

/// Some numbers on a CUDA device, for as long as their buffer is borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceSlice<'a> {
    pub(crate) address: Address,
    pub(crate) length: usize,
    life: PhantomData<&'a ()>,
}

impl DeviceSlice<'_> {
    fn new(address: Address, length: usize) -> Self {
        Self { address, length, life: PhantomData }
    }

    fn part(self, range: Range<usize>, bytes: usize) -> Self {
        let Range { start, end } = range;
        assert!(start <= end && end <= self.length, "range {range:?} of {}", self.length);
        Self::new(self.address + (start * bytes) as u64, end - start)
    }
}

#[derive(Debug, Clone, Copy)]
enum ViewData<'a, T: Element> {
    Host(&'a [T::Host]),
    Cuda(DeviceSlice<'a>),
}

#[derive(Debug)]
enum PlaceMut<'a, T: Element> {
    Host(&'a mut [T::Host]),
    Cuda(DeviceSlice<'a>),
}

/// A part of a buffer, to read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T: Element = Activation>(ViewData<'a, T>);

/// A part of a buffer, to write.
#[derive(Debug)]
pub struct ViewMut<'a, T: Element = Activation>(PlaceMut<'a, T>);

/// Views of the CPU and of a CUDA device cannot be mixed.
const ELSEWHERE: &str = "numbers of another device";

impl<'a, T: Element> View<'a, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self.0 {
            ViewData::Host(numbers) => numbers.len(),
            ViewData::Cuda(part) => part.length,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A smaller part.
    ///
    /// # Panics
    ///
    /// If it is not inside.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        Self(match self.0 {
            ViewData::Host(numbers) => ViewData::Host(&numbers[range]),
            ViewData::Cuda(part) => ViewData::Cuda(part.part(range, T::CUDA_BYTES)),
        })
    }

    /// The numbers of a processor.
    ///
    /// # Panics
    ///
    /// If they are on another device.
    pub(crate) fn host(self) -> &'a [T::Host] {
        match self.0 {
            ViewData::Host(numbers) => numbers,
            ViewData::Cuda(_) => panic!("{ELSEWHERE}"),
        }
    }

    /// The numbers of a CUDA device.
    ///
    /// # Panics
    ///
    /// If they are on another device.
    pub(crate) fn cuda(self) -> DeviceSlice<'a> {
        match self.0 {
            ViewData::Host(_) => panic!("{ELSEWHERE}"),
            ViewData::Cuda(part) => part,
        }
    }
}

impl<'a, T: Real> View<'a, T> {
    /// On a processor, the same numbers as another kind of number with a fraction: they are the same
    /// there.
    ///
    /// # Panics
    ///
    /// If they are on another device.
    pub(crate) fn on_host<U: Real>(self) -> View<'a, U> {
        View(ViewData::Host(self.host()))
    }

    /// The numbers of a CUDA device that are f32 there.
    ///
    /// # Panics
    ///
    /// If they are something else, or elsewhere.
    pub(crate) fn as_f32(self) -> View<'a, f32> {
        assert_eq!(T::CUDA_BYTES, size_of::<f32>(), "numbers of f32");
        View(ViewData::Cuda(self.cuda()))
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A smaller part.
    ///
    /// # Panics
    ///
    /// If it is not inside.
    pub fn part(&mut self, range: Range<usize>) -> ViewMut<'_, T> {
        ViewMut(match &mut self.0 {
            PlaceMut::Host(numbers) => PlaceMut::Host(&mut numbers[range]),
            PlaceMut::Cuda(part) => PlaceMut::Cuda(part.part(range, T::CUDA_BYTES)),
        })
    }

    /// A read-only view of the same elements.
    pub fn view(&self) -> View<'_, T> {
        View(match &self.0 {
            PlaceMut::Host(numbers) => ViewData::Host(numbers),
            PlaceMut::Cuda(part) => ViewData::Cuda(*part),
        })
    }

    /// A shorter borrow, for a call that takes the view by value.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut(match &mut self.0 {
            PlaceMut::Host(numbers) => PlaceMut::Host(numbers),
            PlaceMut::Cuda(part) => PlaceMut::Cuda(*part),
        })
    }

    /// The numbers of a processor.
    ///
    /// # Panics
    ///
    /// If they are on another device.
    pub(crate) fn host(&mut self) -> &mut [T::Host] {
        match &mut self.0 {
            PlaceMut::Host(numbers) => numbers,
            PlaceMut::Cuda(_) => panic!("{ELSEWHERE}"),
        }
    }

    /// The numbers of a CUDA device.
    ///
    /// # Panics
    ///
    /// If they are on another device.
    pub(crate) fn cuda(&mut self) -> DeviceSlice<'_> {
        self.view().cuda()
    }
}

impl<'a, T: Real> ViewMut<'a, T> {
    /// As [`View::on_host`].
    ///
    /// # Panics
    ///
    /// If the numbers are on another device.
    pub(crate) fn on_host<U: Real>(self) -> ViewMut<'a, U> {
        match self.0 {
            PlaceMut::Host(numbers) => ViewMut(PlaceMut::Host(numbers)),
            PlaceMut::Cuda(_) => panic!("{ELSEWHERE}"),
        }
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
