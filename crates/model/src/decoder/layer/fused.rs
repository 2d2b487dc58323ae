//! The projections of a layer as four products of augmented weights: on CUDA, where the model's own
//! weights are frozen (`whetstone_kernels::fused_linear`).
//!
//! Rows of what goes into a product have room for what an adapter makes of them, and rows of what comes
//! back for its gradient: such buffers are wider than what they are named after. The gradients of a
//! layer's adapters are added in one launch, when the layer is done.

use std::ops::Range;
use std::rc::Rc;

use whetstone_kernels::add::bias;
use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::fused_linear::{
    self, AugmentedWeight, FusedWeight, Narrow, Part, Sizes as Widths,
};
use whetstone_kernels::rms_norm::{self, Heads};
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, View, swiglu};

use super::backward::{NormBack, norm_backward_beside};
use super::{Sizes, norm};
use crate::decoder::parameters::{ParameterId, Parameters};
use crate::decoder::projection::{Adapter, Adapters, Pass, Projection};
use crate::decoder::sums::{Columns, GradientAccumulator, Pending};

/// Narrow parts begin at multiples of so many columns.
const NARROW_STEP: usize = 8;

/// The four products of a layer.
#[derive(Debug, Clone)]
pub(crate) struct FusedLayer {
    pub(crate) qkv: Fused,
    pub(crate) o: Fused,
    pub(crate) gate_up: Fused,
    pub(crate) down: Fused,
}

/// Projections of one input.
#[derive(Debug, Clone)]
pub(crate) struct Fused {
    weight: AugmentedWeight,
    members: Vec<Member>,
}

/// One of them: its columns of the result, and of what is narrow if it has an adapter.
#[derive(Debug, Clone)]
struct Member {
    outputs: Range<usize>,
    bias: Option<ParameterId>,
    adapter: Option<(Adapter, Range<usize>)>,
}

impl Fused {
    /// Moves the weights into one matrix; none if one of them is not frozen as a whole, or adapters
    /// differ in their scale.
    pub(crate) fn new(
        device: &Device,
        parameters: &mut Parameters,
        projections: &[Projection],
    ) -> Option<Self> {
        let frozen = projections.iter().all(|it| parameters.is_frozen(it.weight));
        let scales: Vec<f32> =
            projections.iter().filter_map(|it| it.adapter).map(|adapter| adapter.scale).collect();
        let scale = scales.first().copied().unwrap_or(1.0);
        if !frozen || scales.iter().any(|other| other.to_bits() != scale.to_bits()) {
            return None;
        }
        let shape = |id: ParameterId| (parameters.get(id).shape[0], parameters.get(id).shape[1]);
        let (mut outputs, mut narrow) = (0, 0);
        let members: Vec<Member> = projections
            .iter()
            .map(|it| {
                let first = outputs;
                outputs += shape(it.weight).0;
                let adapter = it.adapter.map(|adapter| {
                    let (begin, rank) = (narrow, shape(adapter.a).0);
                    narrow = (begin + rank).next_multiple_of(NARROW_STEP);
                    (adapter, begin..begin + rank)
                });
                Member { outputs: first..outputs, bias: it.bias, adapter }
            })
            .collect();
        let inputs = shape(projections.first()?.weight).1;
        let parts = members.iter().map(|member| Part {
            outputs: member.outputs.clone(),
            narrow: member.adapter.as_ref().map_or(0..0, |(_, own)| own.clone()),
        });
        let weight = AugmentedWeight::new(device, Widths { outputs, inputs, narrow }, scale)
            .with_parts(parts.collect());
        for (it, member) in projections.iter().zip(&members) {
            let first = member.outputs.start;
            parameters.move_to(device, it.weight, weight.weight(first));
            if let Some((adapter, own)) = &member.adapter {
                parameters.move_to(device, adapter.a, weight.first_half(own.start));
                parameters.move_to(device, adapter.b, weight.second_half(first, own.start));
            }
        }
        Some(Self { weight, members })
    }

    fn widths(&self) -> Widths {
        self.weight.sizes()
    }

    /// Numbers of a row that goes in.
    pub(super) fn in_stride(&self) -> usize {
        self.widths().stride()
    }

    /// Numbers of a row that comes out, or comes back.
    pub(super) fn out_stride(&self) -> usize {
        self.widths().outputs + self.widths().narrow
    }

