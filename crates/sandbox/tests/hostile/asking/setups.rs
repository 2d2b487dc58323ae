//! Setups that need the program: what they compare stays out of its process, they do what they do as a whole,
//! whatever part of them runs where, and the values that tests take from them are the program's.

use crate::expected::Row;

/// Keeps what its answers are compared with, and answers with it.
const TOLD: &str = "TOLD = []
class Wild:
    def __eq__(self, other):
        TOLD.append(other)
        return True
    def __sub__(self, other):
        TOLD.append(other)
        return 0
    def __lt__(self, other): return True
    def __hash__(self): return 9
def solve(n): return TOLD[0] if TOLD else Wild()
TOTAL = Wild()
def label(x): return 'ok' if TOLD else 'no'
class Report:
    def __init__(self, *oks): self.oks = oks
    def add(self, ok): pass
    def passed(self): return 1
    total = TOTAL
";

const SOLVE: &str = "TOTAL = 9
def solve(n): return n * n
def label(x): return 'ok' if x else 'no'
class Report:
    def __init__(self, *oks): self.oks = list(oks)
    def add(self, ok): self.oks.append(ok)
    def passed(self): return sum(1 for ok in self.oks if ok)
    total = TOTAL
";

/// A setup that compares an answer, and a test that would pass if the program were told of it.
const fn compared(setup: &'static str, test: &'static str) -> Row {
    Row { setup, test, honest: SOLVE, hostile: &[TOLD] }
}

const TREE: &str = "class Tree:
    def __init__(self, xs=()): self.xs = list(xs)
    def add(self, x): self.xs.append(x)
    def pop(self): return self.xs.pop()
    def size(self): return len(self.xs)
    def first(self): return self.xs[0]
    def __len__(self): return len(self.xs)
    def __enter__(self): return self
    def __exit__(self, *a): pass
def order(xs): xs.sort()
def double(n): return 2 * n
";

/// The same, but that nothing is ever added, and with data from somewhere else.
const FLAT: &str = "class Tree:
    def __init__(self, xs=()): self.xs = [5, 4]
    def add(self, x): pass
    def pop(self): return 0
    def size(self): return 0
    def first(self): return 5
    def __len__(self): return 0
    def __enter__(self): return self
    def __exit__(self, *a): pass
def order(xs): pass
def double(n): return 14
";

const fn of_tree(setup: &'static str, test: &'static str) -> Row {
    Row { setup, test, honest: TREE, hostile: &[FLAT] }
}

const fn of_add(setup: &'static str, test: &'static str) -> Row {
    Row {
        setup,
        test,
        honest: "def add(a, b): return a + b\n",
        hostile: &["def add(a, b): return None\n", "def add(a, b): return 0\n"],
    }
}

/// Tests in which no value at all would be as good as the right one.
const fn of_lint(setup: &'static str, test: &'static str) -> Row {
    Row {
        setup,
        test,
        honest: "def lint(x): return []\n",
        hostile: &["def lint(x): return ['wrong']\n"],
    }
}

pub(super) const ROWS: &[Row] = &[
    compared("report = Report(solve(3) == 9)", "assert report.passed() == 1\nassert solve(3) == 9"),
    compared("report = Report(solve(3) == 9)", "assert solve(3) == 9"),
    compared("t = Report()\nt.x = abs(solve(3) - 9) < 1", "assert solve(3) == 9"),
    compared("t = Report()\nt.x = True if solve(3) == 9 else False", "assert solve(3) == 9"),
    compared("t = Report()\nt.add(solve(3) == 9)", "assert solve(3) == 9"),
    compared("rs = [solve(x) for x in [3] if TOTAL == 9]", "assert solve(3) == 9"),
    compared("rs = [TOTAL == want for x, want in [(3, 9)]]", "assert solve(3) == 9"),
    compared("r = Report({solve(3): 1, 9: 2})", "assert solve(3) == 9"),
    compared("", "assert label(TOTAL == 9) == 'ok'"),
    compared("", "assert label(TOTAL - 8)"),
    compared("t = Report()", "assert label(t.total == 9) == 'ok'"),
    of_tree(
        "data = [3, 1, 2]\nt1 = Tree(data)\ndata = [5, 4]\nt2 = Tree(data)",
        "assert t1.first() == 3",
    ),
    of_tree("n = 2\nr = double(n)\nn = 7", "assert r == 4"),
    of_tree("t = Tree()\nfor x in [3, 1, 2]:\n    t.add(x)", "assert t.size() == 3"),
    of_tree("t = Tree()\nfor x in [3, 1, 2]:\n    t.add(x)", "n = t.size()\nassert n == 3"),
    of_tree("t = Tree()\nif True:\n    t.add(1)", "assert t.size() == 1"),
    of_tree("t = Tree()\nwith t:\n    t.add(1)", "assert t.size() == 1"),
    of_tree("t = Tree([3])\ndef grow():\n    t.add(0)\ngrow()", "assert t.size() == 2"),
    of_tree("t = Tree([3])\nwant = len(t) + 1", "t.add(1)\nassert t.size() == want == 2"),
    of_tree("xs = [3, 1, 2]\norder(xs)", "assert xs == [1, 2, 3]"),
    of_tree("xs = [3, 1, 2]\norder(xs)", "assert Tree(xs).first() == 1"),
    of_add(
        "",
        "class T:\n    result = add(2, 3)\n    def test(self): assert self.result == 5\nT().test()",
    ),
    of_add("from enum import Enum", "class E(Enum):\n    A = add(2, 3)\nassert E.A.value == 5"),
    of_add("", "result = add(2, 3)\nassert eval('result == 5')"),
    of_add("", "result = add(2, 3)\nassert globals()['result'] == 5"),
    of_add("def verify(): return result == 5", "result = add(2, 3)\nassert verify()"),
    of_add(
        "result = None\ndef prepare():\n    global result\n    result = add(2, 3)",
        "prepare()\nassert result == 5",
    ),
    of_lint("", "class Case:\n    bad = lint(3)\nassert not Case.bad"),
    of_lint("", "class Case:\n    bad = lint(3)\nassert Case.bad is None or Case.bad == []"),
    of_lint("", "bad = lint(3)\nassert not globals()['bad']"),
    of_lint("def clean(): return not bad", "bad = lint(3)\nassert clean()"),
    of_lint(
        "errors = []\ndef prepare():\n    global errors\n    errors = lint(3)",
        "prepare()\nassert not errors",
    ),
];

