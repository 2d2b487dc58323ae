//! `whet data tests`: the real judge answers, and the tasks are proven afterwards.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::whet_in;

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_reference_makes_tests_that_are_proven() {
    let dir = tempfile::tempdir().unwrap();
    let task = json!({"id": "a", "statement": "Write total(numbers), the sum of a list.", "reference":
        "def total(numbers):\n    return sum(numbers)", "tests": ["assert total([1, 2, 4]) == 7"]});
    let random = json!({"id": "b", "statement": "Write pick(n).", "reference":
        "import random\ndef pick(n):\n    return 5 if n == 1 else random.random()", "tests": ["assert pick(1) == 5"]});
    fs::write(dir.path().join("t.jsonl"), format!("{task}\n{random}\n")).unwrap();
    let command = ["data", "tests", "--tasks=t.jsonl", "--out=made.jsonl", "--per-task=4"];
    let ran = whet_in(dir.path(), &command);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("4 new tests for 1 of 2 tasks, into made.jsonl"), "{}", ran.out);
    assert!(ran.out.contains("no_answers                    1"), "{}", ran.out);
    let made = lines(&dir.path().join("made.jsonl"));
    assert_eq!(made[0]["generated"], json!({"tests": 4, "from": "reference"}));
    assert_eq!(made[0]["tests"]["hidden"].as_array().map(Vec::len), Some(5));
    assert_eq!(made[1]["generated"], Value::Null);
    let ran = whet_in(dir.path(), &["data", "validate", "made.jsonl", "--out=proven.jsonl"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let proven = lines(&dir.path().join("proven.jsonl"));
    let task = proven.iter().find(|task| task["id"] == "a").expect("it is proven");
    assert_eq!(task["generated"]["tests"], 4, "{}", ran.out);
}

#[test]
fn a_prompt_without_tests_gets_those_that_a_teacher_agrees_on() {
    let dir = tempfile::tempdir().unwrap();
    let statement = "Write double(n), twice a number.\n>>> double(4)\n8";
    fs::write(dir.path().join("t.jsonl"), json!({"id": "a", "statement": statement}).to_string())
        .unwrap();
    let programs = ["return n * 2", "return n + n", "return n + 4", "return 2 * n"];
    let trace = |(sample, body): (usize, &&str)| {
        json!({"task_id": "a", "sample": sample, "prompt": "p", "code": format!("def double(n):\n    {body}"),
            "text": "t", "model": "m"})
        .to_string()
    };
    let traces: Vec<String> = programs.iter().enumerate().map(trace).collect();
    fs::write(dir.path().join("traces.jsonl"), traces.join("\n")).unwrap();
    let command = [
        "data",
        "tests",
        "--tasks=t.jsonl",
        "--from=teacher",
        "--traces=traces.jsonl",
        "--out=m.jsonl",
    ];
    let ran = whet_in(dir.path(), &[&command[..], &["--agreement=0.75", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let made = &lines(&dir.path().join("m.jsonl"))[0];
    let tests = made["tests"]["hidden"].as_array().unwrap();
    assert_eq!(tests[0], "assert double(4) == 8");
    assert!(tests.len() > 1, "three of four programs agree: {made}");
    assert!(
        made["reference"].as_str().is_some_and(|code| code.contains('2') || code.contains("n + n"))
    );
    // With all four nobody agrees on anything but the example.
    let ran = whet_in(dir.path(), &[&command[..], &["--agreement=1"]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("no_answers                    1"), "{}", ran.out);
}
