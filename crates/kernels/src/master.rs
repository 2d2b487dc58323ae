//! A weight that can be trained: its numbers in f32, and what products use of it.
//!
//! On processors the two are the same. On CUDA products take bf16, in which an update below 2^-8 of
//! a weight would be lost, so the master stays in f32 and has a copy beside it.

use crate::adamw::Copied;
use crate::buffer::{Activation, Buffer, View, ViewMut};
use crate::cuda::elementwise;
use crate::device::Device;
use crate::fused_linear::WeightBlock;
use crate::matmul::Matrix;

/// Panic message for weights that have been released.
const FROZEN: &str = "a weight that was not frozen";

/// A weight and its copy for products.
#[derive(Debug)]
pub struct MasterWeight {
    /// None if the weight was frozen and products have their own.
    numbers: Option<Buffer<f32>>,
    copy: Bf16Copy,
}

/// The copy that products read.
#[derive(Debug)]
enum Bf16Copy {
    /// The numbers themselves.
    Same,
    /// Their nearest activations.
    Apart(Buffer),
    /// The same among those of other weights.
    Among(WeightBlock, Shape),
}

/// Rows and columns of a weight among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

impl MasterWeight {
    /// With these numbers.
    pub fn new(device: &Device, numbers: Buffer<f32>) -> Self {
        let copy = match device {
            Device::Cpu(_) => Bf16Copy::Same,
            Device::Cuda(_) => Bf16Copy::Apart(device.take(numbers.len())),
        };
        let mut weight = Self { numbers: Some(numbers), copy };
        weight.refresh(device);
        weight
    }

    /// Gives up the numbers where products do not use them: the weight cannot be trained then.
    pub fn freeze(&mut self) {
        if !matches!(self.copy, Bf16Copy::Same) {
            self.numbers = None;
        }
    }

    /// Whether its numbers are there.
    pub fn is_trainable(&self) -> bool {
        self.numbers.is_some()
    }

    /// In f32.
    ///
    /// # Panics
    ///
    /// If they were given up.
    pub fn numbers(&self) -> View<'_, f32> {
        self.numbers.as_ref().expect(FROZEN).view()
    }

    /// In f32, to write; [`Self::refresh`] follows.
    ///
    /// # Panics
    ///
    /// If they were given up.
    pub fn numbers_mut(&mut self) -> ViewMut<'_, f32> {
        self.numbers.as_mut().expect(FROZEN).view_mut()
    }

    /// In f32, to write, and the copy that is to be written with them.
    ///
    /// # Panics
    ///
    /// If they were given up.
    pub fn both_mut(&mut self) -> (ViewMut<'_, f32>, Option<Copied<'_>>) {
        let numbers = self.numbers.as_mut().expect(FROZEN).view_mut();
        let copy = match &self.copy {
            Bf16Copy::Same => None,
            Bf16Copy::Apart(copy) => Some(Matrix::new(copy.view(), 1, copy.len())),
            Bf16Copy::Among(place, Shape { rows, cols }) => Some(place.matrix(*rows, *cols)),
        };
        (numbers, copy.map(Copied))
    }

    /// As operations take them.
    ///
    /// # Panics
    ///
    /// If they lie among those of other weights.
    pub fn activations(&self) -> View<'_, Activation> {
        match &self.copy {
            Bf16Copy::Same => self.numbers().on_host(),
            Bf16Copy::Apart(copy) => copy.view(),
            Bf16Copy::Among(..) => panic!("a weight that lies among others"),
        }
    }

    /// As products take them, wherever they lie.
    pub fn matrix(&self, rows: usize, cols: usize) -> Matrix<'_> {
        match &self.copy {
            Bf16Copy::Among(place, _) => place.matrix(rows, cols),
            _ => Matrix::new(self.activations(), rows, cols),
        }
    }

    /// Moves what products use among other weights. Nothing on a processor.
    pub fn move_to(&mut self, device: &Device, place: WeightBlock, shape: Shape) {
        let Device::Cuda(cuda) = device else { return };
        let from = self.matrix(shape.rows, shape.cols);
        elementwise::copy_into_rows(cuda, place.matrix(shape.rows, shape.cols), from);
        self.copy = Bf16Copy::Among(place, shape);
    }

    /// Moves what products use out of the place that [`Self::move_to`] gave it. Nothing on a processor.
    ///
    /// # Panics
    ///
    /// If the weight was frozen.
    pub fn move_apart(&mut self, device: &Device) {
        if let Bf16Copy::Among(..) = self.copy {
            self.copy = Bf16Copy::Apart(device.take(self.numbers().len()));
            self.refresh(device);
        }
    }

    /// A copy of the numbers; of what products use if the weight was frozen.
    pub fn to_numbers(&self, device: &Device) -> Buffer<f32> {
        let Some(numbers) = &self.numbers else {
            return device.upload(&self.read_activations(device));
        };
        let mut copy = device.take(numbers.len());
        device.copy(&mut copy.view_mut(), numbers.view());
        copy
    }

    fn read_activations(&self, device: &Device) -> Vec<f32> {
        let (Bf16Copy::Among(place, shape), Device::Cuda(cuda)) = (&self.copy, device) else {
            return device.read(self.activations());
        };
        let Shape { rows, cols } = *shape;
        let together: Buffer = device.take(rows * cols);
        let to = Matrix::new(together.view(), rows, cols);
        elementwise::copy_into_rows(cuda, to, place.matrix(rows, cols));
        device.read(together.view())
    }

    /// Brings the copy up to date.
    pub fn refresh(&mut self, device: &Device) {
        let (Some(numbers), Device::Cuda(cuda)) = (&self.numbers, device) else { return };
        match &mut self.copy {
            Bf16Copy::Same => {}
            Bf16Copy::Apart(copy) => {
                elementwise::round_into(cuda, &mut copy.view_mut(), numbers.view());
            }
            Bf16Copy::Among(place, Shape { rows, cols }) => {
                elementwise::round_into_rows(cuda, place.matrix(*rows, *cols), numbers.view());
            }
        }
    }
}
