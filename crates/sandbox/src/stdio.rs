//! Whether a program's output is the expected one.
//!
//! Both sides are bytes and stay bytes: an output that is not UTF-8 is wrong, not an error. The usual
//! rule forgives blanks and the last digits of fractions: lines without their trailing blanks,
//! without blank lines at the end, must be as many, and each must have the same tokens. A token may
//! differ only where the expected one is written with a fraction or an exponent, by a millionth of
//! it: |a - b| <= 1e-6 · max(1, |b|). An integer must stand there as it is.
//!
//! A task may ask for the rule `tokens`: the same tokens in the same order, in whatever lines.
//!
//! The strict rule is that of `LiveCodeBench`, for figures that are to be compared with its: lines
//! equal without the blanks around them, or made of decimal numbers of exactly equal values.
//!
//! Time is linear in both, and nothing is copied but numbers of at most [`MAX_NUMBER_BYTES`].
//!
//! Not here: looser rules. Sorting lines or comparing them as sets pays for wrong answers.

use whetstone_core::judgement::MAX_GOT_CHARS;
use whetstone_core::tests::Compare;

/// The comparison of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StdioRule {
    /// Token by token; fractions within a millionth.
    #[default]
    Tolerant,
    /// As [`Tolerant`](Self::Tolerant), but line breaks are blanks like others.
    Tokens,
    /// Line by line; numbers only as exact decimals.
    Strict,
}

impl From<Compare> for StdioRule {
    fn from(compare: Compare) -> Self {
        match compare {
            Compare::Lines => Self::Tolerant,
            Compare::Tokens => Self::Tokens,
        }
    }
}

/// A longer token is never a number.
pub const MAX_NUMBER_BYTES: usize = 1024;

/// The beginning of an output as people read it; a judgement cuts it to a limit.
pub(crate) fn beginning(output: &[u8]) -> String {
    // No character has more than four bytes.
    let most = output.len().min(4 * (MAX_GOT_CHARS + 1));
    String::from_utf8_lossy(&output[..most]).into_owned()
}

/// Whether `actual` is one of the outputs that are right.
pub fn matches<E: AsRef<[u8]>>(actual: &[u8], any_of: &[E], rule: StdioRule) -> bool {
    any_of.iter().any(|expected| match rule {
        StdioRule::Tolerant => tolerant(actual, expected.as_ref()),
        StdioRule::Tokens => all_pairs(tokens(actual), tokens(expected.as_ref()), same_token),
        StdioRule::Strict => strict(actual, expected.as_ref()),
    })
}

fn tolerant(actual: &[u8], expected: &[u8]) -> bool {
    let (mut actual, mut expected) = (lines(trim_end(actual)), lines(trim_end(expected)));
    loop {
        match (actual.next(), expected.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if all_pairs(tokens(a), tokens(b), same_token) => {}
            _ => return false,
        }
    }
}

fn strict(actual: &[u8], expected: &[u8]) -> bool {
    let line =
        |a: &[u8], b: &[u8]| trim(a) == trim(b) || all_pairs(tokens(a), tokens(b), same_decimal);
    all_pairs(lines(trim(actual)), lines(trim(expected)), line)
}

fn all_pairs<'a>(
    mut a: impl Iterator<Item = &'a [u8]>,
    mut b: impl Iterator<Item = &'a [u8]>,
    same: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if same(a, b) => {}
            _ => return false,
        }
    }
}

fn same_token(actual: &[u8], expected: &[u8]) -> bool {
    if actual == expected {
        return true;
    }
    let (Some(expected), Some(actual)) = (Numeral::read(expected), Numeral::read(actual)) else {
        return false;
    };
    let (Some(a), Some(b)) = (actual.float(), expected.float()) else { return false };
    expected.is_fractional && (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

fn same_decimal(actual: &[u8], expected: &[u8]) -> bool {
    match (Numeral::read(actual), Numeral::read(expected)) {
        (Some(a), Some(b)) => match (a.decimal(), b.decimal()) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        },
        _ => false,
    }
}

/// A number as it is written: `[+-] digits [. digits] [e [+-] digits]`, a digit before or after
/// the point.
struct Numeral<'a> {
    text: &'a str,
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: &'a str,
    /// Written with a point or an exponent.
    is_fractional: bool,
}

/// The exact value of a number: ± 0.`digits` · 10^`exponent`, digits without zeros at either end.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl<'a> Numeral<'a> {
    fn read(token: &'a [u8]) -> Option<Self> {
        if token.len() > MAX_NUMBER_BYTES {
            return None;
        }
        let text = std::str::from_utf8(token).ok()?;
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        let right = is_digits(whole)
            && is_digits(fraction.unwrap_or_default())
            && whole.len() + fraction.map_or(0, str::len) > 0
            && power.is_none_or(|power| !power.is_empty() && is_digits(power));
        right.then(|| Self {
            text,
            negative: text.starts_with('-'),
            whole,
            fraction: fraction.unwrap_or_default(),
            exponent: exponent.unwrap_or_default(),
            is_fractional: fraction.is_some() || exponent.is_some(),
        })
    }

    /// The nearest float, if that is finite.
    fn float(&self) -> Option<f64> {
        self.text.parse().ok().filter(|float: &f64| float.is_finite())
    }

    fn decimal(&self) -> Option<Decimal> {
        let digits = [self.whole, self.fraction].concat();
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Decimal { negative: false, digits: String::new(), exponent: 0 });
        }
        let power: i64 = match self.exponent {
            "" => 0,
            text => text.parse().ok()?,
        };
        let point = i64::try_from(self.whole.len()).ok()?;
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        Some(Decimal {
            negative: self.negative,
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: power.checked_add(point - zeros)?,
        })
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| is_blank(*byte)).filter(|token| !token.is_empty())
}

