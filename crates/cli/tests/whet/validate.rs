//! `whet data validate` with the real judge: every kind of task, every reason to drop one.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};

fn task(id: &str, reference: &str, tests: &Value) -> Value {
    json!({"id": id, "source": "s", "statement": "s", "reference": reference, "tests": tests})
}

fn javascript(id: &str, reference: &str, tests: &Value) -> Value {
    let mut task = task(id, reference, tests);
    task["language"] = "javascript".into();
    task
}

fn asserts(hidden: &[&str]) -> Value {
    json!({"kind": "asserts", "hidden": hidden})
}

/// Validates `tasks` in an empty folder, with these flags more.
fn validate(folder: &Path, tasks: &[Value], flags: &[&str]) -> Ran {
    let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
    let text = lines.join("\n") + "\n";
    fs::write(folder.join("tasks.jsonl"), text).expect("a file");
    whet_in(folder, &[&["data", "validate", "tasks.jsonl"], flags].concat())
}

/// One sound task of each kind, in both languages.
fn sound() -> Vec<Value> {
    let sum = json!([{"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}]);
    let calls =
        |entry_point: &str| json!({"kind": "calls", "entry_point": entry_point, "hidden": sum});
    let stdio = json!({"kind": "stdio", "hidden": [
        {"input": "1 2\n", "output": "3\n"}, {"input": "2 2\n", "output": "4\n"}
    ]});
    let check =
        "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(2, 2) == 4\n";
    let class = "class Solution:\n    def add(self, a, b):\n        return a + b\n";
    vec![
        task(
            "asserts",
            "def add(a, b):\n    return a + b",
            &asserts(&["assert add(1, 2) == 3", "assert add(b=2, a=2) == 4"]),
        ),
        task(
            "classes",
            "class P:\n    def __init__(self, x):\n        self.x = x\ndef f(p):\n    return p.x + 1",
            &asserts(&["assert f(P(1)) == 2", "assert f(P(2)) == 3"]),
        ),
        task("calls", "def add(a, b):\n    return a + b", &calls("add")),
        task("method", class, &calls("Solution.add")),
        task("inside", class, &calls("add")),
        task(
            "script",
            "def add(a, b):\n    return a + b",
            &json!({"kind": "script", "entry_point": "add", "hidden": [check]}),
        ),
        task("stdio", "print(sum(map(int, input().split())))", &stdio),
        javascript("js", "const add = (a, b) => a + b;", &calls("add")),
        javascript(
            "js stdio",
            "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b);",
            &stdio,
        ),
    ]
}

#[test]
fn sound_tasks_of_every_kind_are_proven_and_kept_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let ran = validate(dir.path(), &sound(), &["--out", "proven.jsonl", "--strict"]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    assert!(ran.out.starts_with("9 of 9 tasks proven, in "), "{}", ran.out);
    let read = |name| fs::read(dir.path().join(name)).unwrap();
    assert!(read("proven.jsonl") == read("tasks.jsonl"), "the lines changed");
    assert!(!dir.path().join("proven.jsonl.journal").exists());
}

const FIRST: &str = "the value that the first test expects, always";
const IDENTITY: &str = "def f(x):\n    return x";

/// A test that any program passes.
const MAY_RAISE: &str = "try:\n    f(1)\nexcept Exception:\n    pass";

/// A test that asks the program whether the program is right, by a way that planning does not follow.
const JUDGED_BY_PROGRAM: &str =
    "r = f(3)\nassert isinstance(r, list)\nn = 0\nif is_good(r):\n    n += 1\nassert n == 1";
const OWN_JUDGE: &str =
    "def f(n):\n    return list(range(n))\n\ndef is_good(r):\n    return r == [0, 1, 2]";

/// Functions for which an answer that solves nothing passes, and which.
fn easy_functions() -> Vec<(Value, &'static str)> {
    let calls = json!([{"args": [1], "expected": 1}, {"args": [2], "expected": 2}]);
    let calls = json!({"kind": "calls", "entry_point": "f", "hidden": calls});
    let check = "def check(c):\n    assert c(1) == 7\n    assert c(2) == 7\n";
    let script = json!({"kind": "script", "entry_point": "f", "hidden": [check]});
    let returns = |value: &str| format!("def f(x):\n    return {value}");
    let easy = |id: &str, value: &str, tests: &[&str]| task(id, &returns(value), &asserts(tests));
    vec![
        (easy("yes", "True", &["assert f(1)", "assert f(2) == True"]), "the constant 1"),
        (easy("no", "False", &["assert not f(1)"]), "the constant 0"),
        (
            easy("none", "None", &["assert f(1) == None", "assert f(2) is None"]),
            "the constant None",
        ),
        (easy("same", "7", &["assert f(1) == 7", "assert f(2) == 7"]), FIRST),
        (easy("close", "7", &["assert abs(f(1) - 7) < 1e-6", "assert f(2) == 7"]), FIRST),
        (task("script", &returns("7"), &script), FIRST),
        (easy("first", "x", &["assert f(1) == 1", "assert f([2]) == [2]"]), "its first argument"),
        (task("calls", IDENTITY, &calls), "its first argument"),
        (javascript("js", "const f = (x) => x;", &calls), "its first argument"),
        (
            easy("heart", "5 if x == 1 else None", &["assert f(1) == 5", "assert f(2) is None"]),
            "the first test by heart, and None otherwise",
        ),
        (easy("untouched", "x", &[MAY_RAISE]), "the empty program"),
        (task("own judge", OWN_JUDGE, &asserts(&[JUDGED_BY_PROGRAM])), "a yes for every yes or no"),
    ]
}

/// Programs for which one that solves nothing passes, and which.
fn easy_programs() -> Vec<(Value, &'static str)> {
    let io = |pairs: &[[&str; 2]]| {
        let tests: Vec<_> =
            pairs.iter().map(|[input, output]| json!({"input": input, "output": output})).collect();
        json!({"kind": "stdio", "hidden": tests})
    };
    let (echo, five) =
        (io(&[["a\n", "a\n"], ["b\n", "b\n"]]), io(&[["a\n", "5\n"], ["b\n", "5\n"]]));
    let once = io(&[["a\n", "5\n"], ["b\n", ""]]);
    let (first, heart) = (
        "the output that the first test expects, always",
        "the first test by heart, and nothing otherwise",
    );
    let javascript_once = "if (require('fs').readFileSync(0, 'utf8') === 'a\\n') console.log(5)";
    vec![
        (task("echo", "print(input())", &echo), "its input"),
        (task("print", "print(5)", &five), first),
        (task("once", "if input() == 'a':\n    print(5)", &once), heart),
        (javascript("js print", "console.log(5)", &five), first),
        (javascript("js once", javascript_once, &once), heart),
    ]
}

/// Tasks that cannot be proven, each with the reason and a part of the detail.
fn unproven() -> Vec<(Value, &'static str, &'static str)> {
    let bad = |id: &str, reference: &str, tests: &[&str]| task(id, reference, &asserts(tests));
    let hashes = "def f(x):\n    raise type('E%d' % (hash('whet') % 10**9), (Exception,), {})";
    let endless = "def f(x):\n    while True:\n        pass";
    vec![
        (
            bad("wrong", IDENTITY, &["assert f(1) == 1", "assert f(2) == 3"]),
            "reference_fails",
            "wrong in hidden test 2, 1 of 2 pass",
        ),
        (bad("hashes", hashes, &["assert f(1) == 1"]), "flaky", "different verdicts: raised E"),
        (bad("slow", endless, &["assert f(1) == 1"]), "too_slow", "the reference runs out of time"),
        (
            bad("unreadable", IDENTITY, &["assert f(("]),
            "broken_tests",
            "hidden test 1 cannot be used: it is not valid Python",
        ),
        (
            bad("unsendable", IDENTITY, &["assert max(f(lambda x: x), 1) == 1"]),
            "broken_tests",
            "hidden test 1 is broken: it calls the program with",
        ),
        (
            bad("unasked", IDENTITY, &["assert f(1) == 1", "def test(): assert f(2) == 2"]),
            "broken_tests",
            "hidden test 2 is broken: it passes without asking the program for anything",
        ),
    ]
}

#[test]
fn tests_that_the_empty_program_passes_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let tests = asserts(&["assert f(1) == 2", "assert f(5) == 6", MAY_RAISE]);
    let next = task("next", "def f(x):\n    return x + 1", &tests);
    let ran = validate(dir.path(), &[next], &["--json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["proven"], 1, "{}", ran.out);
    let warning = json!([{"id": "next", "detail": "the empty program passes 1 of 3 tests"}]);
    assert_eq!(report["warnings"], warning, "{}", ran.out);
}

#[test]
fn every_reason_to_drop_a_task_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let easy = easy_functions().into_iter().chain(easy_programs());
    let easy = easy.map(|(task, detail)| (task, "trivial_passes", detail));
    let unsound: Vec<_> = easy.chain(unproven()).collect();
    let mut tasks: Vec<Value> = unsound.iter().map(|(task, _, _)| task.clone()).collect();
    tasks.push(sound()[0].clone());
    let flags = ["--dropped", "dropped.jsonl", "--json", "--set", "sandbox.cpu_seconds=0.4"];
    let ran = validate(dir.path(), &tasks, &flags);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    let dropped = fs::read_to_string(dir.path().join("dropped.jsonl")).unwrap();
    let lines: Vec<Value> =
        dropped.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), unsound.len(), "{}", ran.out);
    for (line, (task, reason, detail)) in lines.iter().zip(&unsound) {
        let found = &line["dropped"];
        assert_eq!(
            (&line["id"], &found["reason"]),
            (&task["id"], &Value::from(*reason)),
            "{found}"
        );
        assert!(found["detail"].as_str().is_some_and(|text| text.contains(detail)), "{found}");
    }
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["proven"], &report["failed"]), (&1.into(), &0.into()));
    assert_eq!(report["by_source"]["s"]["reasons"]["trivial_passes"], 17);
    assert_eq!(report["reference_passes"], 18);
}

