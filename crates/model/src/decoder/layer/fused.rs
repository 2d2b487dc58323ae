//! The projections of a layer as four products of augmented weights: on CUDA, where the model's own
//! weights are frozen (`whetstone_kernels::fused_linear`).
//!
//! Rows of what goes into a product have room for what an adapter makes of them, and rows of what comes
//! back for its gradient: such buffers are wider than what they are named after. The gradients of a
//! layer's adapters are added in one launch, when the layer is done.

use std::rc::Rc;

use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::fused_linear;
use whetstone_kernels::rms_norm::{self, Heads};
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, View, swiglu};

use super::backward::{NormBack, norm_backward_beside};
use super::fused_projections::{DeferredInput, Fused};
use super::{Sizes, norm};
use crate::decoder::parameters::ParameterId;
use crate::decoder::projection::Pass;
use crate::decoder::sums::GradientAccumulator;

/// The four products of a layer.
#[derive(Debug, Clone)]
pub(crate) struct FusedLayer {
    pub(crate) qkv: Fused,
    pub(crate) o: Fused,
    pub(crate) gate_up: Fused,
    pub(crate) down: Fused,
}

/// The gradient of queries, keys and values, and where projections are fused what adapters made of their input
/// and the gradient of the residual.
#[derive(Debug)]
pub(super) struct FusedGradient {
    pub(super) dqkv: Buffer,
    pub(super) narrow: Option<Rc<Buffer>>,
    pub(super) residual: Option<Rc<Buffer>>,
}

/// Rows of gate and up side by side, and what adapters made of the inputs of those and of down.
#[derive(Debug)]
pub(crate) struct FusedNetwork {
    both: Buffer,
    gate_up_narrow: Option<Rc<Buffer>>,
    down_narrow: Option<Rc<Buffer>>,
}

impl FusedLayer {
    /// Normed rows with room.
    fn normed(
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x, gain): (View<'_>, ParameterId),
        fused: &Fused,
    ) -> Buffer {
        let rows = x.len() / sizes.width;
        let stride = fused.in_stride();
        let mut to = pass.device.take(rows * stride);
        let from = Heads::rows(rows, sizes.width);
        let lies = Heads { stride, ..from };
        let gain = norm(pass, sizes, gain);
        let output = rms_norm::Output { data: to.view_mut(), shape: lies };
        let input = rms_norm::Input { data: x, shape: from };
        rms_norm::forward(pass.device, output, input, gain);
        to
    }

    /// Queries, keys and values, each row with room for what comes back, and what they were made of.
    pub(super) fn project(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x0, gain): (View<'_>, ParameterId),
    ) -> (Buffer, Buffer) {
        let mut h = Self::normed(pass, sizes, (x0, gain), &self.qkv);
        let tokens = x0.len() / sizes.width;
        let stride = self.qkv.out_stride();
        let mut qkv = pass.device.take(tokens * stride);
        let to = MatrixMut::strided(qkv.view_mut(), tokens, sizes.shape.packed_width(), stride);
        self.qkv.forward(pass, to, &mut h, None);
        (qkv, h)
    }

