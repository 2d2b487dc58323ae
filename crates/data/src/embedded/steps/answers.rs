//! From one number to a verdict or a word, and from many numbers to words.

use crate::embedded::elements::digits;
use crate::embedded::kind::Constant::Number as Num;
use crate::embedded::kind::Element::Number;
use crate::embedded::kind::{Code, Left, PLAIN, Step};
use crate::embedded::value::{Type, Value};

fn is_prime(n: i64) -> bool {
    n >= 2 && (2..=n.isqrt()).all(|d| n % d != 0)
}

const ANSWER: Step = Step { group: "answer", from: Type::Int, to: Type::Bool, ..PLAIN };

pub(super) static STEPS: &[Step] = &[
    Step {
        name: "number-is",
        test: Some(Number),
        code: Code::Whole("{test}"),
        names: &["answer"],
        gives: &["whether {the} {is}", "True if {the} {is} and False otherwise"],
        why: &["The comparison {test} is already the answer."],
        verbs: &["check", "test"],
        run: |v, i| Some(Value::Bool(i.number(v.int()?))),
        ..ANSWER
    },
    Step {
        name: "is-prime",
        code: Code::Whole("{v} > 1 and all({v} % d for d in range(2, {v}))"),
        names: &["answer"],
        gives: &["whether {the} is a prime number"],
        why: &["A prime is above 1 and no d below it divides it."],
        verbs: &["is_prime", "check_prime"],
        weight: 2,
        run: |v, _| Some(Value::Bool(is_prime(v.int().filter(|n| *n < 20_000)?))),
        ..ANSWER
    },
    Step {
        name: "is-palindrome",
        code: Code::Whole("str({v}) == str({v})[::-1]"),
        names: &["answer"],
        gives: &["whether the digits of {the} read the same backwards"],
        why: &["Compare the string of digits with its reverse."],
        verbs: &["is_palindrome", "check_digits"],
        run: |v, _| {
            let digits = digits(v.int()?)?;
            Some(Value::Bool(digits.iter().eq(digits.iter().rev())))
        },
        ..ANSWER
    },
    Step {
        name: "is-square",
        code: Code::Whole("{v} >= 0 and math.isqrt({v}) ** 2 == {v}"),
        names: &["answer"],
        gives: &["whether {the} is the square of an integer"],
        why: &["The integer root squared must give the number back."],
        verbs: &["is_square", "check_square"],
        weight: 2,
        run: |v, _| {
            let n = v.int()?;
            Some(Value::Bool(n >= 0 && n.isqrt() * n.isqrt() == n))
        },
        ..ANSWER
    },
    Step {
        name: "grade",
        to: Type::Text,
        constants: &[Num(3, 9), Num(12, 25)],
        code: Code::Block(&[
            "if {v} < {a}:",
            "    {o} = \"low\"",
            "elif {v} < {b}:",
            "    {o} = \"mid\"",
            "else:",
            "    {o} = \"high\"",
        ]),
        names: &["label", "grade"],
        gives: &[
            "\"low\" if {the} is less than {a}, \"mid\" if it is at least {a} but less than {b}, and \"high\" otherwise",
        ],
        left: Left::One("the label"),
        why: &["Check the smaller bound {a} first, then {b}; the rest is high."],
        verbs: &["grade", "classify", "label"],
        run: |v, i| {
            let n = v.int()?;
            let label = if n < i.constants[0] {
                "low"
            } else if n < i.constants[1] {
                "mid"
            } else {
                "high"
            };
            Some(Value::Text(label.to_owned()))
        },
        ..ANSWER
    },
    Step {
        name: "fizz",
        to: Type::Text,
        constants: &[Num(2, 4), Num(5, 7)],
        code: Code::Block(&[
            "{o} = \"\"",
            "if {v} % {a} == 0:",
            "    {o} += \"fizz\"",
            "if {v} % {b} == 0:",
            "    {o} += \"buzz\"",
            "{o} = {o} or str({v})",
        ]),
        names: &["word", "text"],
        gives: &[
            "\"fizz\" if {the} is divisible by {a}, \"buzz\" if by {b}, \"fizzbuzz\" if by both, and the number as a string otherwise",
        ],
        left: Left::One("the word"),
        why: &["Append fizz for {a} and buzz for {b}; if nothing was added, use the number."],
        verbs: &["fizz", "say"],
        weight: 2,
        run: |v, i| {
            let n = v.int()?;
            let divides = |k: usize| n.rem_euclid(i.constants[k]) == 0;
            let word = format!(
                "{}{}",
                if divides(0) { "fizz" } else { "" },
                if divides(1) { "buzz" } else { "" }
            );
            Some(Value::Text(if word.is_empty() { n.to_string() } else { word }))
        },
        ..ANSWER
    },
    Step {
        name: "yes-no",
        to: Type::Text,
        test: Some(Number),
        code: Code::Whole("\"yes\" if {test} else \"no\""),
        names: &["answer"],
        gives: &["\"yes\" if {the} {is} and \"no\" otherwise"],
        left: Left::One("the answer"),
        why: &["A conditional expression: yes when {test}, else no."],
        verbs: &["answer", "say"],
        run: |v, i| Some(Value::Text(if i.number(v.int()?) { "yes" } else { "no" }.to_owned())),
        ..ANSWER
    },
    Step {
        name: "labels",
        group: "label",
        from: Type::Ints,
        to: Type::Words,
        test: Some(Number),
        code: Code::Each("\"A\" if {test} else \"B\""),
        names: &["labels", "marks"],
        does: &["^replace {each} with \"A\" if it {is} and with \"B\" otherwise"],
        left: Left::Many("labels", "label"),
        why: &[
            "The label is A when {test}, else B.",
            "Each element turns into A if {test}, else B.",
        ],
        verbs: &["label", "mark"],
        run: |v, i| {
            let label = |&n: &i64| if i.number(n) { "A" } else { "B" }.to_owned();
            Some(Value::Words(v.ints()?.iter().map(label).collect()))
        },
        ..ANSWER
    },
    Step {
        name: "signs",
        group: "label",
        from: Type::Ints,
        to: Type::Words,
        code: Code::Block(&[
            "{o} = []",
            "for {x} in {v}:",
            "    if {x} > 0:",
            "        {o}.append(\"up\")",
            "    elif {x} < 0:",
            "        {o}.append(\"down\")",
            "    else:",
            "        {o}.append(\"flat\")",
        ]),
        names: &["signs", "words"],
        does: &[
            "^replace {each} with \"up\" if it is positive, \"down\" if it is negative and \"flat\" if it is 0",
        ],
        left: Left::Many("words", "word"),
        why: &["Three cases by sign: above 0, below 0, or else 0."],
        verbs: &["signs_of", "trend_of"],
        signed: true,
        weight: 2,
        run: |v, _| {
            let sign = |n: &i64| match n.signum() {
                1 => "up",
                -1 => "down",
                _ => "flat",
            };
            let signs = v.ints()?.iter().map(|n| sign(n).to_owned());
            Some(Value::Words(signs.collect()))
        },
        ..ANSWER
    },
];
