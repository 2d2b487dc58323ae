//! Projections of one input as one product of augmented weights, there and back.

use std::ops::Range;
use std::rc::Rc;

use whetstone_kernels::add::bias;
use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::fused_linear::{
    self, AdapterRange, AugmentedWeight, FusedWeight, Narrow, Sizes as Widths,
};
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, View};

use crate::decoder::parameters::{ParameterId, Parameters};
use crate::decoder::pass::{Adapters, Pass};
use crate::decoder::projection::{Adapter, Projection};
use crate::decoder::sums::{Columns, GradientAccumulator, PendingProduct};

/// Narrow parts begin at multiples of this many columns.
const NARROW_STEP: usize = 8;

/// Projections of one input.
#[derive(Debug, Clone)]
pub(crate) struct Fused {
    weight: AugmentedWeight,
    members: Vec<FusedMember>,
}

/// One of them: its columns of the result, and of the narrow product if it has an adapter.
#[derive(Debug, Clone)]
struct FusedMember {
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
        let frozen = projections.iter().all(|projection| parameters.is_frozen(projection.weight));
        let adapters = projections.iter().filter_map(|projection| projection.adapter);
        let scales: Vec<f32> = adapters.map(|adapter| adapter.scale).collect();
        let scale = scales.first().copied().unwrap_or(1.0);
        if !frozen || scales.iter().any(|other| other.to_bits() != scale.to_bits()) {
            return None;
        }
        let shape = |id: ParameterId| (parameters.get(id).shape[0], parameters.get(id).shape[1]);
        let (mut outputs, mut narrow) = (0, 0);
        let members: Vec<FusedMember> = projections
            .iter()
            .map(|projection| {
                let first = outputs;
                outputs += shape(projection.weight).0;
                let adapter = projection.adapter.map(|adapter| {
                    let (begin, rank) = (narrow, shape(adapter.a).0);
                    narrow = (begin + rank).next_multiple_of(NARROW_STEP);
                    (adapter, begin..begin + rank)
                });
                FusedMember { outputs: first..outputs, bias: projection.bias, adapter }
            })
            .collect();
        let inputs = shape(projections.first()?.weight).1;
        let parts = members.iter().map(|member| AdapterRange {
            outputs: member.outputs.clone(),
            narrow: member.adapter.as_ref().map_or(0..0, |(_, own)| own.clone()),
        });
        let weight = AugmentedWeight::new(device, Widths { outputs, inputs, narrow }, scale)
            .with_parts(parts.collect());
        for (projection, member) in projections.iter().zip(&members) {
            parameters.move_to(device, projection.weight, weight.weight(member.outputs.start));
        }
        Some(Self { weight, members })
    }

    /// The same matrix with other adapters in the places of these; none if they do not have the same
    /// sizes, or another scale.
    pub(crate) fn sharing(
        &self,
        parameters: &Parameters,
        projections: &[Projection],
    ) -> Option<Self> {
        let rank = |adapter: &Adapter| parameters.get(adapter.a).shape[0];
        let members = self.members.iter().zip(projections).map(|(member, projection)| {
            let adapter = match (&member.adapter, projection.adapter) {
                (None, None) => None,
                (Some((theirs, own)), Some(ours))
                    if rank(theirs) == rank(&ours)
                        && theirs.scale.to_bits() == ours.scale.to_bits() =>
                {
                    Some((ours, own.clone()))
                }
                _ => return None,
            };
            Some(FusedMember { adapter, ..member.clone() })
        });
        Some(Self { weight: self.weight.clone(), members: members.collect::<Option<_>>()? })
    }

    /// Moves what products use of the adapters into the matrix.
    pub(crate) fn move_adapters_in(&self, device: &Device, parameters: &mut Parameters) {
        for member in &self.members {
            if let Some((adapter, own)) = &member.adapter {
                let first = member.outputs.start;
                parameters.move_to(device, adapter.a, self.weight.first_half(own.start));
                parameters.move_to(device, adapter.b, self.weight.second_half(first, own.start));
            }
        }
    }

    /// Moves what products use of the adapters out of the matrix, which another adapter will use.
    pub(crate) fn move_adapters_out(&self, device: &Device, parameters: &mut Parameters) {
        for (adapter, _) in self.members.iter().filter_map(|member| member.adapter.as_ref()) {
            parameters.move_apart(device, adapter.a);
            parameters.move_apart(device, adapter.b);
        }
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

    pub(super) fn fused_weight(&self, pass: &Pass<'_>) -> FusedWeight<'_> {
        FusedWeight { weight: &self.weight, narrow: self.part(pass) }
    }

    /// `y` of rows that have room.
    pub(super) fn forward(
        &self,
        pass: &Pass<'_>,
        y: MatrixMut<'_>,
        x: &mut Buffer,
        residual: Option<View<'_>>,
    ) {
        let input = FusedInput { x, narrow: self.part(pass) };
        self.forward_from(pass, y, input, residual);
    }

    /// Like [`Self::forward`], but what is narrow may be ready.
    pub(super) fn forward_from(
        &self,
        pass: &Pass<'_>,
        mut y: MatrixMut<'_>,
        input: FusedInput<'_>,
        residual: Option<View<'_>>,
    ) {
        let FusedInput { x, narrow } = input;
        let stride = self.in_stride();
        let rows = x.len() / stride;
        let mut x = MatrixMut::new(x.view_mut(), rows, stride);
        let residual = residual.map(|all| Matrix::new(all, rows, self.widths().outputs));
        let output = fused_linear::Output { y: y.reborrow(), residual };
        let fused = FusedWeight { weight: &self.weight, narrow };
        fused_linear::forward(pass.device, output, &mut x, fused);
        for member in &self.members {
            if let Some(id) = member.bias {
                let columns = y.columns(member.outputs.clone());
                bias(pass.device, columns, pass.parameters.activations(id));
            }
        }
    }

    /// `dx` of rows that have room.
    pub(super) fn backward(&self, pass: &Pass<'_>, dx: MatrixMut<'_>, dy: &mut Buffer) {
        self.backward_from(pass, dx, FusedInput { x: dy, narrow: self.part(pass) });
    }

    /// Like [`Self::backward`], but what is narrow may be ready.
    pub(super) fn backward_from(&self, pass: &Pass<'_>, dx: MatrixMut<'_>, dy: FusedInput<'_>) {
        let FusedInput { x: dy, narrow } = dy;
        let rows = dx.view().rows();
        let stride = dy.len() / rows.max(1);
        let mut dy = MatrixMut::strided(dy.view_mut(), rows, self.out_stride(), stride);
        let fused = FusedWeight { weight: &self.weight, narrow };
        fused_linear::backward(pass.device, dx, &mut dy, fused);
    }

    /// The adapters' narrow products of output gradients, next to them, if the gradient of the input is not needed.
    pub(super) fn backward_narrow(&self, pass: &Pass<'_>, rows: usize, dy: &mut Buffer) {
        if self.part(pass) == Narrow::With {
            let stride = dy.len() / rows.max(1);
            let mut dy = MatrixMut::strided(dy.view_mut(), rows, self.out_stride(), stride);
            fused_linear::backward_narrow(pass.device, &mut dy, &self.weight);
        }
    }

    /// A buffer for the adapters' narrow products of `rows` rows; empty without adapters.
    pub(super) fn narrow_buffer(&self, pass: &Pass<'_>, rows: usize) -> Buffer {
        let numbers = if self.part(pass) == Narrow::With { rows * self.widths().narrow } else { 0 };
        pass.device.take(numbers)
    }

    /// The adapters' narrow products of rows, saved for their gradients; they are next to the rows.
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

    /// The gradients of adapters wait for the end of the layer.
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
        for member in &self.members {
            let Some((adapter, own)) = &member.adapter else { continue };
            let narrow = match kept {
                None => of_x(inputs + own.start..inputs + own.end),
                Some(kept) => {
                    Columns { buffer: Rc::clone(kept), stride: narrow, range: own.clone() }
                }
            };
            let back = outputs + own.start..outputs + own.end;
            let dy_own = of_dy(member.outputs.clone());
            sums.defer(PendingProduct { id: adapter.b, dy: dy_own, x: narrow });
            sums.defer(PendingProduct { id: adapter.a, dy: of_dy(back), x: of_x(0..inputs) });
        }
    }
}

/// Rows that go into a product, or come back into it, and whether what is narrow is ready.
#[derive(Debug)]
pub(super) struct FusedInput<'a> {
    pub(super) x: &'a mut Buffer,
    pub(super) narrow: Narrow,
}

/// Input rows of a product, and the adapters' narrow products if they are stored elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeferredInput<'a> {
    pub(super) x: &'a Rc<Buffer>,
    pub(super) narrow: Option<&'a Rc<Buffer>>,
}
