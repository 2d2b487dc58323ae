//! Integers of any length: read, compared and written, never calculated with.
//!
//! What fits in an `i64` is one. The rest is a sign and digits of 15 bits, least first, which is
//! how `marshal` writes them; so the form of a number is unique, and equal numbers have equal forms.
//!
//! Reading decimals is quadratic in their number, which is why [`MAX_DIGITS`] is as low as it is.

/// How many decimal digits an integer read from text may have.
pub(crate) const MAX_DIGITS: usize = 100_000;

const DIGIT_BITS: u32 = 15;
const DIGIT_MASK: u16 = 0x7FFF;

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Int(Form);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    Small(i64),
    /// Digits of 15 bits, least first, the last one not zero; never what fits in an `i64`.
    Big {
        negative: bool,
        digits: Vec<u16>,
    },
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Self(Form::Small(value))
    }
}

impl From<u64> for Int {
    fn from(value: u64) -> Self {
        Self::shifted(false, value, 0)
    }
}

impl Int {
    /// The number as an `i64`, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Form::Small(value) => Some(value),
            Form::Big { .. } => None,
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        match self.0 {
            Form::Small(value) => value < 0,
            Form::Big { negative, .. } => negative,
        }
    }

    /// Its magnitude in digits of 15 bits, least first; none for zero.
    pub(crate) fn digits(&self) -> Vec<u16> {
        match &self.0 {
            Form::Small(value) => split(u128::from(value.unsigned_abs())),
            Form::Big { digits, .. } => digits.clone(),
        }
    }

    /// A number from digits of 15 bits, least first.
    pub(crate) fn from_digits(negative: bool, mut digits: Vec<u16>) -> Self {
        while digits.last() == Some(&0) {
            digits.pop();
        }
        match join(&digits).and_then(|magnitude| signed(negative, magnitude)) {
            Some(small) => Self(Form::Small(small)),
            None => Self(Form::Big { negative, digits }),
        }
    }

    /// The number with the other sign.
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        let negative = !self.is_negative();
        match self.0 {
            Form::Small(value) if value != i64::MIN => Self::from(-value),
            Form::Small(value) => Self::from_digits(negative, split(value.unsigned_abs().into())),
            Form::Big { digits, .. } => Self::from_digits(negative, digits),
        }
    }

    /// The number that this float is, if it is a whole one.
    pub(crate) fn from_float(value: f64) -> Option<Self> {
        if !value.is_finite() || value.fract() != 0.0 {
            return None;
        }
        let bits = value.to_bits();
        let exponent = u32::try_from(bits >> 52 & 0x7FF).ok()?;
        let fraction = bits & ((1 << 52) - 1);
        // A whole number is zero or at least one, so it is never subnormal.
        if exponent == 0 {
            return Some(Self::from(0_i64));
        }
        let mantissa = fraction | 1 << 52;
        let negative = value.is_sign_negative();
        Some(match exponent.checked_sub(1075) {
            Some(shift) => Self::shifted(negative, mantissa, shift),
            None => Self::shifted(negative, mantissa >> (1075 - exponent), 0),
        })
    }

    /// A number from decimal digits; `None` if there are none, too many, or others.
    pub(crate) fn from_decimal(negative: bool, text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.is_empty() || text.len() > MAX_DIGITS || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let mut limbs: Vec<u64> = Vec::with_capacity(text.len() / 19 + 1);
        for chunk in text.chunks(19) {
            let mut carry = chunk.iter().fold(0, |sum, c| sum * 10 + u64::from(c - b'0'));
            let factor = chunk.iter().fold(1_u64, |power, _| power * 10);
            for limb in &mut limbs {
                let sum = u128::from(*limb) * u128::from(factor) + u128::from(carry);
                *limb = low(sum);
                carry = low(sum >> 64);
            }
            if carry > 0 {
                limbs.push(carry);
            }
        }
        let halves = limbs.iter().flat_map(|limb| [(limb & 0xFFFF_FFFF, 32), (limb >> 32, 32)]);
        Some(Self::from_digits(negative, repack(halves)))
    }

    /// A number from digits of a base that is a power of two: 1, 3 or 4 bits each.
    pub(crate) fn from_bits(text: &str, bits: u32) -> Option<Self> {
        let text = text.as_bytes();
        if text.is_empty() || text.len() > MAX_DIGITS {
            return None;
        }
        let mut groups = Vec::with_capacity(text.len());
        for &c in text.iter().rev() {
            groups.push((u64::from(char::from(c).to_digit(1 << bits)?), bits));
        }
        Some(Self::from_digits(false, repack(groups.into_iter())))
    }

    /// `mantissa << shift`, with a sign.
    fn shifted(negative: bool, mantissa: u64, shift: u32) -> Self {
        let mut digits = vec![0; (shift / DIGIT_BITS) as usize];
        digits.extend(split(u128::from(mantissa) << (shift % DIGIT_BITS)));
        Self::from_digits(negative, digits)
    }
}

