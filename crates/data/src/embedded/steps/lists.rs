//! From a list of numbers to a list of numbers.

use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Inner, Left, PLAIN, Step};
use crate::embedded::value::Value;

/// The list that `make` makes of a list.
fn list(value: &Value, make: impl FnOnce(&[i64]) -> Option<Vec<i64>>) -> Option<Value> {
    make(value.ints()?).map(Value::Ints)
}

/// The numbers for which the test says `wanted`.
fn only(value: &Value, inner: &Inner<'_>, wanted: bool) -> Option<Value> {
    list(value, |l| Some(l.iter().copied().filter(|&n| inner.number(n) == wanted).collect()))
}

fn sorted_by<K: Ord>(value: &Value, key: impl Fn(&i64) -> K) -> Option<Value> {
    let mut sorted = value.ints()?.to_vec();
    sorted.sort_by_key(key);
    Some(Value::Ints(sorted))
}

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "keep",
        group: "keep",
        test: Some(Number),
        code: Code::Keep("{test}"),
        names: &["kept", "chosen", "picked"],
        does: &["^keep only the {tests}", "^pick the {tests}", "^select the {tests}"],
        left: Left::Remaining,
        why: &["Keep {x} when {test}.", "Only elements with {test} stay.", "I filter by {test}."],
        verbs: &["filter", "select", "keep"],
        run: |v, i| only(v, i, true),
        ..PLAIN
    },
    Step {
        name: "drop",
        group: "keep",
        test: Some(Number),
        code: Code::Keep("{nottest}"),
        names: &["kept", "rest", "others"],
        does: &["^remove every {one} that {is}", "^drop the {tests}", "^leave out the {tests}"],
        left: Left::Remaining,
        why: &["Dropping them leaves {x} with {nottest}.", "What stays satisfies {nottest}."],
        verbs: &["clean", "reduce", "trim"],
        run: |v, i| only(v, i, false),
        ..PLAIN
    },
    Step {
        name: "each",
        group: "change",
        changes: Some((Number, 1)),
        code: Code::Each("{change}"),
        names: &["changed", "new", "mapped"],
        does: &["{change}"],
        why: &["Each {x} becomes {change}.", "Map {x} to {change}.", "The new value is {change}."],
        run: |v, i| list(v, |l| l.iter().map(|&n| i.turn(0, n)).collect()),
        ..PLAIN
    },
    Step {
        name: "choose",
        group: "choose",
        test: Some(Number),
        changes: Some((Number, 2)),
        code: Code::Each("{change} if {test} else {change2}"),
        names: &["changed", "new", "mapped"],
        does: &["{change} if it {is}, and {change2} otherwise"],
        why: &[
            "If {test}, {x} becomes {change}, else {change2}.",
            "Two cases: {change} when {test}, else {change2}.",
        ],
        weight: 2,
        run: |v, i| list(v, |l| l.iter().map(|&n| i.turn(usize::from(!i.number(n)), n)).collect()),
        ..PLAIN
    },
    Step {
        name: "change-if",
        group: "choose",
        test: Some(Number),
        changes: Some((Number, 1)),
        code: Code::Each("{change} if {test} else {x}"),
        names: &["changed", "new", "mapped"],
        does: &["{change} if it {is} and ^leave it unchanged otherwise"],
        why: &[
            "Only when {test} does {x} become {change}.",
            "If {test} use {change}, else {x} itself.",
        ],
        weight: 2,
        run: |v, i| {
            list(v, |l| {
                l.iter().map(|&n| if i.number(n) { i.turn(0, n) } else { Some(n) }).collect()
            })
        },
        ..PLAIN
    },
    Step {
        name: "ascending",
        group: "order",
        code: Code::Whole("sorted({v})"),
        names: &["ordered"],
        does: &["^sort {the} in ascending order", "^sort {the} from smallest to largest"],
        gives: &["{the} in ascending order", "{the}, smallest first"],
        left: Left::Same,
        why: &["sorted() puts them in order.", "Sort ascending."],
        verbs: &["sort", "order"],
        run: |v, _| sorted_by(v, |&n| n),
        ..PLAIN
    },
    Step {
        name: "descending",
        group: "order",
        code: Code::Whole("sorted({v}, reverse=True)"),
        names: &["ordered"],
        does: &["^sort {the} in descending order", "^sort {the} from largest to smallest"],
        gives: &["{the} in descending order", "{the}, largest first"],
        left: Left::Same,
        why: &["Sort with reverse=True for largest first.", "Sort descending."],
        verbs: &["sort", "rank"],
        run: |v, _| sorted_by(v, |&n| std::cmp::Reverse(n)),
        ..PLAIN
    },
    Step {
        name: "by-distance",
        group: "order",
        constants: &[Num(2, 12)],
        code: Code::Whole("sorted({v}, key=lambda n: abs(n - {a}))"),
        names: &["ordered"],
        does: &["^sort {the} by their distance from {a}, keeping the order of ties"],
        left: Left::Same,
        why: &["The sort key is abs(n - {a}); sorted() is stable."],
        verbs: &["sort", "order"],
        weight: 2,
        run: |v, i| sorted_by(v, |&n| n.abs_diff(i.a())),
        ..PLAIN
    },
    Step {
        name: "reversed",
        group: "order",
        code: Code::Whole("{v}[::-1]"),
        names: &["backwards"],
        does: &["^reverse the order of {the}", "^put {the} in reverse order"],
        gives: &["{the} in reverse order"],
        left: Left::Same,
        why: &["A slice with step -1 reverses the list.", "Reverse with [::-1]."],
        verbs: &["reverse", "flip"],
        run: |v, _| list(v, |l| Some(l.iter().rev().copied().collect())),
        ..PLAIN
    },
    Step {
        name: "first",
        group: "cut",
        constants: &[Num(2, 4)],
        code: Code::Whole("{v}[:{a}]"),
        names: &["part"],
        does: &["^keep the first {a} {noun}", "^take only the first {a} {noun}"],
        gives: &["the first {a} of {the}"],
        left: Left::Remaining,
        why: &["The slice [:{a}] takes the first {a}.", "Cut to the first {a}."],
        verbs: &["first_of", "take"],
        run: |v, i| list(v, |l| Some(l.iter().take(i.size()).copied().collect())),
        ..PLAIN
    },
    Step {
        name: "last",
        group: "cut",
        constants: &[Num(2, 4)],
        code: Code::Whole("{v}[-{a}:]"),
        names: &["part"],
        does: &["^keep the last {a} {noun}", "^take only the last {a} {noun}"],
        gives: &["the last {a} of {the}"],
        left: Left::Remaining,
        why: &["The slice [-{a}:] takes the last {a}.", "Cut to the last {a}."],
        verbs: &["last_of", "take"],
        run: |v, i| list(v, |l| Some(l[l.len().saturating_sub(i.size())..].to_vec())),
        ..PLAIN
    },
    Step {
        name: "skip",
        group: "cut",
        constants: &[Num(2, 3)],
        code: Code::Whole("{v}[{a}:]"),
        names: &["rest"],
        does: &["^skip the first {a} of {the}", "^leave out the first {a} of {the}"],
        gives: &["all but the first {a} of {the}"],
        left: Left::Remaining,
        why: &["The slice [{a}:] skips the first {a}."],
        verbs: &["skip", "rest_of"],
        run: |v, i| list(v, |l| Some(l.iter().skip(i.size()).copied().collect())),
        ..PLAIN
    },
    Step {
        name: "every-second",
        group: "cut",
        code: Code::Whole("{v}[::2]"),
        names: &["part"],
        does: &["^keep every second one of {the}, starting with the first"],
        gives: &["every second one of {the}, starting with the first"],
        left: Left::Remaining,
        why: &["The slice [::2] takes indices 0, 2, 4 and so on."],
        verbs: &["thin_out", "sample"],
        run: |v, _| list(v, |l| Some(l.iter().step_by(2).copied().collect())),
        ..PLAIN
    },
    Step {
        name: "unique",
        group: "unique",
        code: Code::Whole("list(dict.fromkeys({v}))"),
        names: &["unique"],
        does: &[
            "^remove duplicates, keeping first occurrences in order",
            "^keep only the first occurrence of each {one}",
        ],
        left: Left::Remaining,
        why: &[
            "dict.fromkeys keeps first occurrences in order.",
            "A dict drops repeats and keeps order.",
        ],
        verbs: &["unique_of", "distinct_of"],
        run: |v, _| {
            list(v, |l| {
                let mut seen = Vec::new();
                for n in l {
                    if !seen.contains(n) {
                        seen.push(*n);
                    }
                }
                Some(seen)
            })
        },
        ..PLAIN
    },
    Step {
        name: "squeeze",
        group: "unique",
        code: Code::Block(&[
            "{o} = []",
            "for {x} in {v}:",
            "    if not {o} or {o}[-1] != {x}:",
            "        {o}.append({x})",
        ]),
        names: &["short", "result"],
        does: &["^shorten every run of equal neighbours to one {one}"],
        left: Left::Remaining,
        why: &["Append {x} only if it differs from the last one kept."],
        verbs: &["squeeze", "compress"],
        weight: 2,
        run: |v, _| {
            list(v, |l| {
                let mut out = l.to_vec();
                out.dedup();
                Some(out)
            })
        },
        ..PLAIN
    },
    Step {
        name: "rotate",
        group: "order",
        code: Code::Whole("{v}[1:] + {v}[:1]"),
        names: &["turned"],
        does: &["^move the first of {the} to the end"],
        left: Left::Same,
        why: &["The tail [1:] comes first, then the head [:1]; this also works when empty."],
        verbs: &["rotate", "shift"],
        run: |v, _| {
            list(v, |l| {
                let mut out = l.to_vec();
                out.rotate_left(usize::from(!l.is_empty()));
                Some(out)
            })
        },
        ..PLAIN
    },
];
