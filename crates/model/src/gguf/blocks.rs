//! GGUF's quantised blocks, each a scale with a handful of bits for every number.
//!
//! The layouts are ggml's (`ggml-common.h`, `ggml-quants.c`). A block begins or ends with its scale
//! `d` (`f16`) and, in the types with a minimum, `m`; a number is `d·q + m`, or `d·(q − offset)`.
//! In the `K` types the scale of a sub-block is itself a small integer times `d`, and so is the
//! minimum. Operations are in the order of ggml's reference, so the results are the same bits.
//!
//! Low nibbles come first: byte `j` of a run of 16 (32 in the `K` types) holds number `j` in its low
//! half and number `j + 16` (`j + 32`) in its high half.

use half::f16;

/// Turns each block of `B` bytes into `N` numbers.
pub(crate) fn each<const B: usize, const N: usize>(
    bytes: &[u8],
    out: &mut [f32],
    one: impl Fn(&[u8; B], &mut [f32; N]),
) {
    let ((blocks, _), (outs, _)) = (bytes.as_chunks::<B>(), out.as_chunks_mut::<N>());
    for (block, out) in blocks.iter().zip(outs) {
        one(block, out);
    }
}

/// 4 bits: `d · (q − 8)`.
pub(crate) fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half(block, 0);
    for (j, &byte) in block[2..].iter().enumerate() {
        out[j] = d * (f32::from(byte & 15) - 8.0);
        out[j + 16] = d * (f32::from(byte >> 4) - 8.0);
    }
}

/// 4 bits: `d · q + m`.
pub(crate) fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half(block, 0), half(block, 2));
    for (j, &byte) in block[4..].iter().enumerate() {
        out[j] = d * f32::from(byte & 15) + m;
        out[j + 16] = d * f32::from(byte >> 4) + m;
    }
}

/// 5 bits, the fifth of which is in a separate mask: `d · (q − 16)`.
pub(crate) fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let (d, high) = (half(block, 0), word(block, 2));
    for (j, &byte) in block[6..].iter().enumerate() {
        out[j] = d * (f32::from(byte & 15 | fifth(high, j)) - 16.0);
        out[j + 16] = d * (f32::from(byte >> 4 | fifth(high, j + 16)) - 16.0);
    }
}

/// 5 bits, the fifth of which is in a separate mask: `d · q + m`.
pub(crate) fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m, high) = (half(block, 0), half(block, 2), word(block, 4));
    for (j, &byte) in block[8..].iter().enumerate() {
        out[j] = d * f32::from(byte & 15 | fifth(high, j)) + m;
        out[j + 16] = d * f32::from(byte >> 4 | fifth(high, j + 16)) + m;
    }
}

/// 8 bits with a sign: `d · q`.
pub(crate) fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let d = half(block, 0);
    for (number, &byte) in out.iter_mut().zip(&block[2..]) {
        *number = d * f32::from(byte.cast_signed());
    }
}

/// 4 bits in eight sub-blocks: `(d · scale) · q − (dmin · min)`.
pub(crate) fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (d, dmin) = (half(block, 0), half(block, 2));
    let (scales, nibbles) = (&block[4..16], &block[16..]);
    for (sub, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = scale_and_min(scales, sub);
        let (d, min) = (d * f32::from(scale), dmin * f32::from(min));
        for (number, &byte) in out.iter_mut().zip(&nibbles[sub / 2 * 32..]) {
            *number = d * f32::from(byte >> (sub % 2 * 4) & 15) - min;
        }
    }
}

/// 5 bits in eight sub-blocks; bit `sub` of mask byte `j` is the fifth bit of number `j` there.
pub(crate) fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (d, dmin) = (half(block, 0), half(block, 2));
    let (scales, high, nibbles) = (&block[4..16], &block[16..48], &block[48..]);
    for (sub, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = scale_and_min(scales, sub);
        let (d, min) = (d * f32::from(scale), dmin * f32::from(min));
        let bytes = nibbles[sub / 2 * 32..].iter().zip(high);
        for (number, (&byte, &high)) in out.iter_mut().zip(bytes) {
            let q = byte >> (sub % 2 * 4) & 15 | (high >> sub & 1) << 4;
            *number = d * f32::from(q) - min;
        }
    }
}

/// 6 bits in sixteen sub-blocks of 16 with signed scales: `(d · scale) · (q − 32)`.
///
/// Each half of the block has 64 bytes of low nibbles and 32 bytes of upper pairs of bits, and each
/// quarter of a half takes its nibbles from one side of 32 of the former.
pub(crate) fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = half(block, 208);
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    for (at, number) in out.iter_mut().enumerate() {
        let (side, quarter, j) = (at / 128, at % 128 / 32, at % 32);
        let nibble = low[side * 64 + quarter % 2 * 32 + j] >> (quarter / 2 * 4) & 15;
        let q = nibble | (high[side * 32 + j] >> (quarter * 2) & 3) << 4;
        let scale = f32::from(scales[at / 16].cast_signed());
        *number = d * scale * (f32::from(q) - 32.0);
    }
}

/// The 6-bit scale and minimum of sub-block `sub`, of eight, out of twelve bytes.
///
/// The first four of each are the low bits of bytes 0 to 3 and 4 to 7; the last four have their low
/// nibbles in bytes 8 to 11 and their upper two bits on top of the first eight bytes.
fn scale_and_min(packed: &[u8], sub: usize) -> (u8, u8) {
    if sub < 4 {
        return (packed[sub] & 63, packed[sub + 4] & 63);
    }
    let both = packed[sub + 4];
    (both & 15 | packed[sub - 4] >> 6 << 4, both >> 4 | packed[sub] >> 6 << 4)
}

fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

fn word(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// Bit `j` of the mask, in its place above four others.
fn fifth(mask: u32, j: usize) -> u8 {
    u8::from(mask >> j & 1 == 1) << 4
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::weights::Dtype;

    /// Random blocks and what Python's `gguf` makes of them; `make_golden.py` beside it wrote it.
    const GOLDEN: &str = include_str!("../../tests/testdata/dequantise.json");

    #[derive(Deserialize)]
    struct Case {
        dtype: String,
        bytes: String,
        /// Bits of the numbers, eight hexadecimal digits each.
        numbers: String,
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.map(|pair| byte(pair).unwrap()).collect()
    }

    #[test]
    fn every_type_gives_the_bits_that_the_reference_gives() {
        let cases: Vec<Case> = serde_json::from_str(GOLDEN).unwrap();
        let mut seen = Vec::new();
        for dtype in [
            Dtype::F32,
            Dtype::F16,
            Dtype::Bf16,
            Dtype::Q4_0,
            Dtype::Q4_1,
            Dtype::Q5_0,
            Dtype::Q5_1,
            Dtype::Q8_0,
            Dtype::Q4K,
            Dtype::Q5K,
            Dtype::Q6K,
        ] {
            for case in cases.iter().filter(|case| case.dtype == dtype.name()) {
                let expected = bytes(&case.numbers);
                let mut out = vec![0.0; expected.len() / 4];
                dtype.decode(&bytes(&case.bytes), &mut out).unwrap();
                let found: Vec<u8> =
                    out.iter().flat_map(|number| number.to_bits().to_be_bytes()).collect();
                assert_eq!(found, expected, "{}", case.dtype);
                seen.push(dtype.name());
            }
        }
        assert_eq!(seen.len(), cases.len(), "{seen:?}");
        seen.dedup();
        assert_eq!(seen.len(), 11, "{seen:?}");
    }
}
