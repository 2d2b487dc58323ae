//! Tasks with checkers, tasks of `LeetCodeDataset`, and what `whet data validate` says of a reference
//! that fails: with the real judge.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};

const SUM: &str = "def check(input, expected, answer):
    return sum(answer) == input['args'][0] and len(answer) == 2";
const PARTS: &str = "def parts(n):\n    return [n - 1, 1]";

fn parts(id: &str, checker: &str, reference: &str) -> Value {
    json!({"id": id, "statement": "s", "reference": reference, "tests": {
        "kind": "calls", "entry_point": "parts", "checker": checker,
        "hidden": [{"args": [5], "expected": [2, 3]}, {"args": [9], "expected": [4, 5]}]}})
}

fn validate(folder: &Path, tasks: &[Value]) -> (Ran, Vec<(String, String)>) {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    fs::write(folder.join("tasks.jsonl"), lines.join("\n") + "\n").expect("a file");
    let ran = whet_in(folder, &["data", "validate", "tasks.jsonl", "--dropped", "dropped.jsonl"]);
    let kept = fs::read_to_string(folder.join("dropped.jsonl")).expect("a file");
    let dropped = kept.lines().map(|line| {
        let task: Value = serde_json::from_str(line).expect("JSON");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let words = [&task["dropped"]["reason"], &task["dropped"]["detail"]].map(text);
        (text(&task["id"]), words.join(": "))
    });
    let dropped = dropped.collect();
    (ran, dropped)
}

#[test]
fn a_checker_is_proven_by_the_reference_the_expected_answers_and_wrong_ones() {
    let dir = tempfile::tempdir().unwrap();
    let stdio = json!({"id": "stdio", "statement": "s",
        "reference": "n = int(input())\nprint(n - 1)\nprint(1)", "tests": {
        "kind": "stdio", "checker": "def check(input, expected, answer):
    return sum(map(int, answer.split())) == int(input) and len(answer.split()) == 2",
        "hidden": [{"input": "5", "output": "2 3"}, {"input": "9", "output": "4 5"}]}});
    let asserts = json!({"id": "asserts", "statement": "s", "reference": PARTS, "tests": {
        "kind": "asserts", "checker": "def check(input, expected, answer):
    return sum(answer) == sum(expected) and len(answer) == 2",
        "hidden": ["assert parts(5) == [2, 3]", "assert parts(9) == [4, 5]"]}});
    let mut javascript = parts("js", SUM, "const parts = (n) => [n - 1, 1];");
    javascript["language"] = "javascript".into();
    let (ran, dropped) =
        validate(dir.path(), &[parts("calls", SUM, PARTS), stdio, asserts, javascript]);
    assert_eq!((ran.code, dropped), (0, Vec::new()), "{}{}", ran.out, ran.err);
}

#[test]
fn a_broken_checker_is_dropped_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = [
        parts("syntax", "def check(:", PARTS),
        parts("raises", "def check(input, expected, answer):\n    return answer.total == 1", PARTS),
        parts("rejects", "def check(input, expected, answer):\n    return answer[1] == 1", PARTS),
        parts(
            "half",
            "def check(input, expected, answer):\n    if answer[1] == 1: return True\n    return oops",
            PARTS,
        ),
        parts("easy", "def check(input, expected, answer):\n    return True", PARTS),
        parts("wrong", SUM, "def parts(n):\n    return [n, n]"),
    ];
    let (_, dropped) = validate(dir.path(), &tasks);
    let expected = [
        ("syntax", "broken_tests: the checker cannot be used: "),
        (
            "raises",
            "broken_tests: hidden test 1 is broken: its checker fails, on an answer: line 2 of the checker: AttributeError(",
        ),
        (
            "rejects",
            "broken_tests: the checker rejects the expected answers: wrong in hidden test 1, 0 of 2 pass",
        ),
        (
            "half",
            "broken_tests: hidden test 1 is broken: its checker fails, on an answer: line 3 of the checker: NameError(",
        ),
        ("easy", "trivial_passes: passes every test: "),
        (
            "wrong",
            "reference_fails: the reference gets wrong in hidden test 1, 0 of 2 pass; expected [2, 3], got [5, 5]",
        ),
    ];
    assert_eq!(dropped.len(), expected.len(), "{dropped:#?}");
    for ((id, words), (expected_id, start)) in dropped.iter().zip(expected) {
        assert_eq!(id, expected_id);
        assert!(words.starts_with(start), "{id}: {words}");
    }
}

