//! Launchers of [`crate::rms_norm`].

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::{GROUP, blocks};
use crate::buffer::{Buffer, View, ViewMut};
use crate::matmul::Before;
use crate::rms_norm::{Gradient, Heads, Norm};
use Argument::{Address, F32, Four, U32};

/// Threads for a head and heads for a block of 256 threads. The first depends on the head's size
/// alone: it is part of the definition of the sum.
fn threads(size: usize) -> (u32, u32) {
    let groups = u32::try_from(size.div_ceil(GROUP)).unwrap_or(u32::MAX);
    let along = groups.checked_next_power_of_two().unwrap_or(256).clamp(32, 256);
    (along, 256 / along)
}

fn launch(shape: Heads) -> Launch {
    let threads = threads(shape.size);
    Launch { blocks: blocks((shape.rows * shape.heads).div_ceil(threads.1 as usize)), threads }
}

fn four(shape: Heads) -> Argument {
    let Heads { rows, heads, size, stride } = shape;
    Four([rows, heads, size, stride].map(|number| number as u64))
}

pub(crate) fn forward(
    cuda: &Cuda,
    (y, to): (&mut ViewMut<'_>, Heads),
    (x, from): (View<'_>, Heads),
    norm: Norm<'_>,
) {
    let arguments = [
        Address(y.cuda().address),
        four(to),
        Address(x.cuda().address),
        four(from),
        Address(norm.gain.cuda().address),
        F32(norm.epsilon),
    ];
    cuda.launch("rms_norm_forward", launch(from), &arguments);
}

pub(crate) fn backward(
    cuda: &Cuda,
    mut gradient: Gradient<'_>,
    ((x, from), (dy, to)): ((View<'_>, Heads), (View<'_>, Heads)),
    norm: Norm<'_>,
) {
    let heads = from.rows * from.heads;
    let reciprocals: Option<Buffer<f32>> = gradient.dgain.as_ref().map(|_| cuda.take(heads));
    let kept = reciprocals.as_ref().map_or(0, |buffer| buffer.view().cuda().address);
    let (x, dy) = (Address(x.cuda().address), Address(dy.cuda().address));
    let arguments = [
        Address(gradient.dx.cuda().address),
        U32(u32::from(gradient.before == Before::Kept)),
        x,
        four(from),
        dy,
        four(to),
        Address(norm.gain.cuda().address),
        F32(norm.epsilon),
        Address(kept),
    ];
    cuda.launch("rms_norm_backward", launch(from), &arguments);
    let Some(dgain) = &mut gradient.dgain else { return };
    let offsets: Vec<u32> = dgain.sequences.iter().map(|&row| blocks(row)).collect();
    let mut sequences: Buffer<u32> = cuda.take(offsets.len());
    cuda.write(&mut sequences.view_mut(), &offsets);
    let arguments = [
        Address(dgain.to.cuda().address),
        Address(sequences.view().cuda().address),
        U32(blocks(offsets.len() - 1)),
        x,
        four(from),
        dy,
        four(to),
        Address(kept),
    ];
    let launch = Launch { blocks: blocks(from.size.div_ceil(32)), threads: (32, 8) };
    cuda.launch("rms_norm_gain", launch, &arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_as_many_threads_as_its_size_wants() {
        for (size, expected) in [
            (1, (32, 8)),
            (128, (32, 8)),
            (256, (32, 8)),
            (257, (64, 4)),
            (2048, (256, 1)),
            (9999, (256, 1)),
        ] {
            assert_eq!(threads(size), expected, "{size}");
        }
        assert_eq!(launch(Heads { rows: 5, heads: 3, size: 64, stride: 200 }).blocks, 2);
        assert_eq!(launch(Heads { rows: 0, heads: 3, size: 64, stride: 200 }).blocks, 0);
    }
}
