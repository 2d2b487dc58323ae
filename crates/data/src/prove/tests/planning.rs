//! Which programs are tried, by kind of test.

use serde_json::{Value, json};

use super::super::finding::{Dropped, Reason};
use super::super::trial::{Role, Trial, trials};
use super::{task, with_language};

/// The trials of a task with this reference.
fn tried(reference: &str, tests: &Value) -> Vec<Trial> {
    trials(&task(reference, tests), 2).expect("it can be tried")
}

/// What the trivial answers are, in words.
fn trivials(trials: &[Trial]) -> Vec<&str> {
    let trivial = |trial: &'_ Trial| matches!(trial.role, Role::Trivial(_));
    let words = trials.iter().filter(|trial| trivial(trial)).map(|trial| match &trial.role {
        Role::Trivial(what) => what.as_str(),
        Role::Reference { .. } | Role::Expected => "",
    });
    words.collect()
}

#[track_caller]
fn source<'a>(trials: &'a [Trial], what: &str) -> &'a str {
    let is_it = |trial: &&Trial| trial.role == Role::Trivial(what.to_owned());
    let found = trials.iter().find(is_it);
    &found.unwrap_or_else(|| panic!("no {what} in {:?}", trivials(trials))).program.source
}

fn asserts(hidden: &[&str]) -> Value {
    json!({"kind": "asserts", "hidden": hidden})
}

const BY_HEART: &str = "the first test by heart, and None otherwise";
const FIRST: &str = "the value that the first test expects, always";

