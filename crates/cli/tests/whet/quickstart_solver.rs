//! `whet quickstart --recipe solver` from one end to the other, small, killed on the way and resumed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::files;
use crate::train_kill::start;

/// Few problems, a tiny model, a step of each training; replies of the evaluations are cut off soon.
const SMALL: [&str; 18] = [
    "data:solver=24",
    "data:val_fraction=0.25",
    "new_model:vocab=300",
    "new_model:width=16",
    "new_model:layers=1",
    "new_model:heads=2",
    "new_model:kv_heads=1",
    "new_model:ffn=24",
    "training.max_length=2048",
    "new_model:context=4096",
    "sft:training.max_steps=2",
    "sft:training.per_device_train_batch_size=2",
    "grpo:training.max_steps=1",
    "grpo:training.per_device_train_batch_size=4",
    "grpo:training.gradient_accumulation_steps=1",
    "env.max_turns=3",
    "grpo.max_completion_length=8",
    "eval.num_samples=1",
];

fn args(flags: &[&str]) -> Vec<String> {
    let all = ["quickstart", "--recipe", "solver", "--json", "--threads=1"];
    let set = SMALL.iter().flat_map(|&set| ["--set", set]);
    all.into_iter().chain(set).chain(flags.iter().copied()).map(str::to_owned).collect()
}

fn quickstart(dir: &Path, flags: &[&str]) -> Value {
    let args = args(flags);
    let ran = whet_in(dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// Whether the record of a run holds a stage in this state.
fn is_reached(dir: &Path, name: &str, state: &str) -> bool {
    let text = fs::read(dir.join("runs/solver/stages.json")).unwrap_or_default();
    let stages: Value = serde_json::from_slice(&text).unwrap_or_default();
    let stages = stages["stages"].as_array().cloned().unwrap_or_default();
    stages.iter().any(|stage| stage["name"] == name && stage["state"] == state)
}

/// Kills a quickstart as soon as a stage was begun.
fn kill_in(dir: &Path, stage: &str, flags: &[&str]) {
    let mut child = start(dir, &args(flags));
    while !is_reached(dir, stage, "begun") {
        assert!(child.try_wait().unwrap().is_none(), "it came to an end before `{stage}`");
        thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn has_interval(of: &Value) -> bool {
    let has = |part: &str| of[part]["low"].is_number() && of[part]["high"].is_number();
    ["before", "after", "difference"].into_iter().all(has)
}

#[test]
fn a_new_model_ends_with_grpo_compared_with_sft_however_often_it_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    for dir in [&whole, &cut] {
        fs::create_dir(dir).unwrap();
    }
    let report = quickstart(&whole, &["--seed=7"]);
    let stages = report["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().filter_map(|stage| stage["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "data",
            "teach",
            "new_model",
            "sft",
            "sft-eval",
            "grpo",
            "grpo-eval",
            "trivial-eval",
            "expert-eval"
        ]
    );
    assert!(stages.iter().all(|stage| stage["state"] == "done"), "{stages:?}");
    assert_eq!((&report["seed"], &report["comparison"]["tasks"]), (&7.into(), &6.into()));
    for (side, stage) in [("before", "stages/sft/"), ("after", "stages/grpo/")] {
        let model = report["comparison"][side].as_str().unwrap();
        assert!(model.contains(stage), "{side} is {model}");
    }
    let episodes = &report["comparison"]["episodes"];
    assert!(has_interval(&episodes["solved_within"]["3"]), "{episodes}");
    for mean in ["reward", "turns", "solver/optimum_kept", "solver/invalid"] {
        assert!(has_interval(&episodes["means"][mean]), "{mean}: {episodes}");
    }
    let decodings: Vec<&String> =
        report["comparison"]["reward_by_temperature"].as_object().unwrap().keys().collect();
    assert_eq!(decodings, ["T=1", "T=0.6", "greedy"]);
    let policy = |name: &str| report["policies"][name]["reward"]["value"].as_f64().unwrap();
    assert!(policy("expert") > 0.99, "{report}");
    // A model of a few hundred numbers earns less than dropping rows: that is what the claim is over.
    let claim = &report["claim"];
    assert_eq!((&claim["over"], &claim["gain"]["before"]), (&"trivial".into(), &"greedy".into()));
    let gain = claim["gain"]["gain"]["before"]["value"].as_f64().unwrap();
    assert!((gain - policy("trivial")).abs() < 1e-12 && gain < policy("expert"), "{claim}");
    let saved = fs::read(whole.join("runs/solver/solver.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&saved).unwrap(), report);

    for (at, stage) in ["teach", "new_model", "sft", "grpo", "grpo-eval"].into_iter().enumerate() {
        let resume: &[&str] = if at == 0 { &["--seed=7"] } else { &["--seed=7", "--resume"] };
        kill_in(&cut, stage, resume);
    }
    let resumed = quickstart(&cut, &["--seed=7", "--resume"]);
    assert_eq!(resumed["comparison"]["episodes"], *episodes);
    let made = |dir: &Path, what: &str| files(&dir.join("runs/solver/stages").join(what));
    for what in ["new_model/model", "grpo/outputs/final_model"] {
        assert!(made(&cut, what) == made(&whole, what), "{what} differs");
    }
    // Everything is done: a resumed run repeats its report.
    assert_eq!(quickstart(&cut, &["--seed=7", "--resume"]), resumed);

    let other = args(&["--seed=8", "--resume"]);
    let other = whet_in(&cut, &other.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(other.code, 2, "{}", other.err);
    assert!(other.err.contains("`data` was begun with something else"), "{}", other.err);
}

#[test]
fn another_seed_draws_other_problems_and_another_model() {
    let dir = tempfile::tempdir().unwrap();
    for seed in ["1", "2"] {
        let (run, seed) = (format!("--run=s{seed}"), format!("--seed={seed}"));
        quickstart(dir.path(), &[&run, &seed, "--set=eval.num_samples=1"]);
    }
    for file in ["data/train.jsonl", "data/val.jsonl", "new_model/model/model.safetensors"] {
        let [one, other] = ["s1", "s2"].map(|run| {
            fs::read(dir.path().join("runs").join(run).join("stages").join(file)).unwrap()
        });
        assert!(one != other, "{file} is the same");
    }
}

#[test]
fn a_dry_run_tries_the_stages_with_an_untrained_model_of_the_planned_size() {
    let dir = tempfile::tempdir().unwrap();
    let plan = quickstart(dir.path(), &["--dry-run"]);
    let stages = plan["stages"].as_array().unwrap();
    for name in ["sft", "sft-eval", "grpo", "grpo-eval"] {
        let stage = stages.iter().find(|stage| stage["name"] == name).unwrap();
        let reads = stage["plan"]["reads"].to_string();
        assert!(reads.contains("_new-models/new_model"), "{name} reads {reads}");
    }
    assert!(!dir.path().join("runs").exists());
}
