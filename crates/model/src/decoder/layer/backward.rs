//! The backward pass of a layer: its parts in reverse; activations that were not saved are
//! recomputed.

use std::rc::Rc;

use whetstone_kernels::attention::{self, Saved};
use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::qk_norm_rope;
use whetstone_kernels::rms_norm::{self, Gradient, Heads};
use whetstone_kernels::rope::{self, Angles, Rotate};
use whetstone_kernels::{Buffer, Matrix, MatrixMut, WriteMode, swiglu};

use super::fused::FusedGradient;
use super::heads::{HeadRange, QkNorm, both_norms, heads_of};
use super::{
    Layer, LayerGradients, Network, NormInput, Packed, RopeInput, SavedActivations,
    SavedProjections, norm, normed,
};
use crate::decoder::pass::Pass;
use crate::decoder::projection::WeightBackward;
use crate::decoder::sums::GradientAccumulator;

/// Queries, keys and values before norms and rotations, and the gradient of what came out of these.
struct QkvGradient<'a> {
    qkv: &'a Buffer,
    dqkv: Buffer,
}

impl Layer {
    /// Turns the gradient of `x2` into that of `x0`, and adds to those of the parameters.
    pub(crate) fn backward(
        &self,
        pass: &Pass<'_>,
        packed: &Packed<'_>,
        kept: SavedActivations,
        gradients: &mut LayerGradients<'_>,
    ) {
        let sizes = pass.sizes;
        let SavedActivations { x0, rest } = kept;
        let rest = rest.unwrap_or_else(|| self.compute(pass, packed, &x0).1);
        let SavedProjections { mut qkv, qkv_narrow, attended, lse, x1, network } = rest;
        let attended = Rc::new(attended);
        self.network_backward(pass, &x1, network, gradients);
        drop(x1);
        let (dattended, residual) = self.o_backward(pass, &attended, gradients);
        let turned = match self.qk_norm {
            Some(_) => self.place(pass, packed.rope, &mut qkv),
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
        let from = QkvGradient { qkv: &qkv, dqkv };
        let dqkv = self.place_backward(pass, packed.rope, from, &mut gradients.sums);
        drop(qkv);
        let dqkv = FusedGradient { dqkv, narrow: qkv_narrow, residual };
        self.project_backward(pass, &x0, dqkv, gradients);
        gradients.sums.flush();
    }

    fn network_backward(
        &self,
        pass: &Pass<'_>,
        x1: &Buffer,
        network: Network,
        gradients: &mut LayerGradients<'_>,
    ) {
        let input = NormInput { x: x1.view(), gain: self.before_network };
        let (mut gate, mut up) = match (network, &self.fused) {
            (Network::Apart { gate, up }, _) => (gate, up),
            (Network::Together(network), fused) => {
                let fused = fused.as_ref().expect("rows of both come from fused projections");
                return fused.network_backward(pass, input, network, gradients);
            }
        };
        let LayerGradients { dx, sums, .. } = &mut *gradients;
        let (device, sizes, tokens) = (pass.device, pass.sizes, x1.len() / pass.sizes.width);
        let mut open = device.take(tokens * sizes.ffn);
        let du = {
            let to = MatrixMut::new(open.view_mut(), tokens, sizes.ffn);
            let dy = Matrix::new(dx.view(), tokens, sizes.width);
            self.down.backward_input(pass, to, WriteMode::Overwrite, dy)
        };
        let (gate_view, up_view) = (&mut gate.view_mut(), &mut up.view_mut());
        swiglu::backward(device, &mut open.view_mut(), gate_view, up_view);
        let x = Matrix::new(open.view(), tokens, sizes.ffn);
        let dy = Matrix::new(dx.view(), tokens, sizes.width);
        self.down.backward_weights(pass, sums, WeightBackward { x, dy, du });
        drop(open);
        let h = normed(pass, input);
        let mut dh = device.take(x1.len());
        let mut mode = WriteMode::Overwrite;
        for (projection, dy) in [(&self.gate, gate), (&self.up, up)] {
            let dy = Matrix::new(dy.view(), tokens, sizes.ffn);
            let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
            let du = projection.backward_input(pass, to, mode, dy);
            let x = Matrix::new(h.view(), tokens, sizes.width);
            projection.backward_weights(pass, sums, WeightBackward { x, dy, du });
            mode = WriteMode::Accumulate;
        }
        norm_backward(pass, input, &dh, gradients);
    }

    fn o_backward(
        &self,
        pass: &Pass<'_>,
        attended: &Rc<Buffer>,
        gradients: &mut LayerGradients<'_>,
    ) -> (Buffer, Option<Rc<Buffer>>) {
        if let Some(fused) = &self.fused {
            let (dattended, residual) = fused.o_backward(pass, attended, gradients);
            return (dattended, Some(residual));
        }
        let LayerGradients { dx, sums, .. } = gradients;
        let sizes = pass.sizes;
        let (tokens, width) = (dx.len() / sizes.width, sizes.shape.width());
        let mut dattended = pass.device.take(attended.len());
        let dy = Matrix::new(dx.view(), tokens, sizes.width);
        let to = MatrixMut::new(dattended.view_mut(), tokens, width);
        let du = self.o.backward_input(pass, to, WriteMode::Overwrite, dy);
        let x = Matrix::new(attended.view(), tokens, width);
        self.o.backward_weights(pass, sums, WeightBackward { x, dy, du });
        (dattended, None)
    }

    /// Back through turns and norms.
    fn place_backward(
        &self,
        pass: &Pass<'_>,
        rope: RopeInput<'_>,
        from: QkvGradient<'_>,
        sums: &mut GradientAccumulator<'_>,
    ) -> Buffer {
        let QkvGradient { qkv, mut dqkv } = from;
        let (device, sizes, tokens) = (pass.device, pass.sizes, rope.positions.len());
        let shape = &sizes.shape;
        let width = self.qkv_stride(sizes);
        let trained = |QkNorm { q, k }| sums.is_trained(q) || sums.is_trained(k);
        let trained = self.qk_norm.is_some_and(trained);
        if let Some(placing) = self.placing(pass, rope).filter(|_| !trained) {
            let d = MatrixMut::strided(dqkv.view_mut(), tokens, shape.packed_width(), width);
            qk_norm_rope::backward(device, d, self.packed_rows(sizes, qkv), placing);
            return dqkv;
        }
        let (_, both) = heads_of(tokens, width, HeadRange::rotated(shape), shape);
        let RopeInput { positions, table } = rope;
        let angles = Angles { table, positions, direction: Rotate::Inverse };
        rope::turn(device, &mut dqkv.view_mut(), both, angles);
        let Some(gains) = self.qk_norm else { return dqkv };
        let mut to = device.take(dqkv.len());
        for (gain, heads) in both_norms(gains, shape) {
            let (begin, heads) = heads_of(tokens, width, heads, shape);
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
            rms_norm::backward(device, gradient, saved, norm(pass, gain));
        }
        let values = self.heads(sizes)[2].1.clone();
        let from = Matrix::new(dqkv.view(), tokens, width).columns(values.clone());
        copy_matrix(device, MatrixMut::new(to.view_mut(), tokens, width).columns(values), from);
        to
    }

    fn project_backward(
        &self,
        pass: &Pass<'_>,
        x0: &Buffer,
        dqkv: FusedGradient,
        gradients: &mut LayerGradients<'_>,
    ) {
        let input = NormInput { x: x0.view(), gain: self.before_attention };
        if let Some(fused) = &self.fused {
            return fused.project_backward(pass, input, dqkv, gradients);
        }
        let sums = &mut gradients.sums;
        let sizes = pass.sizes;
        let (tokens, dqkv) = (x0.len() / sizes.width, dqkv.dqkv);
        let h = normed(pass, input);
        let mut dh = pass.device.take(x0.len());
        let mut mode = WriteMode::Overwrite;
        for (projection, columns) in self.heads(sizes) {
            let dy = Matrix::new(dqkv.view(), tokens, sizes.shape.packed_width()).columns(columns);
            let to = MatrixMut::new(dh.view_mut(), tokens, sizes.width);
            let du = projection.backward_input(pass, to, mode, dy);
            let x = Matrix::new(h.view(), tokens, sizes.width);
            projection.backward_weights(pass, sums, WeightBackward { x, dy, du });
            mode = WriteMode::Accumulate;
        }
        norm_backward(pass, input, &dh, gradients);
    }
}

/// Adds what comes back through a norm to the residual's gradient.
pub(crate) fn norm_backward(
    pass: &Pass<'_>,
    input: NormInput<'_>,
    dy: &Buffer,
    gradients: &mut LayerGradients<'_>,
) {
    let NormInput { x, gain } = input;
    let LayerGradients { dx, sums, .. } = gradients;
    let width = pass.sizes.width;
    let rows = Heads::rows(x.len() / width, width);
    let gradient =
        Gradient { dx: dx.view_mut(), mode: WriteMode::Accumulate, dgain: sums.gain(gain) };
    let x = rms_norm::Input { data: x, shape: rows };
    let dy = rms_norm::Input { data: dy.view(), shape: rows };
    rms_norm::backward(pass.device, gradient, rms_norm::Saved { x, dy }, norm(pass, gain));
}
