//! `training.include_thinking`: what is learnt by heart, with and without thinking.

use std::fs;
use std::path::Path;

use crate::binary::whet_in;
use crate::tiny_rollouts::learn;
use crate::tiny_school::{judged, records, school};

/// Tokens that each row of the traces trains, by the settings.
fn trained_tokens(dir: &Path, more: &str) -> String {
    let ran = whet_in(dir, &["doctor", "--model=student", "--set", more]);
    let labels = ran.out.lines().find(|line| line.contains("SFT labels"));
    labels.unwrap_or_else(|| panic!("{}{}", ran.out, ran.err)).to_owned()
}

#[test]
fn thinking_can_be_left_out_of_what_is_learnt_by_heart() {
    if !judged() {
        return;
    }
    let dir = school();
    let with = trained_tokens(dir.path(), "training.include_thinking=true");
    assert!(with.contains("its thinking too"), "{with}");
    let without = trained_tokens(dir.path(), "training.include_thinking=false");
    assert!(
        without.contains("without thinking (`training.include_thinking = false`)"),
        "{without}"
    );
    let count = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "masked,").expect("a count");
        words[at + 1].parse::<usize>().expect("a number")
    };
    assert!(count(&without) < count(&with), "{without}\n{with}");
    // A student that learns the code alone says it without thinking.
    let sft = |run: &str, thinking: &str| {
        let (run, thinking) =
            (format!("--run={run}"), format!("--set=training.include_thinking={thinking}"));
        let all = [
            "train",
            "sft",
            "--traces=traces.jsonl",
            "--threads=1",
            &run,
            &thinking,
            "--set=student.model_name=model",
            "--set=training.train=full",
            "--set=training.max_length=160",
            "--set=training.max_steps=300",
            "--set=training.per_device_train_batch_size=4",
            "--set=training.gradient_accumulation_steps=1",
            "--set=training.learning_rate=0.01",
        ];
        let ran = whet_in(dir.path(), &all);
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    sft("code", "false");
    let eval = [
        "eval",
        "--model=code",
        "--tasks=tasks.jsonl",
        "--out=code-eval",
        "--num-samples=2",
        "--k=1",
        "--max-tokens=32",
        "--threads=1",
    ];
    let ran = whet_in(dir.path(), &eval);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let samples = fs::read_to_string(dir.path().join("code-eval/rollouts.jsonl")).unwrap();
    let says = |what: &str| samples.lines().filter(|line| line.contains(what)).count();
    assert_eq!(says("<think>"), 0, "{samples}");
    assert!(says("```python") > 4, "{samples}");
    // Its own best answers are learnt without thinking too.
    let ran = learn(
        dir.path(),
        "own",
        &[
            "--tasks=tasks.jsonl",
            "--set=training.include_thinking=false",
            "--set=training.max_steps=2",
            "--set=grpo.num_samples_per_prompt=2",
            "--set=grpo.max_completion_length=32",
            "--set=dual_source.self_sft_weight=0.2",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let metrics = records(&dir.path().join("runs/own/events.jsonl"));
    let own = metrics.iter().any(|event| event["values"]["self_sft/loss"].is_number());
    assert!(own, "{metrics:?}");
}
