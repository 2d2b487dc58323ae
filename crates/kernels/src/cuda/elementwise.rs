//! Launchers of the kernels that go over numbers or rows one by one. Shapes were checked by the
//! callers.

use super::Cuda;
use super::driver::{Argument, Format, Launch};
use crate::buffer::{Buffer, DeviceSlice, Real, View, ViewMut};
use crate::matmul::{Matrix, MatrixMut};
use crate::rms_norm::Heads;
use crate::rope::{Angles, Rotate};
use Argument::{Address, F32, U32, U64};

/// Numbers that a thread takes at a time; `GROUP` of `common.cuh`.
pub(super) const GROUP: usize = 8;

const THREADS: u32 = 256;

impl Cuda {
    /// A kernel over `count` numbers, eight for each thread.
    pub(crate) fn over(&self, kernel: &'static str, count: usize, arguments: &[Argument]) {
        let blocks = self.blocks_for(count.div_ceil(GROUP));
        self.launch(kernel, Launch::new(blocks, THREADS), arguments);
    }

    /// A kernel with a block for each row, as many as keep the chip busy at a time.
    pub(crate) fn over_rows(&self, kernel: &'static str, rows: usize, arguments: &[Argument]) {
        let blocks = self.blocks_for(rows.saturating_mul(256));
        self.launch(kernel, Launch::new(blocks, THREADS), arguments);
    }
}

fn launch_copy(cuda: &Cuda, count: usize, arguments: &[Argument]) {
    let blocks = cuda.blocks_for(count.div_ceil(GROUP));
    cuda.launch("copy_rows_16", Launch::new(blocks, THREADS).programmatic(), arguments);
}

pub(crate) fn place(part: DeviceSlice<'_>) -> Argument {
    Address(part.address)
}

pub(crate) fn size(size: usize) -> Argument {
    U64(size as u64)
}

/// A launch of so many blocks.
pub(super) fn blocks(count: usize) -> u32 {
    u32::try_from(count).expect("fewer blocks than 2^32")
}

pub(crate) fn swiglu_forward(cuda: &Cuda, y: &mut ViewMut<'_>, gate: View<'_>, up: View<'_>) {
    let count = y.len();
    let arguments = [place(y.cuda()), place(gate.cuda()), place(up.cuda()), size(count)];
    cuda.over("swiglu_forward", count, &arguments);
}

pub(crate) fn swiglu_backward(
    cuda: &Cuda,
    dy: &mut ViewMut<'_>,
    gate: &mut ViewMut<'_>,
    up: &mut ViewMut<'_>,
) {
    let count = dy.len();
    let arguments = [place(dy.cuda()), place(gate.cuda()), place(up.cuda()), size(count)];
    cuda.over("swiglu_backward", count, &arguments);
}

pub(crate) fn turn(cuda: &Cuda, x: &mut ViewMut<'_>, shape: Heads, angles: Angles<'_>) {
    let Angles { table, positions, direction } = angles;
    let (cosines, sines) = table.tables();
    let known = cosines.len() / (shape.size / 2).max(1);
    let sign = if direction == Rotate::Forward { 1.0 } else { -1.0 };
    let arguments = [
        place(x.cuda()),
        size(shape.rows),
        size(shape.heads),
        size(shape.size),
        size(shape.stride),
        place(cosines.cuda()),
        place(sines.cuda()),
        place(positions.cuda()),
        U32(blocks(known)),
        F32(sign),
    ];
    let groups = (shape.size / 2).div_ceil(GROUP);
    let launch = Launch::new(cuda.blocks_for(shape.rows * shape.heads * groups), THREADS);
    cuda.launch("rope_turn", launch, &arguments);
}

pub(crate) fn add(cuda: &Cuda, x: &mut ViewMut<'_>, y: View<'_>) {
    let count = x.len();
    cuda.over("add_bf16", count, &[place(x.cuda()), place(y.cuda()), size(count)]);
}

pub(crate) fn add_scaled(cuda: &Cuda, x: &mut ViewMut<'_, f32>, factor: f32, y: View<'_, f32>) {
    let count = x.len();
    let arguments = [place(x.cuda()), place(y.cuda()), F32(factor), size(count)];
    cuda.over("add_scaled_f32", count, &arguments);
}

pub(crate) fn scale(cuda: &Cuda, x: &mut ViewMut<'_, f32>, factor: f32) {
    let count = x.len();
    cuda.over("scale_f32", count, &[place(x.cuda()), F32(factor), size(count)]);
}

pub(crate) fn copy_rows(cuda: &Cuda, to: &mut MatrixMut<'_>, from: Matrix<'_>) {
    let arguments = [
        place(to.data.cuda()),
        place(from.data.cuda()),
        size(to.rows),
        size(to.cols),
        size(to.stride),
        size(from.row_stride),
    ];
    launch_copy(cuda, to.rows * to.cols.next_multiple_of(GROUP), &arguments);
}

pub(crate) fn add_bias<T: Real>(cuda: &Cuda, x: &mut MatrixMut<'_, T>, bias: View<'_, T>) {
    let arguments =
        [place(x.data.cuda()), place(bias.cuda()), size(x.rows), size(x.cols), size(x.stride)];
    let kernel = match T::FORMAT {
        Some(Format::F32) => "add_bias_f32",
        _ => "add_bias",
    };
    cuda.over_rows(kernel, x.rows, &arguments);
}

