//! Whether a value could exist in Python: its keys can be hashed and stand there once.

use super::hash::Hashes;
use super::{EqualityRule, Value, equal};

/// Why a value could not exist in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A list, set or dict is an element of a set or a key.
    #[error("a list, a set or a dict cannot be an element of a set or a key of a dict")]
    Unhashable,
    /// Two elements or keys are equal.
    #[error("an element of a set or a key of a dict stands there twice")]
    Twice,
}

/// Tests that everything in a set or used as a key can be hashed, and is there once.
pub fn check(value: &Value) -> Result<(), Flaw> {
    let mut hashes = None;
    walk(value, &mut hashes)
}

fn walk<'a>(value: &'a Value, hashes: &mut Option<Hashes<'a>>) -> Result<(), Flaw> {
    match value {
        Value::List(items) | Value::Tuple(items) => {
            items.iter().try_for_each(|item| walk(item, hashes))
        }
        Value::Set(items) | Value::FrozenSet(items) => {
            items.iter().try_for_each(|item| walk(item, hashes))?;
            keys(&Vec::from_iter(items), hashes)
        }
        Value::Dict(items) => {
            for (key, value) in items {
                walk(key, hashes)?;
                walk(value, hashes)?;
            }
            keys(&items.iter().map(|(key, _)| key).collect::<Vec<_>>(), hashes)
        }
        _ => Ok(()),
    }
}

fn keys<'a>(keys: &[&'a Value], hashes: &mut Option<Hashes<'a>>) -> Result<(), Flaw> {
    if !keys.iter().all(|key| hashable(key)) {
        return Err(Flaw::Unhashable);
    }
    let firsts = firsts(keys, hashes);
    if firsts.iter().enumerate().all(|(at, first)| at == *first) {
        Ok(())
    } else {
        Err(Flaw::Twice)
    }
}

/// For each key the index of the first one that equals it: its own, where there is none before.
pub(super) fn firsts<'a>(keys: &[&'a Value], hashes: &mut Option<Hashes<'a>>) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..keys.len()).collect();
    if keys.len() < 2 {
        return firsts;
    }
    let hashes = hashes.get_or_insert_with(|| Hashes::new(EqualityRule::default()));
    let mut table: Vec<(u64, usize)> =
        keys.iter().enumerate().map(|(at, key)| (hashes.of(key), at)).collect();
    table.sort_unstable();
    // Hashes are keyed, so a run of equal ones is one of equal values: it has one first.
    for run in table.chunk_by(|a, b| a.0 == b.0) {
        let mut different: Vec<usize> = Vec::new();
        for &(_, at) in run {
            let same = |other: &&usize| equal(keys[at], keys[**other], EqualityRule::default());
            match different.iter().find(same) {
                Some(&first) => firsts[at] = first,
                None => different.push(at),
            }
        }
    }
    firsts
}

fn hashable(value: &Value) -> bool {
    match value {
        Value::List(_) | Value::Set(_) | Value::Dict(_) => false,
        Value::Tuple(items) => items.iter().all(hashable),
        // The elements of a frozen set are looked at where it is.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[Value]) -> Value {
        Value::Set(items.to_vec())
    }

    #[test]
    fn what_python_calls_unhashable_is_no_key() {
        let list = Value::List(vec![]);
        let nested = Value::Tuple(vec![Value::Tuple(vec![list.clone()])]);
        let frozen = Value::FrozenSet(vec![Value::int(1)]);
        assert_eq!(check(&set(std::slice::from_ref(&list))), Err(Flaw::Unhashable));
        assert_eq!(check(&set(std::slice::from_ref(&nested))), Err(Flaw::Unhashable));
        assert_eq!(check(&set(&[set(&[])])), Err(Flaw::Unhashable));
        assert_eq!(check(&Value::Dict(vec![(nested, Value::None)])), Err(Flaw::Unhashable));
        assert_eq!(check(&Value::Dict(vec![(Value::None, list)])), Ok(()));
        assert_eq!(check(&set(&[frozen, Value::Tuple(vec![])])), Ok(()));
    }

    #[test]
    fn equal_keys_of_different_types_are_one_key() {
        let (one, yes) = (Value::int(1), Value::Bool(true));
        assert_eq!(check(&set(&[one.clone(), yes.clone()])), Err(Flaw::Twice));
        let dict = Value::Dict(vec![(one.clone(), Value::None), (yes.clone(), Value::None)]);
        assert_eq!(check(&Value::List(vec![dict])), Err(Flaw::Twice));
        let tuples = [Value::Tuple(vec![one]), Value::Tuple(vec![yes])];
        assert_eq!(check(&set(&tuples)), Err(Flaw::Twice));
        assert_eq!(check(&set(&[Value::int(1), Value::str("1"), Value::int(2)])), Ok(()));
    }

    #[test]
    fn many_tuples_of_nan_are_different_elements() {
        let nan = Value::Tuple(vec![Value::Float(f64::NAN)]);
        assert_eq!(check(&Value::Set(vec![nan; 100_000])), Ok(()));
    }
}
