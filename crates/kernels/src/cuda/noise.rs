//! Numbers to compare and time algorithms on.

use super::Cuda;
use super::driver::{Argument, Format, Launch, Order, Product};
use crate::buffer::{Buffer, DeviceSlice};
use Argument::{Address, Four, U32, U64};

/// What a trial computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Random,
    /// The second half of every sum takes the first away again.
    Cancelling,
}

/// How an operand repeats itself; `Mirror` of `product.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mirror {
    pub(super) half: u64,
    pub(super) stride: u64,
    pub(super) along_row: bool,
    pub(super) negative: bool,
}

impl Mirror {
    pub(super) const NONE: Self = Self { half: 0, stride: 1, along_row: true, negative: false };

    /// Of both operands.
    pub(super) fn of(product: &Product, numbers: Numbers) -> [Self; 2] {
        if numbers == Numbers::Random {
            return [Self::NONE; 2];
        }
        let half = u64::from(product.inner / 2);
        let (a, b) = (product.a, product.b);
        [
            Self { half, stride: a.1, along_row: a.0 == Order::ByRows, negative: false },
            Self { half, stride: b.1, along_row: b.0 == Order::ByColumns, negative: true },
        ]
    }

    fn argument(self) -> Argument {
        Four([self.half, self.stride, u64::from(self.along_row), u64::from(self.negative)])
    }
}

pub(super) fn noise(cuda: &Cuda, seed: u32, count: usize, mirror: Mirror) -> Buffer {
    let to: Buffer = cuda.take(count);
    let format = Format::Bf16;
    fill_noise(cuda, to.view().cuda(), Noise { format, seed, begin: 0, mirror });
    to
}

/// Numbers that bf16 can hold, each a function of the seed and its place from `begin` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    pub(super) format: Format,
    pub(super) seed: u32,
    pub(super) begin: u64,
    pub(super) mirror: Mirror,
}

pub(super) fn fill_noise(cuda: &Cuda, to: DeviceSlice<'_>, noise: Noise) {
    let Noise { format, seed, begin, mirror } = noise;
    let is_bf16 = U32(u32::from(format == Format::Bf16));
    let arguments = [
        Address(to.address),
        is_bf16,
        U32(seed),
        U64(begin),
        U64(to.length as u64),
        mirror.argument(),
    ];
    let launch = Launch::new(cuda.blocks_for(to.length), 256);
    cuda.launch("noise", launch, &arguments);
}
