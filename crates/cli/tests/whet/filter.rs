//! `whet data filter`: rates of an evaluation or of rollouts, bounds, doubts, refusals.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};

const STUDENT: &str = "--set=student.model_name=org/student";

/// Four tasks, and an evaluation of `org/student` with 8 samples each of the first three.
fn prepare(folder: &Path) {
    let task = |id: &str| {
        let tests = ["assert f() == 1"];
        json!({"id": id, "statement": format!("Write f for {id}."), "tests": tests, "mine": id})
            .to_string()
    };
    let tasks: Vec<String> = ["never", "half", "always", "unknown"].map(task).into();
    fs::write(folder.join("tasks.jsonl"), tasks.join("\n") + "\n").expect("a file");
    let count =
        |id: &str, passed: u64| json!({"id": id, "samples": 8, "passed": passed, "greedy": null});
    let results = json!({"v": 1, "model": "org/student", "settings": {"eval.temperature": "0.6"},
        "by_task": [count("never", 0), count("half", 4), count("always", 8)]});
    fs::create_dir_all(folder.join("eval/base")).expect("a file");
    fs::write(folder.join("eval/base/evaluation_results.json"), results.to_string())
        .expect("a file");
}

fn filter(folder: &Path, flags: &[&str]) -> Ran {
    let command = ["data", "filter", "--tasks", "tasks.jsonl", "--out", "kept.jsonl"];
    whet_in(folder, &[&command, flags].concat())
}

#[test]
fn tasks_that_are_solved_now_and_then_are_kept_as_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let ran = filter(dir.path(), &["--rates", "eval/base", STUDENT]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let expected = "1 of 4 tasks kept, into kept.jsonl
  below 0.05              1  1 never solved
  above 0.9               1  1 always solved
  without a rate          1
  rates of org/student
";
    assert_eq!(ran.out, expected);
    assert!(
        ran.err.contains("next: whet train grpo --run grpo-1 --tasks kept.jsonl"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("at temperature 0.6, and `grpo.temperature` is 1"), "{}", ran.err);
    let kept = fs::read_to_string(dir.path().join("kept.jsonl")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        (&kept["id"], &kept["mine"]),
        (&json!("half"), &json!("half")),
        "unknown fields stay"
    );
    let ran =
        filter(dir.path(), &["--rates", "eval/base", "--min=0", "--max=1", "--json", STUDENT]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&summary["kept"], &summary["no_rate"]), (&json!(3), &json!(1)));
}

#[test]
fn scored_rollouts_are_rates_too_and_few_of_them_are_doubtful() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let line = |passed: bool| {
        let (verdict, passed) = (if passed { "pass" } else { "wrong" }, u8::from(passed));
        let mut validation = json!({"verdict": verdict, "tests_passed": passed, "tests_total": 1,
            "cpu_ms": 0.0, "isolation": "full"});
        if passed == 0 {
            validation["test"] = json!(0);
        }
        json!({"step": 1, "prompt_id": "half", "text": "t", "meta": {"model": "org/student"},
            "validation": validation, "reward": {"total": passed, "terms": {"tests": passed}}})
        .to_string()
    };
    let unjudged = json!({"step": 1, "prompt_id": "never", "text": "t"}).to_string();
    let rollouts = [line(true), line(false), unjudged].join("\n") + "\n";
    fs::write(dir.path().join("scored.jsonl"), rollouts).unwrap();
    let ran = filter(dir.path(), &["--rates", "scored.jsonl", STUDENT]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("1 of 4 tasks kept"), "{}", ran.out);
    assert!(ran.out.contains("without a rate          3"), "{}", ran.out);
    assert!(ran.err.contains("1 rate of fewer than 4 samples"), "{}", ran.err);
}

#[test]
fn rates_of_another_model_or_of_other_tasks_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let rates = ["--rates", "eval/base"];
    let ran = filter(dir.path(), &[&rates[..], &["--set=student.model_name=org/other"]].concat());
    assert_eq!(ran.code, 2, "{}", ran.out);
    let said = "are of the model `org/student`, and the model to train is `org/other`";
    assert!(ran.err.contains(said) && ran.err.contains("--any-model"), "{}", ran.err);
    assert!(!dir.path().join("kept.jsonl").exists());
    let any = filter(dir.path(), &[&rates[..], &["--any-model"]].concat());
    assert_eq!(any.code, 0, "{}", any.err);
    let named = filter(dir.path(), &[&rates[..], &["--model", "org/student"]].concat());
    assert_eq!(named.code, 0, "{}", named.err);
    let bounds = filter(dir.path(), &[&rates[..], &["--min=0.6", "--max=0.9", STUDENT]].concat());
    assert_eq!(bounds.code, 2, "{}", bounds.out);
    assert!(
        bounds.err.contains("no task is left of 4: 2 below 0.6, 1 above 0.9"),
        "{}",
        bounds.err
    );
    let tasks = fs::read_to_string(dir.path().join("tasks.jsonl"))
        .unwrap()
        .replace("\"id\":\"", "\"id\":\"x");
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let others = filter(dir.path(), &[&rates[..], &[STUDENT]].concat());
    assert_eq!(others.code, 2, "{}", others.out);
    assert!(others.err.contains("has no rate of any task of `tasks.jsonl`"), "{}", others.err);
    let same = whet_in(
        dir.path(),
        &["data", "filter", "--rates=eval/base", "--tasks=tasks.jsonl", "--out=tasks.jsonl"],
    );
    assert_eq!(same.code, 2, "{}", same.out);
}
