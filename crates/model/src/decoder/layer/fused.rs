//! The projections of a layer as four products of augmented weights: on CUDA, where the model's own
//! weights are frozen (`whetstone_kernels::fused_linear`).
//!
//! Input rows of a product have room for the adapter's narrow product, and output-gradient rows for
//! its gradient: such buffers are wider than their names suggest. The gradients of a layer's
//! adapters are added in one launch, at the end of the layer.

use std::rc::Rc;

use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::fused_linear::{self, Gated, Narrow};
use whetstone_kernels::qk_norm_rope::PlacingInPages;
use whetstone_kernels::rms_norm::{self, Heads};
use whetstone_kernels::{Buffer, Matrix, MatrixMut};

use super::fused_projections::{DeferredInput, Fused, FusedInput};
use super::norm_backward::{BackwardBeside, norm_backward_beside};
use super::{LayerGradients, Needed, NormInput, norm};
use crate::decoder::pass::Pass;

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
    fn normed(pass: &Pass<'_>, input: NormInput<'_>, fused: &Fused) -> Buffer {
        let NormInput { x, gain } = input;
        let width = pass.sizes.width;
        let rows = x.len() / width;
        let stride = fused.in_stride();
        let mut to = pass.device.take(rows * stride);
        let from = Heads::rows(rows, width);
        let lies = Heads { stride, ..from };
        let gain = norm(pass, gain);
        let output = rms_norm::Output { data: to.view_mut(), shape: lies };
        let input = rms_norm::Input { data: x, shape: from };
        rms_norm::forward(pass.device, output, input, gain);
        to
    }

    /// Queries, keys and values, each row with room for its gradient, and their input.
    pub(super) fn project(&self, pass: &Pass<'_>, input: NormInput<'_>) -> (Buffer, Buffer) {
        let mut h = Self::normed(pass, input, &self.qkv);
        let sizes = pass.sizes;
        let tokens = input.x.len() / sizes.width;
        let stride = self.qkv.out_stride();
        let mut qkv = pass.device.take(tokens * stride);
        let to = MatrixMut::strided(qkv.view_mut(), tokens, sizes.shape.packed_width(), stride);
        self.qkv.forward(pass, to, &mut h, None);
        (qkv, h)
    }

    /// Placed queries, keys and values, rows as [`Self::project`] has them; keys and values also in their pages.
    pub(super) fn project_and_store(
        &self,
        pass: &Pass<'_>,
        input: NormInput<'_>,
        with: PlacingInPages<'_>,
    ) -> Buffer {
        let mut h = Self::normed(pass, input, &self.qkv);
        let tokens = input.x.len() / pass.sizes.width;
        let (width, stride) = (pass.sizes.shape.packed_width(), self.qkv.out_stride());
        let mut placed = pass.device.take(tokens * stride);
        let to = MatrixMut::strided(placed.view_mut(), tokens, width, stride);
        let mut h = MatrixMut::new(h.view_mut(), tokens, self.qkv.in_stride());
        fused_linear::forward_heads(pass.device, to, &mut h, self.qkv.fused_weight(pass), with);
        placed
    }

    /// `x0 + O·attended`.
    pub(super) fn after_attention(
        &self,
        pass: &Pass<'_>,
        x0: &Buffer,
        attended: &mut Buffer,
    ) -> Buffer {
        let width = pass.sizes.width;
        let mut x1 = pass.device.take(x0.len());
        let to = MatrixMut::new(x1.view_mut(), x0.len() / width, width);
        self.o.forward(pass, to, attended, Some(x0.view()));
        x1
    }

    /// `x2`, and the gate beside what goes through it.
    pub(super) fn network(&self, pass: &Pass<'_>, input: NormInput<'_>) -> (Buffer, FusedNetwork) {
        let (device, sizes, x1) = (pass.device, pass.sizes, input.x);
        let (tokens, ffn) = (x1.len() / sizes.width, sizes.ffn);
        let mut h = Self::normed(pass, input, &self.gate_up);
        let both_stride = self.gate_up.out_stride();
        let mut both = device.take(tokens * both_stride);
        let to = MatrixMut::strided(both.view_mut(), tokens, 2 * ffn, both_stride);
        self.gate_up.forward(pass, to, &mut h, None);
        let gate_up_narrow = self.gate_up.kept_narrow(pass, &h);
        drop(h);
        let stride = self.down.in_stride();
        let mut open = device.take(tokens * stride);
        let mut kept = self.down.narrow_buffer(pass, tokens);
        let gated = Gated {
            both: Matrix::strided(both.view(), tokens, 2 * ffn, both_stride),
            kept: kept.view_mut(),
        };
        let to = &mut MatrixMut::new(open.view_mut(), tokens, stride);
        let narrow = fused_linear::gated_input(device, to, gated, self.down.fused_weight(pass));
        let mut x2 = device.take(x1.len());
        let to = MatrixMut::new(x2.view_mut(), tokens, sizes.width);
        self.down.forward_from(pass, to, FusedInput { x: &mut open, narrow }, Some(x1));
        let down_narrow = match narrow {
            Narrow::Ready => Some(Rc::new(kept)),
            Narrow::With | Narrow::Without => {
                drop(kept);
                self.down.kept_narrow(pass, &open)
            }
        };
        (x2, FusedNetwork { both, gate_up_narrow, down_narrow })
    }

    /// `x2` alone.
    pub(super) fn network_output(&self, pass: &Pass<'_>, input: NormInput<'_>) -> Buffer {
        let (device, sizes, x1) = (pass.device, pass.sizes, input.x);
        let tokens = x1.len() / sizes.width;
        let mut h = Self::normed(pass, input, &self.gate_up);
        let mut open = device.take(tokens * self.down.in_stride());
        let to = MatrixMut::strided(open.view_mut(), tokens, sizes.ffn, self.down.in_stride());
        let mut h = MatrixMut::new(h.view_mut(), tokens, self.gate_up.in_stride());
        fused_linear::forward_gated(device, to, &mut h, self.gate_up.fused_weight(pass));
        let mut x2 = device.take(x1.len());
        let to = MatrixMut::new(x2.view_mut(), tokens, sizes.width);
        self.down.forward(pass, to, &mut open, Some(x1));
        x2
    }

    pub(super) fn network_backward(
        &self,
        pass: &Pass<'_>,
        input: NormInput<'_>,
        network: FusedNetwork,
        gradients: &mut LayerGradients<'_>,
    ) {
        let FusedNetwork { mut both, gate_up_narrow, down_narrow } = network;
        let LayerGradients { dx, sums, .. } = &mut *gradients;
        let (device, sizes) = (pass.device, pass.sizes);
        let (tokens, ffn) = (input.x.len() / sizes.width, sizes.ffn);
        let mut dy = self.taken_residual(pass, tokens, dx);
        let stride = self.down.in_stride();
        let mut open = device.take(tokens * stride);
        let to = MatrixMut::strided(open.view_mut(), tokens, ffn, stride);
        self.down.backward(pass, to, &mut dy);
        let both_stride = self.gate_up.out_stride();
        let dopen = MatrixMut::strided(open.view_mut(), tokens, ffn, stride);
        let mut rows = MatrixMut::new(both.view_mut(), tokens, both_stride);
        let gate_up = self.gate_up.fused_weight(pass);
        let narrow = fused_linear::gated_backward(device, dopen, &mut rows, gate_up);
        let deferred = DeferredInput { x: &Rc::new(open), narrow: down_narrow.as_ref() };
        let dy = Rc::new(dy);
        self.down.defer(pass, sums, &dy, deferred);
        let mut dh = device.take(input.x.len());
        let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
        self.gate_up.backward_from(pass, to, FusedInput { x: &mut both, narrow });
        let mut h = device.take(tokens * self.gate_up.in_stride());
        let from = BackwardBeside { dy: &dh, added: &dy, normed: &mut h };
        norm_backward_beside(pass, input, from, gradients);
        let deferred = DeferredInput { x: &Rc::new(h), narrow: gate_up_narrow.as_ref() };
        self.gate_up.defer(pass, &mut gradients.sums, &Rc::new(both), deferred);
    }

    /// The gradients of the attention output and of the residual; the residual's buffer is replaced
    /// by one for the next gradient.
    pub(super) fn o_backward(
        &self,
        pass: &Pass<'_>,
        attended: &Rc<Buffer>,
        gradients: &mut LayerGradients<'_>,
    ) -> (Buffer, Rc<Buffer>) {
        let LayerGradients { dx, sums, .. } = gradients;
        let (tokens, width) = (attended.len() / self.o.in_stride(), pass.sizes.shape.width());
        let mut dy = self.taken_residual(pass, tokens, dx);
        let mut dattended = pass.device.take(tokens * width);
        let to = MatrixMut::new(dattended.view_mut(), tokens, width);
        self.o.backward(pass, to, &mut dy);
        let dy = Rc::new(dy);
        self.o.defer(pass, sums, &dy, DeferredInput { x: attended, narrow: None });
        (dattended, dy)
    }

    /// The residual's gradient, rows with room for the narrow products of the adapters of both
    /// projections that are added to it; a buffer of the same size takes its place, for the
    /// gradient before them.
    fn taken_residual(&self, pass: &Pass<'_>, tokens: usize, dx: &mut Buffer) -> Buffer {
        let (device, width) = (pass.device, pass.sizes.width);
        let stride = self.o.out_stride().max(self.down.out_stride());
        let old = std::mem::replace(dx, device.take(tokens * stride));
        if old.len() == tokens * stride {
            return old;
        }
        let from = Matrix::strided(old.view(), tokens, width, old.len() / tokens.max(1));
        let mut wide = device.take(tokens * stride);
        let to = MatrixMut::strided(wide.view_mut(), tokens, width, stride);
        copy_matrix(device, to, from);
        wide
    }

    pub(super) fn project_backward(
        &self,
        pass: &Pass<'_>,
        input: NormInput<'_>,
        dqkv: FusedGradient,
        gradients: &mut LayerGradients<'_>,
    ) {
        let (x0, width) = (input.x, pass.sizes.width);
        let tokens = x0.len() / width;
        let FusedGradient { mut dqkv, narrow, residual } = dqkv;
        if gradients.needed == Needed::Parameters {
            self.qkv.backward_narrow(pass, tokens, &mut dqkv);
            let h = Rc::new(Self::normed(pass, input, &self.qkv));
            let deferred = DeferredInput { x: &h, narrow: narrow.as_ref() };
            return self.qkv.defer(pass, &mut gradients.sums, &Rc::new(dqkv), deferred);
        }
        let mut dh = pass.device.take(x0.len());
        let to = MatrixMut::new(dh.view_mut(), tokens, width);
        self.qkv.backward(pass, to, &mut dqkv);
        let added = residual.as_ref().expect("fused projections left the residual's gradient");
        let mut h = pass.device.take(tokens * self.qkv.in_stride());
        let from = BackwardBeside { dy: &dh, added, normed: &mut h };
        norm_backward_beside(pass, input, from, gradients);
        let deferred = DeferredInput { x: &Rc::new(h), narrow: narrow.as_ref() };
        self.qkv.defer(pass, &mut gradients.sums, &Rc::new(dqkv), deferred);
    }
}
