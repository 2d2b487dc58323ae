//! Each kind of test, and each verdict that a run can have, on small programs.
//!
//! A row is a program, the task's tests as JSON, and what the judge must say: the verdict with its
//! details, and how many tests passed.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

/// A judge, with limits that keep the tests short.
struct Bench {
    judge: Judge,
    limits: Limits,
}

impl Bench {
    fn new() -> Self {
        let limits = Limits { cpu: Duration::from_millis(500), memory: 128 << 20 };
        let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
        let judge = Judge::start(&options).expect("programs can be held here");
        Self { judge, limits }
    }

    #[track_caller]
    fn asserts(&self, program: &str, setup: &str, tests: &[&str], said: &str) {
        self.check(program, setup, &json!({"kind": "asserts", "hidden": tests}), said);
    }

    #[track_caller]
    fn call(&self, program: &str, entry_point: &str, call: &Value, said: &str) {
        let tests = json!({"kind": "calls", "entry_point": entry_point, "hidden": [call]});
        self.check(program, "", &tests, said);
    }

    #[track_caller]
    fn script(&self, program: &str, test: &str, said: &str) {
        let tests = json!({"kind": "script", "entry_point": "f", "hidden": [test]});
        self.check(program, "", &tests, said);
    }

    #[track_caller]
    fn stdio(&self, program: &str, io: &Value, said: &str) {
        self.check(program, "", &json!({"kind": "stdio", "hidden": [io]}), said);
    }

    #[track_caller]
    fn check(&self, program: &str, setup: &str, tests: &Value, said: &str) {
        assert_eq!(self.says(program, setup, tests), said, "{program}\n{tests:#}");
    }

    fn says(&self, program: &str, setup: &str, tests: &Value) -> String {
        let tests: Tests = serde_json::from_value(tests.clone()).expect("tests of a task");
        let source = program.to_owned();
        let program = Program { language: Language::Python, source, truncated: false };
        let job = Job { program: &program, setup, tests: &tests, limits: self.limits };
        match self.judge.judge(job) {
            Ok(judgement) => {
                let counts = judgement.counts();
                let verdict = words(judgement.verdict());
                format!("{verdict}, {} of {}", counts.passed, counts.total)
            }
            Err(problem) => problem.to_string(),
        }
    }
}

fn words(verdict: &Verdict) -> String {
    let mut words = verdict.name().to_owned();
    let _ = match verdict {
        Verdict::Wrong { test } | Verdict::Unserialisable { test } => write!(words, " {test}"),
        Verdict::Raised { test, kind } => write!(words, " {test} {kind}"),
        Verdict::Crashed { signal } => write!(words, " {signal}"),
        Verdict::LoadError { kind } => write!(words, " {kind}"),
        _ => Ok(()),
    };
    words
}

#[test]
fn asserts_compare_values_truths_and_whatever_else_they_say() {
    let bench = Bench::new();
    let identity = "def f(x): return x";
    let pass = |tests: &[&str]| {
        let all = format!("pass, {0} of {0}", tests.len());
        bench.asserts(identity, "import math", tests, &all);
    };
    pass(&[
        "assert f(1) == 1.0",
        "assert 'a' == f('a'), 'message'",
        "assert f({1: [2]}) == {1: [2]}",
    ]);
    pass(&["assert f([0])", "assert not f([])", "assert (not f(0.0)), 'message'"]);
    pass(&["assert math.isclose(f(0.1) + 0.2, 0.3)", "assert set(f([1, 1])) == {1}"]);
    pass(&["assert f(None) is None", "assert f(True) is True", "assert f((1,))[0] == 1"]);
    pass(&[
        "assert f(1) != 2",
        "assert 1 < f(2) <= 2",
        "assert f(1) == f(1.0)",
        "assert f(1) in (1, 2)",
    ]);
    pass(&[
        "x = [3, 1]\nassert sorted(f(x)) == [1, 3]",
        "for x in range(3):\n    assert f(x) == x",
    ]);
    pass(&["try:\n    f()\n    assert False\nexcept TypeError:\n    pass"]);
    let wrong = ["assert f(1) == 1", "assert f(1) == 2", "assert not f(1)", "assert f(2) == 2"];
    bench.asserts(identity, "", &wrong, "wrong 1, 2 of 4");
    let wrong = ["assert f(1) is None", "assert f([1]) == (1,)", "assert len(f('ab')) == 2"];
    bench.asserts(identity, "", &wrong, "wrong 0, 1 of 3");
    bench.asserts(
        "def f(x): return x / 0",
        "",
        &["assert f(1)"],
        "raised 0 ZeroDivisionError, 0 of 1",
    );
    bench.asserts("def g(x): return x", "", &["assert f(1) == 1"], "raised 0 NameError, 0 of 1");
    let checked = ["assert abs(f(1)) == 1", "assert f(1) == 1"];
    let kind = "class Odd(Exception): pass\ndef f(x): raise Odd";
    bench.asserts(kind, "", &checked, "raised 0 Odd, 0 of 2");
    bench.asserts("def sum(a, b): return a - b", "", &["assert sum(10, 15) == -5"], "pass, 1 of 1");
}