#[test]
fn a_reference_that_fails_is_shown_with_what_was_expected_and_got() {
    let dir = tempfile::tempdir().unwrap();
    let stdio = |id: &str, program: &str| {
        json!({"id": id, "statement": "s", "reference": program, "tests": {"kind": "stdio",
            "hidden": [{"input": "", "output": "1 2\n"}, {"input": "x", "output": "1 2\n"}]}})
    };
    let mut tokens = stdio("tokens", "print(1)\nprint(2)");
    tokens["tests"]["compare"] = "tokens".into();
    tokens["tests"]["hidden"][1]["output"] = "1\n2 3\n".into();
    let asserts = json!({"id": "asserts", "statement": "s", "reference": "def f(x): return {'a': 'é'}",
        "tests": {"kind": "asserts", "hidden": ["assert f(1) == [1]"]}});
    let tasks = [stdio("lines", "print(1)\nprint(2)"), stdio("other", "print(7)"), tokens, asserts];
    let (_, dropped) = validate(dir.path(), &tasks);
    let wrong = "reference_fails: the reference gets wrong in hidden test";
    let expected = [
        (
            "lines",
            format!(
                "{wrong} 1, 0 of 2 pass; expected '1 2\\n', got '1\\n2\\n'; only white space differs: `\"compare\": \"tokens\"` in `tests` accepts it"
            ),
        ),
        ("other", format!("{wrong} 1, 0 of 2 pass; expected '1 2\\n', got '7\\n'")),
        ("tokens", format!("{wrong} 2, 1 of 2 pass; expected '1\\n2 3\\n', got '1\\n2\\n'")),
        ("asserts", format!("{wrong} 1, 0 of 1 pass; expected [1], got {{'a': '\\xe9'}}")),
    ];
    let expected = expected.map(|(id, words)| (id.to_owned(), words));
    assert_eq!(dropped, expected);
}

#[test]
fn leetcode_is_read_its_bad_lines_are_named_and_its_references_pass() {
    let dir = tempfile::tempdir().unwrap();
    let row = |id: &str, method: &str, body: &str, asserts: &str| {
        json!({"task_id": id, "question_id": 1, "difficulty": "Easy", "tags": ["Array"],
            "problem_description": format!("Problem {id}: {body} for {method}."),
            "starter_code": format!("class Solution:\n    def {method}(self, nums: List[int]) -> int:\n        "),
            "prompt": "from typing import *\nfrom collections import *\n\ninf = float('inf')\n\nclass ListNode:\n    def __init__(self, val=0, next=None):\n        self.val = val\n        self.next = next\n",
            "completion": format!("class Solution:\n    def {method}(self, nums: List[int]) -> int:\n        {body}\n"),
            "entry_point": format!("Solution().{method}"),
            "test": format!("def check(candidate):\n{asserts}"),
            "input_output": [], "query": "", "response": ""})
    };
    let mut bad = row("bad", "f", "return 1", "    assert candidate(nums = []) == 1\n");
    bad["entry_point"] = "__import__('os').system('x')".into();
    let rows = [
        row(
            "largest",
            "largest",
            "return max(nums, default=-inf)",
            "    assert candidate(nums = [3, 9, 2]) == 9\n    assert candidate(nums = [5]) == 5\n    assert candidate(nums = []) == -inf\n",
        ),
        row(
            "pairs",
            "pairs",
            "return sum(v // 2 for v in Counter(nums).values())",
            "    assert candidate(nums = [1, 1, 2]) == 1\n    assert candidate(nums = []) == 0\n",
        ),
        bad,
    ];
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    fs::write(dir.path().join("leetcode.jsonl"), lines.join("\n") + "\nnot json\n").unwrap();
    let args = ["data", "prepare", "--leetcode", "leetcode.jsonl", "--out", ".", "--strict"];
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 1, "two lines are bad: {}", ran.err);
    let report: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("prepare.json")).unwrap())
            .unwrap();
    let source = &report["sources"]["leetcode"];
    assert_eq!((&source["rows"], &source["bad"]), (&4.into(), &2.into()), "{report:#}");
    let rows: Vec<_> = report["bad"].as_array().unwrap().iter().map(|bad| &bad["row"]).collect();
    assert_eq!(rows, [&json!(3), &json!(4)], "{report:#}");
    for half in ["train.jsonl", "val.jsonl"] {
        let ran = whet_in(dir.path(), &["data", "validate", half, "--strict"]);
        assert_eq!(ran.code, 0, "{half}: {}{}", ran.out, ran.err);
    }
}