    /// `x0 + O·attended`.
    pub(super) fn after_attention(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x0, attended): (&Buffer, &mut Buffer),
    ) -> Buffer {
        let mut x1 = pass.device.take(x0.len());
        let to = MatrixMut::new(x1.view_mut(), x0.len() / sizes.width, sizes.width);
        self.o.forward(pass, to, attended, Some(x0.view()));
        x1
    }

    /// `x2`, and the gate beside what goes through it.
    pub(super) fn network(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x1, gain): (&Buffer, ParameterId),
    ) -> (Buffer, FusedNetwork) {
        let (device, tokens, ffn) = (pass.device, x1.len() / sizes.width, sizes.ffn);
        let mut h = Self::normed(pass, sizes, (x1.view(), gain), &self.gate_up);
        let both_stride = self.gate_up.out_stride();
        let mut both = device.take(tokens * both_stride);
        let to = MatrixMut::strided(both.view_mut(), tokens, 2 * ffn, both_stride);
        self.gate_up.forward(pass, to, &mut h, None);
        let gate_up_narrow = self.gate_up.kept_narrow(pass, &h);
        drop(h);
        let stride = self.down.in_stride();
        let mut open = device.take(tokens * stride);
        let to = MatrixMut::strided(open.view_mut(), tokens, ffn, stride);
        swiglu::forward_rows(
            device,
            to,
            Matrix::strided(both.view(), tokens, 2 * ffn, both_stride),
        );
        let mut x2 = device.take(x1.len());
        let to = MatrixMut::new(x2.view_mut(), tokens, sizes.width);
        self.down.forward(pass, to, &mut open, Some(x1.view()));
        let down_narrow = self.down.kept_narrow(pass, &open);
        (x2, FusedNetwork { both, gate_up_narrow, down_narrow })
    }

    /// `x2` alone.
    pub(super) fn network_output(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x1, gain): (&Buffer, ParameterId),
    ) -> Buffer {
        let (device, tokens) = (pass.device, x1.len() / sizes.width);
        let mut h = Self::normed(pass, sizes, (x1.view(), gain), &self.gate_up);
        let mut open = device.take(tokens * self.down.in_stride());
        let to = MatrixMut::strided(open.view_mut(), tokens, sizes.ffn, self.down.in_stride());
        let mut h = MatrixMut::new(h.view_mut(), tokens, self.gate_up.in_stride());
        fused_linear::forward_gated(device, to, &mut h, self.gate_up.fused_weight(pass));
        let mut x2 = device.take(x1.len());
        let to = MatrixMut::new(x2.view_mut(), tokens, sizes.width);
        self.down.forward(pass, to, &mut open, Some(x1.view()));
        x2
    }

    pub(super) fn network_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x1, gain, network): (Buffer, ParameterId, FusedNetwork),
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        let FusedNetwork { mut both, gate_up_narrow, down_narrow } = network;
        let (device, tokens, ffn) = (pass.device, x1.len() / sizes.width, sizes.ffn);
        let mut dy = self.taken_residual(device, sizes, tokens, dx);
        let stride = self.down.in_stride();
        let mut open = device.take(tokens * stride);
        let to = MatrixMut::strided(open.view_mut(), tokens, ffn, stride);
        self.down.backward(pass, to, &mut dy);
        let both_stride = self.gate_up.out_stride();
        let dopen = MatrixMut::strided(open.view_mut(), tokens, ffn, stride);
        let rows = MatrixMut::strided(both.view_mut(), tokens, 2 * ffn, both_stride);
        swiglu::backward_rows(device, dopen, rows);
        let input = DeferredInput { x: &Rc::new(open), narrow: down_narrow.as_ref() };
        let dy = Rc::new(dy);
        self.down.defer(pass, sums, &dy, input);
        let h = Self::normed(pass, sizes, (x1.view(), gain), &self.gate_up);
        let mut dh = device.take(x1.len());
        let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
        self.gate_up.backward(pass, to, &mut both);
        let input = DeferredInput { x: &Rc::new(h), narrow: gate_up_narrow.as_ref() };
        self.gate_up.defer(pass, sums, &Rc::new(both), input);
        let back = NormBack { gain, x: &x1, dy: &dh, added: &dy };
        norm_backward_beside(pass, sizes, back, dx, sums);
    }

    /// The gradient of what attention gave, and that of the residual as it was; a buffer for what it becomes
    /// is in its place.
    pub(super) fn o_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        attended: &Rc<Buffer>,
        dx: &mut Buffer,
        sums: &mut GradientAccumulator<'_>,
    ) -> (Buffer, Rc<Buffer>) {
        let (tokens, width) = (attended.len() / self.o.in_stride(), sizes.shape.width());
        let mut dy = self.taken_residual(pass.device, sizes, tokens, dx);
        let mut dattended = pass.device.take(tokens * width);
        let to = MatrixMut::new(dattended.view_mut(), tokens, width);
        self.o.backward(pass, to, &mut dy);
        let dy = Rc::new(dy);
        let input = DeferredInput { x: attended, narrow: None };
        self.o.defer(pass, sums, &dy, input);
        (dattended, dy)
    }

    /// The residual's gradient, rows with room for what the adapters of both projections that are added to it
    /// make of it; a buffer of the same size takes its place, for the gradient before them.
    fn taken_residual(
        &self,
        device: &Device,
        sizes: &Sizes,
        tokens: usize,
        dx: &mut Buffer,
    ) -> Buffer {
        let stride = self.o.out_stride().max(self.down.out_stride());
        let old = std::mem::replace(dx, device.take(tokens * stride));
        if old.len() == tokens * stride {
            return old;
        }
        let from = Matrix::strided(old.view(), tokens, sizes.width, old.len() / tokens.max(1));
        let mut wide = device.take(tokens * stride);
        let to = MatrixMut::strided(wide.view_mut(), tokens, sizes.width, stride);
        copy_matrix(device, to, from);
        wide
    }

    pub(super) fn project_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x0, gain, dqkv): (&Buffer, ParameterId, FusedGradient),
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        let tokens = x0.len() / sizes.width;
        let FusedGradient { mut dqkv, narrow, residual } = dqkv;
        let h = Self::normed(pass, sizes, (x0.view(), gain), &self.qkv);
        let mut dh = pass.device.take(x0.len());
        let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
        self.qkv.backward(pass, to, &mut dqkv);
        let input = DeferredInput { x: &Rc::new(h), narrow: narrow.as_ref() };
        self.qkv.defer(pass, sums, &Rc::new(dqkv), input);
        let added = residual.as_ref().expect("fused projections left the residual's gradient");
        let back = NormBack { gain, x: x0, dy: &dh, added };
        norm_backward_beside(pass, sizes, back, dx, sums);
    }
}
