//! Phaser tasks in a training, an evaluation and a comparison, with the real engine.
//!
//! Phaser is no part of this repository: its package is looked for in `WHET_PHASER_TGZ`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Ran, whet_under};
use crate::tiny_school::{judged, records, steps};

/// Two steps of two groups of eight.
const SMALL: [&str; 10] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=2048",
    "training.max_steps=2",
    "training.per_device_train_batch_size=8",
    "training.gradient_accumulation_steps=2",
    "grpo.num_samples_per_prompt=8",
    "grpo.temperature=0.7",
    "dual_source.teacher_sft_weight=0",
    "dual_source.self_sft_weight=0",
];

const TERMS: [&str; 7] = ["api", "format", "lifecycle", "parse", "plan", "runtime", "task"];
const METRICS: [&str; 4] = ["checks_passed", "clean_run_rate", "parse_rate", "unknown_api_rate"];

/// A folder with Phaser installed, four prompts, mock replies to them and a student; none where Phaser is not at hand.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn folder() -> Option<TempDir> {
    let archives = env::var("WHET_PHASER_TGZ").unwrap_or_default();
    let Some(archive) = archives.split(':').find(|path| !path.is_empty()) else {
        println!("SKIPPED: WHET_PHASER_TGZ names no package of Phaser");
        return None;
    };
    if !judged() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let archive = fs::canonicalize(archive).unwrap();
    done(dir.path(), &["env", "phaser", "install", archive.to_str().unwrap()]);
    let sets =
        ["--out-train=tasks.jsonl", "--out-eval=held.jsonl", "--train-count=4", "--eval-count=2"];
    done(dir.path(), &[&["data", "prompts"], &sets[..]].concat());
    let mock = ["--prompts=tasks.jsonl", "--out=mock.jsonl", "--num-prompts=4", "--group-size=8"];
    done(dir.path(), &[&["rollout", "--mock"], &mock[..]].concat());
    let sizes =
        ["--vocab=600", "--width=16", "--layers=1", "--heads=2", "--kv-heads=1", "--ffn=24"];
    let model = ["model", "new", "student", "--corpus=mock.jsonl", "--context=2048"];
    done(dir.path(), &[&model[..], &sizes[..]].concat());
    Some(dir)
}

fn whet(dir: &Path, args: &[&str]) -> Ran {
    let data = dir.join("data");
    whet_under(dir, args, &[("XDG_DATA_HOME", data.to_str().unwrap())])
}

fn done(dir: &Path, args: &[&str]) -> Ran {
    let ran = whet(dir, args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    ran
}

fn train(dir: &Path, run: &str, flags: &[&str]) {
    let settings: Vec<String> = SMALL.iter().map(|set| format!("--set={set}")).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let train = ["train", "grpo", "--threads=1", "--tasks=tasks.jsonl", "--run", run];
    done(dir, &[&train[..], &settings, flags].concat());
}

/// The metrics of the steps of a run.
fn metrics(dir: &Path, run: &str) -> Vec<Value> {
    let events = records(&dir.join("runs").join(run).join("events.jsonl"));
    let metrics = events.into_iter().filter(|event| event["type"] == "metrics");
    metrics.map(|event| event["values"].clone()).collect()
}

#[test]
fn a_student_is_trained_on_games_in_groups_of_eight() {
    let Some(dir) = folder() else { return };
    let dir = dir.path();
    // A student that knows nothing says nothing that is a program: it is sampled, judged and paid 0.
    train(dir, "sampled", &["--set=grpo.max_completion_length=24", "--set=training.max_steps=1"]);
    assert_eq!(steps(dir, "sampled"), [1]);
    let lines = records(&dir.join("runs/sampled/rollouts/rollouts.jsonl"));
    assert_eq!(lines.len(), 16, "two groups of eight");
    let gate = |line: &Value| line["reward"]["gates"]["code"]["passed"].clone();
    assert!(lines.iter().all(|line| line["validation"]["kind"] == "phaser" && gate(line) == false));
    let of = &metrics(dir, "sampled")[0];
    assert_eq!(
        (&of["grpo/mean_reward"], &of["phaser/parse_rate"]),
        (&0.0.into(), &0.0.into()),
        "{of}"
    );
    // The mock replies have every quality, so their groups teach something.
    done(dir, &["score", "mock.jsonl", "--prompts=tasks.jsonl", "--out=scored.jsonl"]);
    train(dir, "learnt", &["--rollouts=scored.jsonl", "--set=grpo.max_completion_length=900"]);
    assert_eq!(steps(dir, "learnt"), [1, 2]);
    for of in metrics(dir, "learnt") {
        for name in TERMS.map(|term| format!("reward/{term}")) {
            assert!(
                of[&name].as_f64().is_some_and(|paid| (0.0..=0.25).contains(&paid)),
                "{name}: {of}"
            );
        }
        for name in METRICS.map(|metric| format!("phaser/{metric}")) {
            assert!(
                of[&name].as_f64().is_some_and(|rate| (0.0..=1.0).contains(&rate)),
                "{name}: {of}"
            );
        }
        assert!(of["grpo/grad_norm"].as_f64().unwrap() > 0.0, "{of}");
        assert!(of["phaser/parse_rate"].as_f64().unwrap() > 0.5, "most mock replies parse: {of}");
    }
    done(dir, &["report", "learnt", "--tasks=tasks.jsonl"]);
}

#[test]
fn an_evaluation_of_games_has_their_rates_and_compares_them() {
    let Some(dir) = folder() else { return };
    let dir = dir.path();
    let samples =
        ["eval", "--tasks=tasks.jsonl", "--k=1", "--samples=mock.jsonl", "--out=measured"];
    let ran = done(dir, &samples);
    for row in [
        "solved within 1 turn",
        "reward",
        "parse rate",
        "unknown API rate",
        "clean run rate",
        "checks passed",
    ] {
        assert!(ran.out.contains(&format!("\n  {row} ")), "{row}\n{}", ran.out);
    }
    assert!(!ran.out.contains("\n  turns "), "every episode has one: {}", ran.out);
    let text = fs::read_to_string(dir.join("measured/evaluation_results.json")).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    let rate = |name: &str| results["episodes"]["means"][&format!("phaser/{name}")].clone();
    // Counted again from the samples.
    let lines = fs::read_to_string(dir.join("measured/rollouts.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let parsed =
        lines.iter().filter(|line| line["validation"]["facts"]["parse"]["ok"] == true).count();
    let expected = f64::from(u32::try_from(parsed).unwrap()) / 32.0;
    assert!(
        (rate("parse_rate")["value"].as_f64().unwrap() - expected).abs() < 1e-9,
        "{expected}: {results}"
    );
    assert_eq!(rate("checks_passed")["tasks"], 4);
    assert!(
        results["by_source"].as_object().unwrap().keys().all(|name| name.starts_with("phaser/"))
    );
    let same = done(dir, &["eval", "compare", "measured", "measured"]);
    assert!(
        same.out.contains("checks passed") && same.out.contains("unknown API rate"),
        "{}",
        same.out
    );
    done(dir, &["report", "measured", "--tasks=tasks.jsonl"]);
}
