//! Launchers of [`crate::rms_norm`].

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::{GROUP, blocks};
use crate::buffer::Buffer;
use crate::matmul::WriteMode;
use crate::rms_norm::{Gain, Gradient, GradientBeside, Heads, Input, Norm, Output, Saved};
use Argument::{Address, F32, Four, U32};

/// Threads of the blocks in which a warp takes a head.
const FORWARD_THREADS: u32 = 256;
const BACKWARD_THREADS: u32 = 128;

/// Threads for a head and heads for a block of 256 threads. The first depends on the head's size
/// alone: it is part of the definition of the sum.
fn threads(size: usize) -> (u32, u32) {
    let groups = u32::try_from(size.div_ceil(GROUP)).unwrap_or(u32::MAX);
    let along = groups.checked_next_power_of_two().unwrap_or(256).clamp(32, 256);
    (along, 256 / along)
}

fn launch(shape: Heads) -> Launch {
    let (threads_x, threads_y) = threads(shape.size);
    let count = blocks((shape.rows * shape.heads).div_ceil(threads_y as usize));
    Launch { threads_y, ..Launch::new(count, threads_x) }
}

/// Whether heads are whole groups, one for a thread, and all begin at multiples of 16 bytes: then a
/// block takes several in turn and asks ahead.
fn suits_ahead(addresses: &[u64], shapes: [Heads; 2]) -> bool {
    let size = shapes[0].size;
    size.is_multiple_of(GROUP)
        && size <= 256 * GROUP
        && addresses.iter().all(|address| address.is_multiple_of(16))
        && shapes.iter().all(|shape| shape.stride.is_multiple_of(GROUP))
}

/// As many blocks as keep the chip busy.
fn launch_ahead(cuda: &Cuda, shape: Heads) -> Launch {
    let all = launch(shape);
    let most = cuda.info().properties.multiprocessors.saturating_mul(BLOCKS_AHEAD).max(1);
    Launch { blocks: all.blocks.min(most), ..all }
}

/// Blocks of a processor that ask ahead.
const BLOCKS_AHEAD: u32 = 6;

/// From so many heads on a warp takes a whole one: there are enough of them to keep the chip busy.
const MANY_HEADS: usize = 2048;

/// How a warp takes a head alone, in the order of sums of the warps that would share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ByWarp {
    forward: &'static str,
    backward: &'static str,
    heads: usize,
}

impl ByWarp {
    /// If there are many heads of a size that is worth it.
    fn of(shape: Heads) -> Option<Self> {
        let heads = shape.rows * shape.heads;
        let (forward, backward) = match threads(shape.size).0 {
            128 => ("rms_norm_forward_warp_4", "rms_norm_backward_warp_4"),
            256 => ("rms_norm_forward_warp_8", "rms_norm_backward_warp_8"),
            _ => return None,
        };
        (heads >= MANY_HEADS).then_some(Self { forward, backward, heads })
    }

    fn launch(self, threads: u32) -> Launch {
        Launch::new(blocks(self.heads.div_ceil(threads as usize / 32)), threads)
    }
}

fn four(shape: Heads) -> Argument {
    let Heads { rows, heads, size, stride } = shape;
    Four([rows, heads, size, stride].map(|number| number as u64))
}

pub(crate) fn forward(cuda: &Cuda, y: Output<'_>, x: Input<'_>, norm: Norm<'_>) {
    let (Output { data: mut y, shape: to }, Input { data: x, shape: from }) = (y, x);
    let addresses = [y.cuda().address, x.cuda().address, norm.gain.cuda().address];
    let arguments = [
        Address(addresses[0]),
        four(to),
        Address(addresses[1]),
        four(from),
        Address(addresses[2]),
        F32(norm.epsilon),
    ];
    let suits = suits_ahead(&addresses, [from, to]);
    if let Some(by) = ByWarp::of(from).filter(|_| suits) {
        cuda.launch(by.forward, by.launch(FORWARD_THREADS).programmatic(), &arguments);
    } else if suits {
        let launch = launch_ahead(cuda, from).programmatic();
        cuda.launch("rms_norm_forward_ahead", launch, &arguments);
    } else {
        cuda.launch("rms_norm_forward", launch(from), &arguments);
    }
}

pub(crate) fn backward(cuda: &Cuda, mut gradient: Gradient<'_>, saved: Saved<'_>, norm: Norm<'_>) {
    let from = saved.x.shape;
    let to = Place { address: gradient.dx.cuda().address, shape: from };
    let added = (gradient.mode == WriteMode::Accumulate).then_some(to);
    let destination = Destination { dx: to, added, normed: None, dgain: gradient.dgain };
    go_back(cuda, destination, saved, norm);
}

