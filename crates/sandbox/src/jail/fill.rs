//! Takes up the free places that starting has left all over an interpreter's heap.
//!
//! A child shares its zygote's pages until it writes to one, which is then copied. One that puts its
//! objects into holes has dozens of pages copied; without holes it gets fresh memory, side by side.
//!
//! What is known here of allocators only makes this work well: with others it takes a few megabytes
//! of address space, once.

use core::ffi::c_void;

unsafe extern "C" {
    /// Python's allocator, for up to [`SMALL`] bytes from pools of its own.
    fn PyObject_Malloc(size: usize) -> *mut c_void;
    /// The C library's.
    fn PyMem_RawMalloc(size: usize) -> *mut c_void;
    fn PyMem_RawFree(block: *mut c_void);
}

/// Bytes of the largest object in a pool.
const SMALL: usize = 512;
/// Pools have 16 KiB, and 4 KiB before Python 3.10: at a multiple of this one begins in both.
const POOL: usize = 1 << 14;
/// Bytes before a pool's first object.
const POOL_HEAD: usize = 48;
/// Bytes that are taken for objects of one size, at most.
const SMALL_MAX: usize = 256 << 10;
/// Bytes of the largest free block that is looked for; larger ones would be mappings of their own.
const LARGE: usize = 64 << 10;
/// Sizes of blocks are multiples of this.
const STEP: usize = 16;
/// Blocks that lie behind one another only at the end of the heap.
const ROW: usize = 8;
/// Blocks of the largest size until there is such a row, at most.
const ROW_TRIES: usize = 64;
/// Blocks of one size that are taken, at most.
const BLOCKS_MAX: usize = 4096;

/// Fills the holes. What is taken is never given back.
///
/// # Safety
///
/// Called with the interpreter's lock held, or by its only thread.
pub(crate) unsafe fn fill() {
    // SAFETY: as above.
    unsafe {
        if let Some(end) = end_of_heap() {
            let mut size = LARGE;
            while size >= STEP {
                take_below(end, size);
                size -= (size / STEP / STEP).max(1) * STEP;
            }
        }
        for size in (STEP..=SMALL).step_by(STEP) {
            fill_pools(size);
        }
    }
}

/// The address from which on the C library's heap is unused; `None` if that cannot be seen.
unsafe fn end_of_heap() -> Option<usize> {
    let mut row = [core::ptr::null_mut(); ROW];
    let mut length = 0;
    for _ in 0..ROW_TRIES {
        // SAFETY: any size may be asked for.
        let block = unsafe { PyMem_RawMalloc(LARGE) };
        let follows = length > 0 && is_behind(row[length - 1], block);
        length = if follows { length } else { 0 };
        row[length] = block;
        length += 1;
        if length == ROW {
            for block in row {
                // SAFETY: allocated above, and used by nobody.
                unsafe { PyMem_RawFree(block) };
            }
            return Some(row[0] as usize);
        }
    }
    None
}

/// Whether the second of two large blocks begins where the first one ends, but for its size.
fn is_behind(first: *mut c_void, second: *mut c_void) -> bool {
    (second as usize).wrapping_sub(first as usize) == LARGE + STEP
}

/// Takes the free blocks of one size that lie before the end of the heap.
unsafe fn take_below(end: usize, size: usize) {
    for _ in 0..BLOCKS_MAX {
        // SAFETY: any size may be asked for.
        let block = unsafe { PyMem_RawMalloc(size) };
        if block as usize >= end {
            // SAFETY: allocated above, and used by nobody.
            unsafe { PyMem_RawFree(block) };
            return;
        }
    }
}

/// Takes the free places for objects of one size, until a new pool is begun for them.
unsafe fn fill_pools(size: usize) {
    for _ in 0..SMALL_MAX / size {
        // SAFETY: any size may be asked for.
        let block = unsafe { PyObject_Malloc(size) };
        if block as usize % POOL == POOL_HEAD {
            return;
        }
    }
}
