//! From a list of numbers to one value.

use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

/// The number that `make` makes of a list.
fn number(value: &Value, make: impl FnOnce(&[i64]) -> Option<i64>) -> Option<Value> {
    make(value.ints()?).map(Value::Int)
}

fn count(n: usize) -> Option<i64> {
    i64::try_from(n).ok()
}

/// The place of the first one found, or -1.
fn place(found: Option<usize>) -> Option<i64> {
    found.map_or(Some(-1), count)
}

const FOLD: Step = Step { group: "fold", to: Type::Int, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "sum",
        code: Code::Fold {
            whole: "sum({v})",
            generator: "sum({g})",
            start: "{o} = 0",
            update: "{o} += {e}",
        },
        names: &["total"],
        gives: &["the sum of {the}", "the total of {the}"],
        left: Left::One("the sum"),
        why: &[
            "Add them up.",
            "Sum what is left.",
            "The answer is their sum, 0 if there are none.",
        ],
        verbs: &["sum", "total", "add_up"],
        run: |v, _| number(v, |l| l.iter().try_fold(0i64, |sum, &n| sum.checked_add(n))),
        ..FOLD
    },
    Step {
        name: "product",
        code: Code::Fold {
            whole: "math.prod({v})",
            generator: "math.prod({g})",
            start: "{o} = 1",
            update: "{o} *= {e}",
        },
        names: &["product"],
        gives: &["the product of {the} (1 if there are none)"],
        left: Left::One("the product"),
        why: &["Multiply them, starting from 1."],
        verbs: &["product_of", "multiply"],
        run: |v, _| number(v, |l| l.iter().try_fold(1i64, |product, &n| product.checked_mul(n))),
        ..FOLD
    },
    Step {
        name: "count",
        code: Code::Fold {
            whole: "len({v})",
            generator: "sum(1 for {x} in {s})",
            start: "{o} = 0",
            update: "{o} += 1",
        },
        names: &["count"],
        gives: &["the length of the resulting list", "how many elements the resulting list has"],
        left: Left::One("the count"),
        why: &["Count what remains.", "The answer is how many are left."],
        verbs: &["count", "number_of"],
        run: |v, _| number(v, |l| count(l.len())),
        ..FOLD
    },
    Step {
        name: "largest",
        code: Code::Fold {
            whole: "max({v}, default=0)",
            generator: "max(({g}), default=0)",
            start: "",
            update: "",
        },
        names: &["best", "top"],
        gives: &[
            "the largest of {the} (0 if there are none)",
            "the maximum of {the}, or 0 if there are none",
        ],
        left: Left::One("the maximum"),
        why: &["max with default=0 covers the empty case.", "Take the maximum, 0 when empty."],
        verbs: &["largest_of", "max_of", "top_of"],
        run: |v, _| number(v, |l| Some(l.iter().copied().max().unwrap_or(0))),
        ..FOLD
    },
    Step {
        name: "smallest",
        code: Code::Fold {
            whole: "min({v}, default=0)",
            generator: "min(({g}), default=0)",
            start: "",
            update: "",
        },
        names: &["least", "low"],
        gives: &[
            "the smallest of {the} (0 if there are none)",
            "the minimum of {the}, or 0 if there are none",
        ],
        left: Left::One("the minimum"),
        why: &["min with default=0 covers the empty case.", "Take the minimum, 0 when empty."],
        verbs: &["smallest_of", "min_of", "lowest_of"],
        run: |v, _| number(v, |l| Some(l.iter().copied().min().unwrap_or(0))),
        ..FOLD
    },
    Step {
        name: "spread",
        code: Code::Whole("max({v}) - min({v}) if {v} else 0"),
        names: &["spread"],
        gives: &[
            "the difference between the largest and the smallest of {the} (0 if there are none)",
        ],
        left: Left::One("the difference"),
        why: &["Subtract the minimum from the maximum; an empty list gives 0."],
        verbs: &["spread_of", "range_of"],
        run: |v, _| {
            number(v, |l| {
                l.iter()
                    .max()
                    .copied()
                    .unwrap_or(0)
                    .checked_sub(l.iter().min().copied().unwrap_or(0))
            })
        },
        ..FOLD
    },
    Step {
        name: "alternating",
        code: Code::Whole("sum({v}[::2]) - sum({v}[1::2])"),
        names: &["balance"],
        gives: &[
            "the alternating sum of {the}: the first minus the second plus the third and so on",
        ],
        left: Left::One("the alternating sum"),
        why: &["Even places count plus, odd places minus: sum of [::2] less sum of [1::2]."],
        verbs: &["alternate", "balance_of"],
        weight: 2,
        run: |v, _| {
            number(v, |l| {
                (0..).zip(l).try_fold(0i64, |sum, (at, &n)| {
                    if at % 2 == 0 { sum.checked_add(n) } else { sum.checked_sub(n) }
                })
            })
        },
        ..FOLD
    },
    Step {
        name: "distinct",
        code: Code::Whole("len(set({v}))"),
        names: &["count"],
        gives: &[
            "the number of different values among {the}",
            "how many different values {the} have",
        ],
        left: Left::One("the count"),
        why: &["A set drops repeats; its size is the answer.", "Count distinct values with a set."],
        verbs: &["count_distinct_of", "variety_of"],
        run: |v, _| number(v, |l| count(l.iter().collect::<std::collections::HashSet<_>>().len())),
        ..FOLD
    },
    Step {
        name: "count-if",
        group: "tally",
        test: Some(Number),
        code: Code::Whole("sum(1 for {x} in {v} if {test})"),
        names: &["count"],
        gives: &["how many of {the} {are}", "the count of {tests}"],
        left: Left::One("the count"),
        why: &["Count 1 for each {x} with {test}."],
        verbs: &["count", "tally"],
        run: |v, i| number(v, |l| count(l.iter().filter(|&&n| i.number(n)).count())),
        ..FOLD
    },
    Step {
        name: "first-place",
        group: "search",
        test: Some(Number),
        code: Code::Whole("next((i for i, {x} in enumerate({v}) if {test}), -1)"),
        names: &["place"],
        gives: &["the index {in} of the first {one} that {is}, or -1 if there is none"],
        left: Left::One("the index"),
        why: &["next() finds the first index with {test}, else -1."],
        verbs: &["find", "first_index_of", "locate"],
        run: |v, i| number(v, |l| place(l.iter().position(|&n| i.number(n)))),
        ..FOLD
    },
    Step {
        name: "last-place",
        group: "search",
        test: Some(Number),
        code: Code::Block(&[
            "{o} = -1",
            "for i, {x} in enumerate({v}):",
            "    if {test}:",
            "        {o} = i",
        ]),
        names: &["place"],
        gives: &["the index {in} of the last {one} that {is}, or -1 if there is none"],
        left: Left::One("the index"),
        why: &["Start at -1 and overwrite it whenever {test}; the last one wins."],
        verbs: &["find_last", "last_index_of"],
        weight: 2,
        run: |v, i| number(v, |l| place(l.iter().rposition(|&n| i.number(n)))),
        ..FOLD
    },
    Step {
        name: "first-match",
        group: "search",
        test: Some(Number),
        code: Code::Whole("next(({x} for {x} in {v} if {test}), 0)"),
        names: &["found"],
        gives: &["the first of {the} that {is}, or 0 if there is none"],
        left: Left::One("that number"),
        why: &["next() gives the first with {test}, or the default 0."],
        verbs: &["first_of", "find"],
        run: |v, i| number(v, |l| Some(l.iter().copied().find(|&n| i.number(n)).unwrap_or(0))),
        ..FOLD
    },
    Step {
        name: "longest-run",
        group: "search",
        test: Some(Number),
        code: Code::Block(&[
            "{o} = run = 0",
            "for {x} in {v}:",
            "    run = run + 1 if {test} else 0",
            "    {o} = max({o}, run)",
        ]),
        names: &["longest", "best"],
        gives: &["the length of the longest run of neighbouring {noun} that all {are}"],
        left: Left::One("that length"),
        why: &["A run grows while {test}, else it resets; remember the longest."],
        verbs: &["longest_run_of", "streak_of"],
        weight: 2,
        run: |v, i| {
            number(v, |l| {
                let runs = l.split(|&n| !i.number(n)).map(<[i64]>::len);
                count(runs.max().unwrap_or(0))
            })
        },
        ..FOLD
    },
    Step {
        name: "last-or",
        group: "search",
        constants: &[Num(1, 9)],
        code: Code::Whole("{v}[-1] if {v} else {a}"),
        names: &["end"],
        gives: &["the last of {the}, or {a} if there are none"],
        left: Left::One("that number"),
        why: &["Index -1 is the last; an empty list gives {a}."],
        verbs: &["last_of", "end_of"],
        run: |v, i| number(v, |l| Some(l.last().copied().unwrap_or(i.a()))),
        ..FOLD
    },
    Step {
        name: "any",
        group: "verdict",
        to: Type::Bool,
        test: Some(Number),
        code: Code::Whole("any({test} for {x} in {v})"),
        names: &["found"],
        gives: &[
            "whether any of {the} {is}",
            "True if at least one of {the} {is}, otherwise False",
        ],
        why: &["any() is True at the first {x} with {test}."],
        verbs: &["any", "has", "check"],
        run: |v, i| Some(Value::Bool(v.ints()?.iter().any(|&n| i.number(n)))),
        ..FOLD
    },
    Step {
        name: "all",
        group: "verdict",
        to: Type::Bool,
        test: Some(Number),
        code: Code::Whole("all({test} for {x} in {v})"),
        names: &["fine"],
        gives: &["whether all of {the} {are} (True if there are none)"],
        why: &["all() needs {test} for every {x}; it is True when empty."],
        verbs: &["all", "check", "only"],
        run: |v, i| Some(Value::Bool(v.ints()?.iter().all(|&n| i.number(n)))),
        ..FOLD
    },
    Step {
        name: "is-sorted",
        group: "verdict",
        to: Type::Bool,
        code: Code::Whole("all(a <= b for a, b in zip({v}, {v}[1:]))"),
        names: &["fine"],
        gives: &["whether {the} are in ascending order, equal neighbours allowed"],
        why: &["Sorted means a <= b for all neighbours."],
        verbs: &["is_sorted", "check_order_of"],
        run: |v, _| Some(Value::Bool(v.ints()?.is_sorted())),
        ..FOLD
    },
    Step {
        name: "has-repeat",
        group: "verdict",
        to: Type::Bool,
        code: Code::Whole("len(set({v})) < len({v})"),
        names: &["found"],
        gives: &["whether any value occurs more than once among {the}"],
        why: &["A set is shorter than the list exactly when something repeats."],
        verbs: &["has_repeat_in", "check"],
        run: |v, _| {
            let list = v.ints()?;
            Some(Value::Bool((1..list.len()).any(|at| list[..at].contains(&list[at]))))
        },
        ..FOLD
    },
    Step {
        name: "is-mirrored",
        group: "verdict",
        to: Type::Bool,
        code: Code::Whole("{v} == {v}[::-1]"),
        names: &["fine"],
        gives: &["whether {the} read the same forwards and backwards"],
        why: &["Compare the list with its reverse."],
        verbs: &["is_mirrored", "check"],
        run: |v, _| {
            let list = v.ints()?;
            Some(Value::Bool(list.iter().eq(list.iter().rev())))
        },
        ..FOLD
    },
];
