//! From one number to another, to a list, to a verdict or to a word.

use crate::embedded::elements::digits;
use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Inner, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

fn number(value: &Value, make: impl FnOnce(i64) -> Option<i64>) -> Option<Value> {
    make(value.int()?).map(Value::Int)
}

/// The two-way change that a test chooses.
fn chosen(n: i64, inner: &Inner<'_>) -> Option<i64> {
    inner.turn(usize::from(!inner.number(n)), n)
}

fn repeated(times: i64, start: i64, make: impl Fn(i64) -> Option<i64>) -> Option<i64> {
    (0..times).try_fold(start, |state, _| make(state).filter(|n| n.unsigned_abs() < 1 << 40))
}

/// The divisors of a positive number that is small enough to try them all.
fn divisors(n: i64) -> Option<Vec<i64>> {
    (1..=100_000).contains(&n).then(|| (1..=n).filter(|d| n % d == 0).collect())
}

const NUMBER: Step = Step { group: "number", from: Type::Int, to: Type::Int, ..PLAIN };
const EXPAND: Step = Step { from: Type::Int, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "change",
        changes: Some((Number, 1)),
        code: Code::Whole("{change}"),
        does: &["{change}"],
        left: Left::One("the result"),
        why: &["Compute {change}.", "The new value is {change}."],
        verbs: &["compute", "adjust", "convert"],
        run: |v, i| number(v, |n| i.turn(0, n)),
        ..NUMBER
    },
    Step {
        name: "either",
        group: "condition",
        test: Some(Number),
        changes: Some((Number, 2)),
        code: Code::Block(&["if {test}:", "    {o} = {change}", "else:", "    {o} = {change2}"]),
        does: &["{change} if it {is}, and {change2} otherwise"],
        left: Left::One("the result"),
        why: &["If {test} the result is {change}, otherwise {change2}."],
        verbs: &["adjust", "step", "decide"],
        run: |v, i| number(v, |n| chosen(n, i)),
        ..NUMBER
    },
    Step {
        name: "repeat",
        group: "loop",
        constants: &[Num(2, 5)],
        changes: Some((Number, 1)),
        code: Code::Block(&["{o} = {v}", "for _ in range({a}):", "    {o} = {changeo}"]),
        does: &["^do the following {a} times: {change!}"],
        left: Left::One("the result"),
        why: &["A loop of {a} rounds applies {change}."],
        verbs: &["repeat", "iterate"],
        weight: 2,
        run: |v, i| number(v, |n| repeated(i.a(), n, |n| i.turn(0, n))),
        ..NUMBER
    },
    Step {
        name: "repeat-either",
        group: "loop",
        constants: &[Num(3, 6)],
        test: Some(Number),
        changes: Some((Number, 2)),
        code: Code::Block(&[
            "{o} = {v}",
            "for _ in range({a}):",
            "    {o} = {changeo} if {testo} else {change2o}",
        ]),
        does: &["^do the following {a} times: {change!} if it {is}, and {change2!} otherwise"],
        left: Left::One("the result"),
        why: &["Loop {a} times; each round uses {change} if {test}, else {change2}."],
        verbs: &["repeat", "iterate"],
        weight: 3,
        run: |v, i| number(v, |n| repeated(i.a(), n, |n| chosen(n, i))),
        ..NUMBER
    },
    Step {
        name: "from-start",
        group: "recurrence",
        constants: &[Num(1, 9)],
        changes: Some((Number, 1)),
        code: Code::Block(&["{o} = {a}", "for _ in range({v}):", "    {o} = {changeo}"]),
        names: &["value", "state"],
        gives: &[
            "the value that you get by starting from {a} and, {the} times, letting x become {changex}",
        ],
        left: Left::One("the result"),
        why: &["Start from {a} and loop {v} times with the rule."],
        verbs: &["iterate", "evolve"],
        weight: 2,
        run: |v, i| {
            let times = v.int().filter(|times| (0..=12).contains(times))?;
            repeated(times, i.a(), |n| i.turn(0, n)).map(Value::Int)
        },
        ..NUMBER
    },
    Step {
        name: "two-back",
        group: "recurrence",
        constants: &[Num(1, 4), Num(1, 5)],
        code: Code::Block(&[
            "a, b = {a}, {b}",
            "for _ in range({v}):",
            "    a, b = b, a + b",
            "{o} = a",
        ]),
        names: &["value", "term"],
        gives: &[
            "the term with index {the} of the sequence that starts with {a}, {b} at indices 0 and 1 and in which each later term is the sum of the two before it",
        ],
        left: Left::One("that term"),
        why: &["Keep two neighbours a, b and move on {v} times; a is the term."],
        verbs: &["sequence_of", "term_of"],
        weight: 2,
        run: |v, i| {
            let times = v.int().filter(|times| (0..=40).contains(times))?;
            let pair = (i.constants[0], i.constants[1]);
            Some(Value::Int((0..times).fold(pair, |(a, b), _| (b, a + b)).0))
        },
        ..NUMBER
    },
    Step {
        name: "digit-sum",
        code: Code::Whole("sum(int(d) for d in str({v}))"),
        names: &["total"],
        gives: &["the sum of the digits of {the}"],
        left: Left::One("the digit sum"),
        why: &["Add the digits of the decimal form."],
        verbs: &["digit_sum_of", "add_digits"],
        run: |v, _| number(v, |n| Some(digits(n)?.iter().sum())),
        ..NUMBER
    },
    Step {
        name: "backwards",
        code: Code::Whole("int(str({v})[::-1])"),
        names: &["flipped"],
        gives: &["the number that has the digits of {the} in reverse order"],
        left: Left::One("the reversed number"),
        why: &["Reverse the string of digits and read it as a number."],
        verbs: &["reverse", "flip_digits"],
        run: |v, _| {
            number(v, |n| {
                digits(n)?
                    .iter()
                    .rev()
                    .try_fold(0i64, |all, d| all.checked_mul(10)?.checked_add(*d))
            })
        },
        ..NUMBER
    },
    Step {
        name: "digit-count",
        code: Code::Whole("len(str({v}))"),
        names: &["size"],
        gives: &["the number of digits of {the}"],
        left: Left::One("the number of digits"),
        why: &["The decimal string has one character per digit."],
        verbs: &["digit_count_of", "size_of"],
        run: |v, _| number(v, |n| i64::try_from(digits(n)?.len()).ok()),
        ..NUMBER
    },
    Step {
        name: "sum-to",
        code: Code::Whole("{v} * ({v} + 1) // 2"),
        names: &["total"],
        gives: &["the sum of the integers from 1 to {the}"],
        left: Left::One("the sum"),
        why: &["The integers from 1 to n add up to n * (n + 1) // 2."],
        verbs: &["sum_to", "triangle_of"],
        run: |v, _| {
            number(v, |n| {
                n.checked_add(1)?.checked_mul((n >= 0).then_some(n)?).map(|twice| twice / 2)
            })
        },
        ..NUMBER
    },
    Step {
        name: "halvings",
        group: "loop",
        code: Code::Block(&[
            "left, {o} = {v}, 0",
            "while left > 1:",
            "    left //= 2",
            "    {o} += 1",
        ]),
        names: &["steps", "count"],
        gives: &["how often {the} can be halved, rounding down, until it is at most 1"],
        left: Left::One("the count"),
        why: &["Halve in a while loop until 1 is reached and count the rounds."],
        verbs: &["halvings_of", "count_halvings"],
        weight: 2,
        run: |v, _| number(v, |n| Some(i64::from(n.max(1).ilog2()))),
        ..NUMBER
    },
    Step {
        name: "collatz",
        group: "loop",
        code: Code::Block(&[
            "at, {o} = {v}, 0",
            "while at > 1:",
            "    at = at // 2 if at % 2 == 0 else 3 * at + 1",
            "    {o} += 1",
        ]),
        names: &["steps", "count"],
        gives: &[
            "how many steps it takes {the} to reach 1, where an even number is halved and an odd one is tripled plus 1 (0 if it is at most 1)",
        ],
        left: Left::One("the number of steps"),
        why: &["Follow the rule in a while loop until 1 and count the steps."],
        verbs: &["steps_to_one_of", "count_steps"],
        weight: 2,
        run: |v, _| {
            number(v, |n| {
                let (mut at, mut steps) = (n, 0);
                while at > 1 {
                    at = if at % 2 == 0 { at / 2 } else { at.checked_mul(3)?.checked_add(1)? };
                    steps += 1;
                }
                Some(steps)
            })
        },
        ..NUMBER
    },
    Step {
        name: "smallest-factor",
        group: "loop",
        code: Code::Block(&["{o} = 2", "while {v} % {o}:", "    {o} += 1"]),
        names: &["factor", "d"],
        gives: &["the smallest divisor of {the} that is at least 2"],
        left: Left::One("that divisor"),
        why: &["Try 2, 3, 4 and so on until one divides."],
        verbs: &["smallest_factor_of", "first_divisor_of"],
        weight: 2,
        run: |v, _| {
            let n = v.int().filter(|n| (2..100_000).contains(n))?;
            (2..=n).find(|d| n % d == 0).map(Value::Int)
        },
        ..NUMBER
    },
    Step {
        name: "digits",
        group: "digits",
        code: Code::Whole("[int(d) for d in str({v})]"),
        names: &["digits"],
        does: &["^split {the} into its digits", "^take the digits of {the}"],
        gives: &["the list of the digits of {the}"],
        left: Left::Many("digits", "digit"),
        why: &["str() gives the digits in order.", "Read the digits from the string."],
        verbs: &["digits_of", "split"],
        run: |v, _| digits(v.int()?).map(Value::Ints),
        ..EXPAND
    },
    Step {
        name: "divisors",
        group: "divisors",
        code: Code::Whole("[d for d in range(1, {v} + 1) if {v} % d == 0]"),
        names: &["divisors"],
        does: &["^list the positive divisors of {the} in ascending order"],
        gives: &["the positive divisors of {the} in ascending order"],
        left: Left::Many("divisors", "divisor"),
        why: &["d divides {v} when {v} % d is 0; try 1 up to {v}."],
        verbs: &["divisors_of", "list_divisors"],
        weight: 2,
        run: |v, _| divisors(v.int()?).map(Value::Ints),
        ..EXPAND
    },
    Step {
        name: "up-to",
        group: "range",
        code: Code::Whole("list(range(1, {v} + 1))"),
        names: &["numbers"],
        does: &["^list the integers from 1 to {the}", "^take the integers from 1 to {the}"],
        left: Left::Many("integers", "integer"),
        why: &["range(1, {v} + 1) counts from 1 to the end.", "The numbers are 1 up to {v}."],
        verbs: &["list", "count_up"],
        run: |v, _| {
            let n = v.int().filter(|n| (0..=40).contains(n))?;
            Some(Value::Ints((1..=n).collect()))
        },
        ..EXPAND
    },
    Step {
        name: "halves",
        group: "halves",
        code: Code::Block(&[
            "{o} = []",
            "left = {v}",
            "while left > 0:",
            "    {o}.append(left)",
            "    left //= 2",
        ]),
        names: &["halves", "path"],
        does: &[
            "^list {the}, half of it, half of that and so on, rounding down, as long as the value is above 0",
        ],
        left: Left::Many("values", "value"),
        why: &["A while loop appends the value and halves it until 0."],
        verbs: &["halves_of", "path_of"],
        weight: 2,
        run: |v, _| {
            let n = v.int()?;
            Some(Value::Ints(
                std::iter::successors((n > 0).then_some(n), |n| Some(n / 2).filter(|&n| n > 0))
                    .collect(),
            ))
        },
        ..EXPAND
    },
];
