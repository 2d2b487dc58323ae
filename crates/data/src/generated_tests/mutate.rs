//! Inputs of the shape of those that are known: one argument of a known call is changed a little.
//!
//! | value | changes |
//! |---|---|
//! | integer | ±1, doubled, 0, 1, a small one; negative or 0 only if a known argument at this place is |
//! | float | ±0.5, doubled, halved; the same |
//! | text | a character left out, repeated or replaced by one of it, reversed; empty only if a known one is |
//! | list | an item left out, repeated or changed, reversed; empty, or out of order, only if a known one is |
//! | tuple, dict | an item, or a value, changed |
//! | boolean | the other one |
//!
//! A statement's conditions on its input are not read: what the known calls have in common (signs, order, no empty text) is
//! kept, and nothing else. Other values (`None`, sets, bytes) stay as they are.

use whetstone_sandbox::plan::LiteralCall;
use whetstone_sandbox::value::Value;

use crate::random::Random;

/// Bounds of a small integer that is drawn.
const SMALL: [i64; 2] = [-20, 50];
/// Integers beyond this are not doubled: references count up to them.
const LARGE: i64 = 100_000;

/// What the known values of an argument have in common. Of nested values all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
struct Seen {
    negative: bool,
    zero: bool,
    empty: bool,
    unsorted: bool,
}

impl Seen {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Int(number) => {
                self.negative |= number.is_negative();
                self.zero |= number.as_i64() == Some(0);
            }
            Value::Float(number) => {
                self.negative |= *number < 0.0;
                self.zero |= *number == 0.0;
            }
            Value::Str(text) => self.empty |= text.as_bytes().is_empty(),
            Value::List(items) => {
                self.empty |= items.is_empty();
                self.unsorted |= !is_sorted(items);
                self.add_all(items.iter());
            }
            Value::Tuple(items) => self.add_all(items.iter()),
            Value::Dict(entries) => self.add_all(entries.iter().map(|(_, value)| value)),
            _ => {}
        }
    }

    fn add_all<'a>(&mut self, values: impl Iterator<Item = &'a Value>) {
        for value in values {
            self.add(value);
        }
    }

    fn allows(self, number: i64) -> bool {
        (number >= 0 || self.negative) && (number != 0 || self.zero || self.negative)
    }
}

/// Whether a list is in order. Of others than integers it is not known, and their order is not kept.
fn is_sorted(items: &[Value]) -> bool {
    let numbers: Option<Vec<i64>> = items.iter().map(as_int).collect();
    numbers.is_some_and(|numbers| numbers.is_sorted())
}

fn as_int(value: &Value) -> Option<i64> {
    if let Value::Int(number) = value { number.as_i64() } else { None }
}

/// Arguments of one of the known calls, with one of them changed; `None` if that one has no other value.
pub(super) fn mutated(known: &[LiteralCall], random: &mut Random) -> Option<Vec<Value>> {
    let call = random.pick(known);
    if call.args.is_empty() {
        return None;
    }
    let at = random.below(call.args.len());
    let mut seen = Seen::default();
    let of_argument = known.iter().filter(|other| other.name == call.name);
    seen.add_all(of_argument.filter_map(|other| other.args.get(at)));
    let mut args = call.args.clone();
    args[at] = changed(&args[at], seen, random)?;
    (args != call.args).then_some(args)
}

fn changed(value: &Value, seen: Seen, random: &mut Random) -> Option<Value> {
    Some(match value {
        Value::Bool(truth) => Value::Bool(!truth),
        Value::Int(number) => {
            let number = number.as_i64()?;
            let doubled = if number.abs() < LARGE { number * 2 } else { number - 2 };
            let [low, high] = SMALL;
            let drawn = random.between(low, high);
            let choices = [number.checked_add(1)?, number.checked_sub(1)?, doubled, 0, 1, drawn];
            let choices: Vec<i64> = choices.into_iter().filter(|one| seen.allows(*one)).collect();
            Value::int(*choices.get(random.below(choices.len().max(1)))?)
        }
        Value::Float(number) => {
            let choices = [number + 0.5, number - 0.5, number * 2.0, number / 2.0];
            let fits = |one: &f64| (*one > 0.0 || seen.negative) && one.is_finite();
            let choices: Vec<f64> = choices.into_iter().filter(fits).collect();
            Value::Float(*choices.get(random.below(choices.len().max(1)))?)
        }
        Value::Str(text) => Value::str(&changed_text(text.to_str()?, seen, random)?),
        Value::List(items) => Value::List(changed_list(items, seen, random)?),
        Value::Tuple(items) => Value::Tuple(with_changed_item(items, seen, random)?),
        Value::Dict(entries) if !entries.is_empty() => {
            let mut entries = entries.clone();
            let at = random.below(entries.len());
            entries[at].1 = changed(&entries[at].1, seen, random)?;
            Value::Dict(entries)
        }
        _ => return None,
    })
}

