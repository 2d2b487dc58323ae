//! Dictionaries from names to numbers: made by counting, filtered, changed and asked.

use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Inner, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

type Entry = (String, i64);

fn table(value: &Value, make: impl FnOnce(&[Entry]) -> Option<Vec<Entry>>) -> Option<Value> {
    make(value.table()?).map(Value::Table)
}

fn only(value: &Value, inner: &Inner<'_>, wanted: bool) -> Option<Value> {
    table(value, |t| Some(t.iter().filter(|(_, n)| inner.number(*n) == wanted).cloned().collect()))
}

fn keys<'a>(entries: impl Iterator<Item = &'a Entry>) -> Value {
    Value::Words(entries.map(|(key, _)| key.clone()).collect())
}

/// Counts the items, in the order of first occurrence.
fn counted(items: impl Iterator<Item = String>) -> Value {
    let mut counts: Vec<Entry> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(key, _)| *key == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    Value::Table(counts)
}

const TABLE: Step = Step {
    group: "table",
    from: Type::Table,
    to: Type::Table,
    left: Left::One("the new dictionary"),
    ..PLAIN
};

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "count-each",
        group: "counts",
        from: Type::Words,
        code: Code::Block(&["{o} = {}", "for w in {v}:", "    {o}[w] = {o}.get(w, 0) + 1"]),
        names: &["counts", "seen"],
        does: &["^count how often each of {the} occurs"],
        gives: &["a dictionary that says how often each of {the} occurs"],
        left: Left::One("the dictionary of counts"),
        why: &["Count in a dict with get(w, 0) + 1."],
        verbs: &["count", "tally"],
        weight: 2,
        run: |v, _| Some(counted(v.words()?.iter().cloned())),
        ..TABLE
    },
    Step {
        name: "count-starts",
        group: "counting",
        from: Type::Words,
        code: Code::Block(&["{o} = {}", "for w in {v}:", "    {o}[w[:1]] = {o}.get(w[:1], 0) + 1"]),
        names: &["counts", "groups"],
        does: &["^count how many of {the} start with each letter"],
        gives: &["a dictionary from each first letter to how many of {the} start with it"],
        left: Left::One("the dictionary of counts"),
        why: &["The key is the first letter w[:1]; count with get."],
        verbs: &["count_starts", "group"],
        weight: 2,
        run: |v, _| {
            let starts = v.words()?.iter().map(|w| w.chars().take(1).collect());
            Some(counted(starts))
        },
        ..TABLE
    },
    Step {
        name: "length-table",
        group: "counting",
        from: Type::Words,
        code: Code::Whole("{w: len(w) for w in {v}}"),
        names: &["sizes", "lengths"],
        does: &["^make a dictionary from each of {the} to its length"],
        gives: &["a dictionary from each of {the} to its length"],
        left: Left::One("the dictionary of lengths"),
        why: &["A dict comprehension maps w to len(w)."],
        verbs: &["lengths_of", "measure"],
        run: |v, _| {
            let mut entries: Vec<Entry> = Vec::new();
            for w in v.words()? {
                if !entries.iter().any(|(key, _)| key == w) {
                    entries.push((w.clone(), i64::try_from(w.len()).ok()?));
                }
            }
            Some(Value::Table(entries))
        },
        ..TABLE
    },
    Step {
        name: "count-letters",
        group: "counting-letters",
        from: Type::Text,
        code: Code::Block(&[
            "{o} = {}",
            "for c in {v}:",
            "    if c != \" \":",
            "        {o}[c] = {o}.get(c, 0) + 1",
        ]),
        names: &["counts", "seen"],
        does: &["^count how often each character of {the} occurs, leaving out spaces"],
        gives: &["a dictionary that says how often each character of {the} occurs, without spaces"],
        left: Left::One("the dictionary of counts"),
        why: &["Skip spaces and count every other character in a dict."],
        verbs: &["count_letters_of", "letters_of"],
        weight: 2,
        run: |v, _| Some(counted(v.text()?.chars().filter(|&c| c != ' ').map(String::from))),
        ..TABLE
    },
    Step {
        name: "keep-entries",
        test: Some(Number),
        code: Code::Whole("{key: {x} for key, {x} in {v}.items() if {test}}"),
        names: &["kept", "chosen"],
        does: &["^keep only the entries whose value {is}"],
        gives: &["a dictionary of those entries of {the} whose value {is}"],
        why: &["Keep an entry when {test}."],
        verbs: &["filter", "select"],
        run: |v, i| only(v, i, true),
        ..TABLE
    },
    Step {
        name: "drop-entries",
        test: Some(Number),
        code: Code::Whole("{key: {x} for key, {x} in {v}.items() if {nottest}}"),
        names: &["kept", "rest"],
        does: &["^remove every entry whose value {is}"],
        gives: &["a copy of {the} without the entries whose value {is}"],
        why: &["An entry stays when {nottest}."],
        verbs: &["clean", "trim"],
        run: |v, i| only(v, i, false),
        ..TABLE
    },
    Step {
        name: "change-values",
        changes: Some((Number, 1)),
        code: Code::Whole("{key: {change} for key, {x} in {v}.items()}"),
        names: &["changed", "new"],
        does: &["{change}"],
        why: &["The key stays and the value becomes {change}."],
        verbs: &["update", "adjust"],
        run: |v, i| {
            table(v, |t| t.iter().map(|(key, n)| Some((key.clone(), i.turn(0, *n)?))).collect())
        },
        ..TABLE
    },
    Step {
        name: "change-some-values",
        test: Some(Number),
        changes: Some((Number, 1)),
        code: Code::Block(&[
            "{o} = {}",
            "for key, {x} in {v}.items():",
            "    {o}[key] = {change} if {test} else {x}",
        ]),
        names: &["changed", "new"],
        does: &["{change} if it {is} and ^leave it unchanged otherwise"],
        why: &["If {test} the value becomes {change}, else it stays."],
        verbs: &["update", "adjust"],
        weight: 2,
        run: |v, i| {
            table(v, |t| {
                let change = |n| if i.number(n) { i.turn(0, n) } else { Some(n) };
                t.iter().map(|(key, n)| Some((key.clone(), change(*n)?))).collect()
            })
        },
        ..TABLE
    },
    Step {
        name: "keys-with",
        group: "keys",
        to: Type::Words,
        test: Some(Number),
        code: Code::Whole("sorted(key for key, {x} in {v}.items() if {test})"),
        names: &["names"],
        does: &["^list the keys whose value {is} in `sorted` order"],
        gives: &["the list of the keys of {the} whose value {is}, in `sorted` order"],
        left: Left::Many("keys", "key"),
        why: &["Collect a key when {test}, then sort."],
        verbs: &["keys_of", "names_of"],
        run: |v, i| {
            let mut entries = v.table()?.to_vec();
            entries.sort();
            Some(keys(entries.iter().filter(|(_, n)| i.number(*n))))
        },
        ..TABLE
    },
    Step {
        name: "keys-by-value",
        group: "keys",
        to: Type::Words,
        code: Code::Whole("sorted({v}, key=lambda key: (-{v}[key], key))"),
        names: &["names"],
        does: &["^list the keys by value, largest first, ties in `sorted` order"],
        gives: &["the list of keys of {the} by value, largest first, with ties in `sorted` order"],
        left: Left::Many("keys", "key"),
        why: &["Sort keys by (-value, key): large values first, then by name."],
        verbs: &["rank", "order"],
        weight: 2,
        run: |v, _| {
            let mut entries = v.table()?.to_vec();
            entries.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            Some(keys(entries.iter()))
        },
        ..TABLE
    },
    Step {
        name: "best-key",
        group: "best-key",
        to: Type::Text,
        code: Code::Whole("max(sorted({v}), key={v}.get, default=\"\")"),
        names: &["best"],
        gives: &[
            "the key of {the} with the largest value (the first in `sorted` order on a tie, \"\" if there is none)",
        ],
        left: Left::One("that key"),
        why: &["max over sorted keys returns the first of equal values; default covers none."],
        verbs: &["top_of", "best_of", "winner_of"],
        weight: 2,
        run: |v, _| {
            let mut entries = v.table()?.to_vec();
            entries.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            Some(Value::Text(entries.first().map(|(key, _)| key.clone()).unwrap_or_default()))
        },
        ..TABLE
    },
    Step {
        name: "values",
        group: "values",
        to: Type::Ints,
        code: Code::Whole("list({v}.values())"),
        names: &["values", "amounts"],
        does: &["^take the values of {the} in their order"],
        left: Left::Many("values", "value"),
        why: &["values() gives the numbers in order.", "Only the values matter."],
        verbs: &["values_of", "amounts_of"],
        run: |v, _| Some(Value::Ints(v.table()?.iter().map(|(_, n)| *n).collect())),
        ..TABLE
    },
    Step {
        name: "table-sum",
        group: "fold-table",
        to: Type::Int,
        code: Code::Whole("sum({v}.values())"),
        names: &["total"],
        gives: &["the sum of the values of {the}"],
        left: Left::One("the sum"),
        why: &["Add up values()."],
        verbs: &["total", "sum"],
        run: |v, _| {
            let sum = v.table()?.iter().try_fold(0i64, |sum, (_, n)| sum.checked_add(*n));
            sum.map(Value::Int)
        },
        ..TABLE
    },
    Step {
        name: "table-count",
        group: "fold-table",
        to: Type::Int,
        test: Some(Number),
        code: Code::Whole("sum(1 for {x} in {v}.values() if {test})"),
        names: &["count"],
        gives: &["how many values of {the} {are}"],
        left: Left::One("the count"),
        why: &["Count 1 for each value with {test}."],
        verbs: &["count", "tally"],
        run: |v, i| {
            i64::try_from(v.table()?.iter().filter(|(_, n)| i.number(*n)).count())
                .ok()
                .map(Value::Int)
        },
        ..TABLE
    },
];