#[test]
fn numbers_and_containers_that_equal_a_literal_are_right() {
    let bench = Bench::new();
    let program = "
from fractions import Fraction
from decimal import Decimal
from collections import *
P = namedtuple('P', 'x y')
class Text(str): pass
def f(n):
    return [Fraction(4, 2), Decimal('0.5'), bytearray(b'ab'), {1: 2}.keys(), {1: 2}.items(),
            Counter('aab'), OrderedDict(a=1), defaultdict(int, a=1), P(1, 2), Text('a'),
            frozenset([1]), True, [Fraction(1, 2), (Decimal(3),)], Decimal('0.1'), range(2),
            {1: 2}.values(), iter([1]), deque([1]), lambda: 1, f][n]";
    let right = [
        "2",
        "0.5",
        "b'ab'",
        "{1}",
        "{(1, 2)}",
        "{'a': 2, 'b': 1}",
        "{'a': 1}",
        "{'a': 1}",
        "(1, 2)",
        "'a'",
        "{1}",
        "1",
        "[0.5, (3,)]",
    ];
    let tests: Vec<_> =
        right.iter().enumerate().map(|(at, value)| format!("assert f({at}) == {value}")).collect();
    let tests: Vec<_> = tests.iter().map(String::as_str).collect();
    bench.asserts(program, "", &tests, "pass, 13 of 13");
    let wrong = ["0.1", "[0, 1]", "[2]", "[1]", "[1]", "1", "1"];
    for (at, value) in wrong.iter().enumerate() {
        let test = format!("assert f({}) == {value}", at + 13);
        bench.asserts(program, "", &[&test], "unserialisable 0, 0 of 1");
    }
}

#[test]
fn what_is_taken_out_of_a_program_may_be_anything_until_it_is_compared() {
    let bench = Bench::new();
    let program = "
class Point:
    def __init__(self, x): self.x = [x]
def f(x): return Point(x)
def g(x): return lambda y: x + y
seen = {'a': 1}";
    let tests = [
        "assert f(1).x[0] == 1",
        "assert g(1)(2) == 3",
        "assert seen == {'a': 1}",
        "assert seen['a'] == 1",
        "assert Point(4).x == [4]",
    ];
    bench.asserts(program, "", &tests, "pass, 5 of 5");
    let text = "class Text(str):\n    def isdigit(self): return True\ndef f(x): return Text(x)";
    bench.asserts(text, "", &["assert f('x').isdigit() == True"], "wrong 0, 0 of 1");
}

#[test]
fn a_program_has_as_many_frames_as_by_itself() {
    let bench = Bench::new();
    let program = "def f(n): return n and f(n - 1) + 1";
    bench.asserts(program, "", &["assert f(995) == 995"], "pass, 1 of 1");
    bench.asserts(program, "", &["assert f(1005) == 1005"], "raised 0 RecursionError, 0 of 1");
}

