//! One layer: attention and a gated network, each behind a norm and beside a residual.
//!
//! ```text
//! x1 = x0 + O·attend(turn(norm(Q·n1(x0))), turn(norm(K·n1(x0))), V·n1(x0))
//! x2 = x1 + Down·(silu(Gate·n2(x1)) · Up·n2(x1))
//! ```
//!
//! The activations saved for the backward pass are those that are expensive to recompute: the two
//! residuals, queries, keys and values, the attention output, the gate and the up projection and,
//! with fused projections, their narrow products; on CUDA also normed and rotated queries and keys.
//! Other norms, rotations and activation functions are recomputed, as are other narrow products. With
//! [`Keep::Input`] only `x0` is saved and the whole layer is recomputed.

// size: the parts of a layer's forward pass, with what each of them saves and where it lies, on both kinds of
// devices; the backward pass and fused projections have files of their own.

mod backward;
mod fused;
mod fused_projections;
mod heads;
mod norm_backward;

use std::rc::Rc;

pub(crate) use backward::norm_backward;
pub(crate) use fused::{FusedLayer, FusedNetwork};
pub(crate) use fused_projections::Fused;
pub(crate) use heads::QkNorm;
use heads::{HeadRange, both_norms, heads_of};
use whetstone_kernels::attention::{self, Shape};
use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::paged::{self, Cache};
use whetstone_kernels::qk_norm_rope::{self, Placing, PlacingInPages};
use whetstone_kernels::rms_norm::{self, Heads, Norm};
use whetstone_kernels::rope::{self, Angles, RopeTable, Rotate};
use whetstone_kernels::{Buffer, Matrix, MatrixMut, Offsets, View, WriteMode, swiglu};

use super::parameters::ParameterId;
use super::pass::{LayerSizes, Pass};
use super::projection::Projection;
use super::sums::GradientAccumulator;

/// A layer's places in the list of parameters.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) before_attention: ParameterId,
    pub(crate) q: Projection,
    pub(crate) k: Projection,
    pub(crate) v: Projection,
    pub(crate) qk_norm: Option<QkNorm>,
    pub(crate) o: Projection,
    pub(crate) before_network: ParameterId,
    pub(crate) gate: Projection,
    pub(crate) up: Projection,
    pub(crate) down: Projection,
    /// The same projections fused into products of several, where that was done.
    pub(crate) fused: Option<FusedLayer>,
}

/// Positions of tokens, and the table by which queries and keys are rotated at each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RopeInput<'a> {
    pub(crate) positions: View<'a, u32>,
    pub(crate) table: &'a RopeTable,
}

/// Packed tokens on their way through the layers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    pub(crate) offsets: Offsets<'a>,
    pub(crate) rope: RopeInput<'a>,
}

impl Packed<'_> {
    pub(crate) fn tokens(&self) -> usize {
        self.rope.positions.len()
    }
}

/// Rows in front of an RMS norm, and its gain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormInput<'a> {
    pub(crate) x: View<'a>,
    pub(crate) gain: ParameterId,
}

/// Gradients during the backward pass through the layers.
#[derive(Debug)]
pub(crate) struct LayerGradients<'a> {
    /// Of the residual stream.
    pub(crate) dx: Buffer,
    pub(crate) needed: Needed,
    /// Of the parameters.
    pub(crate) sums: GradientAccumulator<'a>,
}

/// The gradients of a layer that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needed {
    /// That of its input too.
    Input,
    /// Those of its parameters alone: nothing before it is trained. What is left of the residual's gradient
    /// means nothing then, where projections are fused.
    Parameters,
}

/// Positions of tokens, and places in pages for their keys and values.
#[derive(Debug)]
pub(crate) struct CachePositions<'a> {
    pub(crate) rope: RopeInput<'a>,
    pub(crate) cache: &'a mut Cache,
    pub(crate) layer: usize,
    pub(crate) slots: View<'a, u32>,
}

/// The activations that a layer saves for the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Those that are expensive to recompute.
    #[default]
    Most,
    /// Its input alone: a third more work, a tenth of the memory.
    Input,
}

/// Activations of a layer, saved for the backward pass.
#[derive(Debug)]
pub(crate) struct SavedActivations {
    x0: Buffer,
    rest: Option<SavedProjections>,
}

#[derive(Debug)]
struct SavedProjections {
    /// Before norms and turns if there are norms, else after turns.
    qkv: Buffer,
    /// Queries and keys after norms and turns, if one pass does both: values stay where they are.
    placed: Option<Buffer>,
    /// The adapters' narrow products of their input, with fused projections.
    qkv_narrow: Option<Rc<Buffer>>,
    attended: Buffer,
    lse: Buffer<f32>,
    x1: Buffer,
    network: Network,
}

