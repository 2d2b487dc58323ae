//! `whet train prm` and `whet model score --transitions`: a process reward model from files of episodes, killed
//! and resumed, and what is refused.

use std::fs;

use serde_json::{Value, json};
use whetstone_core::seed::Seed;

use crate::binary::whet_in;
use crate::tiny_school::{files, school, steps};
use crate::train_kill::start;
use crate::train_rm::{done, kill_when, run};

const KILLS: u64 = 4;
const STEPS: u64 = 40;
const FINAL: &str = "runs/prm/outputs/final_model";

/// What makes a training small.
const SMALL: [&str; 6] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=160",
    "prm.batch_size=8",
    "prm.learning_rate=1e-2",
    "prm.held_out_fraction=0.25",
];

/// Episodes of two transitions, one of which ends in `+` and is progress; every third is solved.
pub(crate) fn episodes(count: usize, family: &str) -> String {
    let turn = |at: usize, is_progress: bool| {
        let sign = if is_progress { "+" } else { "-" };
        json!({
            "state": format!("n {}", at % 7),
            "action": "act",
            "next_state": sign.repeat(12),
            "valid": true,
            "progress": is_progress,
        })
    };
    let line = |at: usize| {
        let turns = [turn(at, at.is_multiple_of(2)), turn(at + 1, !at.is_multiple_of(2))];
        let line = json!({
            "task_id": format!("{family}/{}", at / 2),
            "text": "reply",
            "validation": {"kind": "guess", "solved": at.is_multiple_of(3), "transitions": turns},
        });
        format!("{line}\n")
    };
    (0..count).map(line).collect()
}

