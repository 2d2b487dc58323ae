//! Launchers of kernels that go over several tensors at a time: steps of the optimizer, measures of
//! gradients. Shapes were checked by the callers.

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use super::weight_gradients::upload;
use crate::adamw::{Copied, Factors, Tensor};
use crate::buffer::{Buffer, View, ViewMut};
use crate::norm::{self, Pair};
use Argument::{Address, F32, U32};

/// Numbers of a block of the optimizer; `BLOCK` of `adamw.cu`.
const ADAMW_BLOCK: usize = 8192;

/// Tensors as kernels are told of them, and how many blocks all of them take.
struct Table {
    words: Vec<u64>,
    tensors: u32,
    blocks: usize,
}

impl Table {
    /// `of` gives a tensor's words by the number of its first block; `lengths` its numbers.
    fn new<const N: usize>(
        lengths: impl Iterator<Item = usize>,
        block: usize,
        mut of: impl FnMut(usize, u64) -> [u64; N],
    ) -> Self {
        let mut table = Self { words: Vec::new(), tensors: 0, blocks: 0 };
        for (at, length) in lengths.enumerate() {
            table.words.extend(of(at, table.blocks as u64));
            table.tensors += 1;
            table.blocks += length.div_ceil(block);
        }
        table
    }

    /// Launches a block of threads for each block of numbers, with the table between these arguments.
    fn launch(&self, cuda: &Cuda, kernel: &'static str, before: &[Argument], after: &[Argument]) {
        if self.blocks == 0 {
            return;
        }
        let there = upload(cuda, &self.words);
        let table = [Address(there.view().cuda().address), U32(self.tensors)];
        let arguments = [before, &table, after].concat();
        cuda.launch(kernel, Launch::new(blocks(self.blocks), 256), &arguments);
    }
}

pub(crate) fn adamw(cuda: &Cuda, tensors: &mut [Tensor<'_>], factors: &Factors) {
    let lengths: Vec<usize> = tensors.iter().map(|tensor| tensor.gradient.len()).collect();
    let table = Table::new(lengths.into_iter(), ADAMW_BLOCK, |at, first_block| {
        let tensor = &mut tensors[at];
        let count = tensor.gradient.len() as u64;
        let (copy, columns, stride) = match &tensor.copy {
            None => (0, 1, 1),
            Some(Copied(to)) => {
                (to.data.cuda().address, to.cols.max(1) as u64, to.row_stride as u64)
            }
        };
        let kept = if tensor.is_decayed { factors.kept } else { 1.0 };
        [
            tensor.state.weight.cuda().address,
            tensor.state.mean.cuda().address,
            tensor.state.square.cuda().address,
            tensor.gradient.cuda().address,
            copy,
            columns,
            stride,
            count,
            first_block,
            u64::from(kept.to_bits()),
        ]
    });
    let Factors { toward, beta2, fresh, rate, root, epsilon, scale, .. } = *factors;
    let after = [toward, beta2, fresh, rate, root, epsilon, scale].map(F32);
    table.launch(cuda, "adamw_all", &[], &after);
}

/// For each pair of tensors its sums of products, one for each block of numbers; read at once.
pub(crate) fn dot_blocks(cuda: &Cuda, pairs: &[Pair<'_>]) -> Vec<Vec<f32>> {
    let lengths = pairs.iter().map(|pair| pair.x.len());
    let table = Table::new(lengths, norm::BLOCK, |at, first_block| {
        let Pair { x, y } = pairs[at];
        [x.cuda().address, y.cuda().address, x.len() as u64, first_block]
    });
    let sums: Buffer<f32> = cuda.take(table.blocks);
    table.launch(cuda, "dot_blocks", &[Address(sums.view().cuda().address)], &[]);
    let all = cuda.read(sums.view());
    let mut rest = all.as_slice();
    let of = |Pair { x, .. }: &Pair<'_>| {
        let (own, others) = rest.split_at(x.len().div_ceil(norm::BLOCK));
        rest = others;
        own.to_vec()
    };
    pairs.iter().map(of).collect()
}

/// For each tensor how many of its numbers are infinite or none; read at once. A device that failed
/// has none.
pub(crate) fn not_finite(cuda: &Cuda, tensors: &[View<'_, f32>]) -> Vec<u32> {
    let mut found: Buffer<u32> = cuda.take(tensors.len());
    cuda.fill(&mut found.view_mut(), 0);
    let first = found.view().cuda().address;
    let lengths = tensors.iter().map(View::len);
    let table = Table::new(lengths, norm::BLOCK, |at, first_block| {
        let own = first + (at * size_of::<u32>()) as u64;
        [tensors[at].cuda().address, own, tensors[at].len() as u64, first_block]
    });
    table.launch(cuda, "count_not_finite", &[], &[]);
    cuda.read(found.view())
}

pub(crate) fn clear(cuda: &Cuda, tensors: &mut [ViewMut<'_, f32>]) {
    let lengths: Vec<usize> = tensors.iter().map(ViewMut::len).collect();
    let table = Table::new(lengths.into_iter(), norm::BLOCK, |at, first_block| {
        let part = tensors[at].cuda();
        [part.address, 0, part.length as u64, first_block]
    });
    table.launch(cuda, "clear_tensors", &[], &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_over_all_tensors() {
        let lengths = [1, 0, 4096, 4097, 5];
        let table = Table::new(lengths.into_iter(), 4096, |at, first| [at as u64, first]);
        assert_eq!((table.tensors, table.blocks), (5, 5));
        assert_eq!(table.words, [0, 0, 1, 1, 2, 1, 3, 2, 4, 4]);
    }
}
