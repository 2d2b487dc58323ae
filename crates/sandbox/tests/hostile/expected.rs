//! Expected values stay out of a program's process, and what the program is asked is asked in full:
//! setups whose helpers need the program, tests that a program might work out itself, names that are
//! not called, answers that are no plain data, and tests that a program would rather not have.

use std::time::Duration;

use whetstone_core::judgement::Isolation;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_sandbox::job::{Job, Limits, Unjudged};

use crate::support::{Stage, alone, tell};

/// Tests, one program that solves them, and programs that do not.
pub(crate) struct Row {
    pub(crate) setup: &'static str,
    pub(crate) test: &'static str,
    pub(crate) honest: &'static str,
    pub(crate) hostile: &'static [&'static str],
}

const ADD: &str = "def add(a, b): return a + b\n";

/// Programs for `add` that look for what is expected, or bend what compares.
const SPIES: &[&str] = &[
    "import sys\ndef add(a, b):\n    frame = sys._getframe(1)\n    while frame:\n        for name in ('want', 'expected', 'y', 'e'):\n            if name in frame.f_locals: return frame.f_locals[name]\n        frame = frame.f_back\n    return -1\n",
    "class Any:\n    __sub__ = __rsub__ = __abs__ = __round__ = lambda self, *a: 0\n    __eq__ = __lt__ = __le__ = __bool__ = lambda self, *a: True\n    __hash__ = None\ndef add(a, b): return Any()\n",
    "import builtins, math\nbuiltins.abs = lambda x: 0\nbuiltins.round = builtins.all = builtins.any = lambda *a: True\nmath.isclose = lambda *a, **k: True\ndef add(a, b): return -1\n",
    "import threading, time\ndef yes(*a, **k): return 0\ndef patch():\n    while True:\n        for name in ('close', 'residual', 'inner', 'run_all', 'Case', 'check'):\n            globals()[name] = yes\n        time.sleep(0.0005)\nthreading.Thread(target=patch, daemon=True).start()\ndef add(a, b):\n    time.sleep(0.01)\n    return -1\n",
    "import gc, types\ndef add(a, b):\n    for one in gc.get_objects():\n        if isinstance(one, types.FunctionType) and one.__name__ in ('close', 'residual', 'run_all', 'answers'):\n            for constant in one.__code__.co_consts:\n                if constant == a + b: return constant\n    found = globals().get('cases') or globals().get('CASES')\n    if found: return found[0][-1]\n    return -1\n",
    "def close(*a): return True\ndef run_all(*a): return True\ndef residual(*a): return 0\ndef inner(*a): return 5\nis_close = same = close\nclass np:\n    allclose = isclose = close\nclass Case:\n    def __init__(self, *a): pass\n    def holds(self): return True\ndef add(a, b): return -1\n",
    "pass\n",
];

/// A program that writes the judge's frames itself: each call it answers with a handle, each name with
/// a function, and what is called then with yes.
macro_rules! forged {
    ($name:literal, $handle:literal) => {
        concat!(
            "import os, marshal\ndef say(value):\n    data = b'v' + marshal.dumps(value, 2)\n",
            "    os.write(3, len(data).to_bytes(4, 'little') + data)\n",
            "def ",
            $name,
            "(*a):\n    say(('held', ('",
            $handle,
            "', (['__call__'], [])), (None, 0, 0)))\n    while True:\n",
            "        kind = os.read(3, 65536)[4:5]\n",
            "        say(('function', None, None) if kind == b'N' else ('', True, (None, 0, 0)))\n"
        )
    };
}