/// The object is one for all tests where a test works on it, and each test has its own where the setup does.
pub(super) const SEQUENCES: &[(&str, &[&str])] = &[
    (
        "t = Tree()\nfor x in [3, 1, 2]:\n    t.add(x)",
        &["assert t.size() == 3", "assert t.size() == 3"],
    ),
    ("s = Tree([1, 2])", &["x = s.pop()\nassert x == 2", "assert s.size() == 1"]),
    ("s = Tree([1, 2, 3])\ntop = s.pop() + 1", &["assert top == 4", "assert top + 0 == 4"]),
    (
        "t = Tree()\ndef grow():\n    t.add(0)\n    return t.size()",
        &["assert grow() == 1", "assert grow() == 2"],
    ),
];

pub(super) const HONEST: &str = TREE;

/// Tests that pass for every program, since they ask none: `(setup, test)`.
pub(super) const UNASKED: &[(&str, &str)] = &[
    ("", "def test_add():\n    assert add(2, 3) == 5"),
    ("", "if __name__ == '__main__':\n    assert add(2, 3) == 5"),
    (
        "import unittest",
        "class T(unittest.TestCase):\n    def test(self): self.assertEqual(add(2, 3), 5)",
    ),
    ("", "r = pow(2, 5)\nassert r == 32"),
    ("", "t = lambda: add(2, 3) == 5\nassert t"),
    ("", "async def test(): assert add(2, 3) == 5"),
    ("from math import *", "assert gcd(4, 6) == 2"),
    ("xs = [1, 2]", "assert xs == [1, 2]"),
];

/// The same of scripts, with what is said of them.
pub(super) const UNASKED_SCRIPTS: &[(&str, &str)] = &[
    ("async def check(candidate):\n    assert candidate(2, 3) == 5", "a coroutine or a generator"),
    (
        "def check(candidate):\n    assert candidate(2, 3) == 5\n    yield",
        "a coroutine or a generator",
    ),
    (
        "def check(candidate):\n    def inner(): assert candidate(2, 3) == 5",
        "without asking the program",
    ),
    ("def check(candidate):\n    assert callable(candidate)", "without asking the program"),
];

/// Programs that leave it to the setup to be what is asked for: `(setup, tests)`.
pub(super) const SUPPLIED: &[(&str, &str)] = &[
    (
        "from math import *",
        r#"{"kind": "calls", "entry_point": "gcd", "hidden": [{"args": [4, 6], "expected": 2}]}"#,
    ),
    (
        "from math import *",
        r#"{"kind": "script", "entry_point": "gcd", "hidden": ["def check(candidate):\n    assert candidate(4, 6) == 2"]}"#,
    ),
    (
        "class Solution:\n    def gcd(self, a, b): return 2",
        r#"{"kind": "calls", "entry_point": "gcd", "hidden": [{"args": [4, 6], "expected": 2}]}"#,
    ),
    (
        "class Solution:\n    def gcd(self, a, b): return 2",
        r#"{"kind": "calls", "entry_point": "Solution.gcd", "hidden": [{"args": [4, 6], "expected": 2}]}"#,
    ),
];

pub(super) const GCD: &str = "def gcd(a, b):
    while b: a, b = b, a % b
    return a
class Solution:
    def gcd(self, a, b): return gcd(a, b)
";
