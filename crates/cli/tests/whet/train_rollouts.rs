//! `whet train grpo --rollouts`: from sampling to scoring to learning, killed and resumed.

use std::fs;
use std::path::Path;
use std::thread;

use crate::binary::whet_in;
use crate::tiny_rollouts::{args, learn, sampled};
use crate::tiny_school::{files, judged, records, school, steps, unsolvable};
use crate::train_kill::start;

#[test]
fn samples_of_an_evaluation_are_learnt_from_with_their_log_probabilities() {
    if !judged() {
        return;
    }
    let dir = school();
    sampled(dir.path());
    let file = "--rollouts=sampled/rollouts.jsonl";
    let ran = learn(dir.path(), "first", &[file]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "sampled/rollouts.jsonl: 16 rollouts in 4 groups, 16 with the log-probabilities";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(
        ran.err.contains("4 groups of up to 4 rollouts, 1 a step: 12 optimizer steps"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("4 rollouts: greedy, and left out"), "{}", ran.err);
    assert!(!ran.err.contains("stale,"), "nothing is guessed: {}", ran.err);
    assert_eq!(steps(dir.path(), "first").len(), 12);
    let again = learn(dir.path(), "second", &[file]);
    assert_eq!(again.code, 0, "{}", again.err);
    let model = |run: &str| files(&dir.path().join("runs").join(run).join("outputs/final_model"));
    assert!(model("first") == model("second"), "the same seed has the same bytes");
    let metrics = records(&dir.path().join("runs/first/events.jsonl"));
    let last = metrics.iter().rfind(|event| event["type"] == "metrics").unwrap();
    assert!(last["values"]["grpo/staleness_kl"].as_f64().unwrap() > 0.0, "{last}");
    // A checkpoint has an adapter of its own.
    let ran = learn(dir.path(), "third", &[file, "--from=runs/first/outputs/final_model"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("`whet export`"), "{}", ran.err);
}

#[test]
fn rollouts_of_a_run_are_learnt_from_beside_traces_and_measured_by_held_out_tasks() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("val.jsonl"), unsolvable(dir.path(), "held/")).unwrap();
    let sampling = [
        "--tasks=tasks.jsonl",
        "--set=training.max_steps=3",
        "--set=grpo.num_samples_per_prompt=2",
        "--set=grpo.max_completion_length=32",
    ];
    let ran = learn(dir.path(), "sampled", &sampling);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let file = "--rollouts=runs/sampled/rollouts/rollouts.jsonl";
    let flags = [
        file,
        "--held-out=val.jsonl",
        "--traces=traces.jsonl",
        "--set=dual_source.teacher_sft_weight=0.3",
        "--set=grpo.max_completion_length=32",
    ];
    let ran = learn(dir.path(), "learnt", &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("12 rollouts in 6 groups, 12 with the log-prob"), "{}", ran.err);
    let events = records(&dir.path().join("runs/learnt/events.jsonl"));
    let first = events.iter().find(|event| event["type"] == "metrics").expect("a step");
    for name in ["held_out/pass_rate", "teacher_sft/loss", "grpo/staleness_kl"] {
        assert!(first["values"][name].is_number(), "{name}: {first}");
    }
    let short = "--set=grpo.max_completion_length=32";
    let ran = learn(dir.path(), "leak", &[file, "--held-out=tasks.jsonl", short]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("is also a training task"), "{}", ran.err);
    let ran = learn(dir.path(), "order", &[file, "--set=grpo.curriculum=pass_rate"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("`grpo.curriculum=shuffled`"), "{}", ran.err);
}

#[test]
fn scored_texts_are_learnt_from_and_what_that_means_is_said() {
    if !judged() {
        return;
    }
    let dir = school();
    sampled(dir.path());
    let ran = whet_in(dir.path(), &["score", "bare.jsonl", "--prompts=tasks.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let file = "--rollouts=bare.scored.jsonl";
    let ran = learn(dir.path(), "run", &[file]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("bare.scored.jsonl:1: has no token ids"), "{}", ran.err);
    assert!(!dir.path().join("runs/run").exists());
    let ran = learn(dir.path(), "run", &[file, "--tasks=tasks.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in [
        "16 rollouts in 4 groups, 0 with the log-probabilities of their sampler",
        "16 rollouts: no log-probabilities are recorded",
        "That is right if this student sampled them",
        "16 rollouts: no token ids are recorded",
    ] {
        assert!(ran.err.contains(said), "{said}\n{}", ran.err);
    }
    let ran = learn(dir.path(), "unscored", &["--rollouts=bare.jsonl", "--tasks=tasks.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("bare.jsonl:1: has no reward"), "{}", ran.err);
}

/// Starts a run and kills it when this many steps are recorded.
fn kill_after(dir: &Path, args: &[String], wanted: usize) {
    let mut child = start(dir, args);
    while steps(dir, "cut").len() < wanted {
        let ended = child.try_wait().expect("it was started here");
        assert!(ended.is_none(), "it came to an end: {ended:?}");
        thread::yield_now();
    }
    child.kill().expect("it still runs");
    child.wait().expect("it was started here");
}

#[test]
fn killed_and_resumed_it_learns_the_same_bits_of_the_same_file() {
    if !judged() {
        return;
    }
    let dir = school();
    sampled(dir.path());
    let flags = [
        "--rollouts=sampled/rollouts.jsonl",
        "--set=training.max_steps=200",
        "--set=training.save_steps=3",
    ];
    let ran = learn(dir.path(), "whole", &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    kill_after(dir.path(), &args("cut", &flags), 2);
    kill_after(dir.path(), &args("cut", &["--resume"]), 8);
    // The file is a part of the run.
    let path = dir.path().join("sampled/rollouts.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.lines().rev().collect::<Vec<_>>().join("\n")).unwrap();
    let ran = learn(dir.path(), "cut", &["--resume"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("sampled/rollouts.jsonl"), "{}", ran.err);
    fs::write(&path, text).unwrap();
    let ran = learn(dir.path(), "cut", &["--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let model = |run: &str| files(&dir.path().join("runs").join(run).join("outputs/final_model"));
    assert!(model("whole") == model("cut"));
    assert_eq!(steps(dir.path(), "cut"), (1..=200).collect::<Vec<_>>());
}
