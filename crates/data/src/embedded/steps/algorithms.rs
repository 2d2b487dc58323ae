//! Small algorithms over a list of numbers: windows, prefixes, pairs, simulations.

use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::{Code, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

fn number(value: &Value, make: impl FnOnce(&[i64]) -> Option<i64>) -> Option<Value> {
    make(value.ints()?).map(Value::Int)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.saturating_abs() } else { gcd(b, a % b) }
}

const ALGORITHM: Step = Step { group: "algorithm", to: Type::Int, weight: 2, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "best-block",
        code: Code::Block(&[
            "{o} = here = 0",
            "for {x} in {v}:",
            "    here = max(0, here + {x})",
            "    {o} = max({o}, here)",
        ]),
        names: &["best"],
        gives: &[
            "the largest sum of any block of neighbouring {noun}, where the empty block counts as 0",
        ],
        left: Left::One("that sum"),
        why: &["Extend the block while its sum stays above 0, else restart; remember the best."],
        verbs: &["best_block_of", "max_block_of"],
        run: |v, _| {
            number(v, |l| {
                let (mut best, mut here) = (0i64, 0i64);
                for &n in l {
                    here = here.checked_add(n)?.max(0);
                    best = best.max(here);
                }
                Some(best)
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "best-window",
        constants: &[Num(2, 4)],
        code: Code::Whole(
            "max((sum({v}[i:i + {a}]) for i in range(len({v}) - {a} + 1)), default=0)",
        ),
        names: &["best"],
        gives: &["the largest sum of {a} neighbouring {noun}, or 0 if there are fewer than {a}"],
        left: Left::One("that sum"),
        why: &["Each window starts at i and ends before i + {a}; take the largest sum."],
        verbs: &["best_window_of", "max_window_of"],
        run: |v, i| {
            number(v, |l| {
                let sums: Option<Vec<i64>> = l
                    .windows(i.size().max(1))
                    .map(|window| window.iter().try_fold(0i64, |sum, &n| sum.checked_add(n)))
                    .collect();
                Some(sums?.into_iter().max().unwrap_or(0))
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "rises",
        code: Code::Whole("sum(1 for a, b in zip({v}, {v}[1:]) if b > a)"),
        names: &["count"],
        gives: &["how many of {the} are greater than the one right before them"],
        left: Left::One("the count"),
        why: &["Look at neighbours with zip and count b > a."],
        verbs: &["count_rises_in", "rises_of"],
        run: |v, _| {
            number(v, |l| i64::try_from(l.windows(2).filter(|pair| pair[1] > pair[0]).count()).ok())
        },
        ..ALGORITHM
    },
    Step {
        name: "pairs-with-sum",
        constants: &[Num(6, 20)],
        code: Code::Block(&[
            "{o} = 0",
            "for i, {x} in enumerate({v}):",
            "    {o} += {v}[:i].count({a} - {x})",
        ]),
        names: &["pairs", "count"],
        gives: &["the number of pairs at two different positions among {the} that add up to {a}"],
        left: Left::One("the count"),
        why: &["For each {x}, count earlier values equal to {a} - {x}; so each pair counts once."],
        verbs: &["count_pairs_in", "pairs_of"],
        run: |v, i| {
            number(v, |l| {
                let mut pairs = 0;
                for (at, n) in l.iter().enumerate() {
                    let partner = i.a().checked_sub(*n)?;
                    pairs += l[..at].iter().filter(|&&other| other == partner).count();
                }
                i64::try_from(pairs).ok()
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "best-gain",
        code: Code::Block(&[
            "{o} = 0",
            "for i, {x} in enumerate({v}):",
            "    {o} = max({o}, {x} - min({v}[:i + 1]))",
        ]),
        names: &["gain", "best"],
        gives: &[
            "the largest amount by which one of {the} exceeds an earlier one (0 if none does)",
        ],
        left: Left::One("that amount"),
        why: &["For each {x}, subtract the smallest value up to it; keep the best, at least 0."],
        verbs: &["best_gain_of", "max_gain_of"],
        run: |v, _| {
            number(v, |l| {
                let (mut best, mut low) = (0i64, i64::MAX);
                for &n in l {
                    low = low.min(n);
                    best = best.max(n.checked_sub(low)?);
                }
                Some(best)
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "common-divisor",
        code: Code::Whole("math.gcd(*{v})"),
        names: &["divisor"],
        gives: &["the greatest common divisor of {the} (0 if there are none)"],
        left: Left::One("that divisor"),
        why: &["math.gcd takes all of them at once and gives 0 for none."],
        verbs: &["gcd_of", "common_divisor_of"],
        run: |v, _| number(v, |l| Some(l.iter().fold(0, |divisor, &n| gcd(divisor, n)))),
        ..ALGORITHM
    },
    Step {
        name: "account",
        constants: &[Num(0, 20)],
        code: Code::Block(&[
            "{o} = {a}",
            "for {x} in {v}:",
            "    if {o} + {x} >= 0:",
            "        {o} += {x}",
        ]),
        names: &["balance", "level"],
        gives: &[
            "the final balance of an account that starts at {a} and to which {the} are added in order, skipping any that would make it negative",
        ],
        left: Left::One("the balance"),
        why: &["Start at {a} and add {x} only if the balance stays at least 0."],
        verbs: &["balance_after", "book"],
        run: |v, i| {
            number(v, |l| {
                let mut balance = i.a();
                for &n in l {
                    let next = balance.checked_add(n)?;
                    balance = if next >= 0 { next } else { balance };
                }
                Some(balance)
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "reach",
        constants: &[Num(8, 30)],
        code: Code::Block(&[
            "total = {o} = 0",
            "for {x} in {v}:",
            "    if total >= {a}:",
            "        break",
            "    total += {x}",
            "    {o} += 1",
        ]),
        names: &["used", "count"],
        gives: &[
            "how many of {the}, from the start, have to be added until their sum is at least {a} (all of them if it never is)",
        ],
        left: Left::One("the count"),
        why: &["Add from the start and count; stop once the total is at least {a}."],
        verbs: &["steps_to_reach", "needed_of"],
        run: |v, i| {
            number(v, |l| {
                let (mut total, mut used) = (0i64, 0);
                for &n in l {
                    if total >= i.a() {
                        break;
                    }
                    total = total.checked_add(n)?;
                    used += 1;
                }
                Some(used)
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "second",
        code: Code::Block(&[
            "{o} = sorted(set({v}), reverse=True)",
            "{o} = {o}[1] if len({o}) > 1 else 0",
        ]),
        names: &["second"],
        gives: &[
            "the second largest of the different values among {the}, or 0 if there are fewer than two",
        ],
        left: Left::One("that number"),
        why: &["Sort the distinct values from the top; index 1 is the second, if it exists."],
        verbs: &["second_largest_of", "runner_up_of"],
        run: |v, _| {
            number(v, |l| {
                let mut values = l.to_vec();
                values.sort_unstable();
                values.dedup();
                Some(values.iter().rev().nth(1).copied().unwrap_or(0))
            })
        },
        ..ALGORITHM
    },
    Step {
        name: "middle",
        code: Code::Whole("sorted({v})[len({v}) // 2] if {v} else 0"),
        names: &["middle"],
        gives: &[
            "the median of {the}, taking the upper of the two middle ones if their number is even (0 if there are none)",
        ],
        left: Left::One("the median"),
        why: &["After sorting, index len // 2 is the upper middle; empty gives 0."],
        verbs: &["median_of", "middle_of"],
        run: |v, _| {
            number(v, |l| {
                let mut sorted = l.to_vec();
                sorted.sort_unstable();
                Some(sorted.get(l.len() / 2).copied().unwrap_or(0))
            })
        },
        ..ALGORITHM
    },
];
