//! Sixteen-bit floats and their conversion.
//!
//! `bf16` is the upper half of an `f32`. `f16` is IEEE 754 binary16: 1 sign bit, 5 of exponent
//! (bias 15), 10 of fraction; both conversions to `f32` are exact. A crate for this (`half`) would
//! bring its own types; we only ever cross over.

/// The value of a `bf16`.
pub(crate) fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest `bf16`, ties to even; infinities and NaN are preserved.
pub(crate) fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    let round = 0x7fff + ((bits >> 16) & 1);
    ((bits + round) >> 16) as u16
}

/// The value of an `f16`.
pub(crate) fn from_f16(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let (sign, exponent, fraction) = ((bits & 0x8000) << 16, (bits >> 10) & 0x1f, bits & 0x3ff);
    match exponent {
        // Zero and the subnormals: fraction * 2^-24, which is exact in f32.
        0 => {
            let size = f32::from_bits(fraction_as_f32(fraction)) / 16_777_216.0;
            f32::from_bits(sign | size.to_bits())
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

/// The bits of an integer below 1024 as `f32`.
#[expect(clippy::cast_precision_loss, reason = "ten bits fit into the 24 of an f32")]
fn fraction_as_f32(fraction: u32) -> u32 {
    (fraction as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the standard, in `f64`.
    fn formula(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from((bits >> 10) & 31), f64::from(bits & 1023));
        match exponent {
            0 => sign * fraction / 1024.0 * 2f64.powi(-14),
            31 if fraction == 0.0 => sign * f64::INFINITY,
            31 => f64::NAN,
            _ => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
        }
    }

    #[test]
    fn every_f16_is_what_the_standard_says() {
        for bits in 0..=u16::MAX {
            let (value, expected) = (f64::from(from_f16(bits)), formula(bits));
            let same = value.to_bits() == expected.to_bits();
            assert!(same || (value.is_nan() && expected.is_nan()), "{bits:#06x}: {value}");
        }
    }

    #[test]
    fn every_bf16_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let value = from_bf16(bits);
            let back = to_bf16(value);
            assert!(back == bits || (value.is_nan() && from_bf16(back).is_nan()), "{bits:#06x}");
        }
    }

    #[test]
    fn rounding_goes_to_the_nearest_and_to_the_even_one_of_two() {
        let check = |from: u32, to: u16| assert_eq!(to_bf16(f32::from_bits(from)), to, "{from:#x}");
        check(0x3f80_7fff, 0x3f80);
        check(0x3f80_8000, 0x3f80);
        check(0x3f80_8001, 0x3f81);
        check(0x3f81_8000, 0x3f82);
        check(0x7f7f_ffff, 0x7f80);
        check(0xff80_0000, 0xff80);
    }
}