pub(crate) fn bias_backward<T: Real>(cuda: &Cuda, dbias: &mut ViewMut<'_, f32>, dy: Matrix<'_, T>) {
    let arguments = [
        place(dbias.cuda()),
        place(dy.data.cuda()),
        size(dy.rows),
        size(dy.cols),
        size(dy.row_stride),
    ];
    let launch = Launch::new(blocks(dy.cols.div_ceil(256)), THREADS);
    let kernel = match T::FORMAT {
        Some(Format::F32) => "bias_backward_f32",
        _ => "bias_backward",
    };
    cuda.launch(kernel, launch, &arguments);
}

pub(crate) fn gather(cuda: &Cuda, to: &mut ViewMut<'_>, table: View<'_>, ids: View<'_, u32>) {
    let width = to.len() / ids.len();
    let arguments = [
        place(to.cuda()),
        place(table.cuda()),
        place(ids.cuda()),
        size(table.len() / width),
        size(width),
    ];
    let launch = Launch::new(blocks(ids.len()), THREADS).programmatic();
    cuda.launch("gather_rows", launch, &arguments);
}

pub(crate) fn resolve_ids(
    cuda: &Cuda,
    to: &mut ViewMut<'_, u32>,
    ids: View<'_, u32>,
    sampled: View<'_, u32>,
) {
    let count = ids.len();
    let arguments = [
        place(to.cuda()),
        place(ids.cuda()),
        place(sampled.cuda()),
        U32(blocks(count)),
        U32(blocks(sampled.len())),
    ];
    cuda.launch("resolve_ids", Launch::new(blocks(count.div_ceil(256)), THREADS), &arguments);
}

/// Rows to rows of a matrix of such rows, no two to the same one.
pub(crate) fn place_rows(cuda: &Cuda, to: &mut ViewMut<'_>, from: View<'_>, rows: View<'_, u32>) {
    let width = from.len() / rows.len();
    let count = to.len() / width;
    let arguments =
        [place(to.cuda()), place(from.cuda()), place(rows.cuda()), size(count), size(width)];
    cuda.launch("place_rows", Launch::new(blocks(rows.len()), THREADS), &arguments);
}

pub(crate) fn scatter<T: Real>(
    cuda: &Cuda,
    dtable: &mut ViewMut<'_, T>,
    dy: View<'_>,
    ids: View<'_, u32>,
) {
    let (width, rows) = (dy.len() / ids.len(), dtable.len());
    let arguments = [
        place(dtable.cuda()),
        place(dy.cuda()),
        place(ids.cuda()),
        U32(blocks(ids.len())),
        size(rows / width),
        size(width),
    ];
    let kernel = match T::FORMAT {
        Some(Format::F32) => "scatter_rows_f32",
        _ => "scatter_rows_bf16",
    };
    cuda.launch(kernel, Launch::new(blocks(ids.len()), THREADS), &arguments);
}

pub(crate) fn unpack<T: Real>(
    cuda: &Cuda,
    to: &mut ViewMut<'_, T>,
    bytes: View<'_, i8>,
    scales: View<'_, f32>,
) {
    let count = to.len();
    let arguments = [
        place(to.cuda()),
        place(bytes.cuda()),
        place(scales.cuda()),
        size(count / scales.len().max(1)),
        size(count),
    ];
    let kernel = match T::FORMAT {
        Some(Format::F32) => "unpack_int8_f32",
        _ => "unpack_int8",
    };
    cuda.over(kernel, count, &arguments);
}

/// The same numbers as activations.
pub(super) fn to_bf16(cuda: &Cuda, from: View<'_, f32>) -> Buffer {
    let mut to: Buffer = cuda.take(from.len());
    round_into(cuda, &mut to.view_mut(), from);
    to
}

/// The nearest activations.
pub(crate) fn round_into(cuda: &Cuda, to: &mut ViewMut<'_>, from: View<'_, f32>) {
    let arguments = [place(to.cuda()), place(from.cuda()), size(from.len())];
    cuda.over("to_bf16", from.len(), &arguments);
}

/// The nearest activations, into rows of a matrix that weights share.
pub(crate) fn round_into_rows(cuda: &Cuda, to: Matrix<'_>, from: View<'_, f32>) {
    let arguments = [
        place(to.data.cuda()),
        size(to.row_stride),
        place(from.cuda()),
        size(to.rows),
        size(to.cols),
    ];
    cuda.over_rows("to_bf16_rows", to.rows, &arguments);
}

/// Rows into rows of a matrix that weights share.
pub(crate) fn copy_into_rows(cuda: &Cuda, to: Matrix<'_>, from: Matrix<'_>) {
    let arguments = [
        place(to.data.cuda()),
        place(from.data.cuda()),
        size(to.rows),
        size(to.cols),
        size(to.row_stride),
        size(from.row_stride),
    ];
    launch_copy(cuda, to.rows * to.cols.next_multiple_of(GROUP), &arguments);
}

pub(crate) fn swiglu_rows_forward(cuda: &Cuda, y: &mut MatrixMut<'_>, both: Matrix<'_>) {
    let arguments = [
        place(y.data.cuda()),
        size(y.stride),
        place(both.data.cuda()),
        size(both.row_stride),
        size(y.rows),
        size(y.cols),
    ];
    cuda.over_rows("swiglu_rows_forward", y.rows, &arguments);
}

pub(crate) fn swiglu_rows_backward(cuda: &Cuda, dy: &mut MatrixMut<'_>, both: &mut MatrixMut<'_>) {
    let arguments = [
        place(dy.data.cuda()),
        size(dy.stride),
        place(both.data.cuda()),
        size(both.stride),
        size(dy.rows),
        size(dy.cols),
    ];
    cuda.over_rows("swiglu_rows_backward", dy.rows, &arguments);
}
