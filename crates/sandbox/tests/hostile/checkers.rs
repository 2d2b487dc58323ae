//! Problems with several right answers, decided by a checker of the task's author.
//!
//! Thirteen tasks, each with honest programs that give different right answers and with programs that are
//! wrong; then, for each task, answers made to confuse a checker. None of those may be paid, and none
//! may make the task look broken. Checkers that are broken are: then nobody is judged by them.

// size: a table of thirteen tasks with their programs, beside what is asked of all of them.

use std::time::Duration;

use serde_json::{Value, json};
use whetstone_core::judgement::{Isolation, Judgement};
use whetstone_core::tests::Tests;
use whetstone_sandbox::job::{Limits, Unjudged};

use crate::support::{Stage, alone, tell};

const LIMITS: Limits = Limits { cpu: Duration::from_secs(1), memory: 192 << 20 };

/// A task and programs for it.
struct Problem {
    name: &'static str,
    tests: Value,
    honest: &'static [&'static str],
    wrong: &'static [&'static str],
}

/// A task of one function `f`.
fn calls(
    name: &'static str,
    checker: &str,
    hidden: &Value,
    [honest, wrong]: [&'static [&'static str]; 2],
) -> Problem {
    let tests = json!({"kind": "calls", "entry_point": "f", "checker": checker, "hidden": hidden});
    Problem { name, tests, honest, wrong }
}

/// Values that a checker may not expect, as expressions of a program that knows nothing.
const CONFUSING: [&str; 20] = [
    "None",
    "True",
    "float('nan')",
    "[float('nan')] * 3",
    "float('inf')",
    "10 ** 20000",
    "-1",
    "'[0, 1]'",
    "'abc'",
    "b'\\x00\\x01'",
    "{}",
    "{'args': [[1]], 'expected': 1}",
    "[[[[[[[[[[]]]]]]]]]]",
    "deep(60)",
    "deep(5000)",
    "'x' * 900000",
    "list(range(150000))",
    "Liar([9])",
    "Text('x')",
    "(x for x in args)",
];

/// What those expressions need: values that claim to equal everything.
const LIARS: &str = "
class Liar(list):
    __eq__ = __contains__ = __lt__ = __le__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __len__ = lambda self: 2
    __getitem__ = lambda self, at: 0
    __hash__ = None
class Text(str):
    __eq__ = lambda self, other: True
    __hash__ = str.__hash__
def deep(n):
    made = []
    for _ in range(n):
        made = [made]
    return made
import builtins, math, sys
builtins.sorted = builtins.len = builtins.set = builtins.abs = lambda *a, **k: 0
math.isclose = lambda *a, **k: True
";

