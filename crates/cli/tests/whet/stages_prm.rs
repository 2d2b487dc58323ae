//! `whet run` with a process reward model that pays a later stage.

use std::fs;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::records;
use crate::train_prm::episodes;

const STAGES: &str = r#"
name = "small"
[env]
rules = false
max_turns = 2
[lora]
rank = 4
[prm]
batch_size = 8
learning_rate = 1e-2
held_out_fraction = 0.25
[grpo]
num_samples_per_prompt = 2
max_completion_length = 8
[dual_source]
teacher_sft_weight = 0.0
self_sft_weight = 0.0
[training]
max_steps = 1
max_length = 3072
per_device_train_batch_size = 4
gradient_accumulation_steps = 1

[[stage]]
kind = "data"
solver = 10
solver_options = { injections = ["row"], conflicts = [1, 1], size = [1, 1], views = ["lp"] }
[[stage]]
kind = "new_model"
vocab = 300
width = 16
layers = 1
heads = 2
kv_heads = 1
ffn = 24
context = 4096
[[stage]]
kind = "prm"
input = { rollouts = "./episodes.jsonl" }
[[stage]]
kind = "grpo"
"#;

#[test]
fn a_process_reward_model_of_a_stage_pays_the_next() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("all.toml"), STAGES).unwrap();
    fs::write(dir.path().join("episodes.jsonl"), episodes(24, "a")).unwrap();
    let ran = whet_in(dir.path(), &["run", "all.toml", "--json", "--threads=1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let end: Value = serde_json::from_str(&ran.out).unwrap();
    let prm = &end["stages"][2];
    let figures = prm["figures"].as_array().unwrap();
    let named = |name: &str| figures.iter().find(|figure| figure["name"] == name).unwrap();
    for name in ["held-out AUC", "calibration error"] {
        assert!(named(name)["interval"].is_array(), "{figures:?}");
    }
    assert!(named("labels that the end contradicts")["value"].is_number());
    let stages = dir.path().join("runs/small/stages");
    let events = records(&stages.join("grpo/events.jsonl"));
    let metrics = events.iter().find(|event| event["type"] == "metrics").unwrap();
    let keys: Vec<&String> = metrics["values"].as_object().unwrap().keys().collect();
    assert!(keys.iter().any(|key| key.contains("process")), "{keys:?}");

    // Without a weight it is not taken, and that is another stage than the one that was begun.
    let other = ["run", "all.toml", "--set", "grpo:reward.process_weight=0"];
    let ran = whet_in(dir.path(), &other);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("the stage `grpo` was begun with something else"), "{}", ran.err);
}
