//! Answers are compared as what they are: buffers that are no bytes, exceptions that need arguments,
//! objects of a setup, names of a program.

use serde_json::json;

use crate::Bench;

#[test]
fn only_what_python_finds_equal_to_bytes_is() {
    let bench = Bench::new();
    let program = "
import array, ctypes, mmap
class Own(bytes): pass
def shared():
    made = mmap.mmap(-1, 2, mmap.MAP_PRIVATE)
    made[:] = b'ab'
    return made
def f(n):
    return [b'ab', bytearray(b'ab'), memoryview(b'ab'), Own(b'ab'), memoryview(bytearray(b'ab')),
            array.array('B', b'ab'), array.array('b', b'ab'), array.array('H', b'ab'),
            ctypes.create_string_buffer(b'ab', 2), (ctypes.c_ubyte * 2)(97, 98), shared(),
            memoryview(array.array('H', b'ab')), memoryview(b'ab').cast('c'),
            memoryview(b'ab').cast('B', [1, 2])][n]
def g(n): return [{'key': (f(n),)}]";
    for right in 0..5 {
        let tests = [
            format!("assert f({right}) == b'ab'"),
            format!("assert g({right}) == [{{'key': (b'ab',)}}]"),
        ];
        bench.asserts(program, "", &[&tests[0], &tests[1]], "pass, 2 of 2");
    }
    for wrong in 5..14 {
        for test in [
            format!("assert f({wrong}) == b'ab'"),
            format!("assert g({wrong}) == [{{'key': (b'ab',)}}]"),
        ] {
            bench.asserts(program, "", &[&test], "unserialisable 0, 0 of 1");
        }
        // Test code gets an array as an array, which bytes do not equal.
        let said = if wrong < 8 { "wrong 0, 0 of 1" } else { "unserialisable 0, 0 of 1" };
        bench.asserts(program, "", &[&format!("x = f({wrong})\nassert x == b'ab'")], said);
        let call = json!({"args": [wrong], "expected": "ab"});
        bench.call(program, "f", &call, "unserialisable 0, 0 of 1");
    }
}

#[test]
fn every_exception_that_a_test_waits_for_can_be_raised() {
    let bench = Bench::new();
    let raises = |raised: &str, waited: &str| {
        let program = format!("class Own(LookupError): pass\ndef f(x): {raised}");
        let test = format!(
            "try:\n    f(1)\nexcept {waited} as error:\n    str(error)\nelse:\n    assert False"
        );
        bench.asserts(&program, "", &[&test], "pass, 1 of 1");
        let other = format!("try:\n    f(1)\nexcept {waited}: pass\nelse:\n    assert False");
        bench.asserts("def f(x): return x", "", &[&other], "wrong 0, 0 of 1");
    };
    raises("b'\\xff'.decode()", "UnicodeDecodeError");
    raises("'\\u1234'.encode('ascii')", "UnicodeEncodeError");
    raises("raise UnicodeTranslateError('a', 0, 1, 'b')", "ValueError");
    if bench.judge.about().python_version >= [3, 11, 0] {
        raises("raise ExceptionGroup('a', [ValueError()])", "ExceptionGroup");
    }
    raises("raise SystemExit(3)", "SystemExit");
    raises("raise KeyboardInterrupt", "BaseException");
    raises("raise Own('a')", "LookupError");
    raises("raise Own('a')", "Exception");
    raises("raise OSError(2, 'a')", "OSError");
    raises("{}[1]", "(KeyError, IndexError)");
}

#[test]
fn names_of_a_program_are_fetched_as_they_are_now() {
    let bench = Bench::new();
    let program = "
count, table = 0, {'a': [1]}
class Config:
    limit = 7
    def double(self, x): return 2 * x
def f(x):
    global count
    count += x
f.calls = 3";
    let tests = [
        "f(2)\nf(3)\nassert count == 5 and count is not None",
        "assert table['a'][0] == 1 and len(table) == 1",
        "assert Config.limit == 7 and Config().double(4) == 8 and f.calls == 3",
        "assert callable(f) and f.__name__ == 'f' and not hasattr(f, 'other') and f is f",
        "import builtins\nassert builtins.callable(Config)",
        "class T:\n    seen = count\n    call = staticmethod(f)\nassert T.seen == 5 and T.call(0) is None",
        "def g():\n    return [count for _ in table] + [(lambda: count)()]\nassert g() == [5, 5]",
    ];
    bench.asserts(program, "", &tests, "pass, 7 of 7");
    bench.asserts(program, "", &["assert callable(g)"], "raised 0 NameError, 0 of 1");
    bench.asserts(program, "", &["assert f.other"], "raised 0 AttributeError, 0 of 1");
    bench.asserts("x = object()", "", &["assert x == 1 or True"], "unserialisable 0, 0 of 1");
}

#[test]
fn an_entry_point_may_be_a_method_of_an_object() {
    let bench = Bench::new();
    let program = "class Solution:\n    def add(self, a, b): return a + b";
    for entry_point in ["Solution().add", "Solution.add", "add"] {
        bench.call(program, entry_point, &json!({"args": [1, 2], "expected": 3}), "pass, 1 of 1");
        let check = "def check(candidate):\n    assert candidate(1, b=2) == 3\n";
        let tests = json!({"kind": "script", "entry_point": entry_point, "hidden": [check]});
        bench.check(program, "", &tests, "pass, 1 of 1");
        bench.check("def sub(): pass", "", &tests, "raised 0 NameError, 0 of 1");
    }
}

#[test]
fn a_setups_helpers_make_and_compare_what_the_program_makes() {
    let bench = Bench::new();
    let setup = "
def tree(values):
    made = Node(values[0])
    if len(values) > 1: made.left = tree(values[1:])
    return made
def depth(node): return 0 if node is None else 1 + depth(node.left)
";
    let program = "
class Node:
    def __init__(self, value): self.value, self.left = value, None
def mirror(node):
    while node:
        node.value, node = -node.value, node.left
def total(node): return node.value + total(node.left) if node else 0";
    let tests = [
        "root = tree([1, 2, 3])\nassert depth(root) == 3 and total(root) == 6",
        "root = tree([1, 2])\nmirror(root)\nassert root.value == -1 and root.left.value == -2",
        "root = tree([1])\nroot.left = tree([5])\nassert total(root) == 6",
    ];
    bench.asserts(program, setup, &tests, "pass, 3 of 3");
    let wrong = program.replace("-node.value", "node.value");
    bench.asserts(&wrong, setup, &tests, "wrong 1, 2 of 3");
    // `Node(1)` of a setup is made beside the program, as before.
    let setup = "root = Node(1)\nroot.left = Node(2)\ndef sum_is(want): return total(root) == want";
    let tests = ["assert total(root) == 3", "assert sum_is(3)", "assert root.left.value == 2"];
    bench.asserts(program, setup, &tests, "pass, 3 of 3");
}
