//! Asserts: what a program answers, and what test code sees of it.

use crate::Bench;

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
fn what_a_function_that_returns_nothing_does_to_its_arguments_is_seen_by_a_test() {
    let bench = Bench::new();
    let program = "def f(x):\n    x.sort()\ndef g(d):\n    d['b'] = [1]";
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
fn a_program_can_neither_end_a_tests_loop_nor_empty_what_it_compares_with() {
    let bench = Bench::new();
    let ends = "def f(x): raise StopIteration";
    let verdict = "raised 0 StopIteration, 0 of 1";
    bench.asserts(ends, "", &["assert all(map(f, [1, 2]))"], verdict);
    let empties = "def f(x):\n    x.clear()\n    return []";
    bench.asserts(empties, "", &["x = [3, 1]\nassert f(x) == sorted(x)"], "wrong 0, 0 of 1");
    // One that returns nothing works on its argument.
    bench.asserts(
        "def f(x): x.sort()",
        "",
        &["x = [3, 1]\nf(x)\nassert x == [1, 3]"],
        "pass, 1 of 1",
    );
}
