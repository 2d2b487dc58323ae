//! `whet train rm` and `whet model score`: a reward model from a file of pairs, killed and resumed, and what
//! is refused.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;

use serde_json::{Value, json};
use whetstone_core::seed::Seed;

use crate::binary::{Ran, whet_in};
use crate::tiny_school::{files, judged, records, school, steps};
use crate::train_kill::start;

const KILLS: u64 = 10;
const STEPS: u64 = 80;
const FINAL: &str = "runs/rm/outputs/final_model";

/// What makes a training small.
const SMALL: [&str; 6] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=160",
    "rm.batch_size=4",
    "rm.learning_rate=1e-2",
    "rm.held_out_fraction=0.25",
];

/// Pairs of forty tasks: the better reply has a `1` where the other has a `0`.
pub(crate) fn pairs(count: usize) -> String {
    let line = |at: usize| {
        let rest = &"abcdefgh"[at % 5..at % 5 + 3];
        let pair = json!({
            "v": 1,
            "id": format!("p/{at}"),
            "task_id": format!("t/{}", at / 2),
            "prompt": [{"role": "user", "content": format!("task {at}")}],
            "chosen": format!("{rest} 1"),
            "rejected": format!("{rest} 0"),
            "margin": 0.5,
            "origin": "test",
        });
        format!("{pair}\n")
    };
    (0..count).map(line).collect()
}

/// The command line of a training, with these flags more.
fn rm(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = vec!["train", "rm", "--threads=1", "--run", run];
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| ["--set", *set]));
        if !flags.iter().any(|flag| flag.starts_with("--pairs")) {
            all.push("--pairs=pairs.jsonl");
        }
    }
    all.extend(flags);
    all.into_iter().map(str::to_owned).collect()
}

/// Runs a command line.
pub(crate) fn run(dir: &Path, all: &[String]) -> Ran {
    whet_in(dir, &all.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a command line that succeeds.
pub(crate) fn done(dir: &Path, all: &[String]) -> Ran {
    let ran = run(dir, all);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran
}

#[test]
fn a_reward_model_comes_out_with_what_it_is_worth_and_scores_other_pairs() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("pairs.jsonl"), pairs(80)).expect("a file");
    let planned = done(dir.path(), &rm("rm", &["--dry-run", "--json"]));
    let plan: Value = serde_json::from_str(&planned.out).expect("JSON");
    assert_eq!(
        (&plan["counts"]["pairs"], &plan["counts"]["held_out_pairs"]),
        (&60.into(), &20.into())
    );
    assert!(!at("runs/rm").exists());

    let flags = ["--json", "--set", "training.max_steps=40"];
    let ran = done(dir.path(), &rm("rm", &flags));
    let said: Value = serde_json::from_str(&ran.out).expect("JSON");
    let facts = &said["reward_model"];
    assert_eq!(facts["pairs"], 60);
    assert_eq!(facts["held_out"]["accuracy"]["value"], 1.0, "{facts}");
    assert!(
        ran.err.contains("100.0 % of 20 pairs on 10 prompts are in the right order"),
        "{}",
        ran.err
    );
    let card = fs::read_to_string(at(FINAL).join("README.md")).expect("a card");
    assert!(card.contains("pipeline_tag: text-classification\n"), "{card}");
    assert!(card.contains("- accuracy on all held-out data: "), "{card}");
    let text = fs::read_to_string(at(FINAL).join("reward_model.json")).expect("a file");
    assert_eq!(facts, &serde_json::from_str::<Value>(&text).expect("JSON"));
    let adapter = fs::read_to_string(at(FINAL).join("adapter_config.json")).expect("a file");
    assert!(adapter.contains("SEQ_CLS"), "{adapter}");

    fs::write(at("others.jsonl"), pairs(10)).expect("a file");
    let score = ["model", "score", "runs/rm", "--pairs=others.jsonl", "--threads=1"];
    let ran = whet_in(dir.path(), &[&score[..], &["--out=scores.jsonl", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let measured: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(measured["measured"]["pairs"], 10);
    let lines = fs::read_to_string(at("scores.jsonl")).expect("a file");
    assert_eq!(lines.lines().count(), 10);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(line["chosen"].as_f64() > line["rejected"].as_f64(), "{line}");
    }
    let ran = whet_in(dir.path(), &score);
    assert!(ran.out.starts_with("100.0 % of 10 pairs on 5 prompts"), "{}", ran.out);

    // Another base, with the same shapes.
    for file in ["adapter_config.json", "base_model.json"] {
        let path = at(FINAL).join(file);
        if let Ok(text) = fs::read_to_string(&path) {
            let text = text.replace("/student\"", "/model\"").replace("\"student\"", "\"model\"");
            fs::write(path, text).expect("a file");
        }
    }
    let ran = whet_in(dir.path(), &score);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("the two have the same shapes, but different weights"), "{}", ran.err);
}

/// The same reward model with another figure of its training: 15 of 20 pairs, and an interval that reaches down to chance.
#[test]
fn a_reward_model_that_is_no_better_than_chance_pays_only_if_it_is_accepted() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("pairs.jsonl"), pairs(80)).expect("a file");
    done(dir.path(), &rm("rm", &["--set", "training.max_steps=40"]));
    let plan = |stage: &str, flags: &[&str]| {
        let all = ["train", stage, "--threads=1", "--dry-run", "--run=r", "--tasks=tasks.jsonl"];
        let small = SMALL[..3].iter().flat_map(|set| ["--set", *set]);
        let more = ["--set=reward.model=runs/rm", "--set=dual_source.teacher_sft_weight=0"];
        let more = more.iter().chain(flags).copied();
        whet_in(dir.path(), &all.into_iter().chain(small).chain(more).collect::<Vec<_>>())
    };
    let limits = ["--set=ppo.max_completion_length=32", "--set=grpo.max_completion_length=32"];
    for stage in ["ppo", "grpo"] {
        let ran = plan(stage, &limits);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let path = dir.path().join(FINAL).join("reward_model.json");
    let text = fs::read_to_string(&path).expect("a file");
    let mut facts: Value = serde_json::from_str(&text).expect("JSON");
    facts["held_out"]["accuracy"] = json!({"value": 0.75, "low": 0.48, "high": 0.91});
    fs::write(&path, facts.to_string()).expect("a file");
    for stage in ["ppo", "grpo"] {
        let refused = plan(stage, &limits);
        assert_eq!(refused.code, 2, "{}", refused.err);
        let says =
            "is not clearly better than chance: 75.0 % of 20 held-out pairs are in the right order";
        assert!(refused.err.contains(says), "{}", refused.err);
        assert!(refused.err.contains("--accept-weak-reward-model"), "{}", refused.err);
        let accepted = plan(stage, &[&limits[..], &["--accept-weak-reward-model"]].concat());
        assert_eq!(accepted.code, 0, "{}", accepted.err);
    }
}

