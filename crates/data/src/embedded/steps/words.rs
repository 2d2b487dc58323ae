//! From a list of words to another, to a text, to numbers or to a verdict.

use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Word;
use crate::embedded::kind::{Code, Inner, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

fn list(value: &Value, make: impl FnOnce(&[String]) -> Option<Vec<String>>) -> Option<Value> {
    make(value.words()?).map(Value::Words)
}

fn only(value: &Value, inner: &Inner<'_>, wanted: bool) -> Option<Value> {
    list(value, |l| Some(l.iter().filter(|w| inner.text(w) == wanted).cloned().collect()))
}

fn count(n: usize) -> Option<Value> {
    i64::try_from(n).ok().map(Value::Int)
}

/// The first word for which `is_better` holds against all before it, or nothing.
fn best(value: &Value, is_better: impl Fn(&str, &str) -> bool) -> Option<Value> {
    let mut words = value.words()?.iter();
    let first = words.next().cloned().unwrap_or_default();
    Some(Value::Text(
        words.fold(first, |best, w| if is_better(w, &best) { w.clone() } else { best }),
    ))
}

const WORDS: Step = Step { group: "words", from: Type::Words, to: Type::Words, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "keep-words",
        group: "keep-words",
        test: Some(Word),
        code: Code::Keep("{test}"),
        names: &["kept", "chosen", "picked"],
        does: &["^keep only the {tests}", "^pick the {tests}", "^select the {tests}"],
        left: Left::Remaining,
        why: &["Keep {x} when {test}.", "Filter by {test}."],
        verbs: &["filter", "select"],
        run: |v, i| only(v, i, true),
        ..WORDS
    },
    Step {
        name: "drop-words",
        group: "keep-words",
        test: Some(Word),
        code: Code::Keep("{nottest}"),
        names: &["kept", "rest"],
        does: &["^remove the {tests}", "^drop every {one} that {is}"],
        left: Left::Remaining,
        why: &["What stays satisfies {nottest}."],
        verbs: &["clean", "trim"],
        run: |v, i| only(v, i, false),
        ..WORDS
    },
    Step {
        name: "each-word",
        group: "change-words",
        changes: Some((Word, 1)),
        code: Code::Each("{change}"),
        names: &["changed", "new"],
        does: &["{change}"],
        why: &["Each {x} becomes {change}.", "Map {x} to {change}."],
        run: |v, i| list(v, |l| l.iter().map(|w| i.turn_text(0, w)).collect()),
        ..WORDS
    },
    Step {
        name: "choose-words",
        group: "change-words",
        test: Some(Word),
        changes: Some((Word, 1)),
        code: Code::Each("{change} if {test} else {x}"),
        names: &["changed", "new"],
        does: &["{change} if it {is} and ^leave it as it is otherwise"],
        why: &["If {test}, {x} becomes {change}, else it stays."],
        weight: 2,
        run: |v, i| {
            list(v, |l| {
                l.iter()
                    .map(|w| if i.text(w) { i.turn_text(0, w) } else { Some(w.clone()) })
                    .collect()
            })
        },
        ..WORDS
    },
    Step {
        name: "alphabetical",
        group: "order-words",
        code: Code::Whole("sorted({v})"),
        names: &["ordered"],
        does: &["^sort {the} with `sorted`"],
        gives: &["{the} in the order that `sorted` gives"],
        left: Left::Same,
        why: &["sorted() orders strings."],
        verbs: &["sort", "order"],
        run: |v, _| {
            list(v, |l| {
                let mut out = l.to_vec();
                out.sort();
                Some(out)
            })
        },
        ..WORDS
    },
    Step {
        name: "by-length",
        group: "order-words",
        code: Code::Whole("sorted({v}, key=len)"),
        names: &["ordered"],
        does: &["^sort {the} by length, shortest first, keeping the order of ties"],
        gives: &["{the} sorted by length, shortest first, with ties in their original order"],
        left: Left::Same,
        why: &["key=len sorts by length and the sort is stable."],
        verbs: &["sort", "rank"],
        run: |v, _| {
            list(v, |l| {
                let mut out = l.to_vec();
                out.sort_by_key(String::len);
                Some(out)
            })
        },
        ..WORDS
    },
    Step {
        name: "reversed-words",
        group: "order-words",
        code: Code::Whole("{v}[::-1]"),
        names: &["backwards"],
        does: &["^reverse the order of {the}"],
        gives: &["{the} in reverse order"],
        left: Left::Same,
        why: &["[::-1] reverses the list."],
        verbs: &["reverse", "flip"],
        run: |v, _| list(v, |l| Some(l.iter().rev().cloned().collect())),
        ..WORDS
    },
    Step {
        name: "first-words",
        group: "order-words",
        constants: &[Num(2, 3)],
        code: Code::Whole("{v}[:{a}]"),
        names: &["part"],
        does: &["^keep the first {a} {noun}"],
        gives: &["the first {a} of {the}"],
        left: Left::Remaining,
        why: &["The slice [:{a}] takes the first {a}."],
        verbs: &["first_of", "take"],
        run: |v, i| list(v, |l| Some(l.iter().take(i.size()).cloned().collect())),
        ..WORDS
    },
    Step {
        name: "unique-words",
        group: "order-words",
        code: Code::Whole("list(dict.fromkeys({v}))"),
        names: &["unique"],
        does: &["^remove repeated {noun}, keeping first occurrences in order"],
        left: Left::Remaining,
        why: &["dict.fromkeys drops repeats and keeps order."],
        verbs: &["unique_of", "distinct_of"],
        run: |v, _| {
            list(v, |l| {
                let mut seen: Vec<String> = Vec::new();
                for w in l {
                    if !seen.contains(w) {
                        seen.push(w.clone());
                    }
                }
                Some(seen)
            })
        },
        ..WORDS
    },
    Step {
        name: "join-spaces",
        group: "join",
        to: Type::Text,
        code: Code::Whole("\" \".join({v})"),
        names: &["text"],
        does: &["^join {the} with single spaces"],
        gives: &["{the} joined by single spaces"],
        left: Left::One("the joined string"),
        why: &["Join with a space."],
        verbs: &["join", "write"],
        run: |v, _| Some(Value::Text(v.words()?.join(" "))),
        ..WORDS
    },
    Step {
        name: "join-dashes",
        group: "join",
        to: Type::Text,
        code: Code::Whole("\"-\".join({v})"),
        names: &["text"],
        does: &["^join {the} with \"-\""],
        gives: &["{the} joined by \"-\""],
        left: Left::One("the joined string"),
        why: &["\"-\".join puts dashes between them."],
        verbs: &["join", "link"],
        run: |v, _| Some(Value::Text(v.words()?.join("-"))),
        ..WORDS
    },
    Step {
        name: "initials",
        group: "join",
        to: Type::Text,
        code: Code::Whole("\"\".join(w[:1] for w in {v})"),
        names: &["text"],
        does: &["^put the first letters of {the} together"],
        gives: &["the string of the first letters of {the}"],
        left: Left::One("the string of first letters"),
        why: &["w[:1] is the first letter, also safe for an empty word."],
        verbs: &["initials_of", "short_of"],
        run: |v, _| Some(Value::Text(v.words()?.iter().filter_map(|w| w.chars().next()).collect())),
        ..WORDS
    },
    Step {
        name: "longest",
        group: "best-word",
        to: Type::Text,
        code: Code::Whole("max({v}, key=len, default=\"\")"),
        names: &["best"],
        gives: &["the longest of {the} (the first one on a tie, \"\" if there are none)"],
        left: Left::One("that word"),
        why: &["max by len keeps the first of equals; default covers none."],
        verbs: &["longest_of", "longest_of"],
        run: |v, _| best(v, |w, best| w.len() > best.len()),
        ..WORDS
    },
    Step {
        name: "shortest",
        group: "best-word",
        to: Type::Text,
        code: Code::Whole("min({v}, key=len, default=\"\")"),
        names: &["best"],
        gives: &["the shortest of {the} (the first one on a tie, \"\" if there are none)"],
        left: Left::One("that word"),
        why: &["min by len keeps the first of equals; default covers none."],
        verbs: &["shortest_of", "shortest_of"],
        run: |v, _| best(v, |w, best| w.len() < best.len()),
        ..WORDS
    },
    Step {
        name: "lengths",
        group: "lengths",
        to: Type::Ints,
        code: Code::Whole("[len(w) for w in {v}]"),
        names: &["lengths", "sizes"],
        does: &["^take the length of {each}"],
        gives: &["the list of the lengths of {the}"],
        left: Left::Many("lengths", "length"),
        why: &["Map every word to its len()."],
        verbs: &["lengths_of", "sizes_of"],
        run: |v, _| {
            let lengths = v.words()?.iter().map(|w| i64::try_from(w.len()).ok());
            lengths.collect::<Option<_>>().map(Value::Ints)
        },
        ..WORDS
    },
    Step {
        name: "vowels",
        group: "lengths",
        to: Type::Ints,
        code: Code::Whole("[sum(c in \"aeiou\" for c in w.lower()) for w in {v}]"),
        names: &["vowels"],
        does: &["^count the vowels of either case in {each}"],
        gives: &["the list of how many vowels of either case each of {the} has"],
        left: Left::Many("counts", "count"),
        why: &["For every word add 1 for each vowel."],
        verbs: &["vowels_of", "count_vowels"],
        weight: 2,
        run: |v, _| {
            let vowels =
                |w: &String| w.chars().filter(|&c| crate::embedded::elements::is_vowel(c)).count();
            let counts = v.words()?.iter().map(|w| i64::try_from(vowels(w)).ok());
            counts.collect::<Option<_>>().map(Value::Ints)
        },
        ..WORDS
    },
    Step {
        name: "count-words",
        group: "fold-words",
        to: Type::Int,
        test: Some(Word),
        code: Code::Whole("sum(1 for {x} in {v} if {test})"),
        names: &["count"],
        gives: &["how many of {the} {are}"],
        left: Left::One("the count"),
        why: &["Count 1 for each {x} with {test}."],
        verbs: &["count", "tally"],
        run: |v, i| count(v.words()?.iter().filter(|w| i.text(w)).count()),
        ..WORDS
    },
    Step {
        name: "total-length",
        group: "fold-words",
        to: Type::Int,
        code: Code::Whole("sum(len(w) for w in {v})"),
        names: &["total"],
        gives: &["the total length of {the}"],
        left: Left::One("the total"),
        why: &["Add up the lengths."],
        verbs: &["total_length_of", "size_of"],
        run: |v, _| count(v.words()?.iter().map(String::len).sum()),
        ..WORDS
    },
    Step {
        name: "distinct-words",
        group: "fold-words",
        to: Type::Int,
        code: Code::Whole("len(set({v}))"),
        names: &["count"],
        gives: &["the number of different strings among {the}"],
        left: Left::One("the count"),
        why: &["A set keeps each once."],
        verbs: &["count_distinct_of", "variety_of"],
        run: |v, _| count(v.words()?.iter().collect::<std::collections::HashSet<_>>().len()),
        ..WORDS
    },
    Step {
        name: "any-word",
        group: "fold-words",
        to: Type::Bool,
        test: Some(Word),
        code: Code::Whole("any({test} for {x} in {v})"),
        gives: &["whether at least one of {the} {is}"],
        why: &["any() looks for one {x} with {test}."],
        verbs: &["any", "has"],
        run: |v, i| Some(Value::Bool(v.words()?.iter().any(|w| i.text(w)))),
        ..WORDS
    },
    Step {
        name: "all-words",
        group: "fold-words",
        to: Type::Bool,
        test: Some(Word),
        code: Code::Whole("all({test} for {x} in {v})"),
        gives: &["whether all of {the} {are} (True if there are none)"],
        why: &["all() needs {test} for every {x}."],
        verbs: &["all", "check"],
        run: |v, i| Some(Value::Bool(v.words()?.iter().all(|w| i.text(w)))),
        ..WORDS
    },
];