/// Where queries and keys are after norms and rotations.
#[derive(Debug)]
enum Placed {
    /// Where they were.
    InPlace,
    /// In another buffer, with the values.
    Whole(Buffer),
    /// In another buffer, rows of queries and keys alone.
    WithoutValues(Buffer),
}

impl Placed {
    /// What is saved for the backward pass; the others are recomputed.
    fn kept(self) -> Option<Buffer> {
        match self {
            Self::WithoutValues(rotated) => Some(rotated),
            Self::InPlace | Self::Whole(_) => None,
        }
    }
}

/// Numbers of a row of queries and keys.
fn rotated_width(shape: &Shape) -> usize {
    (shape.heads + shape.kv_heads) * shape.size
}

/// The gate and what goes through it.
#[derive(Debug)]
pub(crate) enum Network {
    /// In separate buffers.
    Apart { gate: Buffer, up: Buffer },
    /// Side by side in each row.
    Together(FusedNetwork),
}

impl Layer {
    /// Takes `x0`, gives `x2`.
    pub(crate) fn forward(
        &self,
        pass: &Pass<'_>,
        packed: &Packed<'_>,
        x0: Buffer,
        keep: Option<Keep>,
    ) -> (Buffer, Option<SavedActivations>) {
        let (x2, rest) = self.compute(pass, packed, &x0);
        let kept =
            keep.map(|keep| SavedActivations { x0, rest: (keep == Keep::Most).then_some(rest) });
        (x2, kept)
    }

    fn compute(
        &self,
        pass: &Pass<'_>,
        packed: &Packed<'_>,
        x0: &Buffer,
    ) -> (Buffer, SavedProjections) {
        let (device, sizes, tokens) = (pass.device, pass.sizes, packed.tokens());
        let shape = &sizes.shape;
        let (mut qkv, qkv_narrow) = self.project_and_keep(pass, x0.view());
        let placed = self.place(pass, packed.rope, &mut qkv);
        let stride = self.attended_stride(sizes);
        let mut attended = device.take(tokens * stride);
        let mut lse = device.take(tokens * shape.heads);
        let to = MatrixMut::strided(attended.view_mut(), tokens, shape.width(), stride);
        let from = self.attention_input(sizes, &qkv, &placed);
        let output = attention::Output { out: to, lse: lse.view_mut() };
        let sequences = attention::Sequences { shape, offsets: packed.offsets };
        attention::forward(device, output, from, sequences);
        let placed = placed.kept();
        let x1 = self.after_attention(pass, x0, &mut attended);
        let (x2, network) = self.network(pass, &x1);
        (x2, SavedProjections { qkv, placed, qkv_narrow, attended, lse, x1, network })
    }

    /// Numbers between the beginnings of two rows of queries, keys and values.
    fn qkv_stride(&self, sizes: &LayerSizes) -> usize {
        let plain = || sizes.shape.packed_width();
        self.fused.as_ref().map_or_else(plain, |fused| fused.qkv.out_stride())
    }

    /// The row stride of the attention output.
    pub(crate) fn attended_stride(&self, sizes: &LayerSizes) -> usize {
        let plain = || sizes.shape.width();
        self.fused.as_ref().map_or_else(plain, |fused| fused.o.in_stride())
    }

