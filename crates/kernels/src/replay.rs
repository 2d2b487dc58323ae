//! Work that a device does again and again, and what comes back from it later.
//!
//! A CPU computes at once: it calls the work, and results are available immediately. A GPU captures
//! the work and replays it, and continues while results are copied to the host.

use crate::buffer::{Element, View, ViewMut};
use crate::cuda;
use crate::device::Device;

/// Work that was captured, by keys. See [`Device::capture_or_replay`].
#[derive(Debug)]
pub struct Graphs(Option<cuda::graph::Graphs>);

/// Numbers on their way to the host.
#[derive(Debug)]
pub struct Pending<T: Element>(Arriving<T>);

#[derive(Debug)]
enum Arriving<T: Element> {
    There(Vec<T::Host>),
    Later(cuda::pending::Pending<T>),
}

impl<T: Element> Pending<T> {
    /// Numbers that the host has.
    pub fn there(numbers: Vec<T::Host>) -> Self {
        Self(Arriving::There(numbers))
    }

    /// Waits until they are available, but not for later work. After a failure they are zeros, and
    /// [`Device::failure`] returns the error.
    pub fn wait(self) -> Vec<T::Host> {
        match self.0 {
            Arriving::There(numbers) => numbers,
            Arriving::Later(pending) => pending.wait(),
        }
    }
}

impl Device {
    /// Room for captured work of one kind.
    pub fn graphs(&self) -> Graphs {
        Graphs(match self {
            Self::Cpu(_) => None,
            Self::Cuda(cuda) => Some(cuda.graphs()),
        })
    }

    /// Does work that is the same whenever the key is: the same operations on the same buffers, whose
    /// numbers may be others. Buffers that are used after the work are taken before it, and it neither
    /// uploads nor reads. A GPU captures it the second time and replays it from then on.
    ///
    /// # Panics
    ///
    /// If the graphs are those of another kind of device.
    pub fn capture_or_replay(&self, graphs: &mut Graphs, key: u64, work: &mut dyn FnMut()) {
        match self {
            Self::Cpu(_) => work(),
            Self::Cuda(cuda) => {
                let graphs = graphs.0.as_mut().expect("graphs of this device");
                cuda.capture_or_replay(graphs, key, work);
            }
        }
    }

    /// Copies host data into a buffer, after all earlier work.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn upload_into<T: Element>(&self, to: &mut ViewMut<'_, T>, from: &[T::Host]) {
        assert_eq!(to.len(), from.len(), "lengths of a copy");
        match self {
            Self::Cpu(_) => to.host().copy_from_slice(from),
            Self::Cuda(cuda) => cuda.write_pinned(to.view(), from),
        }
    }

    /// Begins to copy numbers to the host.
    pub fn read_later<T: Element>(&self, from: View<'_, T>) -> Pending<T> {
        Pending(match self {
            Self::Cpu(_) => Arriving::There(self.read(from)),
            Self::Cuda(cuda) => Arriving::Later(cuda.begin_read(from)),
        })
    }
}
