//! How a program and its setup are loaded.

use crate::Bench;

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