/// Groups of bits, least first, as digits of 15 bits.
fn repack(groups: impl Iterator<Item = (u64, u32)>) -> Vec<u16> {
    let mut digits = Vec::new();
    let (mut held, mut count) = (0_u64, 0);
    for (group, bits) in groups {
        held |= group << count;
        count += bits;
        while count >= DIGIT_BITS {
            digits.push(digit(held));
            held >>= DIGIT_BITS;
            count -= DIGIT_BITS;
        }
    }
    digits.push(digit(held));
    digits
}

fn split(mut magnitude: u128) -> Vec<u16> {
    let mut digits = Vec::new();
    while magnitude > 0 {
        digits.push(digit(low(magnitude)));
        magnitude >>= DIGIT_BITS;
    }
    digits
}

fn join(digits: &[u16]) -> Option<u128> {
    // Five digits hold an i64 and eight fit in 128 bits.
    if digits.len() > 8 {
        return None;
    }
    Some(digits.iter().rev().fold(0, |sum, &digit| sum << DIGIT_BITS | u128::from(digit)))
}

fn signed(negative: bool, magnitude: u128) -> Option<i64> {
    let magnitude = i128::try_from(magnitude).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[expect(clippy::cast_possible_truncation, reason = "the mask leaves 15 bits")]
fn digit(bits: u64) -> u16 {
    (bits & u64::from(DIGIT_MASK)) as u16
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
fn low(bits: u128) -> u64 {
    bits as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Int {
        match text.strip_prefix('-') {
            Some(digits) => Int::from_decimal(true, digits).unwrap(),
            None => Int::from_decimal(false, text).unwrap(),
        }
    }

    #[test]
    fn the_edges_of_an_i64_are_small_and_their_neighbours_big() {
        assert_eq!(decimal("9223372036854775807").as_i64(), Some(i64::MAX));
        assert_eq!(decimal("9223372036854775808").as_i64(), None);
        assert_eq!(decimal("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(decimal("-9223372036854775809").as_i64(), None);
        assert_eq!(decimal("-9223372036854775808").negated(), decimal("9223372036854775808"));
        assert_eq!(decimal("9223372036854775808").negated().as_i64(), Some(i64::MIN));
        assert_eq!(decimal("-0").as_i64(), Some(0));
        assert_eq!(Int::from(u64::MAX), decimal("18446744073709551615"));
    }

    #[test]
    fn a_googol_is_the_same_in_two_bases() {
        let hex =
            "1249ad2594c37ceb0b2784c4ce0bf38ace408e211a7caab24308a82e8f10000000000000000000000000";
        let decimal = decimal(&format!("1{}", "0".repeat(100)));
        assert_eq!(Int::from_bits(hex, 4).unwrap(), decimal);
    }

    #[test]
    fn text_that_is_no_number_gives_none() {
        for text in ["", "a", "1_0", "+1", "٣", &"9".repeat(MAX_DIGITS + 1)] {
            assert_eq!(Int::from_decimal(false, text), None, "{text:.20}");
        }
        assert_eq!(Int::from_bits("8", 3), None);
    }

    #[test]
    fn floats_that_are_whole_are_numbers() {
        assert_eq!(Int::from_float(-0.0).unwrap().as_i64(), Some(0));
        assert_eq!(Int::from_float(1.0).unwrap().as_i64(), Some(1));
        assert_eq!(Int::from_float(-9_007_199_254_740_993.0).unwrap().as_i64(), Some(-(1 << 53)));
        assert_eq!(Int::from_float(1e23).unwrap(), decimal("99999999999999991611392"));
        assert_eq!(Int::from_float(0.5), None);
        assert_eq!(Int::from_float(5e-324), None);
        assert_eq!(Int::from_float(f64::INFINITY), None);
        assert_eq!(Int::from_float(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn every_small_number_reads_back_from_its_digits_and_its_text(value: i64) {
            let int = Int::from(value);
            prop_assert_eq!(&Int::from_digits(value < 0, int.digits()), &int);
            prop_assert_eq!(&decimal(&value.to_string()), &int);
            let bits = format!("{:o}", value.unsigned_abs());
            prop_assert_eq!(Int::from_bits(&bits, 3), Some(Int::from(value.unsigned_abs())));
        }

        #[test]
        fn decimals_agree_with_wide_arithmetic(value: u128) {
            prop_assert_eq!(decimal(&value.to_string()), Int::from_digits(false, split(value)));
        }
    }
}
