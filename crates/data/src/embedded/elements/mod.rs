//! Tests and changes of one number, word or character.

mod numbers;
mod texts;

use super::kind::{Change, Element, Test};

/// The tests of an element.
pub(super) fn tests(of: Element) -> impl Iterator<Item = &'static Test> {
    numbers::TESTS.iter().chain(texts::TESTS).filter(move |test| test.of == of)
}

/// The changes of an element.
pub(super) fn changes(of: Element) -> impl Iterator<Item = &'static Change> {
    numbers::CHANGES.iter().chain(texts::CHANGES).filter(move |change| change.of == of)
}

/// Whether a character is one of aeiou in either case.
pub(super) fn is_vowel(c: char) -> bool {
    "aeiou".contains(c.to_ascii_lowercase())
}

/// The decimal digits of a number that is not negative.
pub(super) fn digits(n: i64) -> Option<Vec<i64>> {
    (n >= 0).then(|| n.to_string().bytes().map(|digit| i64::from(digit - b'0')).collect())
}