#[test]
fn a_run_begins_with_the_adapter_of_another_training_or_its_own_checkpoint() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("pairs.jsonl"), pairs(40)).expect("a file");
    let sft = ["train", "sft", "--threads=1", "--run=sft", "--traces=traces.jsonl"];
    let small = SMALL[..3].iter().flat_map(|set| ["--set", *set]);
    let all: Vec<&str> =
        sft.into_iter().chain(small).chain(["--set=training.max_steps=1"]).collect();
    let ran = whet_in(dir.path(), &all);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let steps_set = "--set=training.max_steps=2";
    done(dir.path(), &rm("rm", &["--from=runs/sft", steps_set]));
    let inputs = fs::read_to_string(at("runs/rm/inputs/inputs.json")).expect("a file");
    assert!(inputs.contains("runs/sft/outputs/final_model/adapter_model.safetensors"), "{inputs}");
    done(dir.path(), &rm("plain", &[steps_set]));
    let model = |run: &str| files(&at("runs").join(run).join("outputs/final_model"));
    assert!(model("rm") != model("plain"));
    // Its own checkpoint is gone on from.
    let from = "--from=runs/rm/outputs/final_model";
    done(dir.path(), &rm("more", &[from, "--set=training.max_steps=3"]));
    assert_eq!(steps(dir.path(), "more"), [3]);
}

/// Kills a child when something is so; says whether it still ran.
pub(crate) fn kill_when(mut child: Child, mut is_so: impl FnMut() -> bool) -> bool {
    loop {
        if child.try_wait().expect("it was started here").is_some() {
            return false;
        }
        if is_so() {
            child.kill().expect("it still runs");
            child.wait().expect("it was started here");
            return true;
        }
        thread::yield_now();
    }
}