#[test]
fn a_setup_runs_before_the_program_or_after_it_if_it_needs_it() {
    let bench = Bench::new();
    let node = "class Node:\n    def __init__(self, value): self.value = value\n";
    bench.asserts(
        &format!("{node}def double(node):\n    node.value *= 2\n    return node.value"),
        "root = Node(3)",
        &["assert double(root) == 6", "assert double(root) == 12"],
        "pass, 2 of 2",
    );
    bench.asserts(
        "def f(): return sqrt(4)",
        "from math import *",
        &["assert f() == 2"],
        "pass, 1 of 1",
    );
    let helper = "import re\ndef helper(x): return x + 1";
    bench.asserts("def f(x): return x", helper, &["assert helper(f(1)) == 2"], "pass, 1 of 1");
    bench.asserts(
        "x = limit\ndef f(): return x",
        "limit = 7",
        &["assert f() == 7"],
        "pass, 1 of 1",
    );
    bench.asserts("pass", "root = Node(3)", &["assert root"], "load_error NameError, 0 of 1");
}

#[test]
fn the_source_of_a_program_is_read_as_python_reads_a_file() {
    let bench = Bench::new();
    let test = ["assert f(1) == 1"];
    for program in [
        "from __future__ import annotations\ndef f(x: Unknown) -> Unknown: return x",
        "\u{feff}def f(x): return x",
        "def f(x):\r\n\ty = '''a\r\nb'''\r\n\treturn x if y == 'a\\nb' else 0\r\n",
        "# -*- coding: latin-1 -*-\ndef f(x): return 1 if 'ä' == '\\xe4' else 0",
        "def f(x): return x\nif __name__ == '__main__':\n    raise SystemExit",
        "import sys\nprint(sys.stdin.read())\ndef f(x):\n    print(x)\n    return x",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\ndef f(x): return A(x).x",
        "import sys\nsys.setrecursionlimit(10**6)\ndef g(n): return n and g(n - 1) + 1\ndef f(x): return g(9000) - 8999",
    ] {
        bench.asserts(program, "", &test, "pass, 1 of 1");
    }
    bench.asserts("x = input()", "", &test, "load_error EOFError, 0 of 1");
    bench.asserts("def f(x) return x", "", &test, "load_error SyntaxError, 0 of 1");
    bench.asserts("def f(x):\nreturn x", "", &test, "load_error IndentationError, 0 of 1");
    bench.asserts("raise SystemExit(0)", "", &test, "load_error SystemExit, 0 of 1");
    bench.asserts("import os; os._exit(0)", "", &test, "load_error exit, 0 of 1");
    bench.asserts("import no_such_module", "", &test, "load_error ModuleNotFoundError, 0 of 1");
}

#[test]
fn calls_take_a_function_or_a_method_and_compare_sequences_alike() {
    let bench = Bench::new();
    let add = "def add(a, b=1): return a, [b]";
    bench.call(add, "add", &json!({"args": [1], "expected": [1, [1]]}), "pass, 1 of 1");
    bench.call(
        add,
        "add",
        &json!({"args": [1], "kwargs": {"b": 5}, "expected": [1, [5]]}),
        "pass, 1 of 1",
    );
    bench.call(
        add,
        "add",
        &json!({"args": [1], "expected": 0, "alternatives": [3, [1.0, [1]]]}),
        "pass, 1 of 1",
    );
    bench.call(add, "add", &json!({"args": [1], "expected": [1, 1]}), "wrong 0, 0 of 1");
    bench.call(
        add,
        "add",
        &json!({"args": [1, 2, 3], "expected": 1}),
        "raised 0 TypeError, 0 of 1",
    );
    bench.call(add, "sub", &json!({"args": [1], "expected": 1}), "raised 0 NameError, 0 of 1");
    let method = "class Solution:\n    def add(self, a): return {str(a): a}";
    for entry_point in ["Solution.add", "add"] {
        bench.call(
            method,
            entry_point,
            &json!({"args": [1], "expected": {"1": 1}}),
            "pass, 1 of 1",
        );
    }
    let state = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)";
    let tests = json!({"kind": "calls", "entry_point": "f",
        "hidden": [{"args": [5], "expected": 1}, {"args": [5], "expected": 2}]});
    bench.check(state, "", &tests, "pass, 2 of 2");
}