#[expect(clippy::too_many_lines, reason = "a table of tasks")]
fn problems() -> Vec<Problem> {
    vec![
        calls(
            "a sum that is evaluated",
            "def check(input, expected, answer):
    value = eval(answer)
    return type(value) in (int, float) and abs(value - 24) < 1e-6",
            &json!([{"args": [[4, 7, 8, 8]], "expected": "(7 - 8 / 8) * 4"}]),
            [
                &["def f(n): return '(7 - 8 / 8) * 4'", "def f(n): return '4 * (7 - 8 / 8)'"],
                &[
                    "def f(n): return '4 + 7 + 8 + 8'",
                    "def f(n): return \"__import__('os').write(3, b'\\\\x01\\\\0\\\\0\\\\0p') and __import__('os')._exit(0)\"",
                    "def f(n): return '(lambda: 24)()'",
                    "def f(n): return '9 ** 999 ** 999'",
                ],
            ],
        ),
        calls(
            "two places whose numbers add up",
            "def check(input, expected, answer):
    numbers, target = input['args']
    a, b = answer
    return a != b and min(a, b) >= 0 and numbers[a] + numbers[b] == target",
            &json!([{"args": [[1, 2, 3, 4], 5], "expected": [0, 3]}, {"args": [[5, 5], 10], "expected": [0, 1]}]),
            [
                &[
                    "def f(n, t): return next([i, j] for i in range(len(n)) for j in range(i) if n[i] + n[j] == t)",
                    "def f(n, t): return next((j, i) for i in range(len(n) - 1, -1, -1) for j in range(i) if n[i] + n[j] == t)",
                ],
                &["def f(n, t): return [0, 0]", "def f(n, t): return [-1, 0]", "def f(n, t): return n[:2]"],
            ],
        ),
        calls(
            "an order in which everything comes after what it needs",
            "def check(input, expected, answer):
    count, needs = input['args']
    place = {item: at for at, item in enumerate(answer)}
    return sorted(answer) == list(range(count)) and all(place[a] < place[b] for a, b in needs)",
            &json!([{"args": [4, [[0, 1], [0, 2], [1, 3], [2, 3]]], "expected": [0, 1, 2, 3]}]),
            [
                &["def f(n, e): return [0, 2, 1, 3]", "def f(n, e): return (0, 1, 2, 3)"],
                &["def f(n, e): return [3, 2, 1, 0]", "def f(n, e): return [0, 1, 3]", "def f(n, e): return [0, 0, 1, 2, 3]"],
            ],
        ),
        calls(
            "letters arranged so that no two alike stand together",
            "def check(input, expected, answer):
    return sorted(answer) == sorted(input['args'][0]) and isinstance(answer, str) and all(a != b for a, b in zip(answer, answer[1:]))",
            &json!([{"args": ["aabbc"], "expected": "ababc"}]),
            [
                &["def f(s): return 'cabab'", "def f(s): return 'babac'"],
                &["def f(s): return s", "def f(s): return list('ababc')", "def f(s): return 'abab'"],
            ],
        ),
        calls(
            "a root within a tolerance",
            "def check(input, expected, answer):
    return isinstance(answer, (int, float)) and not isinstance(answer, bool) and abs(answer - expected) <= 1e-6",
            &json!([{"args": [3], "expected": 1.732_050_807_57}, {"args": [9], "expected": 3}]),
            [
                &[
                    "def f(x): return x ** 0.5",
                    "def f(x):\n    g = 1.0\n    for _ in range(60): g = (g + x / g) / 2\n    return g",
                ],
                &["def f(x): return x / 2", "def f(x): return str(x ** 0.5)", "def f(x): return complex(x ** 0.5, 1)"],
            ],
        ),
        calls(
            "a map coloured with three colours",
            "def check(input, expected, answer):
    count, edges = input['args']
    return len(answer) == count and set(answer) <= {0, 1, 2} and all(answer[a] != answer[b] for a, b in edges)",
            &json!([{"args": [4, [[0, 1], [1, 2], [2, 0], [2, 3]]], "expected": [0, 1, 2, 0]}]),
            [
                &["def f(n, e): return [2, 0, 1, 0]", "def f(n, e): return (1, 2, 0, 1)"],
                &["def f(n, e): return [0] * n", "def f(n, e): return [0, 1, 2, 3]", "def f(n, e): return [0, 1, 2]"],
            ],
        ),
        calls(
            "a way through a graph, as what comes after what",
            "def check(input, expected, answer):
    start, end, edges = input['args']
    at, edges = start, {tuple(edge) for edge in edges}
    while at != end:
        if (at, answer[str(at)]) not in edges:
            return False
        at = answer[str(at)]
    return True",
            &json!([{"args": [0, 3, [[0, 1], [1, 0], [1, 3], [0, 2], [2, 3]]], "expected": {"0": 1, "1": 3}}]),
            [
                &["def f(a, b, e): return {'0': 1, '1': 3}", "def f(a, b, e): return {'0': 2, '2': 3, '9': 9}"],
                // The first makes the checker walk for ever.
                &["def f(a, b, e): return {'0': 1, '1': 0}", "def f(a, b, e): return {'0': 3}", "def f(a, b, e): return {}"],
            ],
        ),
        calls(
            "numbers that add up to a sum",
            "def check(input, expected, answer):
    from collections import Counter
    numbers, total = input['args']
    return bool(answer) and sum(answer) == total and not Counter(answer) - Counter(numbers)",
            &json!([{"args": [[3, 34, 4, 12, 5, 2], 9], "expected": [4, 5]}]),
            [
                &["def f(n, t): return [4, 5]", "def f(n, t): return [2, 3, 4]"],
                &["def f(n, t): return [9]", "def f(n, t): return [3, 3, 3]", "def f(n, t): return []"],
            ],
        ),
        calls(
            "words in groups, in any order",
            "def check(input, expected, answer):
    shape = lambda groups: sorted(sorted(group) for group in groups)
    return shape(answer) == shape(expected)",
            &json!([{"args": [["ab", "c", "ba"]], "expected": [["ab", "ba"], ["c"]]}]),
            [
                &["def f(w): return [['c'], ['ba', 'ab']]", "def f(w): return (('ab', 'ba'), ('c',))"],
                &["def f(w): return [['ab'], ['ba'], ['c']]", "def f(w): return [w]", "def f(w): return ['ab', 'ba', 'c']"],
            ],
        ),
        calls(
            "queens that do not see each other",
            "def check(input, expected, answer):
    n = input['args'][0]
    places = list(enumerate(answer))
    return sorted(answer) == list(range(n)) and all(abs(a - c) != abs(b - d) for a, b in places for c, d in places if a < c)",
            &json!([{"args": [4], "expected": [1, 3, 0, 2]}]),
            [
                &["def f(n): return [1, 3, 0, 2]", "def f(n): return [2, 0, 3, 1]"],
                &["def f(n): return [0, 1, 2, 3]", "def f(n): return [1, 3, 0]", "def f(n): return [1, 1, 1, 1]"],
            ],
        ),
        Problem {
            name: "two factors, written down",
            tests: json!({"kind": "stdio", "checker": "def check(input, expected, answer):
    a, b = map(int, answer.split())
    return a > 1 and b > 1 and a * b == int(input)",
                "hidden": [{"input": "12\n", "output": "3 4\n"}, {"input": "35", "output": "5 7"}]}),
            honest: &[
                "n = int(input())\na = next(a for a in range(2, n) if n % a == 0)\nprint(a, n // a)",
                "n = int(input())\na = next(a for a in range(n - 1, 1, -1) if n % a == 0)\nprint(a)\nprint(n // a)",
            ],
            wrong: &["print(1, input())", "print('a b')", "pass", "import sys\nsys.stdout.buffer.write(b'\\xff 4')"],
        },
        Problem {
            name: "even numbers before odd ones, written down",
            tests: json!({"kind": "stdio", "checker": "def check(input, expected, answer):
    given, told = input.split(), answer.split()
    odd = [int(x) % 2 for x in told]
    return sorted(told) == sorted(given) and odd == sorted(odd)",
                "hidden": [{"input": "3 1 2 4\n", "output": "2 4 3 1\n"}]}),
            honest: &[
                "print(*sorted(input().split(), key=lambda x: int(x) % 2))",
                "print('4 2')\nprint('1 3')",
            ],
            wrong: &["print(input())", "print('2 4')", "print('2 4 3 1 9')", "raise SystemExit"],
        },
        Problem {
            name: "the numbers of Bezout",
            tests: json!({"kind": "asserts", "checker": "def check(input, expected, answer):
    x, y, g = answer
    return input == 'f(240, 46)' and type(x) is int and type(y) is int and 240 * x + 46 * y == g == expected[2]",
                "hidden": ["assert f(240, 46) == (-9, 47, 2)"]}),
            honest: &["def f(a, b): return -9, 47, 2", "def f(a, b): return [14, -73, 2]"],
            wrong: &["def f(a, b): return 0, 0, 0", "def f(a, b): return 1, 1, 286", "def f(a, b): return -9, 47"],
        },
    ]
}