/// What Python's `bytes.split()` splits at; Rust's own list lacks the vertical tab.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &text[..end]
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    trim_end(&text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(actual: &str, expected: &str, tolerant: bool, strict: bool) {
        let one = [expected];
        assert_eq!(
            matches(actual.as_bytes(), &one, StdioRule::Tolerant),
            tolerant,
            "tolerant: {actual:?} for {expected:?}"
        );
        assert_eq!(
            matches(actual.as_bytes(), &one, StdioRule::Strict),
            strict,
            "strict: {actual:?} for {expected:?}"
        );
    }

    #[test]
    fn blanks_at_the_end_do_not_count() {
        check("1 2\n3\n", "1 2\n3", true, true);
        check("1 2  \r\n3\n\n \n", "1 2\n3", true, true);
        check("", "\n", true, true);
        check("a", "", false, false);
        check("", "a", false, false);
    }

    #[test]
    fn by_tokens_line_breaks_are_blanks_and_nothing_else_is_forgiven() {
        let same = |actual: &str, expected: &str| {
            matches(actual.as_bytes(), &[expected], StdioRule::Tokens)
        };
        assert!(same("1\n2 3\n\n", "1 2\n3") && same(" a\r\nb", "a b") && same("", "\n"));
        assert!(same("0.3333333", "0.33333334") && same("1 2.0", "1\n2.0000001"));
        assert!(!same("1 2", "1 2 3") && !same("1 2 3", "1 2") && !same("12", "1 2"));
        assert!(!same("2 1", "1 2") && !same("1.0", "1") && !same("A", "a"));
    }

    #[test]
    fn blanks_between_words_count_only_to_the_strict() {
        check("a  b\t c", "a b c", true, false);
        check("1  2\t 3", "1 2 3", true, true);
        check("a\x0bb", "a b", true, false);
        check("ab", "a b", false, false);
        check(" a", "a", true, true);
    }

    #[test]
    fn lines_must_be_as_many() {
        check("1\n2", "1\n2\n3", false, false);
        check("1\n2\n3", "1\n2", false, false);
        check("1 2 3", "1\n2\n3", false, false);
        check("1\n\n2", "1\n2", false, false);
        check("\n1", "1", false, true);
    }

    #[test]
    fn every_token_must_be_there_in_its_place() {
        check("NO YES YES", "YES NO YES", false, false);
        check("1 2", "1 2 3", false, false);
        check("yes", "YES", false, false);
    }

    #[test]
    fn fractions_are_compared_within_a_millionth_of_the_expected() {
        check("0.3333333", "0.33333333", true, false);
        check("0.333332", "0.333333", true, false);
        check("0.333331", "0.333333", false, false);
        check("2000001.9", "2000000.0", true, false);
        check("2000002.1", "2000000.0", false, false);
        check("5", "5.0", true, true);
        check("1e3", "1000.0", true, true);
        check("100", "1e2", true, true);
        check("-0.0000001", "0.0", true, false);
        check("x", "1.5", false, false);
        check("1.5", "x", false, false);
        check(".5", "0.5", true, true);
        check("5.", "5.0", true, true);
    }

    #[test]
    fn an_integer_stands_there_as_it_is() {
        check("5.0", "5", false, true);
        check("5.0000005", "5", false, false);
        check("05", "5", false, true);
        check("+5", "5", false, true);
        check("-0", "0", false, true);
        check("9007199254740993", "9007199254740992", false, false);
        check("100000000000000000001", "100000000000000000000.0", true, false);
    }

    #[test]
    fn what_is_not_finite_or_no_number_is_compared_as_text() {
        check("nan", "nan", true, true);
        check("nan", "1.0", false, false);
        check("inf", "1e400", false, false);
        check("1e400", "1e400", true, true);
        check("1e401", "1e400", false, false);
        check("1e999", "1.0", false, false);
        check("1_0.0", "10.0", false, false);
        check("0x1p3", "8.0", false, false);
        check("1e", "1.0", false, false);
        check(".", "0.0", false, false);
        check("+-1.0", "1.0", false, false);
        check("1.0.0", "1.0", false, false);
        check("1e5e5", "1e5", false, false);
    }

    #[test]
    fn decimals_are_exact_and_their_spelling_does_not_count() {
        check("0.1000", "1e-1", true, true);
        check("-0.0", "0", false, true);
        check("0e99999999999999999999", "0.0", true, true);
        check("1e99999999999999999999", "1e99999999999999999998", false, false);
        check("1e9223372036854775807", "10e9223372036854775807", false, false);
        check("0.10000000000000000000000000001", "0.1", true, false);
        check("-1.50", "-15e-1", true, true);
        check("1.50", "-1.5", false, false);
    }

    #[test]
    fn an_endless_token_is_no_number() {
        let long = format!("1.{}", "0".repeat(MAX_NUMBER_BYTES));
        check(&long, "1.0", false, false);
        check("1.0", &long, false, false);
        check(&long, &long, true, true);
    }

    #[test]
    fn bytes_that_are_no_text_are_compared_all_the_same() {
        assert!(matches(b"\xff\xfe", &[b"\xff\xfe"], StdioRule::Tolerant));
        assert!(!matches(b"\xff", &[b"1.0"], StdioRule::Tolerant));
        assert!(!matches(b"1.0\0", &[b"1.0"], StdioRule::Tolerant));
    }

    #[test]
    fn any_of_several_outputs_will_do_and_none_of_none() {
        let rule = StdioRule::Tolerant;
        assert!(matches(b"2 1", &["1 2", "2 1"], rule));
        assert!(!matches(b"2 2", &["1 2", "2 1"], rule));
        assert!(!matches::<&[u8]>(b"", &[], rule));
    }
}
