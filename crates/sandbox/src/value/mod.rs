//! Plain data: values that a program returns, and the expected ones.
//!
//! A program's answer leaves its process as `CPython`'s `marshal` of version 2 and is read by
//! [`decode`], which knows the tags of plain data and nothing else. What it should be comes from a
//! task's JSON ([`from_json`]) or from the source of an assert ([`literal`]). [`equal`] is Python's
//! `==` between the two: here, outside the process that could bend it.
//!
//! Code that makes a value keeps two rules, which [`check`] tests: what stands in a set or is a key
//! can be hashed, and no set or dict holds an element or key twice. Everything here is linear in
//! the size of its input, whoever wrote it, and recursion ends at [`MAX_DEPTH`].
//!
//! Not here: classes. An answer that is not plain data has no value.

mod check;
mod decode;
mod encode;
mod equal;
mod hash;
mod int;
mod json;
mod literal;
mod show;
mod text;

#[cfg(test)]
mod tests;

pub use check::{Flaw, check};
pub use decode::{DecodeError, DecodeProblem, ValueLimits, decode};
pub use encode::encode;
pub use equal::equal;
pub use int::Int;
pub use json::{JsonError, from_json};
pub use literal::literal;
pub use show::show;
pub use text::Text;

/// The maximum nesting depth of containers.
pub const MAX_DEPTH: usize = 64;

/// The maximum size of a value, in bytes of its encoding or of the text it is read from.
pub const MAX_BYTES: usize = 1 << 20;

/// Deviations from Python's `==`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EqualityRule {
    /// A tuple equals a list of the same items: for values out of JSON, which has no tuples.
    pub sequences_alike: bool,
}

/// A value of Python's built-in types.
///
/// `==` on it is identity of what is written down, bit by bit: NaN is itself, `1` is not `1.0`, and
/// the order of a set counts. Python's `==` is [`equal`].
#[derive(Debug, Clone)]
pub enum Value {
    /// `None`
    None,
    /// `...`
    Ellipsis,
    /// `True` or `False`
    Bool(bool),
    /// An integer of any length.
    Int(Int),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(Text),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A set, in no order.
    Set(Vec<Self>),
    /// A frozen set, in no order.
    FrozenSet(Vec<Self>),
    /// A dict: keys and their values.
    Dict(Vec<(Self, Self)>),
}

impl Value {
    /// An integer.
    pub fn int(value: i64) -> Self {
        Self::Int(Int::from(value))
    }

    /// A string.
    pub fn str(text: &str) -> Self {
        Self::Str(Text::from(text))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) | (Self::Ellipsis, Self::Ellipsis) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Complex(a, b), Self::Complex(c, d)) => {
                a.to_bits() == c.to_bits() && b.to_bits() == d.to_bits()
            }
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b))
            | (Self::Tuple(a), Self::Tuple(b))
            | (Self::Set(a), Self::Set(b))
            | (Self::FrozenSet(a), Self::FrozenSet(b)) => a == b,
            (Self::Dict(a), Self::Dict(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}