fn judge(stage: &Stage, source: &str, tests: &Value) -> Result<Judgement, Unjudged> {
    let tests: Tests = serde_json::from_str(&tests.to_string()).unwrap();
    stage.submit_tests(source, &tests, LIMITS).wait()
}

/// A program that gives a confusing answer, in the way the task asks for one.
fn confusing(tests: &Value, expression: &str) -> String {
    if tests["kind"] == "stdio" {
        return format!("args = []\n{LIARS}\nprint({expression})\n");
    }
    format!("{LIARS}\ndef f(*args):\n    return {expression}\n")
}

fn hold(level: Isolation) {
    let _alone = alone();
    let Some(stage) = Stage::start(level) else { return };
    for Problem { name, tests, honest, wrong } in problems() {
        for source in honest {
            let verdict = judge(&stage, source, &tests).unwrap();
            assert!(verdict.verdict().is_pass(), "{name}: {source}: {}", tell(verdict.verdict()));
        }
        let confused = CONFUSING.iter().map(|expression| confusing(&tests, expression));
        for source in wrong.iter().map(ToString::to_string).chain(confused) {
            // A verdict, never "not judged".
            let verdict = judge(&stage, &source, &tests)
                .unwrap_or_else(|err| panic!("{name}: {source}: {err}"));
            assert!(!verdict.verdict().is_pass(), "{name} pays {source}");
        }
    }
    stage.end();
}