#[test]
fn dropped_tasks_are_an_answer_of_no_when_strict() {
    let dir = tempfile::tempdir().unwrap();
    let bare = json!({"id": "b", "statement": "s", "tests": asserts(&["assert f(1) == 2"])});
    let tasks = [sound()[0].clone(), bare];
    let ran = validate(dir.path(), &tasks, &["--strict"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("b: no_reference: the task has no field `reference`"), "{}", ran.out);
    assert!(ran.out.contains("`--dropped FILE` keeps them"), "{}", ran.out);
    assert_eq!(validate(dir.path(), &tasks, &["--repeats", "1"]).code, 0);
    assert_eq!(validate(dir.path(), &tasks[1..], &[]).code, 1, "nothing is proven");
}

#[test]
fn wrong_usage_and_files_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["data", "validate", "none.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot read the tasks `none.jsonl`: No such file"), "{}", ran.err);
    for flags in [&["--repeats", "0"][..], &["--max-cpu-share", "1.5"]] {
        assert_eq!(validate(dir.path(), &sound()[..1], flags).code, 2, "{flags:?}");
    }
    let ran = validate(dir.path(), &sound()[..1], &["--out", "tasks.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("hint: give every output a name of its own"), "{}", ran.err);
}

#[test]
fn help_teaches_the_reasons_and_examples() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["data", "validate", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["trivial_passes", "flaky", "--repeats", "--strict", "Examples:", "Exit codes:"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
