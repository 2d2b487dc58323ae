//! `whet eval` without a model.

use std::fs;

use crate::binary::whet_in;
use crate::tiny_rollouts::{learn, sampled};
use crate::tiny_school::{judged, school};

#[test]
fn without_a_model_what_the_last_run_made_is_measured() {
    if !judged() {
        return;
    }
    let dir = school();
    sampled(dir.path());
    let measure = |out: &str, more: &[&str]| {
        let out = format!("--out={out}");
        let all = [
            "eval",
            "--tasks=tasks.jsonl",
            &out,
            "--threads=1",
            "--num-samples=1",
            "--max-tokens=32",
            "--k=1",
            "--skip-greedy",
        ];
        let ran = whet_in(dir.path(), &[&all[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let student = ["--set", "student.model_name=student"];
    let said = measure("before", &student);
    assert!(said.contains("no `--model`: measuring `student.model_name`, student"), "{said}");
    let ran = learn(dir.path(), "first", &["--rollouts=sampled/rollouts.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = measure("after", &[]);
    let made = "no `--model`: measuring runs/first/outputs/final_model, the result of the last run";
    assert!(said.contains(made), "{said}");
    let results = fs::read_to_string(dir.path().join("after/evaluation_results.json")).unwrap();
    assert!(results.contains("runs/first/outputs/final_model"), "{results}");
    let said = measure("named", &student);
    assert!(said.contains("`student.model_name`, student"), "what is set now wins: {said}");
    assert!(!measure("given", &["--model=student"]).contains("no `--model`"));
}