fn changed_text(text: &str, seen: Seen, random: &mut Random) -> Option<String> {
    let mut chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return None;
    }
    let (at, from) = (random.below(chars.len()), random.below(chars.len()));
    match random.below(4) {
        0 if chars.len() > 1 || seen.empty => drop(chars.remove(at)),
        1 => chars.insert(at, chars[from]),
        2 => chars[at] = chars[from],
        _ => chars.reverse(),
    }
    Some(chars.into_iter().collect())
}

fn changed_list(items: &[Value], seen: Seen, random: &mut Random) -> Option<Vec<Value>> {
    if items.is_empty() {
        return None;
    }
    let mut found = items.to_vec();
    let at = random.below(found.len());
    match random.below(4) {
        0 if found.len() > 1 || seen.empty => drop(found.remove(at)),
        1 => found.insert(at, found[at].clone()),
        2 if seen.unsorted => found.reverse(),
        _ => found = with_changed_item(items, seen, random)?,
    }
    if !seen.unsorted {
        found.sort_by_key(as_int);
    }
    Some(found)
}

fn with_changed_item(items: &[Value], seen: Seen, random: &mut Random) -> Option<Vec<Value>> {
    let mut items = items.to_vec();
    if items.is_empty() {
        return None;
    }
    let at = random.below(items.len());
    items[at] = changed(&items[at], seen, random)?;
    Some(items)
}

#[cfg(test)]
mod tests {
    use whetstone_core::Seed;
    use whetstone_sandbox::plan::literal_call;
    use whetstone_sandbox::value::show;

    use super::*;

    /// Arguments that 300 draws give, as Python writes them.
    fn drawn(asserts: &[&str]) -> Vec<Vec<Value>> {
        let known: Vec<LiteralCall> =
            asserts.iter().map(|assert| literal_call(assert).unwrap()).collect();
        let mut random = Random::new(Seed::new(7));
        (0..300).filter_map(|_| mutated(&known, &mut random)).collect()
    }

    #[test]
    fn what_the_known_calls_have_in_common_is_kept() {
        for args in drawn(&["assert f(3, [1, 2, 2, 9], 'ab') == 1"]) {
            let [Value::Int(number), Value::List(list), Value::Str(text)] = &args[..] else {
                panic!("other types: {args:?}")
            };
            assert!(number.as_i64().unwrap() > 0, "positive stays positive");
            assert!(!list.is_empty() && is_sorted(list), "in order stays in order: {list:?}");
            assert!(list.iter().all(|item| as_int(item).unwrap() > 0));
            assert!(!text.as_bytes().is_empty());
        }
    }

    #[test]
    fn what_one_known_call_shows_is_drawn() {
        let all = drawn(&["assert f(-3, [5, 1], '') == 1", "assert f(2, [], 'ab') == 1"]);
        let some = |is: fn(&[Value]) -> bool| all.iter().any(|args| is(args));
        assert!(some(|args| as_int(&args[0]).is_some_and(|number| number < -3)));
        assert!(some(|args| matches!(&args[1], Value::List(list) if !is_sorted(list))));
        assert!(some(|args| matches!(&args[1], Value::List(list) if list.len() == 1)));
    }

    #[test]
    fn one_argument_is_changed_and_nested_values_keep_their_types() {
        let known = "assert f((1, 2.5), {'k': [True]}) == 0";
        let all = drawn(&[known]);
        let original = literal_call(known).unwrap().args;
        let shown: Vec<String> =
            all.iter().map(|args| show(&Value::Tuple(args.clone()), 200)).collect();
        assert!(shown.iter().any(|text| text.contains("{'k': [False]}")), "{shown:?}");
        for args in &all {
            assert_ne!(args, &original);
            assert!(args[0] == original[0] || args[1] == original[1], "one of them alone");
            assert!(matches!(&args[0], Value::Tuple(pair) if pair.len() == 2));
        }
        assert!(drawn(&["assert f(None) == 0"]).is_empty(), "there is nothing to change");
    }
}
