//! Where gradients go: sums over rows, one sequence after another.
//!
//! What a sequence adds to a gradient is summed within it and then added to what is there, or added
//! row by row. So a step's gradient has the same bits however its sequences, in one order, are
//! divided into batches: Adam's first step is nearly the sign of a gradient, where rounding would
//! show.

use whetstone_kernels::add::bias_backward;
use whetstone_kernels::linear::backward_weight;
use whetstone_kernels::rms_norm::Gain;
use whetstone_kernels::{Device, Matrix, MatrixMut, Offsets, Real};

use super::gradients::Gradients;
use super::parameters::ParameterId;

/// Gradients, and the sequences of the rows that are summed.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    pub(crate) device: &'a Device,
    pub(crate) gradients: &'a mut Gradients,
    pub(crate) sequences: Offsets<'a>,
}

impl Sums<'_> {
    /// `dW += scale · dyᵀ·x`, if `W` is trained.
    pub(crate) fn add_product<T: Real>(
        &mut self,
        id: ParameterId,
        (scale, dy, x): (f32, Matrix<'_, T>, Matrix<'_>),
    ) {
        if let Some(to) = self.gradients.get_mut(id) {
            let to = MatrixMut::new(to, dy.cols(), x.cols());
            backward_weight(self.device, to, (scale, dy, x), self.sequences);
        }
    }

    /// `db += Σ dy`, if `b` is there and trained.
    pub(crate) fn add_rows<T: Real>(&mut self, id: Option<ParameterId>, dy: Matrix<'_, T>) {
        if let Some(mut to) = id.and_then(|id| self.gradients.get_mut(id)) {
            bias_backward(self.device, &mut to, dy);
        }
    }

    /// Where a norm leaves its gain's, if that is trained.
    pub(crate) fn gain(&mut self, id: ParameterId) -> Option<Gain<'_>> {
        let sequences = self.sequences;
        self.gradients.get_mut(id).map(|to| Gain { to, sequences })
    }
}
