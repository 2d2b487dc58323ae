//! Queries, keys and values placed in one pass with their projection, and by themselves behind it.

#![expect(clippy::cast_possible_truncation, reason = "a few rows and pages")]

use whetstone_kernels::attention::Shape;
use whetstone_kernels::fused_linear::{
    self, AdapterRange, AugmentedWeight, FusedWeight, Narrow, Sizes,
};
use whetstone_kernels::paged::{Attend, Cache, PAGE, Stored, Tables, attend};
use whetstone_kernels::qk_norm_rope::{self, Placing, PlacingInPages};
use whetstone_kernels::rope::RopeTable;
use whetstone_kernels::{Activation, Buffer, Device, Matrix, MatrixMut};

/// Heads, the narrow columns of queries, keys and values, and how many rows there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) shape: Shape,
    pub(crate) ranks: [usize; 3],
    pub(crate) inputs: usize,
    pub(crate) rows: usize,
}

/// Positions that are known.
const KNOWN: usize = 40;

impl Case {
    fn sizes(&self) -> Sizes {
        let narrow = self.ranks.iter().sum();
        Sizes { outputs: self.shape.packed_width(), inputs: self.inputs, narrow }
    }

    fn parts(&self) -> Vec<AdapterRange> {
        let Shape { heads, kv_heads, size, .. } = self.shape;
        let (mut output, mut narrow) = (0, 0);
        let part = |(heads, rank): (usize, usize)| {
            let (outputs, own) = (output..output + heads * size, narrow..narrow + rank);
            (output, narrow) = (outputs.end, own.end);
            AdapterRange { outputs, narrow: own }
        };
        [heads, kv_heads, kv_heads].into_iter().zip(self.ranks).map(part).collect()
    }

    /// Numbers of the matrix, with zeros beside outputs where columns belong to another adapter.
    fn weights(&self, numbers: impl Fn(u64, usize) -> Vec<f32>) -> Vec<f32> {
        let sizes = self.sizes();
        let mut all = numbers(1, (sizes.outputs + sizes.narrow) * sizes.stride());
        let parts = self.parts();
        for (row, weights) in all.chunks_mut(sizes.stride()).take(sizes.outputs).enumerate() {
            let own = parts.iter().find(|part| part.outputs.contains(&row)).unwrap().narrow.clone();
            for column in (0..sizes.narrow).filter(|column| !own.contains(column)) {
                weights[sizes.inputs + column] = 0.0;
            }
        }
        all
    }

    /// Two rows a page. On CUDA, which leaves such out, the last row has none.
    fn slots(&self, device: &Device) -> Vec<u32> {
        let mut slots: Vec<u32> =
            (0..self.rows).map(|row| (row / 2 * PAGE + row % 2) as u32).collect();
        if let (Device::Cuda(_), Some(last)) = (device, slots.last_mut()) {
            *last = (self.pages() * PAGE) as u32;
        }
        slots
    }

    /// Those of rows. On CUDA, which leaves rows there as they are, some are not known.
    fn positions(&self, device: &Device) -> Vec<u32> {
        let all = KNOWN + if matches!(device, Device::Cuda(_)) { 2 } else { 0 };
        (0..self.rows).map(|row| (row * 7 % all) as u32).collect()
    }

    fn pages(&self) -> usize {
        self.rows.div_ceil(2)
    }

    /// What each row attends to, of the second of two layers: itself and, for every other, the row before.
    fn attended(&self, device: &Device, cache: &Cache, placed: Matrix<'_>) -> Vec<f32> {
        let row =
            |of: fn(usize) -> usize| (0..self.rows).map(|row| of(row) as u32).collect::<Vec<_>>();
        let lists = [row(|row| row / 2), row(|row| row / 2), row(|row| row % 2 + 1)];
        let [pages, starts, lengths] = lists.map(|list| device.upload(&list));
        let (starts, lengths) = (starts.view(), lengths.view());
        let tables = Tables { pages: pages.view(), starts, lengths, stored: Stored::Any };
        let width = self.shape.width();
        let mut out = device.zeros::<Activation>(self.rows * width);
        let to = MatrixMut::new(out.view_mut(), self.rows, width);
        attend(device, Attend { out: to, cache, layer: 1, qkv: placed, tables });
        device.read(out.view())
    }
}

/// What is placed, and in which places.
struct Table {
    turns: RopeTable,
    positions: Buffer<u32>,
    gains: [Buffer; 2],
}

impl Table {
    fn new(device: &Device, case: &Case, numbers: impl Fn(u64, usize) -> Vec<f32>) -> Self {
        let size = case.shape.size;
        let frequencies: Vec<f32> =
            (0..size / 2).map(|at| 0.9f32.powi(i32::try_from(at).unwrap())).collect();
        Self {
            turns: RopeTable::new(device, &frequencies, 1.0, KNOWN),
            positions: device.upload(&case.positions(device)),
            gains: [5, 6].map(|seed| device.upload::<Activation>(&numbers(seed, size))),
        }
    }

    fn placing<'a>(&'a self, case: &'a Case) -> Placing<'a> {
        Placing {
            shape: &case.shape,
            q_gain: self.gains[0].view(),
            k_gain: self.gains[1].view(),
            epsilon: 1e-5,
            turns: &self.turns,
            positions: self.positions.view(),
        }
    }
}

/// Placed rows and what attention makes of them and of the pages: in one pass, and then by themselves.
pub(crate) fn both_ways(
    device: &Device,
    case: &Case,
    with: Narrow,
    numbers: impl Fn(u64, usize) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    let (Case { shape, rows, .. }, sizes) = (case, case.sizes());
    let weights = case.weights(&numbers);
    let weight = AugmentedWeight::with_numbers(device, sizes, 1.75, &weights);
    let weight = weight.with_parts(case.parts());
    let fused = FusedWeight { weight: &weight, narrow: with };
    let (table, slots) = (Table::new(device, case, &numbers), device.upload(&case.slots(device)));
    let stride = sizes.outputs + 8;
    let one_way = |in_one_pass: bool| {
        let mut cache = Cache::new(device, 2, case.pages(), *shape);
        let mut x = device.upload::<Activation>(&numbers(2, rows * sizes.stride()));
        let mut x = MatrixMut::new(x.view_mut(), *rows, sizes.stride());
        let mut placed = device.upload::<Activation>(&numbers(3, rows * stride));
        let to = MatrixMut::strided(placed.view_mut(), *rows, sizes.outputs, stride);
        let placing = table.placing(case);
        let with = PlacingInPages { placing, cache: &mut cache, layer: 1, slots: slots.view() };
        if in_one_pass {
            fused_linear::forward_heads(device, to, &mut x, fused, with);
        } else {
            let mut qkv = device.zeros::<Activation>(rows * sizes.outputs);
            let y = MatrixMut::new(qkv.view_mut(), *rows, sizes.outputs);
            let output = fused_linear::Output { y, residual: None };
            fused_linear::forward(device, output, &mut x, fused);
            let qkv = Matrix::new(qkv.view(), *rows, sizes.outputs);
            qk_norm_rope::forward_and_store(device, to, qkv, with);
        }
        let rows = Matrix::strided(placed.view(), *rows, sizes.outputs, stride);
        let attended = case.attended(device, &cache, rows);
        [device.read(placed.view()), attended]
    };
    [one_way(true), one_way(false)].concat()
}