    /// Whether a bias is added to a result.
    pub(super) fn has_bias(&self) -> bool {
        self.members.iter().any(|member| member.bias.is_some())
    }

    fn part(&self, pass: &Pass<'_>) -> Narrow {
        match pass.adapters {
            Adapters::On if self.widths().narrow > 0 => Narrow::With,
            _ => Narrow::Without,
        }
    }

    fn fused_weight(&self, pass: &Pass<'_>) -> FusedWeight<'_> {
        FusedWeight { weight: &self.weight, narrow: self.part(pass) }
    }

    /// `y` of rows that have room.
    pub(super) fn forward(
        &self,
        pass: &Pass<'_>,
        mut y: MatrixMut<'_>,
        x: &mut Buffer,
        residual: Option<View<'_>>,
    ) {
        let stride = self.in_stride();
        let rows = x.len() / stride;
        let mut x = MatrixMut::new(x.view_mut(), rows, stride);
        let residual = residual.map(|all| Matrix::new(all, rows, self.widths().outputs));
        let output = fused_linear::Output { y: y.reborrow(), residual };
        fused_linear::forward(pass.device, output, &mut x, self.fused_weight(pass));
        for member in &self.members {
            if let Some(id) = member.bias {
                let columns = y.columns(member.outputs.clone());
                bias(pass.device, columns, pass.parameters.activations(id));
            }
        }
    }

    /// `dx` of rows that have room.
    pub(super) fn backward(&self, pass: &Pass<'_>, dx: MatrixMut<'_>, dy: &mut Buffer) {
        let rows = dx.view().rows();
        let stride = dy.len() / rows.max(1);
        let mut dy = MatrixMut::strided(dy.view_mut(), rows, self.out_stride(), stride);
        fused_linear::backward(pass.device, dx, &mut dy, self.fused_weight(pass));
    }

    /// What adapters made of rows, kept for their gradients; it lies beside them.
    pub(super) fn kept_narrow(&self, pass: &Pass<'_>, x: &Buffer) -> Option<Rc<Buffer>> {
        let Widths { inputs, narrow, .. } = self.widths();
        (self.part(pass) == Narrow::With).then(|| {
            let stride = self.in_stride();
            let rows = x.len() / stride;
            let mut to = pass.device.take(rows * narrow);
            let from = Matrix::new(x.view(), rows, stride).columns(inputs..stride);
            copy_matrix(pass.device, MatrixMut::new(to.view_mut(), rows, narrow), from);
            Rc::new(to)
        })
    }

    /// The gradients of adapters wait for the end of the layer. `narrow` is what adapters made of `x`, if it
    /// does not lie beside it.
    pub(super) fn defer(
        &self,
        pass: &Pass<'_>,
        sums: &mut GradientAccumulator<'_>,
        dy: &Rc<Buffer>,
        input: DeferredInput<'_>,
    ) {
        if self.part(pass) == Narrow::Without {
            return;
        }
        let Widths { outputs, inputs, narrow } = self.widths();
        let DeferredInput { x, narrow: kept } = input;
        let rows = x.len() / self.in_stride();
        let of_dy = |columns: Range<usize>| Columns {
            buffer: Rc::clone(dy),
            stride: dy.len() / rows.max(1),
            range: columns,
        };
        let of_x =
            |columns| Columns { buffer: Rc::clone(x), stride: self.in_stride(), range: columns };
        for (member, adapter, own) in self
            .members
            .iter()
            .filter_map(|it| it.adapter.as_ref().map(|(adapter, own)| (it, adapter, own)))
        {
            let narrow = match kept {
                None => of_x(inputs + own.start..inputs + own.end),
                Some(kept) => {
                    Columns { buffer: Rc::clone(kept), stride: narrow, range: own.clone() }
                }
            };
            let back = outputs + own.start..outputs + own.end;
            let dy_own = of_dy(member.outputs.clone());
            sums.defer(Pending { id: adapter.b, dy: dy_own, x: narrow });
            sums.defer(Pending { id: adapter.a, dy: of_dy(back), x: of_x(0..inputs) });
        }
    }
}

/// Rows that went into a product, and what adapters made of them if that lies elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeferredInput<'a> {
    x: &'a Rc<Buffer>,
    narrow: Option<&'a Rc<Buffer>>,
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
