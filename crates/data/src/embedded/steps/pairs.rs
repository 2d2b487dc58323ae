//! From two arguments of one type to one value.

use crate::embedded::kind::{Code, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn numbers(value: &Value) -> Option<(i64, i64)> {
    let (a, b) = value.two()?;
    Some((a.int()?, b.int()?))
}

fn lists(value: &Value) -> Option<(&[i64], &[i64])> {
    let (a, b) = value.two()?;
    Some((a.ints()?, b.ints()?))
}

/// Applies `make` to the numbers at equal positions.
fn zipped(value: &Value, make: impl Fn(i64, i64) -> Option<i64>) -> Option<Value> {
    let (a, b) = lists(value)?;
    a.iter().zip(b).map(|(&a, &b)| make(a, b)).collect::<Option<_>>().map(Value::Ints)
}

const LISTS: Step = Step { group: "zip", from: Type::TwoLists, ..PLAIN };
const NUMBERS: Step = Step { group: "two-numbers", from: Type::TwoInts, to: Type::Int, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "zip-sums",
        code: Code::Whole("[a + b for a, b in zip({v}, {w})]"),
        names: &["sums", "merged"],
        does: &["^add the numbers at equal positions of {the}, up to the end of the shorter list"],
        left: Left::Many("sums", "sum"),
        why: &["zip pairs equal positions and stops at the shorter list; add each pair."],
        verbs: &["add", "merge"],
        run: |v, _| zipped(v, i64::checked_add),
        ..LISTS
    },
    Step {
        name: "zip-products",
        code: Code::Whole("[a * b for a, b in zip({v}, {w})]"),
        names: &["products", "merged"],
        does: &[
            "^multiply the numbers at equal positions of {the}, up to the end of the shorter list",
        ],
        left: Left::Many("products", "product"),
        why: &["zip pairs equal positions and stops at the shorter list; multiply each pair."],
        verbs: &["multiply", "merge"],
        run: |v, _| zipped(v, i64::checked_mul),
        ..LISTS
    },
    Step {
        name: "zip-distances",
        code: Code::Whole("[abs(a - b) for a, b in zip({v}, {w})]"),
        names: &["gaps", "distances"],
        does: &[
            "^take the absolute differences of the numbers at equal positions of {the}, up to the end of the shorter list",
        ],
        left: Left::Many("differences", "difference"),
        why: &["zip pairs equal positions; abs(a - b) is their distance."],
        verbs: &["compare", "gaps_of"],
        run: |v, _| zipped(v, |a, b| a.checked_sub(b)?.checked_abs()),
        ..LISTS
    },
    Step {
        name: "zip-larger",
        code: Code::Block(&[
            "{o} = []",
            "for a, b in zip({v}, {w}):",
            "    {o}.append(a if a > b else b)",
        ]),
        names: &["larger", "winners"],
        does: &[
            "^take the larger number at each position of {the}, up to the end of the shorter list",
        ],
        left: Left::Many("numbers", "number"),
        why: &["zip pairs equal positions; append the larger of a and b."],
        verbs: &["larger_of", "winners_of"],
        weight: 2,
        run: |v, _| zipped(v, |a, b| Some(a.max(b))),
        ..LISTS
    },
    Step {
        name: "common",
        group: "sets",
        code: Code::Whole("[n for n in {v} if n in {w}]"),
        names: &["common", "shared"],
        does: &["^keep the numbers in {v} that also occur in {w}"],
        left: Left::Remaining,
        why: &["Keep n from the first list if it is in the second."],
        verbs: &["common_of", "shared_of"],
        run: |v, _| {
            let (a, b) = lists(v)?;
            Some(Value::Ints(a.iter().copied().filter(|n| b.contains(n)).collect()))
        },
        ..LISTS
    },
    Step {
        name: "only-first",
        group: "sets",
        code: Code::Whole("[n for n in {v} if n not in {w}]"),
        names: &["missing", "rest"],
        does: &["^keep the numbers in {v} that do not occur in {w}"],
        left: Left::Remaining,
        why: &["Keep n from the first list unless the second has it."],
        verbs: &["missing_of", "only_in"],
        run: |v, _| {
            let (a, b) = lists(v)?;
            Some(Value::Ints(a.iter().copied().filter(|n| !b.contains(n)).collect()))
        },
        ..LISTS
    },
    Step {
        name: "chain",
        group: "sets",
        code: Code::Whole("{v} + {w}"),
        names: &["both", "joined"],
        does: &["^append {w} to {v}"],
        left: Left::Many("numbers", "number"),
        why: &["The + operator joins the lists."],
        verbs: &["join", "combine"],
        run: |v, _| {
            let (a, b) = lists(v)?;
            Some(Value::Ints([a, b].concat()))
        },
        ..LISTS
    },
    Step {
        name: "interleave",
        group: "sets",
        code: Code::Block(&["{o} = []", "for a, b in zip({v}, {w}):", "    {o} += [a, b]"]),
        names: &["mixed", "merged"],
        does: &[
            "^take numbers from {the} in turn, beginning with {v} and stopping when the shorter one ends",
        ],
        left: Left::Many("numbers", "number"),
        why: &["zip gives pairs up to the shorter end; append both of each pair."],
        verbs: &["interleave", "mix"],
        weight: 2,
        run: |v, _| {
            let (a, b) = lists(v)?;
            Some(Value::Ints(a.iter().zip(b).flat_map(|(&a, &b)| [a, b]).collect()))
        },
        ..LISTS
    },
    Step {
        name: "gcd",
        code: Code::Block(&["a, b = {v}, {w}", "while b:", "    a, b = b, a % b", "{o} = a"]),
        names: &["divisor", "common"],
        gives: &["the greatest common divisor of {the}"],
        left: Left::One("that divisor"),
        why: &["Euclid: replace (a, b) by (b, a % b) until b is 0; a is the divisor."],
        verbs: &["common_divisor_of", "gcd_of"],
        weight: 2,
        run: |v, _| numbers(v).map(|(a, b)| Value::Int(gcd(a, b))),
        ..NUMBERS
    },
    Step {
        name: "lcm",
        code: Code::Whole("{v} * {w} // math.gcd({v}, {w})"),
        names: &["multiple", "common"],
        gives: &["the least common multiple of {the}"],
        left: Left::One("that multiple"),
        why: &["The product divided by the greatest common divisor."],
        verbs: &["common_multiple_of", "lcm_of"],
        weight: 2,
        run: |v, _| {
            let (a, b) = numbers(v).filter(|&(a, b)| a > 0 && b > 0)?;
            a.checked_mul(b).map(|product| Value::Int(product / gcd(a, b)))
        },
        ..NUMBERS
    },
    Step {
        name: "distance",
        code: Code::Whole("abs({v} - {w})"),
        names: &["gap", "distance"],
        gives: &["the absolute difference of {the}"],
        left: Left::One("the difference"),
        why: &["abs() of the difference ignores the order."],
        verbs: &["distance_of", "gap_of"],
        run: |v, _| numbers(v).map(|(a, b)| Value::Int((a - b).abs())),
        ..NUMBERS
    },
    Step {
        name: "product-of-two",
        code: Code::Whole("{v} * {w}"),
        names: &["product", "area"],
        gives: &["the product of {the}"],
        left: Left::One("the product"),
        why: &["Multiply the two."],
        verbs: &["product_of", "area_of"],
        run: |v, _| numbers(v).and_then(|(a, b)| a.checked_mul(b)).map(Value::Int),
        ..NUMBERS
    },
    Step {
        name: "span",
        group: "two-to-list",
        to: Type::Ints,
        code: Code::Whole("list(range(min({v}, {w}), max({v}, {w}) + 1))"),
        names: &["numbers", "span"],
        does: &["^list the integers from the smaller to the larger of {the}, both included"],
        left: Left::Many("integers", "integer"),
        why: &["The range goes from the smaller to the larger, plus 1 to include it."],
        verbs: &["between_of", "span_of"],
        run: |v, _| {
            let (a, b) = numbers(v)?;
            Some(Value::Ints((a.min(b)..=a.max(b)).collect())).filter(|_| (a - b).abs() <= 40)
        },
        ..NUMBERS
    },
    Step {
        name: "multiples",
        group: "two-to-list",
        to: Type::Ints,
        code: Code::Whole("list(range({v}, {w} + 1, {v}))"),
        names: &["multiples"],
        does: &["^list the positive multiples of {v} that are at most {w}"],
        left: Left::Many("multiples", "multiple"),
        why: &["A range from the first number with itself as step gives its multiples."],
        verbs: &["multiples_of", "steps_of"],
        run: |v, _| {
            let (a, b) = numbers(v).filter(|&(a, _)| a > 0)?;
            Some(Value::Ints((1..=b / a).map(|times| times * a).collect()))
        },
        ..NUMBERS
    },
    Step {
        name: "merge-tables",
        group: "merge",
        from: Type::TwoTables,
        to: Type::Table,
        code: Code::Block(&[
            "{o} = dict({v})",
            "for key, n in {w}.items():",
            "    {o}[key] = {o}.get(key, 0) + n",
        ]),
        names: &["merged", "both"],
        does: &["^merge {the} into one dictionary, adding the values of keys that are in both"],
        gives: &["one dictionary with all keys of {the}, where values of keys in both are added"],
        left: Left::One("the merged dictionary"),
        why: &["Copy the first and add each value of the second with get(key, 0)."],
        verbs: &["merge", "combine"],
        weight: 2,
        run: |v, _| {
            let (a, b) = v.two()?;
            let mut merged = a.table()?.to_vec();
            for (key, n) in b.table()? {
                match merged.iter_mut().find(|(known, _)| known == key) {
                    Some((_, value)) => *value = value.checked_add(*n)?,
                    None => merged.push((key.clone(), *n)),
                }
            }
            Some(Value::Table(merged))
        },
        ..NUMBERS
    },
    Step {
        name: "shared-keys",
        group: "merge",
        from: Type::TwoTables,
        to: Type::Table,
        code: Code::Whole("{key: min(n, {w}[key]) for key, n in {v}.items() if key in {w}}"),
        names: &["shared", "both"],
        does: &[
            "^make a dictionary of the keys that are in both of {the}, each with the smaller of its two values",
        ],
        gives: &[
            "a dictionary of the keys that are in both of {the}, each with the smaller of its two values",
        ],
        left: Left::One("that dictionary"),
        why: &["Go through the first; if the second has the key, keep the smaller value."],
        verbs: &["shared_of", "overlap_of"],
        weight: 2,
        run: |v, _| {
            let (a, b) = v.two()?;
            let b = b.table()?;
            let smaller = |(key, n): &(String, i64)| {
                b.iter().find(|(other, _)| other == key).map(|(_, m)| (key.clone(), *n.min(m)))
            };
            Some(Value::Table(a.table()?.iter().filter_map(smaller).collect()))
        },
        ..NUMBERS
    },
];
