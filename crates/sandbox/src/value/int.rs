//! Integers of any length: read, compared and written, never calculated with.
//!
//! An integer that fits in an `i64` is stored as one, the rest as a `BigInt`: equal numbers have equal forms.
//!
//! Reading decimals is quadratic in their number, which is why [`MAX_DIGITS`] is as low as it is.

use num_bigint::{BigInt, BigUint, Sign};

/// The maximum number of decimal digits of an integer read from text.
pub(crate) const MAX_DIGITS: usize = 100_000;

/// Bits of a digit, as `marshal` writes integers.
const DIGIT_BITS: u32 = 15;

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Int(IntRepr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum IntRepr {
    Small(i64),
    /// Never an integer that fits in an `i64`.
    Big(BigInt),
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Self(IntRepr::Small(value))
    }
}

impl From<u64> for Int {
    fn from(value: u64) -> Self {
        BigInt::from(value).into()
    }
}

impl From<BigInt> for Int {
    fn from(value: BigInt) -> Self {
        Self(i64::try_from(&value).map_or(IntRepr::Big(value), IntRepr::Small))
    }
}

impl Int {
    /// The number as an `i64`, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            IntRepr::Small(value) => Some(value),
            IntRepr::Big(_) => None,
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            IntRepr::Small(value) => *value < 0,
            IntRepr::Big(value) => value.sign() == Sign::Minus,
        }
    }

    pub(crate) fn to_big(&self) -> BigInt {
        match &self.0 {
            IntRepr::Small(value) => BigInt::from(*value),
            IntRepr::Big(value) => value.clone(),
        }
    }

    /// Its magnitude in digits of 15 bits, least first; none for zero.
    pub(crate) fn digits(&self) -> Vec<u16> {
        let groups = self.to_big().into_parts().1;
        let groups = groups.iter_u32_digits().map(u64::from);
        let digits = repack(groups, 32, DIGIT_BITS).into_iter();
        digits.map(|digit| u16::try_from(digit).expect("15 bits")).collect()
    }

    /// A number from digits of 15 bits, least first.
    pub(crate) fn from_digits(negative: bool, digits: &[u16]) -> Self {
        let groups = digits.iter().map(|digit| u64::from(*digit));
        Self::of(negative, BigUint::new(repack(groups, DIGIT_BITS, 32)))
    }

    /// The number with the other sign.
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        (-self.to_big()).into()
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
        let magnitude = match exponent.checked_sub(1075) {
            Some(shift) => BigUint::from(mantissa) << shift,
            None => BigUint::from(mantissa >> (1075 - exponent)),
        };
        Some(Self::of(value.is_sign_negative(), magnitude))
    }

    /// A number from decimal digits; `None` if there are none, too many, or others.
    pub(crate) fn from_decimal(negative: bool, text: &str) -> Option<Self> {
        Some(Self::of(negative, parse(text, 10)?))
    }

    /// A number from digits of a base that is a power of two: 1, 3 or 4 bits each.
    pub(crate) fn from_bits(text: &str, bits: u32) -> Option<Self> {
        Some(Self::of(false, parse(text, 1 << bits)?))
    }

    fn of(negative: bool, magnitude: BigUint) -> Self {
        BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude).into()
    }
}

/// The number that digits of this base say, and nothing but digits.
fn parse(text: &str, base: u32) -> Option<BigUint> {
    let is_digits = text.chars().all(|digit| digit.is_digit(base));
    let is_read = !text.is_empty() && text.len() <= MAX_DIGITS && is_digits;
    is_read.then(|| BigUint::parse_bytes(text.as_bytes(), base)).flatten()
}

/// Groups of bits, least first, as groups of another size without zeros at the end.
fn repack(groups: impl Iterator<Item = u64>, from: u32, to: u32) -> Vec<u32> {
    let mut packed = Vec::new();
    let (mut held, mut count) = (0_u64, 0);
    let low = |held: u64| u32::try_from(held & ((1 << to) - 1)).expect("at most 32 bits");
    for group in groups {
        held |= group << count;
        count += from;
        while count >= to {
            packed.push(low(held));
            held >>= to;
            count -= to;
        }
    }
    packed.push(low(held));
    while packed.last() == Some(&0) {
        packed.pop();
    }
    packed
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
            prop_assert_eq!(&Int::from_digits(value < 0, &int.digits()), &int);
            prop_assert_eq!(&decimal(&value.to_string()), &int);
            let bits = format!("{:o}", value.unsigned_abs());
            prop_assert_eq!(Int::from_bits(&bits, 3), Some(Int::from(value.unsigned_abs())));
        }

        #[test]
        fn decimals_agree_with_wide_arithmetic(value: u128) {
            prop_assert_eq!(decimal(&value.to_string()), Int::from(BigInt::from(value)));
        }
    }
}
