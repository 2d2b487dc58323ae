//! `whet run`: stages in order, each with its inputs; resumed, begun again, refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};
use crate::tiny_school::{files, judged, school};

/// Settings of a student that takes a moment.
pub(crate) const SETTINGS: &str = r#"
name = "small"
[student]
model_name = "student"
[lora]
rank = 4
[grpo]
num_samples_per_prompt = 2
max_completion_length = 32
[rm]
batch_size = 2
eval_steps = 0
[reward]
accept_weak_model = true
[ppo]
learning_rate = 1e-3
batch_size = 4
mini_batch_size = 2
ppo_epochs = 1
max_completion_length = 32
[training]
max_steps = 4
max_length = 160
per_device_train_batch_size = 2
gradient_accumulation_steps = 2
learning_rate = 1e-3
save_steps = 2
[eval]
k = [1]
num_samples = 2
temperature = 1.0
"#;

/// Stages that need no download and no server.
pub(crate) const STAGES: &str = r#"
[[stage]]
kind = "sft"
input = { traces = "./traces.jsonl" }
[[stage]]
kind = "grpo"
input = { tasks = "./tasks.jsonl", traces = "./traces.jsonl" }
[[stage]]
kind = "sample"
input = { tasks = "./tasks.jsonl" }
set = { "eval.num_samples" = 8 }
[[stage]]
kind = "score"
input = { tasks = "./tasks.jsonl" }
[[stage]]
kind = "pairs"
input = { tasks = "./tasks.jsonl" }
val_fraction = 0.5
min_distance = 0.0
[[stage]]
kind = "rm"
after = "sft"
input = { pairs = "pairs", held_out_pairs = "pairs" }
[[stage]]
kind = "ppo"
input = { tasks = "./tasks.jsonl" }
[[stage]]
kind = "eval"
input = { held_out = "./tasks.jsonl" }
[[stage]]
kind = "data"
embedded = 40
[[stage]]
kind = "teach"
teacher = "embedded"
"#;

fn run(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["run", "all.toml", "--threads=1"], flags].concat())
}

fn write(dir: &Path, settings: &str, stages: &str) {
    fs::write(dir.join("all.toml"), format!("{settings}{stages}")).unwrap();
}

