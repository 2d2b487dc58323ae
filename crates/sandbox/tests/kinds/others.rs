//! Calls, scripts, and whole programs that read and write.

use serde_json::json;

use crate::Bench;

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
    passes("assert candidate is f and candidate(1) == f(1)");
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
