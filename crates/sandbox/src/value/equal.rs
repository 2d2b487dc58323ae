//! Python's `==` on plain data.
//!
//! Numbers are equal when their exact values are, whatever their types: `True == 1 == 1.0`, but
//! `2**53 + 1 != float(2**53)`. Lists and tuples are equal item by item, sets and dicts in any
//! order, and NaN equals nothing. (In Python a NaN inside a container equals *itself*; what came
//! out of another process is never itself.)

use super::hash::{HashNumber, Hashes};
use super::{EqualityRule, Text, Value};

/// Whether two values are equal as Python's `==` has it, up to `rule`.
///
/// Both must pass [`check`](super::check()).
pub fn equal(a: &Value, b: &Value, rule: EqualityRule) -> bool {
    ValueComparison { rule, hashes: None }.equal(a, b)
}

struct ValueComparison<'a> {
    rule: EqualityRule,
    /// Made for the first set or dict: most values have none.
    hashes: Option<Hashes<'a>>,
}

impl<'a> ValueComparison<'a> {
    fn equal(&mut self, a: &'a Value, b: &'a Value) -> bool {
        match (a, b) {
            (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => Text::eq(a, b),
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                self.sequences(a, b)
            }
            (Value::List(a), Value::Tuple(b)) | (Value::Tuple(a), Value::List(b)) => {
                self.rule.sequences_alike && self.sequences(a, b)
            }
            (Value::Set(a) | Value::FrozenSet(a), Value::Set(b) | Value::FrozenSet(b)) => {
                let (a, b) = (Vec::from_iter(a), Vec::from_iter(b));
                self.pairing(&a, &b).is_some()
            }
            (Value::Dict(a), Value::Dict(b)) => self.dicts(a, b),
            _ => match (HashNumber::of(a), HashNumber::of(b)) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    fn sequences(&mut self, a: &'a [Value], b: &'a [Value]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b))
    }

    fn dicts(&mut self, a: &'a [(Value, Value)], b: &'a [(Value, Value)]) -> bool {
        let keys = |dict: &'a [(Value, Value)]| dict.iter().map(|(key, _)| key).collect::<Vec<_>>();
        let Some(pairs) = self.pairing(&keys(a), &keys(b)) else { return false };
        a.iter().zip(pairs).all(|((_, value), at)| self.equal(value, &b[at].1))
    }

    /// For each of `a` the index of its equal in `b`; `None` if one has none.
    fn pairing(&mut self, a: &[&'a Value], b: &[&'a Value]) -> Option<Vec<usize>> {
        if a.len() != b.len() {
            return None;
        }
        let (ours, mut theirs) = (self.table(a), self.table(b));
        if ours.iter().zip(&theirs).any(|(a, b)| a.0 != b.0) {
            return None;
        }
        let mut pairs = vec![0; a.len()];
        let mut rest = theirs.as_mut_slice();
        for run in ours.chunk_by(|a, b| a.0 == b.0) {
            let (alike, after) = rest.split_at_mut(run.len());
            for (place, (_, at)) in run.iter().enumerate() {
                let mut left = place..alike.len();
                let found = left.find(|other| self.equal(a[*at], b[alike[*other].1]))?;
                alike.swap(place, found);
                pairs[*at] = alike[place].1;
            }
            rest = after;
        }
        Some(pairs)
    }

