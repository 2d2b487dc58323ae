//! A GPU of NVIDIA's: starting it, its memory, its failures, and launching kernels on it.
//!
//! Sources of kernels are in the binary (`cuda/*.cu` of this crate) and are compiled at first use;
//! no toolkit is needed, neither here nor to build. Work goes into one stream in the order of the
//! calls; only reading waits.

pub(crate) mod attention;
pub(crate) mod attention_backward;
mod attention_wgmma;
mod cache;
mod choices;
mod compile;
mod driver;
pub(crate) mod elementwise;
mod error;
#[cfg(test)]
mod fake;
pub(crate) mod fused_linear;
pub(crate) mod head;
mod library;
mod lt;
mod measure;
mod nvidia;
mod nvrtc;
mod order;
mod pool;
pub(crate) mod product;
pub(crate) mod qk_norm_rope;
pub(crate) mod rms_norm;
pub(crate) mod sample;
mod start;
pub(crate) mod weight_gradients;
mod work;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub use compile::{check_sources, source_names};
pub use driver::{Format, Pattern, Properties};
pub use error::{CudaVersion, DeviceError, DeviceResult};
pub use product::{AccumulationOrder, Candidates};
pub use start::Info;

pub(crate) use driver::Address;
pub(crate) use pool::{Block, UNIT};

use crate::buffer::{Buffer, Element, View, ViewMut};
use choices::Choices;
use driver::{Argument, Driver, Function, Launch};
use pool::Pool;

/// A GPU, chosen when the program starts. Clones share it.
#[derive(Debug, Clone)]
pub struct Cuda(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    driver: Box<dyn Driver>,
    functions: BTreeMap<&'static str, Function>,
    pool: Pool,
    failure: OnceLock<DeviceError>,
    info: Info,
    /// The algorithm of each product that was needed so far.
    choices: Choices,
}

impl Cuda {
    /// The GPU with this number.
    ///
    /// # Errors
    ///
    /// If there is none, or something that it needs is missing or too old.
    pub fn open(index: u32) -> DeviceResult<Self> {
        let inner = start::start(&nvidia::Nvidia::new(), index, cache::folder().as_deref())?;
        Ok(Self(Arc::new(inner)))
    }

    /// What it is, and what it was started with.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// The first failure, if there was one. Waits for all work.
    ///
    /// # Errors
    ///
    /// That failure.
    pub fn check(&self) -> DeviceResult<()> {
        self.attempt(|driver| driver.wait());
        self.0.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Bytes of the device that are free.
    ///
    /// # Errors
    ///
    /// If the device does not say.
    pub fn free_bytes(&self) -> DeviceResult<usize> {
        self.0.driver.free_bytes()
    }

    /// An operation that has no kernel.
    pub(crate) fn unsupported(&self, operation: &'static str) {
        self.fail(DeviceError::Unsupported(operation));
    }

    fn fail(&self, error: DeviceError) {
        // The first one counts: those after it are its consequences.
        let _ = self.0.failure.set(error);
    }

    /// Does something unless something failed before; remembers if it fails.
    fn attempt<R>(&self, work: impl FnOnce(&dyn Driver) -> DeviceResult<R>) -> Option<R> {
        if self.0.failure.get().is_some() {
            return None;
        }
        work(&*self.0.driver).map_err(|error| self.fail(error)).ok()
    }

    pub(crate) fn take<T: Element>(&self, length: usize) -> Buffer<T> {
        let bytes = length.checked_mul(T::CUDA_BYTES).expect("a size that can be counted");
        let block = self.attempt(|driver| Pool::take(&self.0, driver, bytes));
        Buffer::on_cuda(block.unwrap_or_default(), length)
    }

    pub(crate) fn write<T: Element>(&self, to: &mut ViewMut<'_, T>, from: &[T::Host]) {
        assert_eq!(to.len(), from.len(), "lengths of a copy");
        if !from.is_empty() {
            self.attempt(|driver| driver.write(to.cuda().address, &T::to_cuda(from)));
        }
    }

    pub(crate) fn read<T: Element>(&self, from: View<'_, T>) -> Vec<T::Host> {
        let mut bytes = vec![0; from.len() * T::CUDA_BYTES];
        if !bytes.is_empty() {
            self.attempt(|driver| driver.read(&mut bytes, from.cuda().address));
        }
        T::from_cuda(&bytes)
    }

    pub(crate) fn fill<T: Element>(&self, to: &mut ViewMut<'_, T>, value: T::Host) {
        if !to.is_empty() {
            let part = to.cuda();
            self.attempt(|driver| driver.fill(part.address, T::pattern(value), part.length));
        }
    }

    pub(crate) fn copy<T: Element>(&self, to: &mut ViewMut<'_, T>, from: View<'_, T>) {
        let bytes = from.len() * T::CUDA_BYTES;
        if bytes > 0 {
            self.attempt(|driver| driver.copy(to.cuda().address, from.cuda().address, bytes));
        }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.0.pool.held_bytes()
    }

    pub(crate) fn trim(&self) {
        self.attempt(|driver| {
            driver.wait()?;
            self.0.pool.trim(driver);
            Ok(())
        });
    }

    /// Launches a kernel; nothing if there are no blocks.
    pub(crate) fn launch(&self, kernel: &'static str, launch: Launch, arguments: &[Argument]) {
        if launch.blocks == 0 {
            return;
        }
        let function = self.0.functions.get(kernel).copied().expect("a kernel of the list");
        self.attempt(|driver| driver.launch(function, launch, arguments));
    }

    /// Enough blocks of 256 threads for so many pieces, and no more than keep the chip busy.
    pub(crate) fn blocks_for(&self, pieces: usize) -> u32 {
        let most = self.0.info.properties.multiprocessors.saturating_mul(16).max(1);
        u32::try_from(pieces.div_ceil(256)).map_or(most, |blocks| blocks.min(most))
    }
}

#[cfg(test)]
mod tests;
