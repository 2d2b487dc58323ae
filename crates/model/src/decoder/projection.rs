//! `y = x·Wᵀ + b`, with a low-rank addition `s · (x·Aᵀ)·Bᵀ` if there is an adapter.
//!
//! Hu et al., "`LoRA`", 2021. Backward: `dx = dy·W + du·A` with `du = s · dy·B`, and for trained
//! parameters `dW += dyᵀ·x`, `db += Σ dy`, `dB += s · dyᵀ·u`, `dA += duᵀ·x`. `u = x·Aᵀ` is
//! recomputed in the backward pass: it is narrow, and every projection of every layer would save
//! one.

use whetstone_kernels::add::bias;
use whetstone_kernels::linear;
use whetstone_kernels::{Buffer, Matrix, MatrixMut, WriteMode};

use super::parameters::ParameterId;
use super::pass::{Adapters, Pass};
use super::sums::{self, GradientAccumulator};

/// A projection's places in the list of parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projection {
    pub(crate) weight: ParameterId,
    pub(crate) bias: Option<ParameterId>,
    pub(crate) adapter: Option<Adapter>,
}

/// The two halves of a low-rank addition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adapter {
    /// `rank` rows of inputs.
    pub(crate) a: ParameterId,
    /// A row of `rank` numbers for each output.
    pub(crate) b: ParameterId,
    /// `alpha / rank`.
    pub(crate) scale: f32,
}

/// Inputs of the gradients of a projection's weights.
#[derive(Debug)]
pub(crate) struct WeightBackward<'a> {
    /// The projection's input.
    pub(crate) x: Matrix<'a>,
    /// The gradient of its output.
    pub(crate) dy: Matrix<'a>,
    /// The result of [`Projection::backward_input`].
    pub(crate) du: LoraInputGradient,
}

impl Projection {
    fn adapter(&self, pass: &Pass<'_>) -> Option<Adapter> {
        self.adapter.filter(|_| pass.adapters == Adapters::On)
    }

    /// `y = [y +] …`.
    pub(crate) fn forward(
        &self,
        pass: &Pass<'_>,
        mut y: MatrixMut<'_>,
        mode: WriteMode,
        x: Matrix<'_>,
    ) {
        let weight = pass.parameters.weight(self.weight);
        let product = linear::Forward { scale: 1.0, x, weight };
        linear::forward(pass.device, y.reborrow(), mode, product);
        if let Some(id) = self.bias {
            bias(pass.device, y.reborrow(), pass.parameters.activations(id));
        }
        if let Some(adapter) = self.adapter(pass) {
            let u = adapter.narrow(pass, x);
            let b = pass.parameters.weight(adapter.b);
            let u = Matrix::new(u.view(), x.rows(), b.shape().1);
            let product = linear::Forward { scale: adapter.scale, x: u, weight: b };
            linear::forward(pass.device, y, WriteMode::Accumulate, product);
        }
    }

    /// `dx = [dx +] …`; the result is an input of [`Self::backward_weights`].
    pub(crate) fn backward_input(
        &self,
        pass: &Pass<'_>,
        mut dx: MatrixMut<'_>,
        mode: WriteMode,
        dy: Matrix<'_>,
    ) -> LoraInputGradient {
        let weight = pass.parameters.weight(self.weight);
        let product = linear::Backward { scale: 1.0, dy, weight };
        linear::backward(pass.device, dx.reborrow(), mode, product);
        let du = self.adapter(pass).map(|adapter| {
            let (b, a) = (pass.parameters.weight(adapter.b), pass.parameters.weight(adapter.a));
            let rank = b.shape().1;
            let mut du = pass.device.take(dy.rows() * rank);
            let to = MatrixMut::new(du.view_mut(), dy.rows(), rank);
            let product = linear::Backward { scale: adapter.scale, dy, weight: b };
            linear::backward(pass.device, to, WriteMode::Overwrite, product);
            let narrow = Matrix::new(du.view(), dy.rows(), rank);
            let product = linear::Backward { scale: 1.0, dy: narrow, weight: a };
            linear::backward(pass.device, dx, WriteMode::Accumulate, product);
            du
        });
        LoraInputGradient(du)
    }

    /// Adds to the gradients of whatever is trained.
    pub(crate) fn backward_weights(
        &self,
        pass: &Pass<'_>,
        sums: &mut GradientAccumulator<'_>,
        from: WeightBackward<'_>,
    ) {
        let WeightBackward { x, dy, du } = from;
        sums.add_product(self.weight, dy, x);
        sums.add_rows(self.bias, dy);
        if let (Some(adapter), Some(du)) = (self.adapter(pass), du.0) {
            let u = adapter.narrow(pass, x);
            let rank = u.len() / x.rows().max(1);
            let [u, du] = [&u, &du].map(|narrow| Matrix::new(narrow.view(), x.rows(), rank));
            let of_b = sums::LoraGradient { id: adapter.b, scale: adapter.scale, dy, x: u };
            sums.add_adapter([of_b, sums::LoraGradient { id: adapter.a, scale: 1.0, dy: du, x }]);
        }
    }
}

/// `du`, if there is an adapter.
#[derive(Debug)]
#[must_use]
pub(crate) struct LoraInputGradient(Option<Buffer>);

impl Adapter {
    /// `x·Aᵀ`.
    fn narrow(&self, pass: &Pass<'_>, x: Matrix<'_>) -> Buffer {
        let a = pass.parameters.weight(self.a);
        let rank = a.shape().0;
        let mut u = pass.device.take(x.rows() * rank);
        let to = MatrixMut::new(u.view_mut(), x.rows(), rank);
        let product = linear::Forward { scale: 1.0, x, weight: a };
        linear::forward(pass.device, to, WriteMode::Overwrite, product);
        u
    }
}