    /// Hashes with the places they came from, in order.
    fn table(&mut self, values: &[&'a Value]) -> Vec<(u64, usize)> {
        let hashed = values.iter().enumerate().map(|(at, value)| (self.hash(value), at));
        let mut table: Vec<_> = hashed.collect();
        table.sort_unstable();
        table
    }

    fn hash(&mut self, value: &'a Value) -> u64 {
        self.hashes.get_or_insert_with(|| Hashes::new(self.rule)).of(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Int;

    const ALIKE: EqualityRule = EqualityRule { sequences_alike: true };

    fn int(value: i64) -> Value {
        Value::int(value)
    }

    #[track_caller]
    fn check(a: &Value, b: &Value, expected: bool) {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(equal(a, b, EqualityRule::default()), expected, "{a:?} == {b:?}");
            let (a, b) = (Value::Tuple(vec![a.clone()]), Value::Tuple(vec![b.clone()]));
            let (a, b) = (Value::Set(vec![a]), Value::FrozenSet(vec![b]));
            assert_eq!(equal(&a, &b, EqualityRule::default()), expected, "{a:?} == {b:?}");
        }
    }

    #[test]
    fn numbers_are_equal_by_exact_value_across_types() {
        let two53 = 9_007_199_254_740_992_i64;
        check(&Value::Bool(true), &int(1), true);
        check(&Value::Bool(true), &Value::Float(1.0), true);
        check(&Value::Bool(false), &Value::Complex(-0.0, 0.0), true);
        check(&int(two53), &Value::Float(9_007_199_254_740_992.0), true);
        check(&int(two53 + 1), &Value::Float(9_007_199_254_740_992.0), false);
        check(&Value::Float(-0.0), &Value::Float(0.0), true);
        check(&Value::Float(0.5), &Value::Complex(0.5, -0.0), true);
        check(&Value::Complex(0.0, 2.0), &Value::Complex(-0.0, 2.0), true);
        check(&Value::Complex(1.0, 2.0), &int(1), false);
        check(&Value::Float(f64::INFINITY), &Value::Float(f64::INFINITY), true);
        check(&Value::Float(f64::INFINITY), &Value::Float(f64::NEG_INFINITY), false);
        let long = Int::from_decimal(false, "99999999999999991611392").unwrap();
        check(&Value::Int(long.clone()), &Value::Float(1e23), true);
        check(&Value::Int(long.negated()), &Value::Float(1e23), false);
    }

    #[test]
    fn nan_equals_nothing() {
        for nan in [Value::Float(f64::NAN), Value::Complex(0.0, f64::NAN)] {
            check(&nan, &nan, false);
            check(&Value::Tuple(vec![nan.clone()]), &Value::Tuple(vec![nan.clone()]), false);
            let dict = Value::Dict(vec![(int(1), nan)]);
            assert!(!equal(&dict, &dict, EqualityRule::default()));
        }
    }

    #[test]
    fn things_of_different_kinds_differ() {
        let values = [
            Value::None,
            Value::Ellipsis,
            int(0),
            Value::str(""),
            Value::Bytes(vec![]),
            Value::Tuple(vec![]),
            Value::FrozenSet(vec![]),
        ];
        for (at, a) in values.iter().enumerate() {
            for (other, b) in values.iter().enumerate() {
                check(a, b, at == other);
            }
        }
        assert!(!equal(&Value::List(vec![]), &Value::Tuple(vec![]), EqualityRule::default()));
        assert!(!equal(&Value::Dict(vec![]), &Value::Set(vec![]), EqualityRule::default()));
    }

    #[test]
    fn the_order_of_sets_and_dicts_does_not_count_and_their_values_do() {
        let dict = |pairs: &[(i64, i64)]| {
            Value::Dict(pairs.iter().map(|(key, value)| (int(*key), int(*value))).collect())
        };
        let rule = EqualityRule::default();
        assert!(equal(&dict(&[(1, 2), (3, 4)]), &dict(&[(3, 4), (1, 2)]), rule));
        assert!(!equal(&dict(&[(1, 2), (3, 4)]), &dict(&[(3, 2), (1, 4)]), rule));
        assert!(!equal(&dict(&[(1, 2)]), &dict(&[(1, 2), (3, 4)]), rule));
        check(
            &Value::FrozenSet(vec![int(1), Value::str("a"), int(2)]),
            &Value::FrozenSet(vec![Value::Float(2.0), Value::Bool(true), Value::str("a")]),
            true,
        );
    }

    #[test]
    fn where_sequences_are_alike_they_are_so_inside_keys_too() {
        let list = Value::List(vec![int(1), Value::List(vec![int(2)])]);
        let tuple = Value::Tuple(vec![Value::Bool(true), Value::Tuple(vec![Value::Float(2.0)])]);
        assert!(equal(&list, &tuple, ALIKE));
        assert!(!equal(&list, &tuple, EqualityRule::default()));
        let (a, b) = (Value::Set(vec![list]), Value::Set(vec![tuple]));
        assert!(equal(&a, &b, ALIKE));
        assert!(!equal(&a, &b, EqualityRule::default()));
    }

    #[test]
    fn the_largest_sets_and_the_deepest_ones_are_compared() {
        let numbers = |from: i64| Value::FrozenSet((from..from + 50_000).map(int).collect());
        let nest = |value| (0..60).fold(value, |inner, _| Value::FrozenSet(vec![inner]));
        let (a, b, c) = (nest(numbers(0)), nest(numbers(0)), nest(numbers(1)));
        assert!(equal(&a, &b, EqualityRule::default()));
        assert!(!equal(&a, &c, EqualityRule::default()));
    }
}