pub(crate) fn backward_beside(
    cuda: &Cuda,
    mut gradient: GradientBeside<'_>,
    saved: Saved<'_>,
    norm: Norm<'_>,
) {
    let Input { data, shape } = gradient.added;
    let added = Some(Place { address: data.cuda().address, shape });
    let to = Place { address: gradient.dx.data.cuda().address, shape: gradient.dx.shape };
    let destination = Destination { dx: to, added, normed: gradient.normed, dgain: gradient.dgain };
    go_back(cuda, destination, saved, norm);
}

/// Where heads lie.
#[derive(Debug, Clone, Copy)]
struct Place {
    address: u64,
    shape: Heads,
}

/// Where gradients go, and what is added to that of the input.
struct Destination<'a> {
    dx: Place,
    added: Option<Place>,
    /// Gets the output of the forward pass once more.
    normed: Option<Output<'a>>,
    dgain: Option<Gain<'a>>,
}

fn go_back(cuda: &Cuda, gradient: Destination<'_>, saved: Saved<'_>, norm: Norm<'_>) {
    let Saved { x: Input { data: x, shape: from }, dy: Input { data: dy, shape: dy_shape } } =
        saved;
    let Destination { dx: to, added, mut normed, dgain } = gradient;
    let heads = from.rows * from.heads;
    let reciprocals: Option<Buffer<f32>> = dgain.as_ref().map(|_| cuda.take(heads));
    let kept = reciprocals.as_ref().map_or(0, |buffer| buffer.view().cuda().address);
    let added = added.unwrap_or(Place { address: 0, shape: from });
    let (x, dy, gain) = (x.cuda().address, dy.cuda().address, norm.gain.cuda().address);
    let arguments = [
        Address(to.address),
        four(to.shape),
        Address(added.address),
        four(added.shape),
        Address(x),
        four(from),
        Address(dy),
        four(dy_shape),
        Address(gain),
        F32(norm.epsilon),
        Address(kept),
    ];
    let again = normed.as_mut().map_or(Place { address: 0, shape: from }, |normed| Place {
        address: normed.data.cuda().address,
        shape: normed.shape,
    });
    let addresses = [to.address, added.address, x, dy, gain];
    let suits = suits_ahead(&addresses, [from, dy_shape])
        && suits_ahead(&addresses, [to.shape, added.shape]);
    let by_warp =
        ByWarp::of(from).filter(|_| suits && suits_ahead(&[again.address], [again.shape; 2]));
    let apart = normed.filter(|_| by_warp.is_none());
    if let Some(output) = apart {
        forward(cuda, output, saved.x, norm);
    }
    if let Some(by) = by_warp {
        let arguments = [&arguments[..], &[Address(again.address), four(again.shape)]].concat();
        cuda.launch(by.backward, by.launch(BACKWARD_THREADS).programmatic(), &arguments);
    } else if suits {
        cuda.launch("rms_norm_backward_ahead", launch_ahead(cuda, from), &arguments);
    } else {
        cuda.launch("rms_norm_backward", launch(from), &arguments);
    }
    let Some(mut dgain) = dgain else { return };
    let offsets: Vec<u32> = dgain.sequences.iter().map(|&row| blocks(row)).collect();
    let mut sequences: Buffer<u32> = cuda.take(offsets.len());
    cuda.write(&mut sequences.view_mut(), &offsets);
    let arguments = [
        Address(dgain.to.cuda().address),
        Address(sequences.view().cuda().address),
        U32(blocks(offsets.len() - 1)),
        Address(x),
        four(from),
        Address(dy),
        four(dy_shape),
        Address(kept),
    ];
    let launch = Launch { threads_y: 8, ..Launch::new(blocks(from.size.div_ceil(32)), 32) };
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

    #[test]
    fn a_warp_takes_a_head_where_there_are_many_large_ones() {
        let rows = |rows, size| ByWarp::of(Heads::rows(rows, size)).map(|by| by.forward);
        assert_eq!(rows(2048, 2048), Some("rms_norm_forward_warp_8"));
        assert_eq!(rows(2048, 576), Some("rms_norm_forward_warp_4"));
        assert_eq!(rows(2047, 2048), None);
        assert_eq!(rows(8192, 128), None);
        let heads = Heads { rows: 1025, heads: 2, size: 1024, stride: 3000 };
        assert_eq!(ByWarp::of(heads).map(|by| by.launch(128).blocks), Some(513));
    }

    #[test]
    fn whole_groups_at_multiples_of_16_bytes_are_asked_for_ahead() {
        let shape = Heads { rows: 5, heads: 3, size: 64, stride: 200 };
        assert!(suits_ahead(&[512, 16], [shape; 2]));
        assert!(!suits_ahead(&[512, 8], [shape; 2]));
        assert!(!suits_ahead(&[512], [shape, Heads { stride: 193, ..shape }]));
        assert!(!suits_ahead(&[512], [Heads { size: 60, ..shape }, shape]));
        assert!(!suits_ahead(&[512], [Heads { size: 4096, ..shape }, shape]));
    }
}