const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "assert greeting().startswith('Hello, w')",
        honest: "def greeting(): return 'Hello, world'\n",
        hostile: &[forged!("greeting", "greeting"), forged!("greeting", "#1")],
    },
    Row {
        setup: "",
        test: "assert Greeting().startswith('Hello, w')",
        honest: "def Greeting(): return 'Hello, world'\n",
        hostile: &[
            "class Greeting:\n    def startswith(self, text): return True\n",
            forged!("Greeting", "Greeting"),
            forged!("Greeting", "#1"),
        ],
    },
    Row {
        setup: "",
        test: "assert not primes(10).symmetric_difference({2, 3, 5, 7})",
        honest: "def primes(n): return {2, 3, 5, 7}\n",
        hostile: &[forged!("primes", "primes"), forged!("primes", "#1")],
    },
    Row {
        setup: "",
        test: "b = Box(4)\nassert b.path == 4\nassert b.is_answer() == 5",
        honest: "class Box:\n    def __init__(self, n): self.path = n\n    def is_answer(self): return self.path + 1\n",
        hostile: &[
            "class Box:\n    def __init__(self, n): self.path = n\n    def is_answer(self): return 4\n",
        ],
    },
    Row {
        setup: "",
        test: "assert list(f({'b': 1, 'a': 2})) == ['b', 'a']",
        honest: "def f(d): return d.keys()\n",
        hostile: &["def f(d): return sorted(d)\n", "def f(d): return set(d)\n"],
    },
    Row {
        setup: "",
        test: "assert list(f({'b': [1], 'a': 2})) == [('b', [1]), ('a', 2)]",
        honest: "def f(d): return d.items()\n",
        hostile: &["def f(d): return sorted(d)\n"],
    },
    Row {
        setup: "def close(x, y, want): return abs(add(x, y) - want) < 1e-6",
        test: "assert close(2, 3, 5)",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "def inner(x, y): return add(x, y)\ndef residual(x, y, want):\n    return inner(x, y) - want",
        test: "assert residual(2, 3, 5) == 0",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "def residual(x, y, want):\n    return abs(add(x, y) - want)",
        test: "assert residual(2, 3, 5) < 1e-6",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "def run_all():\n    return all(add(x, y) == e for x, y, e in [(2, 3, 5), (4, 4, 8)])",
        test: "assert run_all()",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "cases = [(add, 2, 3, 5), (add, 4, 4, 8)]",
        test: "for f, x, y, e in cases:\n    assert f(x, y) == e",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "class Case:\n    def __init__(self, x, y, want): self.x, self.y, self.want = x, y, want\n    def holds(self): return add(self.x, self.y) == self.want",
        test: "assert Case(2, 3, 5).holds()",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "",
        test: "assert all(add(x, y) == e for x, y, e in [(2, 3, 5), (4, 4, 8)])",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "import unittest",
        test: "class T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(add(2, 3), 5)\n        self.assertAlmostEqual(add(0.1, 0.2), 0.3)\nT('test').debug()",
        honest: ADD,
        hostile: SPIES,
    },
    Row {
        setup: "",
        test: "assert FizzBuzz(3).startswith('1 2 Fizz')",
        honest: "def FizzBuzz(n): return '1 2 Fizz'\n",
        hostile: &[
            "class FizzBuzz:\n    def __init__(self, n): pass\n    def startswith(self, text): return True\n",
            "class T(str):\n    def startswith(self, text): return True\ndef FizzBuzz(n): return T('x')\n",
            "class O:\n    def startswith(self, text): return True\ndef FizzBuzz(n): return O()\n",
        ],
    },
    Row { setup: "", test: "assert add(2, 3) == 5 == add(1, 4)", honest: ADD, hostile: SPIES },
    // Names that a test does not call.
    Row {
        setup: "",
        test: "assert callable(add)",
        honest: ADD,
        hostile: &["pass\n", "add = 5\n", "def sub(a, b): return a\n"],
    },
    Row { setup: "", test: "assert add", honest: ADD, hostile: &["pass\n", "add = 0\n"] },
    Row {
        setup: "",
        test: "assert add.__name__ == 'add'",
        honest: ADD,
        hostile: &["pass\n", "add = 'add'\n"],
    },
    Row {
        setup: "",
        test: "assert hasattr(Stack, 'push') and not hasattr(Stack, 'pull')",
        honest: "class Stack:\n    def push(self): pass\n",
        hostile: &["pass\n", "class Stack: pass\n", "Stack = 5\n"],
    },
    Row {
        setup: "",
        test: "assert RESULT is not None",
        honest: "RESULT = 5\n",
        hostile: &["pass\n", "RESULT = None\n"],
    },
    Row {
        setup: "",
        test: "assert RESULT",
        honest: "RESULT = [5]\n",
        hostile: &[
            "pass\n",
            "RESULT = []\n",
            "class A:\n    def __bool__(self): return 5\nRESULT = A()\n",
            "class A:\n    def __len__(self): return 0\nRESULT = A()\n",
        ],
    },
    Row {
        setup: "",
        test: "assert RESULT != 0 and 1 < RESULT < 9",
        honest: "RESULT = 5\n",
        hostile: &[
            "pass\n",
            "RESULT = 0\n",
            "class A:\n    __eq__ = lambda s, o: False\n    __lt__ = __gt__ = lambda s, o: True\nRESULT = A()\n",
        ],
    },
    Row {
        setup: "",
        test: "add(1, 2)\nassert seen == [(1, 2)]",
        honest: "seen = []\ndef add(a, b): seen.append((a, b))\n",
        hostile: &["seen = []\ndef add(a, b): pass\n", "def add(a, b): pass\n"],
    },
    // An answer that is no plain data is no exception that a test may wait for.
    Row {
        setup: "",
        test: "try:\n    root(-1)\n    ok = False\nexcept Exception:\n    ok = True\nassert ok",
        honest: "def root(x): raise ValueError\n",
        hostile: OPAQUE,
    },
    Row {
        setup: "",
        test: "try:\n    root(-1)\n    ok = False\nexcept:\n    ok = True\nassert ok",
        honest: "class Own(Exception): pass\ndef root(x): raise Own\n",
        hostile: OPAQUE,
    },
    Row {
        setup: "import contextlib",
        test: "ok = True\nwith contextlib.suppress(BaseException):\n    root(-1)\n    ok = False\nassert ok",
        honest: "def root(x): raise ValueError\n",
        hostile: OPAQUE,
    },
    Row {
        setup: "",
        test: "def must_raise():\n    try:\n        kept = root(-1)\n        return kept == 0\n    finally:\n        return True\nassert must_raise() and root(4) == 2",
        honest: "def root(x): return x ** 0.5 if x >= 0 else [][0]\n",
        hostile: &[
            "def root(x): return 2 if x == 4 else object()\n",
            "def root(x): return object()\n",
        ],
    },
    Row {
        setup: "",
        test: "try:\n    root(-1)\nexcept KeyError:\n    pass\nelse:\n    raise AssertionError",
        honest: "class Own(KeyError): pass\ndef root(x): raise Own('a', 1)\n",
        hostile: OPAQUE,
    },
];

