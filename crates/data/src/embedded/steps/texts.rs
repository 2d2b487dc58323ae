//! From a text to a text, to words, to a number or to a verdict.

use std::collections::HashSet;

use crate::embedded::elements::is_vowel;
use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Character;
use crate::embedded::kind::{Code, Inner, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

/// The text of what `make` makes of each character.
fn each(value: &Value, make: impl Fn(char) -> String) -> Option<Value> {
    Some(Value::Text(value.text()?.chars().map(make).collect()))
}

fn number(value: &Value, make: impl FnOnce(&str) -> usize) -> Option<Value> {
    i64::try_from(make(value.text()?)).ok().map(Value::Int)
}

fn is(c: char, inner: &Inner<'_>) -> bool {
    inner.text(c.encode_utf8(&mut [0; 4]))
}

const TEXT: Step = Step {
    group: "text",
    from: Type::Text,
    to: Type::Text,
    left: Left::One("the result"),
    verbs: &["rewrite", "clean", "convert"],
    names: &["result", "out"],
    ..PLAIN
};
const MEASURE: Step = Step {
    group: "measure",
    to: Type::Int,
    names: &["count"],
    left: Left::One("the count"),
    ..TEXT
};

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "keep-characters",
        test: Some(Character),
        code: Code::Whole("\"\".join({x} for {x} in {v} if {test})"),
        does: &["^keep only those characters of {the} that {are}"],
        gives: &["a string of those characters of {the} that {are}"],
        why: &["Join the characters with {test}."],
        run: |v, i| each(v, |c| if is(c, i) { c.to_string() } else { String::new() }),
        ..TEXT
    },
    Step {
        name: "drop-characters",
        test: Some(Character),
        code: Code::Whole("\"\".join({x} for {x} in {v} if {nottest})"),
        does: &["^remove all {tests} from {the}", "^delete the {tests} from {the}"],
        gives: &["{the} without its {tests}"],
        why: &["Join what is left when {nottest}."],
        run: |v, i| each(v, |c| if is(c, i) { String::new() } else { c.to_string() }),
        ..TEXT
    },
    Step {
        name: "star",
        test: Some(Character),
        code: Code::Whole("\"\".join(\"*\" if {test} else {x} for {x} in {v})"),
        does: &["^replace every character of {the} that {is} with an asterisk"],
        why: &["Use a star where {test}, else the character itself."],
        verbs: &["mask", "hide"],
        run: |v, i| each(v, |c| if is(c, i) { '*' } else { c }.to_string()),
        ..TEXT
    },
    Step {
        name: "double-characters",
        test: Some(Character),
        code: Code::Whole("\"\".join({x} * 2 if {test} else {x} for {x} in {v})"),
        does: &["^double every character of {the} that {is}"],
        why: &["Write {x} twice when {test}."],
        verbs: &["double", "stretch"],
        run: |v, i| each(v, |c| c.to_string().repeat(1 + usize::from(is(c, i)))),
        ..TEXT
    },
    Step {
        name: "raise-characters",
        test: Some(Character),
        code: Code::Block(&[
            "{o} = \"\"",
            "for {x} in {v}:",
            "    if {test}:",
            "        {o} += {x}.upper()",
            "    else:",
            "        {o} += {x}.lower()",
        ]),
        does: &["^put every character of {the} that {is} in uppercase and all others in lowercase"],
        why: &["Build the text: upper() when {test}, lower() otherwise."],
        weight: 2,
        run: |v, i| {
            each(
                v,
                |c| if is(c, i) { c.to_uppercase().collect() } else { c.to_lowercase().collect() },
            )
        },
        ..TEXT
    },
    Step {
        name: "reversed-text",
        code: Code::Whole("{v}[::-1]"),
        names: &["backwards"],
        does: &["^reverse {the}"],
        gives: &["{the} in reverse"],
        why: &["The slice [::-1] reverses the string."],
        verbs: &["reverse", "flip"],
        run: |v, _| Some(Value::Text(v.text()?.chars().rev().collect())),
        ..TEXT
    },
    Step {
        name: "upper-text",
        code: Code::Whole("{v}.upper()"),
        does: &["^convert {the} to uppercase"],
        gives: &["{the} in uppercase"],
        why: &["upper() changes the case."],
        verbs: &["shout", "raise"],
        run: |v, _| Some(Value::Text(v.text()?.to_uppercase())),
        ..TEXT
    },
    Step {
        name: "swap-case",
        code: Code::Whole("{v}.swapcase()"),
        does: &["^swap uppercase and lowercase in {the}"],
        why: &["swapcase() turns each case into the other."],
        verbs: &["swap", "switch"],
        run: |v, _| {
            each(v, |c| {
                if c.is_uppercase() {
                    c.to_lowercase().collect()
                } else {
                    c.to_uppercase().collect()
                }
            })
        },
        ..TEXT
    },
    Step {
        name: "text-start",
        constants: &[Num(3, 7)],
        code: Code::Whole("{v}[:{a}]"),
        names: &["start"],
        does: &[
            "^cut {the} to its first {a} characters",
            "^keep only the first {a} characters of {the}",
        ],
        gives: &["the first {a} characters of {the}"],
        why: &["The slice [:{a}] keeps the start."],
        verbs: &["start_of", "shorten"],
        run: |v, i| Some(Value::Text(v.text()?.chars().take(i.size()).collect())),
        ..TEXT
    },
    Step {
        name: "every-second-character",
        code: Code::Whole("{v}[::2]"),
        does: &["^keep every second character of {the}, starting with the first"],
        gives: &["every second character of {the}, starting with the first"],
        why: &["The slice [::2] takes every second character."],
        verbs: &["thin_out", "sample"],
        run: |v, _| Some(Value::Text(v.text()?.chars().step_by(2).collect())),
        ..TEXT
    },
    Step {
        name: "squeeze-text",
        code: Code::Block(&[
            "{o} = \"\"",
            "for {x} in {v}:",
            "    if not {o}.endswith({x}):",
            "        {o} += {x}",
        ]),
        does: &["^shorten every run of equal characters in {the} to one"],
        why: &["Add {x} only if the text so far does not end with it."],
        verbs: &["squeeze", "compress"],
        weight: 2,
        run: |v, _| {
            let mut chars: Vec<char> = v.text()?.chars().collect();
            chars.dedup();
            Some(Value::Text(chars.into_iter().collect()))
        },
        ..TEXT
    },
    Step {
        name: "underscore",
        code: Code::Whole("{v}.replace(\" \", \"_\")"),
        does: &["^replace every space in {the} with \"_\""],
        why: &["replace() swaps the spaces."],
        run: |v, _| Some(Value::Text(v.text()?.replace(' ', "_"))),
        ..TEXT
    },
    Step {
        name: "split",
        group: "split",
        to: Type::Words,
        code: Code::Whole("{v}.split()"),
        names: &["words", "parts"],
        does: &["^split {the} into words", "^break {the} into words at the spaces"],
        gives: &["the list of words in {the}"],
        left: Left::Many("words", "word"),
        why: &["split() gives the words.", "First split into words."],
        verbs: &["words_of", "split"],
        run: |v, _| Some(Value::Words(v.text()?.split_whitespace().map(str::to_owned).collect())),
        ..TEXT
    },
    Step {
        name: "length",
        code: Code::Whole("len({v})"),
        gives: &["the length of {the}", "the number of characters in {the}"],
        left: Left::One("the length"),
        why: &["len() gives the length."],
        verbs: &["length_of", "size_of"],
        run: |v, _| number(v, str::len),
        ..MEASURE
    },
    Step {
        name: "count-characters",
        test: Some(Character),
        code: Code::Whole("sum(1 for {x} in {v} if {test})"),
        gives: &[
            "how many characters of {the} {are}",
            "the number of characters in {the} that {are}",
        ],
        why: &["Count 1 for each {x} with {test}."],
        verbs: &["count", "count_in"],
        run: |v, i| number(v, |t| t.chars().filter(|&c| is(c, i)).count()),
        ..MEASURE
    },
    Step {
        name: "different-characters",
        code: Code::Whole("len(set({v}))"),
        gives: &["the number of different characters in {the}"],
        why: &["A set holds each character once."],
        verbs: &["variety_of", "distinct_in"],
        run: |v, _| number(v, |t| t.chars().collect::<HashSet<_>>().len()),
        ..MEASURE
    },
    Step {
        name: "character-run",
        test: Some(Character),
        code: Code::Block(&[
            "{o} = run = 0",
            "for {x} in {v}:",
            "    run = run + 1 if {test} else 0",
            "    {o} = max({o}, run)",
        ]),
        names: &["longest", "best"],
        gives: &["the length of the longest stretch of {the} in which all characters {are}"],
        left: Left::One("that length"),
        why: &["The run grows while {test} and resets otherwise; keep the longest."],
        verbs: &["longest_run_in", "stretch"],
        weight: 2,
        run: |v, i| {
            number(v, |t| t.split(|c| !is(c, i)).map(|run| run.chars().count()).max().unwrap_or(0))
        },
        ..MEASURE
    },
    Step {
        name: "first-vowel",
        code: Code::Block(&[
            "{o} = -1",
            "for i, {x} in enumerate({v}):",
            "    if {x}.lower() in \"aeiou\":",
            "        {o} = i",
            "        break",
        ]),
        names: &["place", "at"],
        gives: &["the index of the first vowel of either case in {the}, or -1 if there is none"],
        left: Left::One("the index"),
        why: &["Walk with enumerate and stop at the first vowel; -1 means none."],
        verbs: &["first_vowel_in", "find_vowel"],
        weight: 2,
        run: |v, _| {
            let at = v.text()?.chars().position(is_vowel);
            at.map_or(Some(-1), |at| i64::try_from(at).ok()).map(Value::Int)
        },
        ..MEASURE
    },
    Step {
        name: "is-palindrome-text",
        group: "text-verdict",
        to: Type::Bool,
        code: Code::Whole("{v} == {v}[::-1]"),
        gives: &["whether {the} reads the same backwards"],
        why: &["Compare it with its reverse."],
        verbs: &["is_palindrome", "is_mirrored"],
        run: |v, _| {
            let text = v.text()?;
            Some(Value::Bool(text.chars().eq(text.chars().rev())))
        },
        ..MEASURE
    },
    Step {
        name: "all-different",
        group: "text-verdict",
        to: Type::Bool,
        code: Code::Whole("len(set({v})) == len({v})"),
        gives: &["whether no character occurs twice in {the}"],
        why: &["With no repeats the set is as long as the text."],
        verbs: &["all_different_in", "check"],
        run: |v, _| {
            let mut seen = HashSet::new();
            Some(Value::Bool(v.text()?.chars().all(|c| seen.insert(c))))
        },
        ..MEASURE
    },
    Step {
        name: "any-character",
        group: "text-verdict",
        to: Type::Bool,
        test: Some(Character),
        code: Code::Whole("any({test} for {x} in {v})"),
        gives: &["whether at least one character of {the} {is}"],
        why: &["any() looks for one {x} with {test}."],
        verbs: &["has_any", "check"],
        run: |v, i| Some(Value::Bool(v.text()?.chars().any(|c| is(c, i)))),
        ..MEASURE
    },
    Step {
        name: "same-ends",
        group: "text-verdict",
        to: Type::Bool,
        code: Code::Whole("{v}[:1] == {v}[-1:]"),
        gives: &["whether {the} starts and ends with the same character (True if it is empty)"],
        why: &["Slices [:1] and [-1:] are safe for an empty text too."],
        verbs: &["same_ends", "check"],
        run: |v, _| {
            let text = v.text()?;
            Some(Value::Bool(text.chars().next() == text.chars().last()))
        },
        ..MEASURE
    },
];