fn states(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("runs/small/stages.json")).unwrap();
    let stages: Value = serde_json::from_str(&text).unwrap();
    let stages = stages["stages"].as_array().unwrap().iter();
    stages.map(|stage| stage["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn stages_run_in_order_each_with_what_the_ones_before_made() {
    if !judged() {
        return;
    }
    let dir = school();
    let dir = dir.path();
    write(dir, SETTINGS, STAGES);
    let ran = run(dir, &["--dry-run", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!dir.join("runs").exists(), "a plan writes nothing");
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    let grpo = &plan["stages"][1];
    assert_eq!((&grpo["name"], &grpo["inputs"]["model"]), (&"grpo".into(), &"sft".into()));
    assert!(
        grpo["plan"]["memory_mib"]["to train"].is_u64() && grpo["plan"]["estimate"].is_string()
    );
    assert!(grpo["plan"]["notes"].to_string().contains("nothing in place of model of `sft`"));

    let ran = run(dir, &["--until", "sample"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(states(dir)[..4], ["done", "done", "done", "waiting"]);
    let stages = dir.join("runs/small/stages");
    let model = fs::read_to_string(stages.join("grpo/config.toml")).unwrap();
    assert!(model.contains("model_name = \"runs/small/models/sft\""), "{model}");
    let first = files(&stages.join("grpo/outputs/final_model"));

    let ran = run(dir, &["--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in ["1/10 sft: done before", "4/10 score begins: `whet score`"] {
        assert!(ran.err.contains(line), "{}", ran.err);
    }
    let end: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&end["done"], &end["stages"][7]["figures"][0]["name"]),
        (&true.into(), &"pass@1".into())
    );
    assert!(stages.join("teach/teacher_traces.jsonl").is_file());
    let page = fs::read_to_string(dir.join("runs/small/report.html")).unwrap();
    assert!(page.contains("Run report") && stages.join("sft/report.html").is_file());

    // Another setting of a stage is refused, and that stage can begin again: all after it do.
    let other = STAGES.replacen(
        "kind = \"grpo\"",
        "kind = \"grpo\"\nset = { \"training.max_steps\" = 3 }",
        1,
    );
    write(dir, SETTINGS, &other);
    let ran = run(dir, &[]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains(
            "the stage `grpo` was begun with something else: `training.max_steps` was 4, and is 3"
        ),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("`--from grpo` starts again from there"), "{}", ran.err);
    let ran = run(dir, &["--from", "grpo", "--until", "grpo"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("grpo starts again: runs/small/stages/grpo is removed"),
        "{}",
        ran.err
    );
    let begun: Vec<String> = states(dir).into_iter().filter(|state| state != "waiting").collect();
    assert_eq!(begun, ["done", "done"], "all others depend on it");
    assert!(files(&stages.join("grpo/outputs/final_model")) != first, "it took fewer steps");
    write(dir, SETTINGS, STAGES);
    let ran = run(dir, &["--from", "grpo", "--until", "grpo"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(files(&stages.join("grpo/outputs/final_model")) == first, "the same again");

    // Another input is refused too, and a file that a stage made may not change.
    let traces = fs::read_to_string(dir.join("traces.jsonl")).unwrap();
    fs::write(dir.join("traces.jsonl"), traces.replace("So.", "Se.")).unwrap();
    let ran = run(dir, &["--resume"]);
    let said = "the stage `sft` was begun with something else: `./traces.jsonl`, its traces, has changed since";
    assert_eq!((ran.code, ran.err.contains(said)), (2, true), "{}", ran.err);
    fs::write(dir.join("traces.jsonl"), traces).unwrap();
    fs::remove_dir_all(stages.join("sft/outputs/final_model")).unwrap();
    let ran = run(dir, &["--resume"]);
    assert_eq!((ran.code, ran.err.contains("which it made, is gone")), (2, true), "{}", ran.err);
}

#[track_caller]
fn refused(dir: &Path, flags: &[&str], expected: &str) {
    let ran = run(dir, flags);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert!(!dir.join("runs/small").exists(), "it was refused before anything began");
}

#[test]
fn a_file_that_cannot_run_is_refused_before_anything_begins() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(dir, SETTINGS, "[[stage]]\nkind = \"sft\"\n");
    refused(dir, &[], "needs traces or rows, and no stage before it makes them");
    write(dir, SETTINGS, "[[stage]]\nkind = \"sft\"\ninput = { traces = \"./t.jsonl\" }\n");
    refused(dir, &[], "there is no `./t.jsonl` to take traces from");
    write(dir, SETTINGS, "[[stage]]\nkind = \"data\"\nembedded = 3\n");
    refused(
        dir,
        &["--resume"],
        "there is no run `runs/small`, so `--resume` has nothing to go on with",
    );
    refused(dir, &["--until", "sft"], "there is no stage `sft`\n  hint: `all.toml` has data");
    write(dir, SETTINGS, "[[stage]]\nkind = \"data\"\n[[stage]]\nkind = \"data\"\n");
    refused(dir, &[], "two stages have this name");
    write(dir, "sed = 1\n", "[[stage]]\nkind = \"data\"\n");
    refused(dir, &[], "all.toml:1:1: `sed`: unknown key");
}

#[test]
fn a_run_of_another_command_is_left_alone() {
    let dir = school();
    let dir = dir.path();
    write(dir, SETTINGS, "[[stage]]\nkind = \"sft\"\ninput = { traces = \"./traces.jsonl\" }\n");
    let sft = ["train", "sft", "--threads=1", "--traces=traces.jsonl", "--run=small"];
    let set = [
        "--set=student.model_name=student",
        "--set=training.max_length=160",
        "--set=training.max_steps=1",
    ];
    let ran = whet_in(dir, &[&sft[..], &set].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(dir, &[]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("exists already, and was not made by `whet run`"), "{}", ran.err);
    let ran = run(dir, &["--run", "other", "--set", "training.max_steps=1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(dir.join("runs/other/stages/sft/outputs/final_model").is_dir());
}
