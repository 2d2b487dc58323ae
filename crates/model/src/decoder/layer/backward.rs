//! The way back through a layer: its pieces in reverse, what was not kept computed again.

use std::rc::Rc;

use whetstone_kernels::attention::{self, Saved};
use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::qk_norm_rope;
use whetstone_kernels::rms_norm::{self, Gradient, GradientBeside, Heads};
use whetstone_kernels::rope::{self, Angles, RopeTable, Rotate};
use whetstone_kernels::{Buffer, Matrix, MatrixMut, View, WriteMode, swiglu};

use super::fused::FusedGradient;
use super::{
    Layer, Network, Packed, SavedActivations, SavedProjections, Sizes, both_norms, heads_of, norm,
    normed,
};
use crate::decoder::parameters::ParameterId;
use crate::decoder::projection::Pass;
use crate::decoder::sums::GradientAccumulator;

impl Layer {
    /// Turns the gradient of `x2` into that of `x0`, and adds to those of the parameters.
    pub(crate) fn backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (packed, kept): (&Packed<'_>, SavedActivations),
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        let SavedActivations { x0, rest } = kept;
        let rest = rest.unwrap_or_else(|| self.compute(pass, sizes, (packed, &x0)).1);
        let SavedProjections { mut qkv, qkv_narrow, attended, lse, x1, network } = rest;
        let attended = Rc::new(attended);
        self.network_backward(pass, sizes, (x1, network), (dx, sums));
        let (dattended, residual) = self.o_backward(pass, sizes, &attended, (dx, sums));
        let positions = (packed.positions, packed.turns);
        let turned = match self.qk_norm {
            Some(_) => self.place(pass, sizes, positions, &mut qkv),
            None => None,
        };
        let (tokens, shape) = (packed.tokens(), &sizes.shape);
        let stride = self.qkv_stride(sizes);
        let mut dqkv = pass.device.take(tokens * stride);
        let out_stride = self.attended_stride(sizes);
        let saved = Saved {
            qkv: self.packed_rows(sizes, turned.as_ref().unwrap_or(&qkv)),
            out: Matrix::strided(attended.view(), tokens, shape.width(), out_stride),
            dout: Matrix::new(dattended.view(), tokens, shape.width()),
            lse: lse.view(),
        };
        let to = MatrixMut::strided(dqkv.view_mut(), tokens, shape.packed_width(), stride);
        let sequences = attention::Sequences { shape, offsets: packed.offsets };
        attention::backward(pass.device, to, saved, sequences);
        drop((turned, attended, dattended, lse));
        let dqkv = self.place_backward(pass, sizes, (positions, &qkv), (dqkv, sums));
        drop(qkv);
        let dqkv = FusedGradient { dqkv, narrow: qkv_narrow, residual };
        self.project_backward(pass, sizes, (&x0, dqkv), (dx, sums));
        sums.flush();
    }