#[test]
fn a_script_checks_the_program_from_outside() {
    let bench = Bench::new();
    let check = |body: &str| format!("def check(candidate):\n    {body}\n");
    let identity = "def f(x): return x\ndef helper(x): return -x";
    let passes = |body: &str| bench.script(identity, &check(body), "pass, 1 of 1");
    passes("assert candidate(1) == 1\n    assert candidate([1]) == [1], 'message'");
    passes("assert helper(candidate(1)) == -1");
    passes("assert abs(candidate(1.5) - math.sqrt(2)) < 1");
    passes("assert candidate is f or candidate(1) == f(1)");
    passes("for x in range(100):\n        assert candidate(x=x) == x");
    bench.script(identity, &check("assert candidate(1) == 2"), "wrong 0, 0 of 1");
    bench.script(
        "def f(x): return x.y",
        &check("assert candidate(1) == 2"),
        "raised 0 AttributeError, 0 of 1",
    );
    bench.script(
        "def f(x): return f",
        &check("assert candidate(1) == 2"),
        "unserialisable 0, 0 of 1",
    );
    let expects =
        check("try:\n        candidate(1)\n    except ValueError: return\n    assert False");
    bench.script("def f(x): raise ValueError", &expects, "pass, 1 of 1");
    bench.script(identity, &expects, "wrong 0, 0 of 1");
}

#[test]
fn what_a_function_does_to_its_arguments_is_seen_by_a_test() {
    let bench = Bench::new();
    let program = "def f(x):\n    x.sort()\n    return x\ndef g(d):\n    d['b'] = [1]";
    let sees = "def check(candidate):\n    x = [2, 1]\n    candidate(x)\n    assert x == [1, 2]\n";
    bench.script(program, sees, "pass, 1 of 1");
    let nested =
        "y = [2, 1]\nf(y)\nassert y == [1, 2]\nd = {'a': 0}\ng(d)\nassert d == {'a': 0, 'b': [1]}";
    bench.asserts(program, "", &[nested], "pass, 1 of 1");
    bench.asserts(
        "def f(x): return sorted(x)",
        "",
        &["y = [2, 1]\nf(y)\nassert y == [1, 2]"],
        "wrong 0, 0 of 1",
    );
}

#[test]
fn iterators_are_seen_by_a_test_that_looks_into_them() {
    let bench = Bench::new();
    for body in [
        "yield from x",
        "return map(abs, x)",
        "return (i for i in x)",
        "return range(1, 3)",
        "return zip(*[x])",
        "return dict.fromkeys(x).values()",
        "return iter(x)",
    ] {
        let program = format!("def f(x):\n    {body}");
        let tests = ["assert len(list(f([1, 2]))) == 2"];
        bench.asserts(&program, "", &tests, "pass, 1 of 1");
    }
    let endless = "def f(x):\n    while True: yield x";
    bench.asserts(endless, "", &["assert next(f(1)) == 1"], "unserialisable 0, 0 of 1");
}