/// Measurements of every step, without what clocks say.
pub(crate) fn measured(run: &Path) -> Vec<Value> {
    let metrics = records(&run.join("events.jsonl")).into_iter();
    let plain = |mut event: Value| {
        let values = event["values"].as_object_mut().expect("measurements");
        values.retain(|name, _| !name.starts_with("time/"));
        json!([event["step"], event["values"]])
    };
    metrics.filter(|event| event["type"] == "metrics").map(plain).collect()
}

#[test]
fn killed_ten_times_it_ends_with_the_same_bytes() {
    let dir = school();
    fs::write(dir.path().join("pairs.jsonl"), pairs(80)).expect("a file");
    let set = format!("--set=training.max_steps={STEPS}");
    let flags = [set.as_str(), "--set=training.save_steps=3", "--set=rm.eval_steps=7"];
    done(dir.path(), &rm("whole", &flags));
    let runs = dir.path().join("runs");
    let written =
        |run: &str| fs::metadata(runs.join(run).join("events.jsonl")).map_or(0, |meta| meta.len());
    let total = written("whole");
    let mut killed = 0;
    for kill in 0..KILLS {
        let all = if kill == 0 { rm("cut", &flags) } else { rm("cut", &["--resume"]) };
        let chance = Seed::new(5).derive("kill", kill).get() % 1000;
        let target = total * 7 * (1000 * kill + chance) / (10 * 1000 * KILLS);
        let there = runs.join("cut/inputs/inputs.json");
        let is_so = || there.exists() && written("cut") > target;
        killed += u64::from(kill_when(start(dir.path(), &all), is_so));
    }
    assert!(killed >= KILLS / 2, "{killed} of {KILLS} kills came in time");
    done(dir.path(), &rm("cut", &["--resume"]));
    let model = |run: &str| files(&runs.join(run).join("outputs/final_model"));
    let names: Vec<String> =
        model("whole").iter().map(|(name, _)| name.display().to_string()).collect();
    assert!(names.contains(&"reward_model.json".to_owned()), "{names:?}");
    assert!(model("whole") == model("cut"), "the reward models differ");
    assert_eq!(steps(dir.path(), "cut"), (1..=STEPS).collect::<Vec<_>>());
    assert_eq!(measured(&runs.join("whole")), measured(&runs.join("cut")));
}

#[test]
fn what_cannot_be_learnt_from_is_refused_by_a_sentence_before_a_run_begins() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    let good = pairs(8);
    let lines: Vec<&str> = good.lines().collect();
    let check = |text: &str, flags: &[&str], says: &str| {
        fs::write(at("bad.jsonl"), text).expect("a file");
        let ran = run(dir.path(), &rm("rm", &[&["--pairs=bad.jsonl"], flags].concat()));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(!at("runs/rm").exists());
    };
    let changed = |from: &str, to: &str| {
        assert!(lines[0].contains(from), "{}", lines[0]);
        format!("{}\n{}\n", lines[1], lines[0].replacen(from, to, 1))
    };
    check("", &[], "`bad.jsonl` has no preference pairs");
    check("{\"v\":1}\n", &[], "bad.jsonl:1:");
    check(&changed("abc 0", "abc 1"), &[], "bad.jsonl:2: ");
    check(&changed("abc 0", "abc 1"), &[], "it is the same text as `chosen`");
    check(&changed("abc 1", " "), &[], "field `chosen`: it is empty");
    check(&changed("p/0", "p/1"), &[], "its `id` stands in lines 1 and 2 of `bad.jsonl`");
    check(&format!("{}\n", lines[0]), &[], "all 1 pairs are of one prompt");
    check(&good, &["--set=training.train=full"], "leave `training.train` at `lora`");
    check(&good, &["--set=training.max_length=5"], "none is left");
    check(&good, &["--held-out-pairs=bad.jsonl"], "its task `t/0` is also one of `bad.jsonl`");
    check(&good, &["--pairs=nothing.jsonl"], "cannot be used multiple times");
    let ran = run(dir.path(), &rm("rm", &["--pairs=nothing.jsonl"]));
    assert!(ran.err.contains("whet data pairs"), "{}", ran.err);
    fs::write(at("pairs.jsonl"), &good).expect("a file");
    let ran = whet_in(dir.path(), &["model", "score", "student", "--pairs=pairs.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("is not a reward model: it has no `reward_model.json`"),
        "{}",
        ran.err
    );
}
