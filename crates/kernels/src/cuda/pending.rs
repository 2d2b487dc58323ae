//! Numbers on their way to the host, behind which a device goes on with other work.

use std::marker::PhantomData;

use super::Cuda;
use super::driver::Ticket;
use crate::buffer::{Element, View};

/// A copy to the host that was queued.
#[derive(Debug)]
pub(crate) struct Pending<T: Element> {
    cuda: Cuda,
    ticket: Option<Ticket>,
    length: usize,
    kind: PhantomData<T>,
}

impl Cuda {
    /// Queues a copy of pinned memory; the numbers are there when the device gets to it.
    pub(crate) fn write_pinned<T: Element>(&self, to: View<'_, T>, from: &[T::Host]) {
        assert!(from.len() <= to.len(), "lengths of a copy");
        if !from.is_empty() {
            let bytes = T::to_cuda(from);
            let address = to.cuda().address;
            self.attempt_outside("a copy from the host", |driver| {
                driver.write_pinned(address, &bytes)
            });
        }
    }

    pub(crate) fn begin_read<T: Element>(&self, from: View<'_, T>) -> Pending<T> {
        let (length, bytes) = (from.len(), from.len() * T::CUDA_BYTES);
        let begin = || {
            let address = from.cuda().address;
            self.attempt_outside("a copy to the host", |driver| driver.begin_read(address, bytes))
        };
        let ticket = if bytes > 0 { begin() } else { None };
        Pending { cuda: self.clone(), ticket, length, kind: PhantomData }
    }
}

impl<T: Element> Pending<T> {
    /// Waits for the copy and what came before it; zeros after a failure.
    pub(crate) fn wait(mut self) -> Vec<T::Host> {
        let mut bytes = vec![0; self.length * T::CUDA_BYTES];
        self.end(&mut bytes);
        T::from_cuda(&bytes)
    }

    fn end(&mut self, to: &mut [u8]) {
        if let Some(ticket) = self.ticket.take() {
            self.cuda.attempt(|driver| driver.end_read(ticket, to));
        }
    }
}

impl<T: Element> Drop for Pending<T> {
    fn drop(&mut self) {
        self.end(&mut []);
    }
}