/// Programs that answer `root(-1)` with what is no plain data, or not by raising.
const OPAQUE: &[&str] = &[
    "def root(x): return object()\n",
    "def root(x): return lambda: 1\n",
    "import array\ndef root(x): return array.array('B', [1])\n",
    "def root(x):\n    while True: yield x\n",
    "def root(x): return 0\n",
    "def root(x):\n    a = []\n    for _ in range(100): a = [a]\n    return a\n",
    "def root(x): return 'x' * (2 << 20)\n",
];

/// Tests that are refused, whatever the program is, and what is said.
const BROKEN: &[(&str, &str, &str)] = &[
    ("", "assert np.allclose(add(2, 3), 5)", "has `np`"),
    ("", "assert is_close(add(2, 3), 5)", "has `is_close`"),
    ("", "x = 1\nassert not is_close(add(2, 3), 5)", "line 2: "),
    ("", "assert eval('add(2, 3) == 5')", "it raises NameError before"),
    ("", "x = abs\nassert add(2, x) == 5", "no plain data"),
    ("", "while True: pass", "does not come to an end"),
    ("", "assert False", "it raises AssertionError before"),
    ("", "import os\nos._exit(0)", "its process ended"),
    ("", "try:\n    add(2, abs)\nexcept:\n    pass", "no plain data"),
    ("1 / 0", "assert add(2, 3) == 5", "the setup cannot be used: it raises ZeroDivisionError"),
    ("import no_such_module", "assert add(2, 3) == 5", "it raises ModuleNotFoundError"),
    ("while True: pass", "assert add(2, 3) == 5", "the setup cannot be used: it does not come"),
    ("import os\nos._exit(0)", "assert add(2, 3) == 5", "the setup cannot be used: its process"),
    ("def f(): return add\n1 / 0", "assert f()(2, 3) == 5", "ZeroDivisionError"),
];

