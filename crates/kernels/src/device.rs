//! Devices: the owners of buffers, on which operations run.

use std::sync::Arc;

use crate::buffer::{Buffer, Element, Pool, View, ViewMut};
use crate::cpu::threads::Threads;
use crate::cuda::{Cuda, DeviceError, Searches};
use crate::element::Activation;
use crate::element::sealed::Sealed;

/// Numbers that a thread fills or copies at a time.
const PIECE: usize = 1 << 18;

/// A device, chosen when the program starts.
#[derive(Debug, Clone)]
pub enum Device {
    /// This machine's processors.
    Cpu(Cpu),
    /// A GPU of NVIDIA's.
    Cuda(Cuda),
}

/// Some processors and their memory.
#[derive(Debug, Clone)]
pub struct Cpu {
    pub(crate) threads: Arc<Threads>,
    pool: Arc<Pool>,
}

impl Device {
    /// The CPU, with this many threads.
    ///
    /// # Errors
    ///
    /// If the machine will not start that many threads.
    pub fn cpu(threads: usize) -> std::io::Result<Self> {
        let threads = Arc::new(Threads::new(threads)?);
        Ok(Self::Cpu(Cpu { threads, pool: Arc::default() }))
    }

    /// A GPU of NVIDIA's, by its number among those of this machine.
    ///
    /// # Errors
    ///
    /// If there is none, or something that it needs is missing or too old.
    pub fn cuda(index: u32) -> Result<Self, DeviceError> {
        Cuda::open(index).map(Self::Cuda)
    }

    /// The first failure of the device, if there was one: to be asked wherever results reach the
    /// host.
    ///
    /// # Errors
    ///
    /// If an operation failed. Nothing was computed after it.
    pub fn check(&self) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(cuda) => cuda.check(),
        }
    }

    /// The first failure that is known by now, without waiting for work that is queued.
    ///
    /// # Errors
    ///
    /// If an operation failed.
    pub fn failure(&self) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(cuda) => cuda.failure(),
        }
    }

    /// Tells `tell`, once, if work has to be done in a slower way than it could be.
    pub fn on_note(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        if let Self::Cuda(cuda) = self {
            cuda.on_note(tell);
        }
    }

    /// Bytes that buffers can take in all: those in use and those that are free. `None` on the CPU,
    /// whose memory is shared with other processes, and where a device does not report it.
    pub fn room_bytes(&self) -> Option<usize> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(cuda) => {
                cuda.free_bytes().ok().map(|free| free.saturating_add(cuda.held_bytes()))
            }
        }
    }

    /// Searches for algorithms of products so far; none on the CPU.
    pub fn searches(&self) -> Searches {
        match self {
            Self::Cpu(_) => Searches::default(),
            Self::Cuda(cuda) => cuda.searches(),
        }
    }

    /// Bytes that an activation takes.
    pub fn activation_bytes(&self) -> usize {
        match self {
            Self::Cpu(_) => size_of::<f32>(),
            Self::Cuda(_) => Activation::CUDA_BYTES,
        }
    }

    /// A buffer with whatever its last user left in it.
    pub fn take<T: Element>(&self, length: usize) -> Buffer<T> {
        match self {
            Self::Cpu(cpu) => Pool::take(&cpu.pool, length),
            Self::Cuda(cuda) => cuda.take(length),
        }
    }

    /// A buffer of zeros.
    pub fn zeros<T: Element>(&self, length: usize) -> Buffer<T> {
        let mut buffer = self.take(length);
        self.fill(&mut buffer.view_mut(), T::Host::default());
        buffer
    }

    /// A buffer with a copy of host data.
    pub fn upload<T: Element>(&self, from: &[T::Host]) -> Buffer<T> {
        let mut buffer = self.take(from.len());
        match self {
            Self::Cpu(_) => buffer.view_mut().host().copy_from_slice(from),
            Self::Cuda(cuda) => cuda.write(&mut buffer.view_mut(), from),
        }
        buffer
    }

    /// A buffer that the host fills, in place if possible.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn load<T: Element, E>(
        &self,
        length: usize,
        read: impl FnOnce(&mut [T::Host]) -> Result<(), E>,
    ) -> Result<Buffer<T>, E> {
        if let Self::Cuda(_) = self {
            let mut numbers = vec![T::Host::default(); length];
            read(&mut numbers)?;
            return Ok(self.upload(&numbers));
        }
        let mut buffer = self.take(length);
        read(buffer.view_mut().host())?;
        Ok(buffer)
    }

    /// Sets every element to one value.
    pub fn fill<T: Element>(&self, to: &mut ViewMut<'_, T>, value: T::Host) {
        match self {
            Self::Cpu(cpu) => cpu.threads.pieces(to.host(), PIECE, |_, part| part.fill(value)),
            Self::Cuda(cuda) => cuda.fill(to, value),
        }
    }

    /// One view into another of the same length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn copy<T: Element>(&self, to: &mut ViewMut<'_, T>, from: View<'_, T>) {
        assert_eq!(to.len(), from.len(), "lengths of a copy");
        match self {
            Self::Cpu(cpu) => {
                let from = from.host();
                cpu.threads.pieces(to.host(), PIECE, |piece, to| {
                    to.copy_from_slice(&from[piece * PIECE..][..to.len()]);
                });
            }
            Self::Cuda(cuda) => cuda.copy(to, from),
        }
    }

    /// Waits for all earlier work and returns a copy to the host. After a failure the result is
    /// zeros, and [`Self::check`] returns the error.
    pub fn read<T: Element>(&self, from: View<'_, T>) -> Vec<T::Host> {
        match self {
            Self::Cpu(_) => from.host().to_vec(),
            Self::Cuda(cuda) => cuda.read(from),
        }
    }

    /// Memory of all buffers, including those in the pool.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Cpu(cpu) => cpu.pool.held_bytes(),
            Self::Cuda(cuda) => cuda.held_bytes(),
        }
    }

    /// Frees the buffers in the pool: for the end of a phase whose sizes will not be needed again.
    pub fn trim(&self) {
        match self {
            Self::Cpu(cpu) => cpu.pool.trim(),
            Self::Cuda(cuda) => cuda.trim(),
        }
    }
}
