//! Storage types of numbers and blocks of numbers, and their conversion to `f32`.

use crate::gguf::blocks;
use half::{bf16, f16};

/// The storage type of a tensor.
///
/// The names that begin with `Q` are GGUF's blocks: 32 numbers with a common scale, or 256 in the
/// types that end in `K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// 4 bits and a scale.
    Q4_0,
    /// 4 bits, a scale and a minimum.
    Q4_1,
    /// 5 bits and a scale.
    Q5_0,
    /// 5 bits, a scale and a minimum.
    Q5_1,
    /// 8 bits and a scale.
    Q8_0,
    /// 4 bits in eight sub-blocks with scales and minima of 6 bits.
    Q4K,
    /// 5 bits in eight sub-blocks with scales and minima of 6 bits.
    Q5K,
    /// 6 bits in sixteen sub-blocks with scales of 8 bits.
    Q6K,
    /// A type of known size that is not supported for weights.
    Opaque {
        /// Its name in the file.
        name: &'static str,
        /// Bytes of one number.
        bytes: usize,
    },
}

impl Dtype {
    /// The name a user knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
            Self::Opaque { name, .. } => name,
        }
    }

    /// Numbers in one block.
    pub fn block_numbers(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q4K | Self::Q5K | Self::Q6K => 256,
            Self::F64 | Self::F32 | Self::F16 | Self::Bf16 | Self::Opaque { .. } => 1,
        }
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
            Self::Opaque { bytes, .. } => bytes,
        }
    }

    /// Writes the numbers of whole blocks; `None` if this type is not read as weights.
    ///
    /// # Panics
    ///
    /// If `bytes` and `out` are not the same number of blocks.
    pub fn decode(self, bytes: &[u8], out: &mut [f32]) -> Option<()> {
        let blocks = bytes.len() / self.block_bytes();
        assert_eq!(bytes.len() % self.block_bytes(), 0, "whole blocks");
        assert_eq!(out.len(), blocks * self.block_numbers(), "as many numbers as blocks hold");
        match self {
            Self::F64 => decode_f64(bytes, out),
            Self::F32 => numbers(bytes, out, f32::from_le_bytes),
            Self::F16 => numbers(bytes, out, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Self::Bf16 => numbers(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Self::Q4_0 => blocks::each(bytes, out, blocks::q4_0),
            Self::Q4_1 => blocks::each(bytes, out, blocks::q4_1),
            Self::Q5_0 => blocks::each(bytes, out, blocks::q5_0),
            Self::Q5_1 => blocks::each(bytes, out, blocks::q5_1),
            Self::Q8_0 => blocks::each(bytes, out, blocks::q8_0),
            Self::Q4K => blocks::each(bytes, out, blocks::q4_k),
            Self::Q5K => blocks::each(bytes, out, blocks::q5_k),
            Self::Q6K => blocks::each(bytes, out, blocks::q6_k),
            Self::Opaque { .. } => return None,
        }
        Some(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights are computed with in f32")]
fn decode_f64(bytes: &[u8], out: &mut [f32]) {
    numbers(bytes, out, |bytes| f64::from_le_bytes(bytes) as f32);
}

fn numbers<const N: usize>(bytes: &[u8], out: &mut [f32], convert: impl Fn([u8; N]) -> f32) {
    let (stored, _) = bytes.as_chunks::<N>();
    for (number, stored) in out.iter_mut().zip(stored) {
        *number = convert(*stored);
    }
}
