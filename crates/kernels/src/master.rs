//! A weight that can be trained: its numbers in f32, and what products use of it.
//!
//! On processors the two are the same. On CUDA products take bf16, in which an update below 2^-8 of
//! a weight would be lost, so the master stays in f32 and has a copy beside it.

use crate::buffer::{Activation, Buffer, View, ViewMut};
use crate::cuda::elementwise;
use crate::device::Device;

/// A weight and its copy for products.
#[derive(Debug)]
pub struct MasterWeight {
    numbers: Buffer<f32>,
    copy: Bf16Copy,
}

/// What products use.
#[derive(Debug)]
enum Bf16Copy {
    /// The numbers themselves.
    Same,
    /// Their nearest activations.
    Apart(Buffer),
}

impl MasterWeight {
    /// With these numbers.
    pub fn new(device: &Device, numbers: Buffer<f32>) -> Self {
        let copy = match device {
            Device::Cpu(_) => Bf16Copy::Same,
            Device::Cuda(_) => Bf16Copy::Apart(device.take(numbers.len())),
        };
        let mut weight = Self { numbers, copy };
        weight.refresh(device);
        weight
    }

    /// In f32.
    pub fn numbers(&self) -> View<'_, f32> {
        self.numbers.view()
    }

    /// In f32, to write; [`Self::refresh`] follows.
    pub fn numbers_mut(&mut self) -> ViewMut<'_, f32> {
        self.numbers.view_mut()
    }

    /// As products take them.
    pub fn activations(&self) -> View<'_, Activation> {
        match &self.copy {
            Bf16Copy::Same => self.numbers.view().on_host(),
            Bf16Copy::Apart(copy) => copy.view(),
        }
    }

    /// Brings the copy up to date.
    pub fn refresh(&mut self, device: &Device) {
        if let (Bf16Copy::Apart(copy), Device::Cuda(cuda)) = (&mut self.copy, device) {
            elementwise::round_into(cuda, &mut copy.view_mut(), self.numbers.view());
        }
    }
}
