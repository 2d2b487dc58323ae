//! Gradient accumulation: sums over rows, one sequence after another.
//!
//! The contribution of a sequence to a gradient is summed within the sequence and then added to the
//! gradient, or added row by row. So a step's gradient has the same bits however its sequences, in
//! one order, are divided into batches: Adam's first step is nearly the sign of a gradient, where
//! rounding would show.

use std::ops::Range;
use std::rc::Rc;

use whetstone_kernels::add::bias_backward;
use whetstone_kernels::linear::{WeightGradient, backward_weight, backward_weights};
use whetstone_kernels::rms_norm::Gain;
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, Offsets, Real};

use super::gradients::Gradients;
use super::parameters::ParameterId;

/// Gradients, and the sequences of the rows that are summed.
#[derive(Debug)]
pub(crate) struct GradientAccumulator<'a> {
    pub(crate) device: &'a Device,
    pub(crate) gradients: &'a mut Gradients,
    pub(crate) sequences: Offsets<'a>,
    /// Contributions that will be added together.
    pending: Vec<PendingProduct>,
}

/// `dyᵀ·x`, which is to be added to a gradient.
#[derive(Debug)]
pub(crate) struct PendingProduct {
    pub(crate) id: ParameterId,
    pub(crate) dy: Columns,
    pub(crate) x: Columns,
}

/// Some columns of rows with this stride.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) buffer: Rc<Buffer>,
    pub(crate) stride: usize,
    pub(crate) range: Range<usize>,
}

impl Columns {
    fn matrix(&self) -> Matrix<'_> {
        let rows = self.buffer.len() / self.stride;
        Matrix::new(self.buffer.view(), rows, self.stride).columns(self.range.clone())
    }
}

/// The contribution to one matrix of an adapter: `scale · dyᵀ·x`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoraGradient<'a> {
    pub(crate) id: ParameterId,
    pub(crate) scale: f32,
    pub(crate) dy: Matrix<'a>,
    pub(crate) x: Matrix<'a>,
}

impl<'a> GradientAccumulator<'a> {
    pub(crate) fn new(
        device: &'a Device,
        gradients: &'a mut Gradients,
        sequences: Offsets<'a>,
    ) -> Self {
        Self { device, gradients, sequences, pending: Vec::new() }
    }

    /// Adds this when [`Self::flush`] is called, if it is trained.
    pub(crate) fn defer(&mut self, pending: PendingProduct) {
        self.pending.push(pending);
    }

    /// Adds all that waits.
    pub(crate) fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let ids: Vec<ParameterId> = pending.iter().map(|product| product.id).collect();
        let to = self.gradients.several_mut(&ids);
        let jobs = to.into_iter().zip(&pending).filter_map(|(to, product)| {
            let (dy, x) = (product.dy.matrix(), product.x.matrix());
            let to = MatrixMut::new(to?, dy.cols(), x.cols());
            Some(WeightGradient { to, scale: 1.0, dy, x })
        });
        let mut jobs: Vec<WeightGradient<'_>> = jobs.collect();
        if !jobs.is_empty() {
            backward_weights(self.device, &mut jobs, self.sequences);
        }
    }

    /// `dW += dyᵀ·x`, if `W` is trained.
    pub(crate) fn add_product<T: Real>(
        &mut self,
        id: ParameterId,
        dy: Matrix<'_, T>,
        x: Matrix<'_>,
    ) {
        if let Some(to) = self.gradients.get_mut(id) {
            let to = MatrixMut::new(to, dy.cols(), x.cols());
            backward_weight(self.device, WeightGradient { to, scale: 1.0, dy, x }, self.sequences);
        }
    }

    /// The gradients of the two halves of an adapter, if they are trained.
    pub(crate) fn add_adapter(&mut self, [first, second]: [LoraGradient<'_>; 2]) {
        let to = self.gradients.both_mut([first.id, second.id]);
        let jobs = to.into_iter().zip([first, second]).filter_map(|(to, narrow)| {
            let LoraGradient { scale, dy, x, .. } = narrow;
            Some(WeightGradient { to: MatrixMut::new(to?, dy.cols(), x.cols()), scale, dy, x })
        });
        backward_weights(self.device, &mut jobs.collect::<Vec<_>>(), self.sequences);
    }

    /// `db += Σ dy`, if `b` is there and trained.
    pub(crate) fn add_rows<T: Real>(&mut self, id: Option<ParameterId>, dy: Matrix<'_, T>) {
        if let Some(mut to) = id.and_then(|id| self.gradients.get_mut(id)) {
            bias_backward(self.device, &mut to, dy);
        }
    }

    /// Whether a tensor has a gradient.
    pub(crate) fn is_trained(&self, id: ParameterId) -> bool {
        self.gradients.get(id).is_some()
    }

    /// The gradient of a norm's gain, if that is trained.
    pub(crate) fn gain(&mut self, id: ParameterId) -> Option<Gain<'_>> {
        let sequences = self.sequences;
        self.gradients.get_mut(id).map(|to| Gain { to, sequences })
    }
}