/// The command line of a training, with these flags more.
fn prm(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = vec!["train", "prm", "--threads=1", "--run", run];
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| ["--set", *set]));
        if !flags.iter().any(|flag| flag.starts_with("--rollouts")) {
            all.push("--rollouts=episodes.jsonl");
        }
    }
    all.extend(flags);
    all.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_process_reward_model_comes_out_with_what_it_is_worth_and_scores_other_episodes() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    let unscored = "{\"prompt_id\":\"u/1\",\"text\":\"not scored\"}\n";
    fs::write(at("episodes.jsonl"), format!("{}{unscored}", episodes(60, "a"))).expect("a file");
    fs::write(at("more.jsonl"), episodes(20, "b")).expect("a file");
    fs::write(at("unseen.jsonl"), episodes(30, "c")).expect("a file");
    let planned = done(dir.path(), &prm("prm", &["--dry-run", "--json"]));
    let plan: Value = serde_json::from_str(&planned.out).expect("JSON");
    let counts = &plan["counts"];
    assert_eq!((&counts["transitions"], &counts["held_out_transitions"]), (&88.into(), &32.into()));
    assert!(!at("runs/prm").exists());

    let flags = [
        "--rollouts=more.jsonl",
        "--rollouts=episodes.jsonl",
        "--held-out=unseen.jsonl",
        "--json",
        "--set=training.max_steps=60",
    ];
    let ran = done(dir.path(), &prm("prm", &flags));
    let said: Value = serde_json::from_str(&ran.out).expect("JSON");
    let facts = &said["process_model"];
    assert_eq!(
        (&facts["labels"]["transitions"], &facts["labels"]["positive"]),
        (&160.into(), &80.into())
    );
    assert_eq!(facts["held_out"]["transitions"], 60);
    assert!(facts["held_out"]["auc"]["value"].as_f64() > Some(0.95), "{facts}");
    assert!(ran.err.contains("1 line without transitions, passed over"), "{}", ran.err);
    assert!(
        ran.err.contains("50.0 % have a positive label, 50.0 % a label that the end"),
        "{}",
        ran.err
    );
    let text = fs::read_to_string(at(FINAL).join("process_model.json")).expect("a file");
    assert_eq!(facts, &serde_json::from_str::<Value>(&text).expect("JSON"));

    let score = ["model", "score", "runs/prm", "--transitions=unseen.jsonl", "--threads=1"];
    let ran = whet_in(dir.path(), &[&score[..], &["--out=scores.jsonl", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let measured: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(measured["measured"]["auc"]["value"], facts["held_out"]["auc"]["value"]);
    let lines = fs::read_to_string(at("scores.jsonl")).expect("a file");
    assert_eq!(lines.lines().count(), 30);
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    let probability = |at: usize| first["probabilities"][at].as_f64();
    assert!(probability(0) > probability(1), "{first}");
    let ran = whet_in(dir.path(), &score);
    assert!(ran.out.starts_with("AUC "), "{}", ran.out);
}

#[test]
fn killed_while_it_trains_it_ends_with_the_same_bytes() {
    let dir = school();
    fs::write(dir.path().join("episodes.jsonl"), episodes(60, "a")).expect("a file");
    let set = format!("--set=training.max_steps={STEPS}");
    let flags = [set.as_str(), "--set=training.save_steps=3", "--set=prm.eval_steps=7"];
    done(dir.path(), &prm("whole", &flags));
    let runs = dir.path().join("runs");
    let written =
        |run: &str| fs::metadata(runs.join(run).join("events.jsonl")).map_or(0, |meta| meta.len());
    let total = written("whole");
    let mut killed = 0;
    for kill in 0..KILLS {
        let all = if kill == 0 { prm("cut", &flags) } else { prm("cut", &["--resume"]) };
        let chance = Seed::new(5).derive("kill", kill).get() % 1000;
        let target = total * 7 * (1000 * kill + chance) / (10 * 1000 * KILLS);
        let there = runs.join("cut/inputs/inputs.json");
        let is_so = || there.exists() && written("cut") > target;
        killed += u64::from(kill_when(start(dir.path(), &all), is_so));
    }
    assert!(killed >= KILLS / 2, "{killed} of {KILLS} kills came in time");
    done(dir.path(), &prm("cut", &["--resume"]));
    let model = |run: &str| files(&runs.join(run).join("outputs/final_model"));
    assert!(model("whole") == model("cut"), "the process reward models differ");
    assert_eq!(steps(dir.path(), "cut"), (1..=STEPS).collect::<Vec<_>>());
    // Files that differ from those that the run was started with are refused.
    fs::write(dir.path().join("other.jsonl"), episodes(10, "o")).expect("a file");
    let ran = run(dir.path(), &prm("cut", &["--resume", "--rollouts=other.jsonl"]));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("is not the file that the run was started with"), "{}", ran.err);
}

#[test]
fn what_cannot_be_learnt_from_is_refused_by_a_sentence_before_a_run_begins() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    let good = episodes(8, "a");
    let check = |text: &str, flags: &[&str], says: &str| {
        fs::write(at("bad.jsonl"), text).expect("a file");
        let ran = run(dir.path(), &prm("prm", &[&["--rollouts=bad.jsonl"], flags].concat()));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(!at("runs/prm").exists());
    };
    check("", &[], "`bad.jsonl` has no transitions");
    check("{\"prompt_id\":\"a\"}\n", &[], "none of 1 lines is a scored episode");
    check("{\"v\":1}\n", &[], "bad.jsonl:1: not a scored episode");
    check(&good.replacen("\"valid\":true", "\"valid\":1", 1), &[], "bad.jsonl:1:");
    check(&good.replacen("\"solved\"", "\"solvd\"", 1), &[], "bad.jsonl:1:");
    check(&good[..good.len() - 20], &[], "bad.jsonl:8: ends in the middle of a value");
    check(&episodes(2, "a"), &[], "all 2 episodes are of one task");
    check(&good, &["--held-out=bad.jsonl"], "`a/0` is one of those to learn from too");
    check(&good, &["--set=training.train=full"], "leave `training.train` at `lora`");
    check(&good.replace("\"progress\":false", "\"progress\":true"), &[], "have the same label");
    check(&good, &["--held-out=nothing.jsonl"], "nothing.jsonl: cannot read");
    let ran =
        whet_in(dir.path(), &["train", "prm", "--run=prm", "--set=student.model_name=student"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("name scored rollouts with `--rollouts FILE`"), "{}", ran.err);
    let both = ["--set=reward.model=a", "--set=reward.process=b"];
    check(&good, &both, "leave the other empty");
    let ran = whet_in(dir.path(), &["model", "score", "student", "--transitions=bad.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("it has no `process_model.json`"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["config", "show", "--set=reward.process_weight=0.3"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let step = ["config", "check", "--set=grpo.advantage_by=step", "--set=grpo.ratio=sequence"];
    assert!(whet_in(dir.path(), &step).out.contains("one for each turn"));
}