    /// Rows of queries, keys and values.
    pub(crate) fn packed_rows<'b>(&self, sizes: &LayerSizes, qkv: &'b Buffer) -> Matrix<'b> {
        let stride = self.qkv_stride(sizes);
        Matrix::strided(qkv.view(), qkv.len() / stride, sizes.shape.packed_width(), stride)
    }

    /// What attention reads.
    fn attention_input<'b>(
        &self,
        sizes: &LayerSizes,
        qkv: &'b Buffer,
        placed: &'b Placed,
    ) -> attention::Packed<'b> {
        let own = self.packed_rows(sizes, qkv);
        match placed {
            Placed::InPlace => own.into(),
            Placed::Whole(all) => self.packed_rows(sizes, all).into(),
            Placed::WithoutValues(rotated) => {
                let width = rotated_width(&sizes.shape);
                let rows = Matrix::new(rotated.view(), rotated.len() / width, width);
                attention::Packed { qkv: rows, values: Some(own) }
            }
        }
    }

    /// `Q·n1(x)`, `K·n1(x)` and `V·n1(x)` side by side.
    pub(crate) fn project(&self, pass: &Pass<'_>, x0: View<'_>) -> Buffer {
        let sizes = pass.sizes;
        let input = NormInput { x: x0, gain: self.before_attention };
        if let Some(fused) = &self.fused {
            return fused.project(pass, input).0;
        }
        let h = normed(pass, input);
        let tokens = x0.len() / sizes.width;
        let mut qkv = pass.device.take(tokens * sizes.shape.packed_width());
        let h = Matrix::new(h.view(), tokens, sizes.width);
        let mut to = MatrixMut::new(qkv.view_mut(), tokens, sizes.shape.packed_width());
        for (projection, columns) in self.heads(sizes) {
            projection.forward(pass, to.columns(columns), WriteMode::Overwrite, h);
        }
        qkv
    }

    /// Queries, keys and values, and the adapters' narrow products of `n1(x)` with fused
    /// projections.
    fn project_and_keep(&self, pass: &Pass<'_>, x0: View<'_>) -> (Buffer, Option<Rc<Buffer>>) {
        let Some(fused) = &self.fused else { return (self.project(pass, x0), None) };
        let (qkv, h) = fused.project(pass, NormInput { x: x0, gain: self.before_attention });
        let narrow = fused.qkv.kept_narrow(pass, &h);
        (qkv, narrow)
    }

    /// The three projections and their columns.
    fn heads(&self, sizes: &LayerSizes) -> [(&Projection, std::ops::Range<usize>); 3] {
        let Shape { heads, kv_heads, size, .. } = sizes.shape;
        let (q, k) = (heads * size, (heads + kv_heads) * size);
        [(&self.q, 0..q), (&self.k, q..k), (&self.v, k..sizes.shape.packed_width())]
    }

    /// Norm and rotation of queries and keys: in place, or into other buffers if there are norms,
    /// whose backward pass needs their input.
    fn place(&self, pass: &Pass<'_>, rope: RopeInput<'_>, qkv: &mut Buffer) -> Placed {
        let (sizes, shape) = (pass.sizes, &pass.sizes.shape);
        let tokens = rope.positions.len();
        if let Some(placing) = self.placing(pass, rope) {
            let width = rotated_width(shape);
            let mut beside = pass.device.take(tokens * width);
            let to = MatrixMut::new(beside.view_mut(), tokens, width);
            qk_norm_rope::forward(pass.device, to, self.packed_rows(sizes, qkv), placing);
            return Placed::WithoutValues(beside);
        }
        let mut beside = self.qk_norm.map(|gains| {
            let mut to = pass.device.take(qkv.len());
            self.head_norms(pass, gains, &mut to, qkv.view());
            to
        });
        let to = beside.as_mut().unwrap_or(qkv);
        let stride = self.qkv_stride(sizes);
        let (_, both) = heads_of(tokens, stride, HeadRange::rotated(shape), shape);
        let RopeInput { positions, table } = rope;
        let angles = Angles { table, positions, direction: Rotate::Forward };
        rope::turn(pass.device, &mut to.view_mut(), both, angles);
        beside.map_or(Placed::InPlace, Placed::Whole)
    }

    /// Placed queries, keys and values; keys and values also into slots of a layer's pages.
    pub(crate) fn project_and_store(
        &self,
        pass: &Pass<'_>,
        x0: View<'_>,
        to: CachePositions<'_>,
    ) -> Buffer {
        let fused = self.fused.as_ref().filter(|fused| !fused.qkv.has_bias());
        if let (Some(fused), Some(placing)) = (fused, self.placing(pass, to.rope)) {
            let CachePositions { cache, layer, slots, .. } = to;
            let with = PlacingInPages { placing, cache, layer, slots };
            let input = NormInput { x: x0, gain: self.before_attention };
            return fused.project_and_store(pass, input, with);
        }
        self.place_and_store(pass, self.project(pass, x0), to)
    }

    /// Like [`Self::place`], and writes keys and values into slots of a layer's pages.
    fn place_and_store(&self, pass: &Pass<'_>, mut qkv: Buffer, to: CachePositions<'_>) -> Buffer {
        let sizes = pass.sizes;
        let CachePositions { rope, cache, layer, slots } = to;
        let Some(placing) = self.placing(pass, rope) else {
            let placed = match self.place(pass, rope, &mut qkv) {
                Placed::Whole(all) => all,
                Placed::InPlace | Placed::WithoutValues(_) => qkv,
            };
            let qkv = self.packed_rows(sizes, &placed);
            paged::store(pass.device, paged::Store { cache, layer, qkv, slots });
            return placed;
        };
        let (width, stride) = (sizes.shape.packed_width(), self.qkv_stride(sizes));
        let mut beside = pass.device.take(qkv.len());
        let to = MatrixMut::strided(beside.view_mut(), rope.positions.len(), width, stride);
        let with = PlacingInPages { placing, cache, layer, slots };
        qk_norm_rope::forward_and_store(pass.device, to, self.packed_rows(sizes, &qkv), with);
        beside
    }

    /// The arguments of a fused norm and rotation, if there are norms and the device has a kernel
    /// for both.
    fn placing<'b>(&self, pass: &Pass<'b>, rope: RopeInput<'b>) -> Option<Placing<'b>> {
        let QkNorm { q, k } = self.qk_norm?;
        let sizes = pass.sizes;
        let there = qk_norm_rope::is_there(pass.device, &sizes.shape, self.qkv_stride(sizes));
        there.then(|| Placing {
            shape: &sizes.shape,
            q_gain: pass.parameters.activations(q),
            k_gain: pass.parameters.activations(k),
            epsilon: sizes.epsilon,
            turns: rope.table,
            positions: rope.positions,
        })
    }

    fn head_norms(&self, pass: &Pass<'_>, gains: QkNorm, to: &mut Buffer, from: View<'_>) {
        let (sizes, shape) = (pass.sizes, &pass.sizes.shape);
        let width = self.qkv_stride(sizes);
        let tokens = from.len() / width;
        let mut view = to.view_mut();
        for (gain, heads) in both_norms(gains, shape) {
            let (begin, heads) = heads_of(tokens, width, heads, shape);
            let y = rms_norm::Output { data: view.part(begin..tokens * width), shape: heads };
            let x = rms_norm::Input { data: from.part(begin..from.len()), shape: heads };
            rms_norm::forward(pass.device, y, x, norm(pass, gain));
        }
        let values = self.heads(sizes)[2].1.clone();
        let from = Matrix::new(from, tokens, width).columns(values.clone());
        copy_matrix(pass.device, MatrixMut::new(view, tokens, width).columns(values), from);
    }

    /// `x0 + O·attended`.
    pub(crate) fn after_attention(
        &self,
        pass: &Pass<'_>,
        x0: &Buffer,
        attended: &mut Buffer,
    ) -> Buffer {
        if let Some(fused) = &self.fused {
            return fused.after_attention(pass, x0, attended);
        }
        let sizes = pass.sizes;
        let tokens = x0.len() / sizes.width;
        let mut x1 = pass.device.take(x0.len());
        pass.device.copy(&mut x1.view_mut(), x0.view());
        let attended = Matrix::new(attended.view(), tokens, sizes.shape.width());
        let to = MatrixMut::new(x1.view_mut(), tokens, sizes.width);
        self.o.forward(pass, to, WriteMode::Accumulate, attended);
        x1
    }

    /// `x1 + Down·(silu(Gate·n2(x1)) · Up·n2(x1))`, with the gate and what goes through it.
    pub(crate) fn network(&self, pass: &Pass<'_>, x1: &Buffer) -> (Buffer, Network) {
        let input = NormInput { x: x1.view(), gain: self.before_network };
        if let Some(fused) = &self.fused {
            let (x2, network) = fused.network(pass, input);
            return (x2, Network::Together(network));
        }
        let (device, sizes, tokens) = (pass.device, pass.sizes, x1.len() / pass.sizes.width);
        let h = normed(pass, input);
        let wide = || device.take(tokens * sizes.ffn);
        let (mut gate, mut up) = (wide(), wide());
        for (projection, to) in [(&self.gate, &mut gate), (&self.up, &mut up)] {
            let to = MatrixMut::new(to.view_mut(), tokens, sizes.ffn);
            let h = Matrix::new(h.view(), tokens, sizes.width);
            projection.forward(pass, to, WriteMode::Overwrite, h);
        }
        drop(h);
        let mut open = wide();
        swiglu::forward(device, &mut open.view_mut(), gate.view(), up.view());
        let mut x2 = device.take(x1.len());
        device.copy(&mut x2.view_mut(), x1.view());
        let open = Matrix::new(open.view(), tokens, sizes.ffn);
        let to = MatrixMut::new(x2.view_mut(), tokens, sizes.width);
        self.down.forward(pass, to, WriteMode::Accumulate, open);
        (x2, Network::Apart { gate, up })
    }
}

impl Layer {
    /// The first part of [`Self::network`] alone, for a layer that keeps nothing.
    pub(crate) fn network_output(&self, pass: &Pass<'_>, x1: &Buffer) -> Buffer {
        let input = NormInput { x: x1.view(), gain: self.before_network };
        let fused = self.fused.as_ref().filter(|fused| !fused.gate_up.has_bias());
        fused.map_or_else(|| self.network(pass, x1).0, |fused| fused.network_output(pass, input))
    }
}

fn norm<'a>(pass: &Pass<'a>, gain: ParameterId) -> Norm<'a> {
    Norm { gain: pass.parameters.activations(gain), epsilon: pass.sizes.epsilon }
}

/// Normed rows.
pub(crate) fn normed(pass: &Pass<'_>, input: NormInput<'_>) -> Buffer {
    let NormInput { x, gain } = input;
    let mut to = pass.device.take(x.len());
    let width = pass.sizes.width;
    let rows = Heads::rows(x.len() / width, width);
    let norm = norm(pass, gain);
    let output = rms_norm::Output { data: to.view_mut(), shape: rows };
    let input = rms_norm::Input { data: x, shape: rows };
    rms_norm::forward(pass.device, output, input, norm);
    to
}
