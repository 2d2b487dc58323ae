//! Memory of a GPU that waits to be used again.
//!
//! The size classes are those of processors, over a unit of 512 bytes. Work is done in the order of
//! one stream, so a block can be handed out again while work on it is still queued.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Inner;
use super::driver::{Address, Driver};
use super::error::{DeviceError, DeviceResult};
use super::graph::Arena;
use crate::size_class::class;

/// What sizes are counted in.
pub(crate) const UNIT: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<BTreeMap<usize, Vec<Address>>>,
    held_bytes: AtomicUsize,
}

/// Some memory of a device. It goes back to its pool, or to the captures that it belongs to, when it is
/// dropped.
#[derive(Debug, Default)]
pub(crate) struct Block {
    address: Address,
    bytes: usize,
    /// None for a block that could not be had.
    owner: Option<Owner>,
}

#[derive(Debug)]
enum Owner {
    Pool(Arc<Inner>),
    Captures(Arc<Arena>),
}

impl Block {
    /// Where it begins; 0 if it could not be had.
    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match &self.owner {
            None => {}
            Some(Owner::Captures(arena)) => arena.give_back(self.bytes, self.address),
            Some(Owner::Pool(owner)) => {
                owner.pool.shelves().entry(self.bytes).or_default().push(self.address);
            }
        }
    }
}

impl Pool {
    /// A block of at least so many bytes. What waits is given back before memory is called too
    /// small. While work is captured, only what waits is handed out.
    pub(crate) fn take(
        owner: &Arc<Inner>,
        driver: &dyn Driver,
        bytes: usize,
    ) -> DeviceResult<Block> {
        let bytes = class(bytes.div_ceil(UNIT)).saturating_mul(UNIT);
        let pool = &owner.pool;
        let waiting = || pool.shelves().get_mut(&bytes).and_then(Vec::pop);
        if let Some(arena) = owner.capture.arena() {
            let address = arena.take(bytes).or_else(waiting);
            let address = address.ok_or(DeviceError::NotInCapture("memory that is not there"))?;
            return Ok(Block { address, bytes, owner: Some(Owner::Captures(arena)) });
        }
        let address = match waiting() {
            Some(address) => address,
            None => pool.allocate(driver, bytes).map_err(|error| with_total(error, owner))?,
        };
        Ok(Block { address, bytes, owner: Some(Owner::Pool(Arc::clone(owner))) })
    }

    fn allocate(&self, driver: &dyn Driver, bytes: usize) -> DeviceResult<Address> {
        let address = match driver.allocate(bytes) {
            Err(DeviceError::OutOfMemory { .. }) => {
                driver.wait()?;
                self.trim(driver);
                driver.allocate(bytes)?
            }
            other => other?,
        };
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(address)
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Blocks by size that captures had.
    pub(super) fn give_back_all(&self, blocks: BTreeMap<usize, Vec<Address>>) {
        let mut shelves = self.shelves();
        for (bytes, addresses) in blocks {
            shelves.entry(bytes).or_default().extend(addresses);
        }
    }

    /// Gives back what waits. All work must have ended.
    pub(crate) fn trim(&self, driver: &dyn Driver) {
        let free = std::mem::take(&mut *self.shelves());
        for (bytes, addresses) in free {
            self.held_bytes.fetch_sub(bytes * addresses.len(), Ordering::Relaxed);
            for address in addresses {
                driver.release(address);
            }
        }
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Address>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The driver does not know how large its device is.
fn with_total(error: DeviceError, owner: &Inner) -> DeviceError {
    match error {
        DeviceError::OutOfMemory { asked, free, .. } => {
            DeviceError::OutOfMemory { asked, free, total: owner.info.properties.total_bytes }
        }
        other => other,
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A device that failed may not answer any more; its memory goes with the process.
        if self.failure.get().is_none() && self.driver.wait().is_ok() {
            self.pool.trim(&*self.driver);
        }
    }
}