#[test]
fn several_right_answers_pass_and_no_answer_confuses_a_checker_at_full() {
    hold(Isolation::Full);
}

#[test]
fn several_right_answers_pass_and_no_answer_confuses_a_checker_at_landlock() {
    hold(Isolation::Landlock);
}

/// Each of these fails on the expected answer as well, so the program is not to blame.
const BROKEN: [(&str, &str); 10] = [
    ("    while True: pass", "it does not end in time"),
    ("    raise ValueError('odd')", "line 2 of the checker: ValueError('odd')"),
    ("    return None", "`check` returns 'NoneType', expected True or False"),
    ("    return 1", "`check` returns 'int', expected True or False"),
    ("    return 'True'", "`check` returns 'str', expected True or False"),
    ("    import os; os._exit(0)", "its process ended without an answer"),
    ("    raise SystemExit", "line 2 of the checker: SystemExit()"),
    ("    x = [0] * 10 ** 9\n    return True", "line 2 of the checker: MemoryError()"),
    (
        "    import os; os.write(3, b'nonsense' * 9)\n    return True",
        "it writes to the judge's channel",
    ),
    (
        "    if answer is not None: return answer == 4\n    return missing",
        "line 3 of the checker: NameError(",
    ),
];

#[test]
fn a_broken_checker_is_the_tasks_fault_whatever_the_program_answers() {
    let _alone = alone();
    let Some(stage) = Stage::start(Isolation::Full) else { return };
    for (body, said) in BROKEN {
        let code = format!("def check(input, expected, answer):\n{body}\n");
        // The last one breaks only on what the task itself expects.
        let expected = if body.contains("missing") { Value::Null } else { json!(4) };
        let tests = json!({"kind": "calls", "entry_point": "f", "checker": code, "hidden": [{"expected": expected}]});
        let programs = ["def f(): return 4", "def f(): return None", "def f(): return [5]"];
        // Waiting for one that never ends is long enough once.
        let programs = if body.contains("while") { &programs[..1] } else { &programs[..] };
        for program in programs {
            let found = judge(&stage, program, &tests);
            if body.contains("missing") && !program.contains("None") {
                let verdict = found.unwrap();
                assert_eq!(verdict.verdict().is_pass(), program.contains('4'), "{program}");
                continue;
            }
            let Err(Unjudged::BrokenTests(problem)) = found else {
                panic!("{body} judges {program}: {found:?}")
            };
            let start = "hidden test 1 is broken: its checker fails, on an answer: ";
            assert!(problem.starts_with(start), "{problem}");
            let (_, control) = problem.split_once("; on the expected answer: ").unwrap();
            assert!(control.starts_with(said), "{body}: {control}");
        }
    }
    stage.end();
}