#[test]
fn a_whole_program_is_judged_by_what_it_writes() {
    let bench = Bench::new();
    let sum = "print(sum(map(int, input().split())))";
    bench.stdio(sum, &json!({"input": "1 2\n", "output": "3\n"}), "pass, 1 of 1");
    bench.stdio(
        sum,
        &json!({"input": "1 2", "output": "4", "alternatives": ["5", "3"]}),
        "pass, 1 of 1",
    );
    bench.stdio(sum, &json!({"input": "1 2", "output": "4"}), "wrong 0, 0 of 1");
    bench.stdio(sum, &json!({"input": "", "output": "0"}), "raised 0 EOFError, 0 of 1");
    bench.stdio("print(1 / 3)", &json!({"input": "", "output": "0.33333333"}), "pass, 1 of 1");
    bench.stdio("print(1 / 3)", &json!({"input": "", "output": "0.3334"}), "wrong 0, 0 of 1");
    bench.stdio("print(5.0000005)", &json!({"input": "", "output": "5"}), "wrong 0, 0 of 1");
    let unread = json!({"input": "x\n".repeat(100_000), "output": "1"});
    bench.stdio("print(1)", &unread, "pass, 1 of 1");
    for program in [
        "print(1)\nexit()",
        "import sys\nprint(1)\nsys.exit(3)",
        "import os\nos.write(1, b'1')\nos._exit(0)",
        "if __name__ == '__main__': print(1)",
        "import atexit\natexit.register(print, 1)",
        "import threading\nthreading.Thread(target=print, args=[1]).start()",
        "import sys\nsys.stdout.buffer.write(b'1')",
        "import sys\nwith sys.stdin as a, sys.stdout as b:\n    print(1, file=b)",
        "import sys\nprint(1, flush=True)\nsys.stdout = None",
        "import sys, io\nprint(1)\nsys.stdout = io.StringIO()\nprint(2)",
        "class W:\n    write = flush = lambda *a: 0\nimport sys\nprint(1)\nsys.stdout = W()",
        "out = open(1, 'w')\nout.write('1')",
        "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer)\nprint(1)",
    ] {
        bench.stdio(program, &json!({"input": "", "output": "1"}), "pass, 1 of 1");
    }
    let reads = "import sys, os\nprint(len(open(0).read()))";
    bench.stdio(reads, &json!({"input": "ab\n", "output": "3"}), "pass, 1 of 1");
    let two = json!({"kind": "stdio", "hidden": [
        {"input": "1 1", "output": "3"}, {"input": "x", "output": "1"}, {"input": "1 1", "output": "2"}]});
    bench.check(sum, "", &two, "wrong 0, 1 of 3");
}

#[test]
fn a_broken_test_names_itself_and_is_no_verdict() {
    let bench = Bench::new();
    let says = |setup: &str, tests: &[&str]| {
        bench.says("def f(x): return x", setup, &json!({"kind": "asserts", "hidden": tests}))
    };
    let said = says("", &["assert f(1) == 1", "assert f(1) =="]);
    assert!(
        said.starts_with("cannot judge: hidden test 1 cannot be used: it is not valid"),
        "{said}"
    );
    let said = says("import no_such_module", &["assert abs(f(1)) == 1"]);
    assert_ne!(said, "pass, 1 of 1");
    let said = says("x = =", &["assert f(1) == 1"]);
    assert!(said.starts_with("cannot judge: the setup cannot be used: it is not valid"), "{said}");
    let said = says("", &["assert f(1) == 1", "assert f(abs) == abs"]);
    assert_eq!(
        said,
        "cannot judge: hidden test 1 is broken: it calls the program with what is no plain data"
    );
    let script = json!({"kind": "script", "entry_point": "f", "hidden": ["def test(f): pass"]});
    let said = bench.says("def f(x): return x", "", &script);
    assert!(
        said.starts_with("cannot judge: hidden test 0 cannot be used: it defines no"),
        "{said}"
    );
}

#[test]
fn every_verdict_of_a_run_can_be_had() {
    let bench = Bench::new();
    let test = ["assert f(0) == 0", "assert f(1) == 1"];
    let says = |body: &str, said: &str| {
        let program =
            format!("import os, signal, time\ndef f(x):\n    if x == 0: return 0\n    {body}");
        bench.asserts(&program, "", &test, said);
    };
    says("return 1", "pass, 2 of 2");
    says("return 2", "wrong 1, 1 of 2");
    says("return [][0]", "raised 1 IndexError, 1 of 2");
    says("exit()", "raised 1 SystemExit, 1 of 2");
    says("os._exit(0)", "raised 1 exit, 1 of 2");
    says("return f", "unserialisable 1, 1 of 2");
    says("return '1' * (2 << 20)", "unserialisable 1, 1 of 2");
    says("while True: pass", "timeout, 1 of 2");
    says("return bytearray(1 << 40)", "memory, 1 of 2");
    says("while True: x = [x] * 1000000 + [x]", "memory, 1 of 2");
    says("while True: print('x' * 1000000)", "output, 1 of 2");
    says("import ctypes; ctypes.string_at(0)", "crashed 11, 1 of 2");
    bench.asserts("1 / 0", "", &test, "load_error ZeroDivisionError, 0 of 2");
    bench.asserts("x = 'x' * (1 << 40)", "", &test, "memory, 0 of 2");
    bench.asserts("while True: pass", "", &test, "timeout, 0 of 2");
}
