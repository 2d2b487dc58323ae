//! Whole numbers in two sizes: `i128` with checked arithmetic, and [`BigInt`] where that overflows.
//!
//! Every finite `f64` is `m · 2^e` with whole `m` and `e`, so a row of them is a row of whole numbers times one
//! power of two. Algorithms are written once, generic over [`Whole`], and tried in `i128` first.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;

/// A whole number; `None` is an overflow.
pub(crate) trait Whole: Clone {
    /// `mantissa · 2^shift`.
    fn shifted(mantissa: i64, shift: u32) -> Option<Self>;
    fn to_big(&self) -> BigInt;
    fn sign(&self) -> Ordering;
    fn negated(&self) -> Self;
    fn plus(&self, other: &Self) -> Option<Self>;
    fn times(&self, other: &Self) -> Option<Self>;
    /// The quotient; the divisor divides this number.
    fn over(&self, divisor: &Self) -> Self;
    /// The greatest common divisor, not negative.
    fn gcd_with(&self, other: &Self) -> Self;

    fn small(value: i64) -> Self {
        Self::shifted(value, 0).expect("64 bits fit into every kind of whole number")
    }

    fn equals_one(&self) -> bool {
        self.plus(&Self::small(-1)).is_some_and(|rest| rest.is_zero())
    }

    fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    fn is_positive(&self) -> bool {
        self.sign() == Ordering::Greater
    }
}

impl Whole for i128 {
    fn shifted(mantissa: i64, shift: u32) -> Option<Self> {
        // One bit is left for the sign and one so that negation cannot overflow.
        let used = 64 - mantissa.unsigned_abs().leading_zeros();
        (used + shift <= 126).then(|| Self::from(mantissa) << shift)
    }

    fn to_big(&self) -> BigInt {
        BigInt::from(*self)
    }

    fn sign(&self) -> Ordering {
        self.cmp(&0)
    }

    fn negated(&self) -> Self {
        -self
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        self.checked_add(*other).filter(|value| *value != Self::MIN)
    }

    fn times(&self, other: &Self) -> Option<Self> {
        self.checked_mul(*other).filter(|value| *value != Self::MIN)
    }

    fn over(&self, divisor: &Self) -> Self {
        self / divisor
    }

    fn gcd_with(&self, other: &Self) -> Self {
        match (u64::try_from(self.unsigned_abs()), u64::try_from(other.unsigned_abs())) {
            (Ok(a), Ok(b)) => Self::from(a.gcd(&b)),
            _ => self.gcd(other),
        }
    }
}

impl Whole for BigInt {
    fn shifted(mantissa: i64, shift: u32) -> Option<Self> {
        Some(Self::from(mantissa) << shift)
    }

    fn to_big(&self) -> BigInt {
        self.clone()
    }

    fn sign(&self) -> Ordering {
        match self.sign() {
            Sign::Minus => Ordering::Less,
            Sign::NoSign => Ordering::Equal,
            Sign::Plus => Ordering::Greater,
        }
    }

    fn negated(&self) -> Self {
        -self
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        Some(self + other)
    }

    fn times(&self, other: &Self) -> Option<Self> {
        Some(self * other)
    }

    fn over(&self, divisor: &Self) -> Self {
        self / divisor
    }

    fn gcd_with(&self, other: &Self) -> Self {
        // The divisor of many numbers divides most of the next: one division is cheaper than the binary method.
        let (small, large) = if self.bits() < other.bits() { (self, other) } else { (other, self) };
        if small.is_zero() { large.gcd(small) } else { small.gcd(&(large % small)) }
    }
}

/// Turns the sign of all numbers.
pub(crate) fn negate<T: Whole>(numbers: &mut [T]) {
    for number in numbers {
        *number = number.negated();
    }
}

/// Divides all numbers by their greatest common divisor.
pub(crate) fn reduce<'a, T: Whole + 'a>(numbers: impl IntoIterator<Item = &'a mut T>) {
    let mut numbers: Vec<&mut T> = numbers.into_iter().collect();
    let mut divisor = T::small(0);
    for number in &numbers {
        divisor = divisor.gcd_with(number);
        if divisor.equals_one() {
            return;
        }
    }
    if !divisor.is_zero() {
        for number in &mut numbers {
            **number = number.over(&divisor);
        }
    }
}

/// The quotient of two numbers, the second not 0, within a few units of the last place.
#[expect(clippy::cast_possible_wrap, reason = "numbers of bits")]
pub(crate) fn ratio(numerator: &BigInt, denominator: &BigInt) -> f64 {
    let (top, top_shift) = leading(numerator);
    let (bottom, bottom_shift) = leading(denominator);
    let shift = i32::try_from(top_shift as i64 - bottom_shift as i64).unwrap_or(i32::MAX);
    // In two steps: 2^shift alone may overflow where the product does not.
    top / bottom * f64::from(shift / 2).exp2() * f64::from(shift - shift / 2).exp2()
}

/// The leading 64 bits of a number, and by how much they are shifted.
#[expect(clippy::cast_precision_loss, reason = "the last bits are below an f64's")]
fn leading(number: &BigInt) -> (f64, u64) {
    let shift = number.bits().saturating_sub(64);
    let bits: BigInt = number.magnitude().clone().into();
    let bits = u64::try_from(bits >> shift).unwrap_or(u64::MAX) as f64;
    (if Whole::sign(number).is_lt() { -bits } else { bits }, shift)
}

/// A finite `f64` as `mantissa · 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dyadic {
    /// Odd, or 0.
    pub(crate) mantissa: i64,
    pub(crate) exponent: i32,
}

impl Dyadic {
    pub(crate) fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let field = i32::try_from((bits >> 52) & 0x7ff).expect("eleven bits");
        let fraction = i64::try_from(bits & ((1 << 52) - 1)).expect("52 bits");
        let (magnitude, exponent) =
            if field == 0 { (fraction, -1074) } else { (fraction | (1 << 52), field - 1075) };
        if magnitude == 0 {
            return Self { mantissa: 0, exponent: 0 };
        }
        let zeros = magnitude.trailing_zeros();
        let mantissa = magnitude >> zeros;
        let exponent = exponent + i32::try_from(zeros).expect("below 64");
        Self { mantissa: if value.is_sign_negative() { -mantissa } else { mantissa }, exponent }
    }

    /// This number divided by `2^exponent`, which must leave a whole number.
    pub(crate) fn scaled<T: Whole>(self, exponent: i32) -> Option<T> {
        if self.mantissa == 0 {
            return Some(T::small(0));
        }
        T::shifted(self.mantissa, u32::try_from(self.exponent - exponent).ok()?)
    }
}