#[test]
fn a_checker_that_cannot_be_read_or_asked_is_the_tasks_fault() {
    let _alone = alone();
    let Some(stage) = Stage::start(Isolation::Full) else { return };
    let call = json!([{"expected": 1}]);
    let cases = [
        (
            json!({"kind": "calls", "entry_point": "f", "checker": "def check(:", "hidden": call}),
            "the checker cannot be used: ",
        ),
        (
            json!({"kind": "calls", "entry_point": "f", "checker": "def judge(a): pass", "hidden": call}),
            "the checker cannot be used: it defines no function `check`",
        ),
        (
            json!({"kind": "calls", "entry_point": "f", "checker": "check = bool", "hidden": [{"expected": 1, "alternatives": [2]}]}),
            "hidden test 1 cannot be used: it has `alternatives` beside the checker",
        ),
        (
            json!({"kind": "asserts", "checker": "check = bool", "hidden": ["assert f() < 3"]}),
            "hidden test 1 cannot be used: with a checker, write `assert call == value`",
        ),
    ];
    for (tests, said) in cases {
        let Err(Unjudged::BrokenTests(problem)) = judge(&stage, "def f(): return 1", &tests) else {
            panic!("{tests} is used")
        };
        assert!(problem.starts_with(said), "{problem}");
    }
    stage.end();
}

/// A program that leaves whatever it can for the process that comes after it.
#[test]
fn a_checker_finds_nothing_of_the_program() {
    const PROGRAM: &str = "
import os, sys, threading
os.environ['X'] = '1'
sys.path.insert(0, os.getcwd())
for folder in ('.', '/tmp'):
    for name in ('fractions.py', 'sitecustomize.py', 'left'):
        try:
            open(folder + '/' + name, 'w').write('raise SystemError')
        except OSError:
            pass
threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()
def f(): return 1
";
    const CHECKER: &str = "
import os, sys
def check(input, expected, answer):
    import fractions
    found = [name for folder in ('.', os.environ['HOME']) for name in os.listdir(folder)]
    return not found and 'X' not in os.environ and 'solution' not in sys.modules and answer == 1
";
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        let tests = json!({"kind": "calls", "entry_point": "f", "checker": CHECKER, "hidden": [{"expected": 1}, {"expected": 1}]});
        let verdict = judge(&stage, PROGRAM, &tests).unwrap();
        assert!(verdict.verdict().is_pass(), "at {level:?}: {}", tell(verdict.verdict()));
        stage.end();
    }
}

#[test]
fn what_checkers_cost_all_together_is_bounded() {
    const CHECKER: &str = "
def check(input, expected, answer):
    total = 0
    for n in range(answer):
        total += n
    return True
";
    let _alone = alone();
    let Some(stage) = Stage::start(Isolation::Full) else { return };
    let hidden: Vec<Value> = (0..300).map(|_| json!({"expected": 1})).collect();
    let tests = json!({"kind": "calls", "entry_point": "f", "checker": CHECKER, "hidden": hidden});
    assert!(judge(&stage, "def f(): return 5", &tests).unwrap().verdict().is_pass());
    // A checker that never ends is asked once; many that are slow have one budget.
    let costly = [("def f(): return 10 ** 12", "wrong"), ("def f(): return 10 ** 6", "timeout")];
    for (program, said) in costly {
        let verdict = judge(&stage, program, &tests).unwrap();
        assert_eq!(verdict.verdict().name(), said, "{program}");
        assert!(verdict.counts().passed < 300, "{program}");
    }
    stage.end();
}