#[test]
fn the_reference_is_tried_first_and_as_often_as_asked() {
    let task = task("def f(): pass", &asserts(&["assert f(1) == 2"]));
    for runs in [1, 3] {
        let trials = trials(&task, runs).unwrap();
        let found = trials.iter().map_while(|trial| match trial.role {
            Role::Reference { run } => Some((run, trial.program.source.as_str())),
            Role::Trivial(_) | Role::Expected => None,
        });
        let expected: Vec<_> = (0..runs).map(|run| (run, "def f(): pass")).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_function_is_replaced_in_the_reference_by_its_name_in_the_tests() {
    let reference = "class Node: pass\ndef f(node): return 7";
    let trials = tried(reference, &asserts(&["assert f(Node()) == 7", "assert f(Node()) == 8"]));
    let identity = source(&trials, "its first argument");
    assert!(identity.starts_with(reference), "{identity}");
    assert!(
        identity.contains("\ndef f(*args, **kwargs):\n    return args[0] if args"),
        "{identity}"
    );
    assert!(!identity.contains("def Node"), "{identity}");
    assert_eq!(source(&trials, "the empty program"), "");
}

#[test]
fn a_constant_that_some_test_refuses_is_not_run() {
    let plain = ["the empty program", "its first argument", BY_HEART];
    let trials = tried("", &asserts(&["assert f(1) == 2", "assert f(2) == 3"]));
    assert_eq!(trivials(&trials), plain);
    // Python's True is its 1.
    let trials = tried("", &asserts(&["assert f(1) == 1", "assert f(2) == 1"]));
    let expected = [
        "the empty program",
        "the constant 1",
        "the constant True",
        "its first argument",
        FIRST,
        BY_HEART,
    ];
    assert_eq!(trivials(&trials), expected);
    let trials = tried("", &asserts(&["assert f(1)", "assert not f(2)"]));
    assert_eq!(trivials(&trials), plain);
    let trials = tried("", &asserts(&["assert not f(1)", "assert not f(2)"]));
    assert_eq!(
        trivials(&trials)[1..5],
        ["the constant 0", "the constant None", "the constant ''", "the constant []"]
    );
}

#[test]
fn where_more_than_the_value_counts_all_constants_are_run() {
    for test in ["assert f(1)[0] == 2", "assert f(1) (3) == 2", "assert abs(f(1) - 2) < 1e-9"] {
        let trials = tried("", &asserts(&[test]));
        let constants =
            trivials(&trials).iter().filter(|what| what.starts_with("the constant")).count();
        assert_eq!(constants, 8, "{test}");
    }
}

#[test]
fn where_there_is_one_test_no_answer_that_knows_it_is_tried() {
    for tests in [&["assert f(1) == 2"][..], &["assert f(1) == 2", "assert f(1) == 2"]] {
        let trials = tried("", &asserts(tests));
        assert_eq!(trivials(&trials), ["the empty program", "its first argument"], "{tests:?}");
    }
}

#[test]
fn the_first_test_is_known_by_evaluating_its_call() {
    let trials = tried("", &asserts(&["assert f('(', n=[1]) == 'x'", "assert f('') == ''"]));
    let known = source(&trials, BY_HEART);
    let record = "def whet_first():\n    f = lambda *args, **kwargs: (args, kwargs)\n    return (f('(', n=[1]))\n";
    assert!(known.contains(record), "{known}");
}

#[test]
fn a_method_is_replaced_in_a_class_of_its_name() {
    let tests = json!({"kind": "calls", "entry_point": "Solution.add", "hidden": [
        {"args": [1, 2], "expected": 3}, {"args": [2], "kwargs": {"b": 2}, "expected": 4}
    ]});
    let trials = tried("", &tests);
    assert_eq!(trivials(&trials), ["the empty program", "its first argument", BY_HEART]);
    let known = source(&trials, BY_HEART);
    assert!(known.contains("class Solution:\n    def __init__"), "{known}");
    assert!(
        known.contains("\n    def add(self, *args, **kwargs):\n        return __import__"),
        "{known}"
    );
}

fn script(check: &str) -> Vec<Trial> {
    tried("", &json!({"kind": "script", "entry_point": "f", "hidden": [check]}))
}

#[test]
fn a_script_is_read_for_what_its_first_assert_expects() {
    let trials = script("def check(c):\n    assert c(1) == 5\n    assert c(2) == 6\n");
    assert_eq!(trivials(&trials), ["the empty program", "its first argument", BY_HEART]);
    assert!(source(&trials, BY_HEART).contains("return (c(1))"));
    let same = script("def check(c):\n    assert c(1) == 5\n    assert c(2) == 5\n");
    assert_eq!(trivials(&same), ["the empty program", "its first argument", FIRST, BY_HEART]);
    assert!(!trivials(&script("def check(g):\n    assert g(1) > 5\n")).contains(&FIRST));
}

#[test]
fn an_assert_that_may_not_be_run_refuses_no_constant() {
    let perhaps = [
        "    if c(1):\n        assert c(1) == 5\n",
        "    if c(1): return\n    assert c(1) == 5\n",
        "    \"\"\"\n    assert c(1) == 5\n    \"\"\"\n    assert c(1)\n",
        "    assert c(1)\n\ndef other():\n    assert c(1) == 5\n",
    ];
    for body in perhaps {
        let trials = script(&format!("def check(c):\n{body}"));
        assert!(trivials(&trials).contains(&"the constant 1"), "{body}");
    }
}

#[test]
fn whole_programs_are_run_only_if_their_output_would_pass() {
    let io = |pairs: &[[&str; 2]]| {
        let tests: Vec<_> =
            pairs.iter().map(|[input, output]| json!({"input": input, "output": output})).collect();
        tried("", &json!({"kind": "stdio", "hidden": tests}))
    };
    assert_eq!(trivials(&io(&[["1\n", "2\n"], ["2\n", "3\n"]])), [""; 0]);
    assert_eq!(trivials(&io(&[["1\n", "1\n"], ["2\n", "2"]])), ["its input"]);
    assert_eq!(trivials(&io(&[["1\n", ""], ["2\n", "\n"]]))[0], "the empty program");
    let first = "the output that the first test expects, always";
    let same = io(&[["1\n", "2\n"], ["3\n", "2\n"]]);
    assert_eq!(trivials(&same), [first]);
    assert_eq!(
        source(&same, first),
        "import sys\nsys.stdout.buffer.write(bytes.fromhex('320a'))\n"
    );
    let by_heart = io(&[["1\n", "2\n"], ["3\n", ""]]);
    assert_eq!(trivials(&by_heart), ["the first test by heart, and nothing otherwise"]);
    // One test, twice: to know it is no trick.
    assert_eq!(trivials(&io(&[["1\n", "2\n"], ["1\n", "2\n"]])), [""; 0]);
}

#[test]
fn javascript_answers_stand_alone() {
    let tests = json!({"kind": "calls", "entry_point": "add", "hidden": [
        {"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}
    ]});
    let task = with_language("javascript", "const add = (a, b) => a + b;", &tests);
    let trials = trials(&task, 1).unwrap();
    let known = source(&trials, "the first test by heart, and null otherwise");
    let expected = "function add(...args) { return JSON.stringify(args) === JSON.stringify([1,2]) ? (3) : null; }\n";
    assert_eq!(known, expected);
}

#[test]
fn what_cannot_be_tried_is_dropped_with_its_reason() {
    let dropped = |task| trials(&task, 2).unwrap_err();
    let mut without = task("", &asserts(&["assert f()"]));
    without.reference = None;
    let expected = Dropped::new(Reason::NoReference, "the task has no field `reference`");
    assert_eq!(dropped(without), expected);
    let broken = dropped(task("", &asserts(&["assert f() == 1", "assert f( =="])));
    assert_eq!(broken.reason, Reason::BrokenTests);
    assert!(
        broken.detail.starts_with("hidden test 2 cannot be used: it is not valid"),
        "{broken:?}"
    );
    let foreign = dropped(with_language("javascript", "", &asserts(&["assert f()"])));
    assert_eq!(foreign.reason, Reason::BrokenTests);
    assert!(foreign.detail.contains("for JavaScript there are `calls` and `stdio`"), "{foreign:?}");
}

#[test]
fn what_is_too_long_to_know_by_heart_is_left_out() {
    let long = "x".repeat(100 << 10);
    let [one, two] = ["1", "2"].map(|input| json!({"input": input, "output": long}));
    assert_eq!(trivials(&tried("", &json!({"kind": "stdio", "hidden": [one, two]}))), [""; 0]);
    let [one, two] = [1, 2].map(|arg| json!({"args": [arg], "expected": long}));
    let tests = json!({"kind": "calls", "entry_point": "f", "hidden": [one, two]});
    assert_eq!(trivials(&tried("", &tests)), ["the empty program", "its first argument"]);
}