    fn network_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x1, network): (Buffer, Network),
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        let (mut gate, mut up) = match (network, &self.fused) {
            (Network::Apart { gate, up }, _) => (gate, up),
            (Network::Together(network), fused) => {
                let fused = fused.as_ref().expect("rows of both come from fused projections");
                let known = (x1, self.before_network, network);
                return fused.network_backward(pass, sizes, known, (dx, sums));
            }
        };
        let (device, tokens) = (pass.device, x1.len() / sizes.width);
        let mut open = device.take(tokens * sizes.ffn);
        let narrow = {
            let to = MatrixMut::new(open.view_mut(), tokens, sizes.ffn);
            let dy = Matrix::new(dx.view(), tokens, sizes.width);
            self.down.backward_input(pass, (to, WriteMode::Overwrite), dy)
        };
        let (gate_view, up_view) = (&mut gate.view_mut(), &mut up.view_mut());
        swiglu::backward(device, &mut open.view_mut(), gate_view, up_view);
        let x = Matrix::new(open.view(), tokens, sizes.ffn);
        let dy = Matrix::new(dx.view(), tokens, sizes.width);
        self.down.backward_weights(pass, sums, (x, dy, narrow));
        drop(open);
        let h = normed(pass, sizes, (x1.view(), self.before_network));
        let mut dh = device.take(x1.len());
        let mut mode = WriteMode::Overwrite;
        for (projection, dy) in [(&self.gate, gate), (&self.up, up)] {
            let dy = Matrix::new(dy.view(), tokens, sizes.ffn);
            let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
            let narrow = projection.backward_input(pass, (to, mode), dy);
            let x = Matrix::new(h.view(), tokens, sizes.width);
            projection.backward_weights(pass, sums, (x, dy, narrow));
            mode = WriteMode::Accumulate;
        }
        norm_backward(pass, sizes, (self.before_network, &x1, &dh), (dx, sums));
    }

    fn o_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        attended: &Rc<Buffer>,
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) -> (Buffer, Option<Rc<Buffer>>) {
        if let Some(fused) = &self.fused {
            let (dattended, residual) = fused.o_backward(pass, sizes, attended, dx, sums);
            return (dattended, Some(residual));
        }
        let (tokens, width) = (dx.len() / sizes.width, sizes.shape.width());
        let mut dattended = pass.device.take(attended.len());
        let dy = Matrix::new(dx.view(), tokens, sizes.width);
        let to = MatrixMut::new(dattended.view_mut(), tokens, width);
        let narrow = self.o.backward_input(pass, (to, WriteMode::Overwrite), dy);
        let x = Matrix::new(attended.view(), tokens, width);
        self.o.backward_weights(pass, sums, (x, dy, narrow));
        (dattended, None)
    }

    /// Back through turns and norms.
    fn place_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        ((positions, turns), qkv): ((View<'_, u32>, &RopeTable), &Buffer),
        (mut dqkv, sums): (Buffer, &mut GradientAccumulator<'_>),
    ) -> Buffer {
        let (device, tokens, shape) = (pass.device, positions.len(), &sizes.shape);
        let width = self.qkv_stride(sizes);
        let trained = self.qk_norm.is_some_and(|(q, k)| sums.is_trained(q) || sums.is_trained(k));
        if let Some(placing) = self.placing(pass, sizes, (positions, turns)).filter(|_| !trained) {
            let d = MatrixMut::strided(dqkv.view_mut(), tokens, shape.packed_width(), width);
            qk_norm_rope::backward(device, d, self.packed_rows(sizes, qkv), placing);
            return dqkv;
        }
        let (_, both) = heads_of((tokens, width), (0, shape.heads + shape.kv_heads), shape);
        let angles = Angles { table: turns, positions, direction: Rotate::Inverse };
        rope::turn(device, &mut dqkv.view_mut(), both, angles);
        let Some(gains) = self.qk_norm else { return dqkv };
        let mut to = device.take(dqkv.len());
        for (gain, heads) in both_norms(gains, shape) {
            let (begin, heads) = heads_of((tokens, width), heads, shape);
            let end = tokens * width;
            let mut view = to.view_mut();
            let gradient = Gradient {
                dx: view.part(begin..end),
                mode: WriteMode::Overwrite,
                dgain: sums.gain(gain),
            };
            let x = rms_norm::Input { data: qkv.view().part(begin..end), shape: heads };
            let dy = rms_norm::Input { data: dqkv.view().part(begin..end), shape: heads };
            let saved = rms_norm::Saved { x, dy };
            rms_norm::backward(device, gradient, saved, norm(pass, sizes, gain));
        }
        let values = self.heads(sizes)[2].1.clone();
        let from = Matrix::new(dqkv.view(), tokens, width).columns(values.clone());
        copy_matrix(device, MatrixMut::new(to.view_mut(), tokens, width).columns(values), from);
        to
    }

    fn project_backward(
        &self,
        pass: &Pass<'_>,
        sizes: &Sizes,
        (x0, dqkv): (&Buffer, FusedGradient),
        (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        if let Some(fused) = &self.fused {
            let known = (x0, self.before_attention, dqkv);
            return fused.project_backward(pass, sizes, known, (dx, sums));
        }
        let (tokens, dqkv) = (x0.len() / sizes.width, dqkv.dqkv);
        let h = normed(pass, sizes, (x0.view(), self.before_attention));
        let mut dh = pass.device.take(x0.len());
        let mut mode = WriteMode::Overwrite;
        for (projection, columns) in self.heads(sizes) {
            let dy = Matrix::new(dqkv.view(), tokens, sizes.shape.packed_width()).columns(columns);
            let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
            let narrow = projection.backward_input(pass, (to, mode), dy);
            let x = Matrix::new(h.view(), tokens, sizes.width);
            projection.backward_weights(pass, sums, (x, dy, narrow));
            mode = WriteMode::Accumulate;
        }
        norm_backward(pass, sizes, (self.before_attention, x0, &dh), (dx, sums));
    }
}

/// Adds what comes back through a norm to the residual's gradient.
pub(crate) fn norm_backward(
    pass: &Pass<'_>,
    sizes: &Sizes,
    (gain, x, dy): (ParameterId, &Buffer, &Buffer),
    (dx, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
) {
    let rows = Heads::rows(x.len() / sizes.width, sizes.width);
    let gradient =
        Gradient { dx: dx.view_mut(), mode: WriteMode::Accumulate, dgain: sums.gain(gain) };
    let norm = norm(pass, sizes, gain);
    let x = rms_norm::Input { data: x.view(), shape: rows };
    let dy = rms_norm::Input { data: dy.view(), shape: rows };
    rms_norm::backward(pass.device, gradient, rms_norm::Saved { x, dy }, norm);
}

/// What comes back through a norm, and what it is added to: rows as wide as `x`, which may lie further apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormBack<'a> {
    pub(super) gain: ParameterId,
    pub(super) x: &'a Buffer,
    pub(super) dy: &'a Buffer,
    pub(super) added: &'a Buffer,
}

/// The sum of what comes back through a norm and the residual's gradient, in another buffer.
pub(super) fn norm_backward_beside(
    pass: &Pass<'_>,
    sizes: &Sizes,
    back: NormBack<'_>,
    dx: &mut Buffer,
    sums: &mut GradientAccumulator<'_>,
) {
    let NormBack { gain, x, dy, added } = back;
    let rows = Heads::rows(x.len() / sizes.width, sizes.width);
    let apart = |length: usize| Heads { stride: length / rows.rows.max(1), ..rows };
    let to = apart(dx.len());
    let gradient = GradientBeside {
        dx: rms_norm::Output { data: dx.view_mut(), shape: to },
        added: rms_norm::Input { data: added.view(), shape: apart(added.len()) },
        dgain: sums.gain(gain),
    };
    let x = rms_norm::Input { data: x.view(), shape: rows };
    let dy = rms_norm::Input { data: dy.view(), shape: rows };
    let norm = norm(pass, sizes, gain);
    rms_norm::backward_beside(pass.device, gradient, rms_norm::Saved { x, dy }, norm);
}
