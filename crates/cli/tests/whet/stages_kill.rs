//! `whet run` killed with SIGKILL in every stage: in the end there is what a run has that nobody disturbed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::binary::whet_in;
use crate::stages::{SETTINGS, STAGES};
use crate::tiny_school::{files, judged, records, school};
use crate::train_kill::start;

const RUN: [&str; 3] = ["run", "all.toml", "--threads=1"];

/// The stages by name and state, as they are recorded now.
fn states(dir: &Path) -> Vec<(String, String)> {
    let text = fs::read(dir.join("runs/small/stages.json")).unwrap_or_default();
    let stages: Value = serde_json::from_slice(&text).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let stages = stages["stages"].as_array().cloned().unwrap_or_default();
    stages.iter().map(|stage| (text(&stage["name"]), text(&stage["state"]))).collect()
}

/// Whether a stage was begun, or is done already.
fn is_reached(dir: &Path, at: usize) -> bool {
    states(dir).get(at).is_some_and(|(_, state)| state != "waiting")
}

/// The digests of what the stages made, but of rollouts with the times of their programs.
fn made(dir: &Path) -> Vec<String> {
    let text = fs::read(dir.join("runs/small/stages.json")).unwrap();
    let stages: Value = serde_json::from_slice(&text).unwrap();
    let outputs = stages["stages"].as_array().unwrap().iter();
    let outputs = outputs.flat_map(|stage| stage["outputs"].as_array().unwrap().clone());
    outputs.filter(|output| output["what"] != "rollouts").map(|output| output.to_string()).collect()
}

/// The rollouts of the GRPO stage, without the times of their programs.
fn rollouts(dir: &Path) -> Vec<Value> {
    let mut all = records(&dir.join("runs/small/stages/grpo/rollouts/rollouts.jsonl"));
    for rollout in &mut all {
        assert!(rollout["validation"]["cpu_ms"].take().is_number());
    }
    all
}

#[test]
fn killed_in_every_stage_it_makes_the_same_bytes() {
    if !judged() {
        return;
    }
    let (whole, cut) = (school(), school());
    let (whole, cut) = (whole.path(), cut.path());
    let stages = format!("{SETTINGS}{STAGES}").replace("max_steps = 4", "max_steps = 12");
    for dir in [whole, cut] {
        fs::write(dir.join("all.toml"), &stages).unwrap();
    }
    let ran = whet_in(whole, &RUN);
    assert_eq!(ran.code, 0, "{}", ran.err);

    let all = states(whole).len();
    let mut in_a_stage = 0;
    for at in 0..all {
        let args: Vec<String> = RUN.iter().map(|arg| (*arg).to_owned()).collect();
        let mut child = start(cut, &args);
        // Also when the stage has checkpoints or samples of its own, half of the time.
        let folder = cut.join("runs/small/stages").join(&states(whole)[at].0);
        let some = if at % 2 == 0 { "" } else { "events.jsonl" };
        while !is_reached(cut, at)
            || !(some.is_empty() || folder.join(some).exists() || folder.is_dir())
        {
            assert!(child.try_wait().unwrap().is_none(), "it came to an end before stage {at}");
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        in_a_stage += u64::from(states(cut).get(at).is_some_and(|(_, state)| state == "begun"));
    }
    println!("{all} kills, {in_a_stage} of them in a stage");
    assert!(in_a_stage >= 4, "kills no longer fall into stages");
    let ran = whet_in(cut, &[&RUN[..], &["--resume"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);

    assert!(states(cut).iter().all(|(_, state)| state == "done"));
    assert_eq!(made(cut), made(whole));
    let model = |dir: &Path| files(&dir.join("runs/small/stages/grpo/outputs/final_model"));
    assert!(model(cut) == model(whole), "the final models differ");
    assert_eq!(rollouts(cut), rollouts(whole));
    let counted = |dir: &Path| {
        let text = fs::read(dir.join("runs/small/stages/eval/evaluation_results.json")).unwrap();
        let results: Value = serde_json::from_slice(&text).unwrap();
        (results["pass_at_k"].clone(), results["by_task"].clone())
    };
    assert_eq!(counted(cut), counted(whole));
}
