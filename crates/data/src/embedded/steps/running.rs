//! From a list of numbers to another in one walk: neighbours, positions, running values.

use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Left, PLAIN, Step};
use crate::embedded::value::Value;

/// Applies `make` to each pair of neighbours.
fn neighbours(value: &Value, make: impl Fn(i64, i64) -> Option<i64>) -> Option<Value> {
    let pairs = value.ints()?.windows(2).map(|pair| make(pair[0], pair[1]));
    pairs.collect::<Option<_>>().map(Value::Ints)
}

/// Applies `make` to each position and number.
fn placed(value: &Value, make: impl Fn(i64, i64) -> Option<i64>) -> Option<Value> {
    (0..).zip(value.ints()?).map(|(at, &n)| make(at, n)).collect::<Option<_>>().map(Value::Ints)
}

/// The states of an accumulator.
fn scan(
    value: &Value,
    start: Option<i64>,
    make: impl Fn(i64, i64) -> Option<i64>,
) -> Option<Value> {
    let (mut out, mut state) = (Vec::new(), start);
    for &n in value.ints()? {
        let next = state.map_or(Some(n), |state| make(state, n))?;
        out.push(next);
        state = Some(next);
    }
    Some(Value::Ints(out))
}

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "running-total",
        group: "running",
        code: Code::Block(&[
            "{o} = []",
            "total = 0",
            "for {x} in {v}:",
            "    total += {x}",
            "    {o}.append(total)",
        ]),
        names: &["sums", "totals"],
        does: &["^replace each {one} with the sum of all {noun} up to and including it"],
        gives: &["the list of running totals of {the}"],
        left: Left::Many("totals", "total"),
        why: &["Keep a running total and append it each time."],
        verbs: &["running_total_of", "prefix_sums_of"],
        weight: 2,
        run: |v, _| scan(v, None, i64::checked_add),
        ..PLAIN
    },
    Step {
        name: "running-maximum",
        group: "running",
        code: Code::Block(&[
            "{o} = []",
            "for {x} in {v}:",
            "    {o}.append(max({x}, {o}[-1]) if {o} else {x})",
        ]),
        names: &["peaks", "tops"],
        does: &["^replace each {one} with the largest {one} seen up to that point"],
        gives: &["the list of running maxima of {the}"],
        left: Left::Many("maxima", "maximum"),
        why: &["Each entry is the larger of {x} and the entry before it."],
        verbs: &["running_max_of", "peaks_of"],
        weight: 2,
        run: |v, _| scan(v, None, |state, n| Some(state.max(n))),
        ..PLAIN
    },
    Step {
        name: "differences",
        group: "running",
        code: Code::Whole("[b - a for a, b in zip({v}, {v}[1:])]"),
        names: &["gaps", "steps"],
        does: &["^form the list of differences of neighbours, each {one} minus the one before it"],
        gives: &["the list of differences of neighbouring {noun}, each minus the one before it"],
        left: Left::Many("differences", "difference"),
        why: &["zip pairs each element with the next; the difference is b - a."],
        verbs: &["differences_of", "gaps_of"],
        weight: 2,
        run: |v, _| neighbours(v, |a, b| b.checked_sub(a)),
        ..PLAIN
    },
    Step {
        name: "neighbour-sums",
        group: "running",
        code: Code::Whole("[a + b for a, b in zip({v}, {v}[1:])]"),
        names: &["sums", "pairs"],
        does: &[
            "^add each {one} to the one after it, so that there is one sum for each pair of neighbours",
        ],
        gives: &["the list of sums of neighbouring {noun}"],
        left: Left::Many("sums", "sum"),
        why: &["zip with the list shifted by one gives the neighbours to add."],
        verbs: &["neighbour_sums_of", "pair_sums_of"],
        weight: 2,
        run: |v, _| neighbours(v, i64::checked_add),
        ..PLAIN
    },
    Step {
        name: "larger-neighbours",
        group: "running",
        code: Code::Whole("[max(a, b) for a, b in zip({v}, {v}[1:])]"),
        names: &["larger", "tops"],
        does: &["^take the larger one of each pair of neighbours"],
        gives: &["the list with the larger one of each pair of neighbouring {noun}"],
        left: Left::Results,
        why: &["Pair neighbours with zip and take max(a, b)."],
        verbs: &["larger_of", "pair_max_of"],
        weight: 2,
        run: |v, _| neighbours(v, |a, b| Some(a.max(b))),
        ..PLAIN
    },
    Step {
        name: "add-index",
        group: "position",
        code: Code::Whole("[{x} + i for i, {x} in enumerate({v})]"),
        names: &["shifted", "moved"],
        does: &["^add to {each} its index {in}, counted from 0"],
        why: &["enumerate gives the index i to add."],
        run: |v, _| placed(v, i64::checked_add),
        ..PLAIN
    },
    Step {
        name: "times-place",
        group: "position",
        code: Code::Whole("[i * {x} for i, {x} in enumerate({v}, 1)]"),
        names: &["weighted", "scaled"],
        does: &["^multiply {each} by its position {in}, counted from 1"],
        why: &["enumerate from 1 gives the position to multiply by."],
        verbs: &["weigh", "scale"],
        run: |v, _| placed(v, |at, n| n.checked_mul(at + 1)),
        ..PLAIN
    },
    Step {
        name: "change-odd-places",
        group: "position",
        changes: Some((Number, 1)),
        code: Code::Whole("[{change} if i % 2 else {x} for i, {x} in enumerate({v})]"),
        names: &["changed", "mixed"],
        does: &[
            "{change} if its index {in}, counted from 0, is odd, and ^leave it unchanged otherwise",
        ],
        why: &["With enumerate, odd i gets {change} and the rest stay."],
        weight: 2,
        run: |v, i| placed(v, |at, n| if at % 2 == 1 { i.turn(0, n) } else { Some(n) }),
        ..PLAIN
    },
    Step {
        name: "risers",
        group: "position",
        code: Code::Whole("[b for a, b in zip({v}, {v}[1:]) if b > a]"),
        names: &["risers", "up"],
        does: &["^keep only each {one} that is greater than the one right before it"],
        gives: &["the list of those {noun} that are greater than the one right before them"],
        left: Left::Remaining,
        why: &["Compare each pair from zip and keep b when b > a."],
        verbs: &["rising_of", "risers_of"],
        weight: 2,
        run: |v, _| {
            let pairs = v.ints()?.windows(2).filter(|pair| pair[1] > pair[0]);
            Some(Value::Ints(pairs.map(|pair| pair[1]).collect()))
        },
        ..PLAIN
    },
    Step {
        name: "take-while",
        group: "stop",
        test: Some(Number),
        code: Code::Block(&[
            "{o} = []",
            "for {x} in {v}:",
            "    if {nottest}:",
            "        break",
            "    {o}.append({x})",
        ]),
        names: &["start", "head"],
        does: &["^keep {noun} from the start as long as they {are}"],
        left: Left::Remaining,
        why: &["Stop at the first {x} with {nottest}."],
        verbs: &["leading_of", "take"],
        weight: 2,
        run: |v, i| {
            Some(Value::Ints(v.ints()?.iter().copied().take_while(|&n| i.number(n)).collect()))
        },
        ..PLAIN
    },
    Step {
        name: "skip-while",
        group: "stop",
        test: Some(Number),
        code: Code::Block(&[
            "i = 0",
            "while i < len({v}) and {testi}:",
            "    i += 1",
            "{o} = {v}[i:]",
        ]),
        names: &["rest", "tail"],
        does: &["^skip {noun} from the start as long as they {are}"],
        left: Left::Remaining,
        why: &["Move i past the start while the test holds, then slice."],
        verbs: &["strip", "skip"],
        weight: 2,
        run: |v, i| {
            Some(Value::Ints(v.ints()?.iter().copied().skip_while(|&n| i.number(n)).collect()))
        },
        ..PLAIN
    },
    Step {
        name: "within-budget",
        group: "stop",
        constants: &[Num(12, 40)],
        code: Code::Block(&[
            "{o} = []",
            "for {x} in {v}:",
            "    if sum({o}) + {x} <= {a}:",
            "        {o}.append({x})",
        ]),
        names: &["taken", "bag"],
        does: &[
            "^go through {the} in order and ^take each one that keeps the sum of those taken at most {a}",
        ],
        left: Left::Remaining,
        why: &["Take {x} only while the sum so far plus {x} is at most {a}."],
        verbs: &["pack", "fit"],
        weight: 2,
        run: |v, i| {
            let (mut taken, mut sum) = (Vec::new(), 0i64);
            for &n in v.ints()? {
                if sum.checked_add(n)? <= i.a() {
                    taken.push(n);
                    sum += n;
                }
            }
            Some(Value::Ints(taken))
        },
        ..PLAIN
    },
];
