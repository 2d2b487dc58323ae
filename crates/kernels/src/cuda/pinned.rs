//! Pinned memory of the host: copies from and to it do not wait for the device.
//!
//! A block is used again when the event behind its last copy has passed. There are as many as copies
//! are under way at a time: a few.

#![expect(unsafe_code, reason = "memory of the driver, which devices copy from and to")]

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys as cu;

use super::driver::{Address, Ticket};
use super::error::DeviceResult;
use super::nvidia::done;

/// The least that a block has.
const LEAST_BYTES: usize = 64 << 10;

/// An event that knows no times, which is quicker.
const WITHOUT_TIMES: u32 = 2;

/// Blocks of a device.
#[derive(Debug, Default)]
pub(super) struct Pinned {
    blocks: Mutex<Vec<Block>>,
}

#[derive(Debug)]
struct Block {
    memory: *mut c_void,
    bytes: usize,
    event: cu::CUevent,
    /// Whether a copy to the host is on its way and was not asked for yet.
    reserved: bool,
}

// SAFETY: the memory belongs to the driver, and is written by whoever holds the lock or a ticket.
unsafe impl Send for Block {}

impl Block {
    fn new(bytes: usize) -> DeviceResult<Self> {
        let (mut memory, mut event) = (ptr::null_mut(), ptr::null_mut());
        let bytes = bytes.next_power_of_two().max(LEAST_BYTES);
        // SAFETY: a context is current, and the pointers are ours.
        unsafe {
            done("cuMemHostAlloc", cu::cuMemHostAlloc(&raw mut memory, bytes, 0))?;
            done("cuEventCreate", cu::cuEventCreate(&raw mut event, WITHOUT_TIMES))?;
        }
        Ok(Self { memory, bytes, event, reserved: false })
    }

    fn is_free(&self) -> bool {
        // SAFETY: the event was created. One that was never recorded has passed.
        !self.reserved && unsafe { cu::cuEventQuery(self.event) } == cu::CUresult::CUDA_SUCCESS
    }
}

impl Pinned {
    fn lock(&self) -> MutexGuard<'_, Vec<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that no copy uses.
    fn free(blocks: &mut Vec<Block>, bytes: usize) -> DeviceResult<usize> {
        let found = blocks.iter().position(|block| block.bytes >= bytes && block.is_free());
        if let Some(at) = found {
            return Ok(at);
        }
        blocks.push(Block::new(bytes)?);
        Ok(blocks.len() - 1)
    }

    pub(super) fn write(&self, to: Address, from: &[u8], queue: cu::CUstream) -> DeviceResult<()> {
        let mut blocks = self.lock();
        let at = Self::free(&mut blocks, from.len())?;
        let Block { memory, event, .. } = blocks[at];
        // SAFETY: the block is large enough and no copy reads it; the caller has that many bytes at
        // `to`.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), memory.cast(), from.len());
            let copied = cu::cuMemcpyHtoDAsync_v2(to, memory, from.len(), queue);
            done("cuMemcpyHtoDAsync", copied)?;
            done("cuEventRecord", cu::cuEventRecord(event, queue))
        }
    }

    pub(super) fn begin_read(
        &self,
        from: Address,
        bytes: usize,
        queue: cu::CUstream,
    ) -> DeviceResult<Ticket> {
        let mut blocks = self.lock();
        let at = Self::free(&mut blocks, bytes)?;
        let Block { memory, event, .. } = blocks[at];
        // SAFETY: the block is large enough and no copy uses it; the caller has that many bytes at
        // `from`.
        unsafe {
            done("cuMemcpyDtoHAsync", cu::cuMemcpyDtoHAsync_v2(memory, from, bytes, queue))?;
            done("cuEventRecord", cu::cuEventRecord(event, queue))?;
        }
        blocks[at].reserved = true;
        Ok(Ticket(at))
    }

    pub(super) fn end_read(&self, ticket: Ticket, to: &mut [u8]) -> DeviceResult<()> {
        let Block { memory, event, .. } = self.lock()[ticket.0];
        // SAFETY: the event was recorded behind the copy.
        let waited = done("cuEventSynchronize", unsafe { cu::cuEventSynchronize(event) });
        if waited.is_ok() {
            // SAFETY: the copy wrote at least as many bytes and has ended; the block stays reserved
            // until below.
            unsafe { ptr::copy_nonoverlapping(memory.cast(), to.as_mut_ptr(), to.len()) };
        }
        self.lock()[ticket.0].reserved = false;
        waited
    }
}
