//! The parts of a step. Each step is defined in one place: its Python, its twin in Rust, its words
//! and its reasoning.
//!
//! There are two levels. *Elements* are tests and changes of one number, word or character; *steps*
//! take a whole value and may hold elements: `keep[even]`, `each[square]`. Texts are templates:
//!
//! | in Python | is | in English | is |
//! |---|---|---|---|
//! | `{v}`, `{w}` | the value, the second argument | `{the}` | "the numbers in `nums`", later "the results" |
//! | `{x}` | one element | `{each}` | "each number", later "each result" |
//! | `{o}` | the name of the result | `{noun}`, `{one}` | "numbers", "number" |
//! | `{test}`, `{nottest}` | the element's test | `{tests}`, `{is}`, `{are}` | "even numbers", "is even", "are even" |
//! | `{change}`, `{change2}` | the element's changes | `{change}`, `{change2}` | "^square each number", of "it" |
//! | `{a}`, `{b}` | constants | `{a}`, `{b}` | constants |
//!
//! In `does` a mark precedes each verb of the subject: "^keep" is "keep" or "keeps".

use super::value::{Type, Value};

/// The range of a constant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Constant {
    /// From the first to the last, both included.
    Number(i64, i64),
    /// A lowercase letter, as its place in the alphabet.
    Letter,
}

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Number,
    Word,
    Character,
}

/// The twin of a test.
#[derive(Clone, Copy)]
pub(super) enum Check {
    Number(fn(i64, &[i64]) -> bool),
    Text(fn(&str, &[i64]) -> bool),
}

/// The twin of a change; `None` where it is not defined.
#[derive(Clone, Copy)]
pub(super) enum ChangeFn {
    Number(fn(i64, &[i64]) -> Option<i64>),
    Text(fn(&str, &[i64]) -> String),
}

/// A question about one element.
pub(super) struct Test {
    pub(super) name: &'static str,
    pub(super) of: Element,
    pub(super) constants: &'static [Constant],
    pub(super) python: &'static str,
    /// The opposite, as a person writes it.
    pub(super) negated: &'static str,
    /// "is even", "are even", and with `{}` for the noun "even {}".
    pub(super) is: &'static str,
    pub(super) are: &'static str,
    pub(super) noun: &'static str,
    pub(super) check: Check,
}

/// A new element for an old one.
pub(super) struct Change {
    pub(super) name: &'static str,
    pub(super) of: Element,
    pub(super) constants: &'static [Constant],
    pub(super) python: &'static str,
    /// With `{x}` for the element.
    pub(super) does: &'static [&'static str],
    pub(super) turn: ChangeFn,
}

/// The Python form of a step.
#[derive(Clone, Copy)]
pub(super) enum Code {
    /// Elements for which this holds stay.
    Keep(&'static str),
    /// Each element becomes this.
    Each(&'static str),
    /// The value becomes this.
    Whole(&'static str),
    /// The list becomes one value: at once, over a generator `{g}`, or in a loop over `{e}`.
    Fold { whole: &'static str, generator: &'static str, start: &'static str, update: &'static str },
    /// Statements that leave the result in `{o}`.
    Block(&'static [&'static str]),
}

/// The words by which later steps refer to the result of a step.
#[derive(Clone, Copy)]
pub(super) enum Left {
    /// "the remaining numbers".
    Remaining,
    /// "the results".
    Results,
    /// "the numbers", in another order.
    Same,
    /// One thing: "the sum".
    One(&'static str),
    /// Others, by their plural and singular: "the digits".
    Many(&'static str, &'static str),
}

/// One step of a composition.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The group by which families select it.
    pub(super) group: &'static str,
    pub(super) from: Type,
    pub(super) to: Type,
    pub(super) constants: &'static [Constant],
    pub(super) test: Option<Element>,
    /// Number of changes in it, and their type.
    pub(super) changes: Option<(Element, usize)>,
    pub(super) code: Code,
    /// Names for the result.
    pub(super) names: &'static [&'static str],
    /// A verb phrase for the step.
    pub(super) does: &'static [&'static str],
    /// A noun phrase for the result; none if it would be clumsy.
    pub(super) gives: &'static [&'static str],
    pub(super) left: Left,
    /// The sentence of the reasoning, with the Python placeholders.
    pub(super) why: &'static [&'static str],
    /// Possible first words of the name of a function that ends with this step.
    pub(super) verbs: &'static [&'static str],
    /// It makes sense only where there may be negative numbers.
    pub(super) signed: bool,
    /// Its contribution to the difficulty.
    pub(super) weight: usize,
    pub(super) run: fn(&Value, &Inner<'_>) -> Option<Value>,
}

/// The defaults of a step: no constants, no elements, from a list of numbers to a list of numbers.
pub(super) const PLAIN: Step = Step {
    name: "",
    group: "",
    from: Type::Ints,
    to: Type::Ints,
    constants: &[],
    test: None,
    changes: None,
    code: Code::Whole("{v}"),
    names: &["result"],
    does: &[],
    gives: &[],
    left: Left::Results,
    why: &[],
    verbs: &["process", "transform", "convert"],
    signed: false,
    weight: 1,
    run: |_, _| None,
};

/// The constants and elements of a step as its twin sees them.
pub(super) struct Inner<'a> {
    pub(super) constants: &'a [i64],
    pub(super) test: Option<(&'static Test, &'a [i64])>,
    /// A forced result of the test: for mutants that leave it out.
    pub(super) forced: Option<bool>,
    pub(super) changes: Vec<(&'static Change, &'a [i64])>,
}

impl Inner<'_> {
    /// The first constant; a step without one does not ask.
    pub(super) fn a(&self) -> i64 {
        self.constants.first().copied().unwrap_or(0)
    }

    /// The first constant as a length.
    pub(super) fn size(&self) -> usize {
        usize::try_from(self.a()).unwrap_or(0)
    }

    pub(super) fn number(&self, n: i64) -> bool {
        match (self.forced, &self.test) {
            (Some(forced), _) => forced,
            (None, Some((Test { check: Check::Number(check), .. }, k))) => check(n, k),
            _ => false,
        }
    }

    pub(super) fn text(&self, text: &str) -> bool {
        match (self.forced, &self.test) {
            (Some(forced), _) => forced,
            (None, Some((Test { check: Check::Text(check), .. }, k))) => check(text, k),
            _ => false,
        }
    }

    pub(super) fn turn(&self, which: usize, n: i64) -> Option<i64> {
        match self.changes.get(which)? {
            (Change { turn: ChangeFn::Number(turn), .. }, k) => turn(n, k),
            _ => None,
        }
    }

    pub(super) fn turn_text(&self, which: usize, text: &str) -> Option<String> {
        match self.changes.get(which)? {
            (Change { turn: ChangeFn::Text(turn), .. }, k) => Some(turn(text, k)),
            _ => None,
        }
    }
}

/// The letter of a constant.
pub(super) fn letter(constant: i64) -> char {
    u8::try_from(constant).map_or('a', |place| char::from(b'a' + place % 26))
}
