//! Where numbers live and who works on them.

use std::sync::Arc;

use crate::buffer::{Buffer, Element, Pool, View, ViewMut};
use crate::cpu::threads::Threads;

/// Numbers that a thread fills or copies at a time.
const PIECE: usize = 1 << 18;

/// A device, chosen when the program starts.
#[derive(Debug, Clone)]
pub enum Device {
    /// This machine's processors.
    Cpu(Cpu),
}

/// Some processors and their memory.
#[derive(Debug, Clone)]
pub struct Cpu {
    pub(crate) threads: Arc<Threads>,
    pool: Arc<Pool>,
}

impl Device {
    /// So many processors of this machine.
    ///
    /// # Errors
    ///
    /// If the machine will not start that many threads.
    pub fn cpu(threads: usize) -> std::io::Result<Self> {
        let threads = Arc::new(Threads::new(threads)?);
        Ok(Self::Cpu(Cpu { threads, pool: Arc::default() }))
    }

    /// A buffer with whatever its last user left in it.
    pub fn take<T: Element>(&self, length: usize) -> Buffer<T> {
        let Self::Cpu(cpu) = self;
        Pool::take(&cpu.pool, length)
    }

    /// A buffer of zeros.
    pub fn zeros<T: Element>(&self, length: usize) -> Buffer<T> {
        let mut buffer = self.take(length);
        self.fill(&mut buffer.view_mut(), T::default());
        buffer
    }

    /// A buffer with a copy of what the host has.
    pub fn upload<T: Element>(&self, from: &[T]) -> Buffer<T> {
        let mut buffer = self.take(from.len());
        buffer.view_mut().host().copy_from_slice(from);
        buffer
    }

    /// A buffer that the host fills, where it lies if it can.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn load<T: Element, E>(
        &self,
        length: usize,
        read: impl FnOnce(&mut [T]) -> Result<(), E>,
    ) -> Result<Buffer<T>, E> {
        let mut buffer = self.take(length);
        read(buffer.view_mut().host())?;
        Ok(buffer)
    }

    /// The same number everywhere.
    pub fn fill<T: Element>(&self, to: &mut ViewMut<'_, T>, value: T) {
        let Self::Cpu(cpu) = self;
        cpu.threads.pieces(to.host(), PIECE, |_, part| part.fill(value));
    }

    /// One view into another of the same length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn copy<T: Element>(&self, to: &mut ViewMut<'_, T>, from: View<'_, T>) {
        let (to, from) = (to.host(), from.host());
        assert_eq!(to.len(), from.len(), "lengths of a copy");
        let Self::Cpu(cpu) = self;
        cpu.threads.pieces(to, PIECE, |piece, to| {
            to.copy_from_slice(&from[piece * PIECE..][..to.len()]);
        });
    }

    /// Waits for everything before and gives the host a copy.
    pub fn read<T: Element>(&self, from: View<'_, T>) -> Vec<T> {
        from.host().to_vec()
    }

    /// What buffers take now, those that wait in the pool included.
    pub fn held_bytes(&self) -> usize {
        let Self::Cpu(cpu) = self;
        cpu.pool.held_bytes()
    }

    /// Gives back what waits in the pool: for the end of a phase whose sizes will not come again.
    pub fn trim(&self) {
        let Self::Cpu(cpu) = self;
        cpu.pool.trim();
    }
}
