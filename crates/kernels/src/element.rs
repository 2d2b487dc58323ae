//! Types of buffer elements, and their format on each device.
//!
//! [`Activation`] is the whole precision policy: what flows through layers (activations, their
//! gradients, frozen weights, keys and values) is f32 on processors and bf16 on CUDA. What must stay
//! f32 everywhere (log-probabilities, gradients of weights, masters, moments) says `f32`, and mixing
//! the two does not compile.

use half::bf16;

use std::fmt::Debug;

/// The element type of activations: f32 on processors, bf16 on CUDA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activation;

/// A type of buffer element.
pub trait Element: sealed::Sealed + Debug + Copy + Default + Send + Sync + 'static {}

/// Elements that are numbers with a fraction: f32 on the host, whatever a device makes of them.
pub trait Real: Element + sealed::Sealed<Host = f32> {}

pub(crate) mod sealed {
    use std::fmt::Debug;

    use crate::cuda::{Format, Pattern};

    /// The format on CUDA, for those elements that have one of a product.
    pub trait Sealed: Sized {
        /// The number as the host has it: a plain number for which every pattern of bits is a
        /// value.
        type Host: Debug + Copy + Default + Send + Sync + PartialEq + 'static;
        /// Bytes of one on CUDA.
        const CUDA_BYTES: usize;
        /// Its format in a product.
        const FORMAT: Option<Format>;
        /// One of them as CUDA has it.
        fn pattern(number: Self::Host) -> Pattern;
        /// All of them as CUDA has them.
        fn to_cuda(numbers: &[Self::Host]) -> Vec<u8>;
        /// And back.
        fn from_cuda(bytes: &[u8]) -> Vec<Self::Host>;
    }
}

use crate::cuda::{Format, Pattern};
use sealed::Sealed;

impl Element for f32 {}
impl Element for u32 {}
impl Element for i8 {}
impl Element for Activation {}
impl Real for f32 {}
impl Real for Activation {}

impl Sealed for f32 {
    type Host = Self;
    const CUDA_BYTES: usize = 4;
    const FORMAT: Option<Format> = Some(Format::F32);

    fn pattern(number: Self) -> Pattern {
        Pattern::Four(number.to_bits())
    }

    fn to_cuda(numbers: &[Self]) -> Vec<u8> {
        bytes_of(numbers, Self::to_le_bytes)
    }

    fn from_cuda(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)).collect()
    }
}

impl Sealed for u32 {
    type Host = Self;
    const CUDA_BYTES: usize = 4;
    const FORMAT: Option<Format> = None;

    fn pattern(number: Self) -> Pattern {
        Pattern::Four(number)
    }

    fn to_cuda(numbers: &[Self]) -> Vec<u8> {
        bytes_of(numbers, Self::to_le_bytes)
    }

    fn from_cuda(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)).collect()
    }
}

impl Sealed for i8 {
    type Host = Self;
    const CUDA_BYTES: usize = 1;
    const FORMAT: Option<Format> = None;

    fn pattern(number: Self) -> Pattern {
        Pattern::One(number.cast_unsigned())
    }

    fn to_cuda(numbers: &[Self]) -> Vec<u8> {
        numbers.iter().map(|number| number.cast_unsigned()).collect()
    }

    fn from_cuda(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|byte| byte.cast_signed()).collect()
    }
}

impl Sealed for Activation {
    type Host = f32;
    const CUDA_BYTES: usize = 2;
    const FORMAT: Option<Format> = Some(Format::Bf16);

    fn pattern(number: f32) -> Pattern {
        Pattern::Two(bf16::from_f32(number).to_bits())
    }

    fn to_cuda(numbers: &[f32]) -> Vec<u8> {
        bytes_of(numbers, |number| bf16::from_f32(number).to_le_bytes())
    }

    fn from_cuda(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect()
    }
}

/// The bytes of all numbers, one after another.
fn bytes_of<T: Copy, const N: usize>(numbers: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = vec![0; numbers.len() * N];
    for (to, &number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
        *to = of(number);
    }
    bytes
}

/// The nearest number that an activation can be on CUDA: what tests compute with.
pub fn nearest_bf16(number: f32) -> f32 {
    bf16::from_f32(number).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest_and_halves_to_even() {
        for (bits, expected) in [
            (0x3f80_0000, 0x3f80),
            (0x3f80_7fff, 0x3f80),
            (0x3f80_8000, 0x3f80),
            (0x3f80_8001, 0x3f81),
            (0x3f81_8000, 0x3f82),
            (0xbf81_8000, 0xbf82),
            (0x7f7f_ffff, 0x7f80),
            (0xff80_0000, 0xff80),
            (0x0000_0001, 0x0000),
        ] {
            assert_eq!(bf16::from_f32(f32::from_bits(bits)).to_bits(), expected, "{bits:#x}");
        }
        assert!(nearest_bf16(f32::from_bits(0x7f80_0001)).is_nan());
    }

    #[test]
    fn what_goes_to_a_device_comes_back() {
        let numbers = [1.5f32, -0.0, 3e-40, f32::INFINITY];
        assert_eq!(f32::from_cuda(&f32::to_cuda(&numbers)), numbers);
        assert_eq!(Activation::from_cuda(&Activation::to_cuda(&[1.5, -2.0])), [1.5, -2.0]);
        assert_eq!(i8::from_cuda(&i8::to_cuda(&[-128, 127, 0])), [-128, 127, 0]);
        assert_eq!(u32::from_cuda(&u32::to_cuda(&[7, u32::MAX])), [7, u32::MAX]);
    }
}
