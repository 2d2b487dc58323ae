//! `whet quickstart --recipe rlhf` from one end to the other, with a step of each training.

use std::fs;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::judged;

/// A step of each stage, and few samples, which evaluations cut off at once; tasks are the recipe's own.
const SMALL: [&str; 13] = [
    "sft:training.max_steps=1",
    "rm:training.max_steps=1",
    "ppo:training.max_steps=1",
    "ppo.batch_size=8",
    "ppo.mini_batch_size=8",
    "eval.k=[1]",
    "eval.num_samples=1",
    "sample:eval.k=[1]",
    "sample:eval.num_samples=2",
    "sft-eval:max_tasks=40",
    "ppo-eval:max_tasks=40",
    "sft-eval:grpo.max_completion_length=8",
    "ppo-eval:grpo.max_completion_length=8",
];

#[test]
fn the_three_stages_end_with_ppo_compared_with_sft() {
    if !judged() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let settings = SMALL.iter().flat_map(|&set| ["--set", set]);
    let args: Vec<&str> = ["quickstart", "--recipe", "rlhf", "--json", "--seed=7"]
        .into_iter()
        .chain(settings)
        .collect();
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let stages = report["stages"].as_array().expect("stages");
    let names: Vec<&str> = stages.iter().filter_map(|stage| stage["name"].as_str()).collect();
    let expected = ["data", "teach", "sft", "sft-eval", "sample", "pairs", "rm", "ppo", "ppo-eval"];
    assert_eq!(names, expected);
    assert!(stages.iter().all(|stage| stage["state"] == "done"), "{stages:?}");
    assert_eq!((&report["seed"], &report["kl"]["steps"]), (&7.into(), &1.into()));
    let comparison = &report["comparison"];
    assert_eq!(comparison["tasks"], 40);
    let pass = &comparison["pass_at_k"]["1"];
    for of in [pass, &comparison["figures"]["syntax_rate"], &comparison["figures"]["tests_passed"]]
    {
        let has = |part: &str| of[part]["low"].is_number() && of[part]["high"].is_number();
        assert!(["before", "after", "difference"].into_iter().all(has), "{comparison}");
    }
    let decodings: Vec<&String> =
        comparison["by_temperature"].as_object().expect("a map").keys().collect();
    assert_eq!(decodings, ["T=1", "T=0.6", "greedy"]);
    assert!(
        comparison["better_temperature"]["gain"]["difference"]["low"].is_number(),
        "{comparison}"
    );
    let sampled = fs::read_to_string(dir.path().join("runs/rlhf/stages/sample/rollouts.jsonl"))
        .expect("samples");
    assert!(!sampled.contains("further_temperature"), "what is learnt from has one temperature");
    let rm = &stages[6]["figures"][1];
    assert!(rm["name"] == "held-out accuracy" && rm["interval"].is_array(), "{rm}");
    let run = dir.path().join("runs/rlhf");
    let saved: Value =
        serde_json::from_slice(&fs::read(run.join("rlhf.json")).expect("a report")).expect("JSON");
    assert_eq!(saved, report);
    let page = fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(page.contains("Run report"));
}
