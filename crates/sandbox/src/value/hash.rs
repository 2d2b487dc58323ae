//! Hashes that agree with Python's `==`, for sets and dicts whose elements an enemy chose.
//!
//! Each comparison draws its own key, so elements that collide cannot be chosen. Values that are
//! equal hash alike across types (`1`, `1.0`, `True`, `1+0j`), a set's hash does not depend on its
//! order, and every NaN gets a hash of its own, because it equals nothing. The hash of a container
//! is worked out once and kept by its address, so sets in sets in sets stay linear.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::marker::PhantomData;

use super::{EqualityRule, Int, Value};

/// Hashes of values that live as long as `'a`.
pub(super) struct Hashes<'a> {
    key: RandomState,
    rule: EqualityRule,
    nans: u64,
    known: HashMap<*const Value, u64>,
    values: PhantomData<&'a Value>,
}

/// A number by its value: equal numbers of different types are one of these.
#[derive(Debug, PartialEq)]
pub(super) enum HashNumber<'a> {
    Whole(Cow<'a, Int>),
    /// Neither whole nor complex; perhaps infinite or NaN.
    Real(f64),
    /// The imaginary part is not zero.
    Complex(f64, f64),
}

/// The type of a hashed value, so that `"1"`, `b"1"` and `1` differ.
#[derive(Hash)]
enum HashTag {
    None,
    Ellipsis,
    Nan,
    Whole,
    Long,
    Real,
    Complex,
    Str,
    Bytes,
    List,
    Tuple,
    Set,
    Dict,
}

impl<'a> HashNumber<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Whole(Cow::Owned(Int::from(i64::from(*value)))),
            Value::Int(value) => Self::Whole(Cow::Borrowed(value)),
            Value::Float(value) => Self::real(*value),
            Value::Complex(real, imaginary) if *imaginary == 0.0 => Self::real(*real),
            Value::Complex(real, imaginary) => Self::Complex(*real, *imaginary),
            _ => return None,
        })
    }

    fn real(value: f64) -> Self {
        Int::from_float(value).map_or(Self::Real(value), |whole| Self::Whole(Cow::Owned(whole)))
    }
}

impl<'a> Hashes<'a> {
    pub(super) fn new(rule: EqualityRule) -> Self {
        Self { key: RandomState::new(), rule, nans: 0, known: HashMap::new(), values: PhantomData }
    }

    /// The hash of a value.
    pub(super) fn of(&mut self, value: &'a Value) -> u64 {
        if let Some(number) = HashNumber::of(value) {
            return self.number(&number);
        }
        match value {
            Value::Str(text) => self.key.hash_one((HashTag::Str, text)),
            Value::Bytes(bytes) => self.key.hash_one((HashTag::Bytes, bytes)),
            Value::Ellipsis => self.key.hash_one(HashTag::Ellipsis),
            Value::List(_)
            | Value::Tuple(_)
            | Value::Set(_)
            | Value::FrozenSet(_)
            | Value::Dict(_) => {
                let address = std::ptr::from_ref(value);
                if let Some(&hash) = self.known.get(&address) {
                    return hash;
                }
                let hash = self.container(value);
                self.known.insert(address, hash);
                hash
            }
            _ => self.key.hash_one(HashTag::None),
        }
    }

    fn container(&mut self, value: &'a Value) -> u64 {
        match value {
            Value::List(items) if !self.rule.sequences_alike => self.sequence(HashTag::List, items),
            Value::List(items) | Value::Tuple(items) => self.sequence(HashTag::Tuple, items),
            Value::Set(items) | Value::FrozenSet(items) => {
                let sum = items.iter().fold(0, |sum: u64, item| sum.wrapping_add(self.of(item)));
                self.key.hash_one((HashTag::Set, items.len(), sum))
            }
            Value::Dict(items) => {
                let sum = items.iter().fold(0, |sum: u64, (key, value)| {
                    let pair = (self.of(key), self.of(value));
                    sum.wrapping_add(self.key.hash_one(pair))
                });
                self.key.hash_one((HashTag::Dict, items.len(), sum))
            }
            _ => unreachable!("only containers get here"),
        }
    }

    fn sequence(&mut self, kind: HashTag, items: &'a [Value]) -> u64 {
        let mut hasher = self.key.build_hasher();
        (kind, items.len()).hash(&mut hasher);
        for item in items {
            hasher.write_u64(self.of(item));
        }
        hasher.finish()
    }

    fn number(&mut self, number: &HashNumber<'_>) -> u64 {
        match number {
            HashNumber::Whole(whole) => match whole.as_i64() {
                Some(small) => self.key.hash_one((HashTag::Whole, small)),
                None => self.key.hash_one((HashTag::Long, whole)),
            },
            HashNumber::Real(real) if real.is_nan() => self.nan(),
            HashNumber::Real(real) => self.key.hash_one((HashTag::Real, real.to_bits())),
            HashNumber::Complex(real, imaginary) if real.is_nan() || imaginary.is_nan() => {
                self.nan()
            }
            HashNumber::Complex(real, imaginary) => {
                // Adding zero turns -0.0 into 0.0.
                let bits = ((real + 0.0).to_bits(), (imaginary + 0.0).to_bits());
                self.key.hash_one((HashTag::Complex, bits))
            }
        }
    }

    fn nan(&mut self) -> u64 {
        self.nans += 1;
        self.key.hash_one((HashTag::Nan, self.nans))
    }
}
