//! What a program answered where it is wrong: kept for people, bounded, whatever it is.

use serde_json::{Value, json};
use whetstone_core::judgement::MAX_GOT_CHARS;

use crate::Bench;

impl Bench {
    /// What the first wrong answer of a program was.
    #[track_caller]
    fn got(&self, program: &str, tests: &Value) -> Option<String> {
        let judgement = self.judgement(program, "", tests);
        assert_eq!(judgement.verdict().name(), "wrong", "{program}: {judgement:?}");
        judgement.got().map(str::to_owned)
    }
}

fn calls(args: &Value, expected: &Value) -> Value {
    json!({"kind": "calls", "entry_point": "f", "hidden": [{"args": args, "expected": expected}]})
}

#[test]
fn the_answer_to_the_first_failing_test_is_told_as_python_writes_it() {
    let bench = Bench::new();
    let check = |program: &str, tests: &Value, expected: &str| {
        assert_eq!(bench.got(program, tests).as_deref(), Some(expected), "{program}");
    };
    let two = json!({"kind": "calls", "entry_point": "f", "hidden": [
        {"args": [1], "expected": 1}, {"args": [2], "expected": 3}, {"args": [3], "expected": 9},
    ]});
    check("def f(x): return x", &two, "2");
    check(
        "def f(x): return {'k': (x, None, 1.0)}",
        &calls(&json!([7]), &json!(1)),
        "{'k': (7, None, 1.0)}",
    );
    check("def f(x): return '<b>\\x1b'", &calls(&json!([7]), &json!(1)), "'<b>\\x1b'");
    let asserts = json!({"kind": "asserts", "hidden": ["assert f(1) == 5"]});
    check("def f(x): return [x]", &asserts, "[1]");
    let truth = json!({"kind": "asserts", "hidden": ["assert f(1)"]});
    check("def f(x): return []", &truth, "False");
    let stdio = json!({"kind": "stdio", "hidden": [{"input": "1", "output": "2"}]});
    check("print('one'); print('two')", &stdio, "one\ntwo\n");
    let checker = "def check(input, expected, answer):\n    return answer == expected\n";
    let checked = json!({"kind": "calls", "entry_point": "f", "checker": checker,
        "hidden": [{"args": [1], "expected": 5}]});
    check("def f(x): return {x}", &checked, "{1}");
}

#[test]
fn an_answer_of_any_size_is_cut() {
    let bench = Bench::new();
    let long = bench.got("def f(x): return 'y' * 100_000", &calls(&json!([1]), &json!(1))).unwrap();
    assert_eq!(long.chars().count(), MAX_GOT_CHARS + 1);
    assert!(long.starts_with("'yyy") && long.ends_with('\u{2026}'), "{long}");
    let stdio = json!({"kind": "stdio", "hidden": [{"input": "1", "output": "2"}]});
    let output = "import sys\nsys.stdout.buffer.write(b'\\xff' * 5000)";
    assert_eq!(bench.got(output, &stdio).unwrap().chars().count(), MAX_GOT_CHARS + 1);
}

#[test]
fn of_test_code_that_decides_by_itself_the_last_answer_is_told() {
    let bench = Bench::new();
    let script = json!({"kind": "script", "entry_point": "f",
        "hidden": ["def check(c):\n    assert c(1) == 1\n    assert c(2) == 3\n    assert c(4) == 4\n"]});
    assert_eq!(bench.got("def f(x): return x", &script).as_deref(), Some("2"));
    let asserts = json!({"kind": "asserts", "hidden": ["assert f(1) > 5"]});
    assert_eq!(bench.got("def f(x): return x", &asserts).as_deref(), Some("1"));
}
