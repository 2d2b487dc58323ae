//! Samples of the small student, and trainings that learn from rollouts alone.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};

/// What makes it small, and learns from rollouts alone.
const SMALL: [&str; 8] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=160",
    "training.per_device_train_batch_size=2",
    "training.gradient_accumulation_steps=2",
    "training.learning_rate=1e-3",
    "dual_source.teacher_sft_weight=0",
    "grpo.temperature=1.0",
];

/// Learns in a new run, with these flags.
pub(crate) fn learn(dir: &Path, run: &str, flags: &[&str]) -> Ran {
    whet_in(dir, &args(run, flags).iter().map(String::as_str).collect::<Vec<_>>())
}

/// The same as arguments.
pub(crate) fn args(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all: Vec<String> =
        ["train", "grpo", "--threads=1", "--run", run].map(str::to_owned).to_vec();
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]));
    }
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    all
}

/// Samples of the student with their tokens, judged, in `sampled/rollouts.jsonl`; and their texts alone, in
/// `bare.jsonl`.
pub(crate) fn sampled(dir: &Path) {
    let eval = [
        "eval",
        "--model=student",
        "--tasks=tasks.jsonl",
        "--out=sampled",
        "--threads=1",
        "--num-samples=4",
        "--temperature=1.0",
        "--max-tokens=32",
        "--keep-tokens",
        "--k=1",
    ];
    let ran = whet_in(dir, &eval);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = fs::read_to_string(dir.join("sampled/rollouts.jsonl")).expect("as it was written");
    let bare: String = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("as it was written");
            for field in ["validation", "reward", "advantage"] {
                line.as_object_mut().expect("as it was written").remove(field);
            }
            let is_greedy = line["meta"]["greedy"] == true;
            line["meta"] = serde_json::json!({"temperature": 1.0});
            if is_greedy { String::new() } else { format!("{line}\n") }
        })
        .collect();
    fs::write(dir.join("bare.jsonl"), bare).expect("as it was written");
}
