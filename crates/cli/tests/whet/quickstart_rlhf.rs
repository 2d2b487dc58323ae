//! `whet quickstart --recipe rlhf` from one end to the other, with a step of each training.

use std::fs;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::judged;

/// A step of each stage, and few samples; tasks are the recipe's own.
const SMALL: [&str; 10] = [
    "sft:training.max_steps=1",
    "rm:training.max_steps=1",
    "ppo:training.max_steps=1",
    "ppo.batch_size=8",
    "ppo.mini_batch_size=8",
    "eval.k=[1]",
    "eval.num_samples=1",
    "sample:eval.k=[1]",
    "sample:eval.num_samples=2",
    "grpo.max_completion_length=100",
];

#[test]
fn the_three_stages_end_with_ppo_compared_with_sft() {
    if !judged() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let settings = SMALL.iter().flat_map(|&set| ["--set", set]);
    let args: Vec<&str> =
        ["quickstart", "--recipe", "rlhf", "--json", "--seed=7"].into_iter().chain(settings).collect();
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let stages = report["stages"].as_array().expect("stages");
    let names: Vec<&str> = stages.iter().filter_map(|stage| stage["name"].as_str()).collect();
    let expected =
        ["data", "teach", "sft", "sft-eval", "sample", "pairs", "rm", "ppo", "ppo-eval"];
    assert_eq!(names, expected);
    assert!(stages.iter().all(|stage| stage["state"] == "done"), "{stages:?}");
    assert_eq!((&report["seed"], &report["kl"]["steps"]), (&7.into(), &1.into()));
    let comparison = &report["comparison"];
    assert_eq!(comparison["tasks"], 200);
    let rate = comparison["pass_at_k"]["1"]["before"]["value"].as_f64().expect("a rate");
    assert!((0.05..0.95).contains(&rate), "a student that solves some of the tasks: {rate}");
    for figure in ["syntax_rate", "tests_passed", "quality", "diversity"] {
        // Of one sample there is no diversity.
        let is_there = comparison["figures"][figure]["difference"]["value"].is_number();
        assert_eq!(is_there, figure != "diversity", "{figure}: {}", comparison["figures"]);
    }
    let run = dir.path().join("runs/rlhf");
    let saved: Value =
        serde_json::from_slice(&fs::read(run.join("rlhf.json")).expect("a report")).expect("JSON");
    assert_eq!(saved, report);
    let page = fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(expected.iter().all(|stage| page.contains(stage)), "every stage is on the page");
}
