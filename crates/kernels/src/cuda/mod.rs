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
pub(crate) mod compile;
mod driver;
pub(crate) mod elementwise;
mod error;
#[cfg(any(test, feature = "fake"))]
mod fake;
pub(crate) mod fused_linear;
pub(crate) mod gated_narrow;
pub(crate) mod graph;
pub(crate) mod head;
mod launch;
mod library;
mod lt;
mod measure;
mod noise;
mod nvidia;
mod nvrtc;
mod order;
pub(crate) mod pending;
mod pinned;
mod pool;
pub(crate) mod product;
pub(crate) mod qk_norm_rope;
pub(crate) mod rms_norm;
pub(crate) mod sample;
mod start;
mod stream_capture;
pub(crate) mod tensors;
pub(crate) mod weight_gradients;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

pub use choices::{KeptChoices, Searches};
pub use compile::{check_sources, source_names};
pub use driver::{ComputeCapability, Format, Pattern, Properties};
pub use error::{CudaVersion, DeviceError, DeviceResult};
pub use product::{AccumulationOrder, Candidates};
pub use start::Info;

pub(crate) use driver::Address;
pub(crate) use pool::{Block, UNIT};

use crate::buffer::{Buffer, Element, View, ViewMut};
use choices::Choices;
use driver::{Argument, Driver, Function, Launch};
use graph::Capture;
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
    searches: Mutex<Searches>,
    capture: Capture,
    listener: Listener,
}

type Tell = dyn Fn(&str) + Send + Sync;

/// Whoever wants to know what the device has to say, and whether it was said.
#[derive(Default)]
struct Listener {
    tell: OnceLock<Box<Tell>>,
    is_told: AtomicBool,
    /// Whether it was said that algorithms are looked for.
    is_told_of_searches: AtomicBool,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("is_told", &self.is_told).finish_non_exhaustive()
    }
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

    /// A device made up for tests, which is lost at its call of this number; 0 is never. It keeps what is
    /// written to it, and its kernels compute nothing.
    ///
    /// # Errors
    ///
    /// None but those of a device.
    #[cfg(feature = "fake")]
    pub fn fake(lost_at: usize) -> DeviceResult<Self> {
        start::start(&fake::Machine::large(lost_at), 0, None).map(|inner| Self(Arc::new(inner)))
    }

    /// The calls of a device made up for tests, in their order.
    #[cfg(feature = "fake")]
    pub fn fake_calls(&self) -> Vec<&'static str> {
        self.0.driver.calls()
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
        self.attempt_outside("a wait", |driver| driver.wait());
        self.failure()
    }

    /// The first failure that is known, without waiting.
    ///
    /// # Errors
    ///
    /// That failure.
    pub fn failure(&self) -> DeviceResult<()> {
        self.0.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Tells `tell` what a user should know and no result shows, once.
    pub fn on_note(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        // The first listener stays.
        let _ = self.0.listener.tell.set(Box::new(tell));
    }

    fn note_once(&self, note: &str) {
        let Listener { tell, is_told, .. } = &self.0.listener;
        if let Some(tell) = tell.get()
            && !is_told.swap(true, Ordering::Relaxed)
        {
            tell(note);
        }
    }

    /// Searches for algorithms of products in this run. Where there are some, work takes longer than it will in a
    /// later run of the same kind.
    pub fn searches(&self) -> Searches {
        *self.0.searches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The algorithms that are kept from run to run.
    pub fn kept_choices(&self) -> KeptChoices {
        self.0.choices.kept()
    }

    /// Looks for an algorithm, counts that, and says so the first time.
    fn search<T>(&self, look: impl FnOnce() -> T) -> T {
        let Listener { tell, is_told_of_searches, .. } = &self.0.listener;
        if let Some(tell) = tell.get()
            && !is_told_of_searches.swap(true, Ordering::Relaxed)
        {
            let file = self.kept_choices().file.map(|file| format!(" in {}", file.display()));
            tell(&format!(
                "choosing algorithms: matrix products of new sizes are timed on this GPU, 20 ms to 1 s each, and the \
                 fastest are kept{} for later runs",
                file.unwrap_or_default()
            ));
        }
        let begin = Instant::now();
        let found = look();
        let mut searches = self.0.searches.lock().unwrap_or_else(PoisonError::into_inner);
        searches.products += 1;
        searches.took += begin.elapsed();
        found
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

    /// Does something unless something failed before; remembers if it fails. What fails while work is
    /// captured is a failure of the capture alone.
    fn attempt<R>(&self, work: impl FnOnce(&dyn Driver) -> DeviceResult<R>) -> Option<R> {
        if self.is_idle() {
            return None;
        }
        let failed = |error| {
            if self.0.capture.is_open() {
                self.0.capture.give_up(error);
            } else {
                self.fail(error);
            }
        };
        work(&*self.0.driver).map_err(failed).ok()
    }

    pub(crate) fn take<T: Element>(&self, length: usize) -> Buffer<T> {
        let bytes = length.checked_mul(T::CUDA_BYTES).expect("a size that can be counted");
        let block = self.attempt(|driver| Pool::take(&self.0, driver, bytes));
        Buffer::on_cuda(block.unwrap_or_default(), length)
    }

    pub(crate) fn write<T: Element>(&self, to: &mut ViewMut<'_, T>, from: &[T::Host]) {
        assert_eq!(to.len(), from.len(), "lengths of a copy");
        if !from.is_empty() {
            let bytes = T::to_cuda(from);
            self.attempt_outside("a copy from the host", |driver| {
                driver.write(to.cuda().address, &bytes)
            });
        }
    }

    pub(crate) fn read<T: Element>(&self, from: View<'_, T>) -> Vec<T::Host> {
        let mut bytes = vec![0; from.len() * T::CUDA_BYTES];
        if !bytes.is_empty() {
            self.attempt_outside("a copy to the host", |driver| {
                driver.read(&mut bytes, from.cuda().address)
            });
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
        self.attempt_outside("a wait", |driver| {
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
        let is_hopper = self.0.info.properties.capability >= ComputeCapability::HOPPER;
        let launch = Launch { programmatic: launch.programmatic && is_hopper, ..launch };
        self.attempt(|driver| driver.launch(function, launch, arguments));
    }

    /// Enough blocks of 256 threads for so many pieces, and no more than keep the chip busy.
    pub(crate) fn blocks_for(&self, pieces: usize) -> u32 {
        let most = self.0.info.properties.multiprocessors.saturating_mul(16).max(1);
        u32::try_from(pieces.div_ceil(256)).map_or(most, |blocks| blocks.min(most))
    }
}

#[cfg(test)]
mod capture_tests;
#[cfg(test)]
mod tests;