/// Tests in which a program has answered, and that cannot go on because of its answer: its fault.
const ESCAPES: &[(&str, &str, &str)] = &[
    (
        "assert f(f(1)) == 1",
        "def f(x): return x if x != 1 else 'x' * ((1 << 20) - 20)\n",
        "unserialisable",
    ),
    (
        "assert f([f(1), f(1)]) == 1",
        "def f(x): return 'x' * 600000 if x == 1 else 1\n",
        "unserialisable",
    ),
    (
        "x = f(1)\nassert f(x) == 1",
        "def f(x): return 1 if x != 1 else iter([1])\n",
        "unserialisable",
    ),
    ("assert f(f(1).keys()) == 1", "def f(x): return {1: iter([1])}\n", "unserialisable"),
    (
        "for x in range(f(1)): print('x' * 1000000)",
        "def f(x): return 10 ** 9\n",
        "unserialisable output",
    ),
    ("import os\nif f(1): os._exit(0)", "def f(x): return 1\n", "unserialisable"),
    (
        "import sys\nx = [0] * f(1)\nassert sum(x) == 1",
        "def f(x): return 10 ** 12\n",
        "wrong memory",
    ),
    ("while f(1): pass", "def f(x): return 1\n", "timeout"),
    ("while RESULT: pass", "RESULT = 5\n", "timeout"),
    ("assert not callable(RESULT)", "def RESULT(): pass\n", "wrong"),
];

pub(crate) fn judge(
    stage: &Stage,
    setup: &str,
    test: &str,
    source: &str,
) -> Result<String, String> {
    judge_tests(stage, setup, &serde_json::json!({"kind": "asserts", "hidden": [test]}), source)
}

/// The same of any tests.
pub(crate) fn judge_tests(
    stage: &Stage,
    setup: &str,
    tests: &serde_json::Value,
    source: &str,
) -> Result<String, String> {
    let tests: Tests = serde_json::from_str(&tests.to_string()).unwrap();
    let program =
        Program { language: Language::Python, source: source.to_owned(), truncated: false };
    let limits = Limits { cpu: Duration::from_millis(700), memory: 192 << 20 };
    let job = Job { program: &program, setup, tests: &tests, limits };
    match stage.judge.submit(job).wait() {
        Ok(judgement) => Ok(tell(judgement.verdict())),
        Err(Unjudged::BrokenTests(problem)) => Err(problem),
        Err(problem) => panic!("{problem}"),
    }
}

pub(crate) fn at_both_levels(hold: impl Fn(&Stage)) {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        hold(&stage);
        stage.end();
    }
}

#[test]
fn expected_values_stay_out_of_the_programs_process() {
    at_both_levels(|stage| {
        for Row { setup, test, honest, hostile } in ROWS {
            let says = |source| judge(stage, setup, test, source);
            assert_eq!(says(honest), Ok("pass".to_owned()), "{setup}\n{test}\n{honest}");
            for program in *hostile {
                let verdict = says(program).unwrap_or_else(|problem| {
                    panic!("not judged: {problem}\n{setup}\n{test}\n{program}")
                });
                assert_ne!(verdict, "pass", "paid: {setup}\n{test}\n{program}");
            }
        }
    });
}

#[test]
fn a_broken_test_or_setup_is_the_tasks_fault_whatever_the_program_is() {
    at_both_levels(|stage| {
        for (setup, test, said) in BROKEN {
            let programs = [ADD, "def add(a, b): return -1\nis_close = lambda *a: True\n"];
            // What loops without end takes its whole limit.
            let count = if setup.contains("while") || test.contains("while") { 1 } else { 2 };
            for program in &programs[..count] {
                let problem = judge(stage, setup, test, program).unwrap_err();
                assert!(problem.contains(said), "{setup}\n{test}\n{problem}");
            }
        }
    });
}

#[test]
fn no_program_chooses_not_to_be_judged() {
    at_both_levels(|stage| {
        for (test, program, verdicts) in ESCAPES {
            let verdict = judge(stage, "", test, program);
            let verdict = verdict.unwrap_or_else(|problem| panic!("{test}\n{program}\n{problem}"));
            assert!(verdicts.split(' ').any(|one| one == verdict), "{test}\n{program}\n{verdict}");
        }
        // What a program makes the checker spend in one test is not the next test's fault: together
        // the first and the last spend more than the limit, and each of them much less.
        let spends = "def f(x): return 10 ** 5\n";
        let text = serde_json::json!({"kind": "asserts", "hidden": [
            "n = f(1)\nimport time\nend = time.process_time() + 0.4\nwhile time.process_time() < end and n: pass",
            "while sum(range(100000)) < 1000000: pass\nassert f(2) == 1",
            "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nassert f(3) == 100000",
        ]});
        let tests: Tests = serde_json::from_value(text).unwrap();
        let limits = Limits { cpu: Duration::from_millis(700), memory: 192 << 20 };
        let judged = stage.submit_tests(spends, &tests, limits).wait().unwrap();
        assert_eq!(tell(judged.verdict()), "wrong", "{:?}", judged.counts());
    });
}
