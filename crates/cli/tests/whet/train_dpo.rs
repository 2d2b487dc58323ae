//! `whet train dpo`: a student trained on a file of pairs, killed and resumed, as a stage, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;
use whetstone_core::seed::Seed;

use crate::binary::whet_in;
use crate::tiny_school::{files, school, steps};
use crate::train_kill::start;
use crate::train_rm::{done, kill_when, measured, pairs, run};

const KILLS: u64 = 8;
const STEPS: u64 = 60;
const FINAL: &str = "runs/dpo/outputs/final_model";

/// What makes a training small.
const SMALL: [&str; 6] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=160",
    "dpo.batch_size=4",
    "dpo.learning_rate=1e-2",
    "dpo.held_out_fraction=0.25",
];

/// The command line of a training, with these flags more.
fn dpo(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = vec!["train", "dpo", "--threads=1", "--run", run];
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| ["--set", *set]));
        if !flags.iter().any(|flag| flag.starts_with("--pairs")) {
            all.push("--pairs=pairs.jsonl");
        }
    }
    all.extend(flags);
    all.into_iter().map(str::to_owned).collect()
}

/// The value of a metric in the last step that measured it.
fn last(dir: &Path, run: &str, name: &str) -> f64 {
    let steps = measured(&dir.join("runs").join(run));
    steps.iter().filter_map(|step| step[1][name].as_f64()).next_back().expect("it was measured")
}

#[test]
fn a_student_learns_an_order_and_says_what_comes_next() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("pairs.jsonl"), pairs(80)).expect("a file");
    let planned = done(dir.path(), &dpo("dpo", &["--dry-run", "--json"]));
    let plan: Value = serde_json::from_str(&planned.out).expect("JSON");
    assert_eq!(
        (&plan["counts"]["pairs"], &plan["counts"]["held_out_pairs"]),
        (&60.into(), &20.into())
    );
    assert!(plan["memory_mib"]["to train"].is_u64() && plan["estimate"].is_string(), "{plan}");
    assert!(!at("runs/dpo").exists());

    let flags = ["--json", "--set", "training.max_steps=40"];
    let ran = done(dir.path(), &dpo("dpo", &flags));
    let said: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(ran.err.contains("the reference is the student without its adapter"), "{}", ran.err);
    assert!(said["next"].to_string().contains("whet eval --tasks"), "{said}");
    let held_out = said["summary"]["held_out"].as_array().expect("measurements");
    assert_eq!(held_out[0]["metric"], "dpo/held_out_accuracy");
    assert_eq!(held_out[0]["last"], 1.0, "{said}");
    let low = last(dir.path(), "dpo", "dpo/held_out_accuracy_low");
    assert!(low > 0.5 && low < 1.0, "an interval by prompt: {low}");
    let card = fs::read_to_string(at(FINAL).join("README.md")).expect("a card");
    assert!(card.contains("Trained with the stage `dpo`"), "{card}");
    assert!(card.contains("pipeline_tag: text-generation\n"), "{card}");
    let ran = whet_in(dir.path(), &["report", "runs/dpo"]);
    assert_eq!(ran.code, 0, "{}", ran.err);

    // TRL's names, and the other losses.
    let trl = ["--set=dpo.loss_type=sigmoid", "--set=training.max_steps=40"];
    done(dir.path(), &dpo("trl", &trl));
    let adapter = |run: &str| {
        let dir = at("runs").join(run).join("outputs/final_model");
        fs::read(dir.join("adapter_model.safetensors")).expect("a file")
    };
    assert!(adapter("trl") == adapter("dpo"), "other names of the same settings");
    for (loss, beta) in [("ipo", "0.5"), ("simpo", "4")] {
        let sets = [format!("--set=dpo.loss={loss}"), format!("--set=dpo.beta={beta}")];
        let flags = [sets[0].as_str(), sets[1].as_str(), "--set=training.max_steps=40"];
        done(dir.path(), &dpo(loss, &flags));
        let accuracy = last(dir.path(), loss, "dpo/held_out_accuracy");
        assert!(accuracy > 0.9, "{loss}: {accuracy}");
    }
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_bytes() {
    let dir = school();
    fs::write(dir.path().join("pairs.jsonl"), pairs(80)).expect("a file");
    let set = format!("--set=training.max_steps={STEPS}");
    let flags = [set.as_str(), "--set=training.save_steps=3", "--set=dpo.eval_steps=7"];
    done(dir.path(), &dpo("whole", &flags));
    let runs = dir.path().join("runs");
    let written =
        |run: &str| fs::metadata(runs.join(run).join("events.jsonl")).map_or(0, |meta| meta.len());
    let total = written("whole");
    let mut killed = 0;
    for kill in 0..KILLS {
        let all = if kill == 0 { dpo("cut", &flags) } else { dpo("cut", &["--resume"]) };
        let chance = Seed::new(5).derive("kill", kill).get() % 1000;
        let target = total * 7 * (1000 * kill + chance) / (10 * 1000 * KILLS);
        let there = runs.join("cut/inputs/inputs.json");
        let is_so = || there.exists() && written("cut") > target;
        killed += u64::from(kill_when(start(dir.path(), &all), is_so));
    }
    assert!(killed >= KILLS / 2, "{killed} of {KILLS} kills came in time");
    done(dir.path(), &dpo("cut", &["--resume"]));
    let model = |run: &str| files(&runs.join(run).join("outputs/final_model"));
    assert!(model("whole") == model("cut"), "the models differ");
    assert_eq!(steps(dir.path(), "cut"), (1..=STEPS).collect::<Vec<_>>());
    assert_eq!(measured(&runs.join("whole")), measured(&runs.join("cut")));
}

#[test]
fn a_run_begins_with_the_adapter_of_another_training_as_its_reference() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("pairs.jsonl"), pairs(40)).expect("a file");
    let stages = r#"
name = "small"
[student]
model_name = "student"
[lora]
rank = 4
[training]
max_steps = 3
max_length = 160
[dpo]
batch_size = 4
held_out_fraction = 0.25
[[stage]]
kind = "sft"
input = { traces = "./traces.jsonl" }
[[stage]]
kind = "dpo"
input = { pairs = "./pairs.jsonl" }
"#;
    fs::write(at("all.toml"), stages).expect("a file");
    let ran = whet_in(dir.path(), &["run", "all.toml", "--threads=1", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = whet_in(dir.path(), &["run", "all.toml", "--threads=1", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let end: Value = serde_json::from_str(&ran.out).expect("JSON");
    let names: Vec<&str> = end["stages"][1]["figures"]
        .as_array()
        .expect("figures")
        .iter()
        .filter_map(|figure| figure["name"].as_str())
        .collect();
    assert_eq!(names, ["steps", "loss", "held-out accuracy", "lead of the chosen reply"]);
    let stage = at("runs/small/stages/dpo");
    let steps = measured(&stage);
    let loss = steps[0][1]["dpo/loss"].as_f64().expect("a loss");
    assert!((loss - std::f64::consts::LN_2).abs() < 1e-9, "it begins at its reference: {loss}");
    let inputs = fs::read_to_string(stage.join("inputs/inputs.json")).expect("a file");
    assert!(inputs.contains("sft/outputs/final_model/adapter_model.safetensors"), "{inputs}");
    let adapter = |dir: &str| {
        fs::read(at("runs/small/stages").join(dir).join("adapter_model.safetensors"))
            .expect("a file")
    };
    assert!(
        adapter("dpo/outputs/final_model/reference") == adapter("sft/outputs/final_model"),
        "the reference is the SFT adapter"
    );
    // All weights cannot begin with an adapter.
    let flags = ["--from=runs/small/stages/sft", "--set=training.train=full"];
    let ran = run(dir.path(), &dpo("full", &flags));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("merge it first with `whet export"), "{}", ran.err);
}

#[test]
fn what_cannot_be_learnt_from_is_refused_by_a_sentence_before_a_run_begins() {
    let dir = school();
    let at = |name: &str| dir.path().join(name);
    let good = pairs(8);
    let lines: Vec<&str> = good.lines().collect();
    let check = |text: &str, flags: &[&str], says: &str| {
        fs::write(at("bad.jsonl"), text).expect("a file");
        let ran = run(dir.path(), &dpo("dpo", &[&["--pairs=bad.jsonl"], flags].concat()));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(!at("runs/dpo").exists());
    };
    let changed = |from: &str, to: &str| {
        assert!(lines[0].contains(from), "{}", lines[0]);
        format!("{}\n{}\n", lines[1], lines[0].replacen(from, to, 1))
    };
    // Refused before a model is looked for: no model has that name.
    let no_model = ["--set=student.model_name=nowhere"];
    check(&changed(",\"rejected\":\"abc 0\"", ""), &no_model, "bad.jsonl:2: ");
    check(&changed("abc 0", "abc 1"), &no_model, "it is the same text as `chosen`");
    check(&changed("abc 1", " "), &no_model, "field `chosen`: it is empty");
    check("{\"prompt\":\"p\",\"completion\":\"c\"}\n", &no_model, "bad.jsonl:1:");
    check("{\"prompt\":\"p\"}\n", &no_model, "`whet data pairs --pairs FILE` converts pairs");
    check("", &no_model, "`bad.jsonl` has no preference pairs");
    check(&format!("{}\n", lines[0]), &no_model, "all 1 pairs are of one prompt");
    check(&good, &["--held-out-pairs=bad.jsonl"], "its task `t/0` is also one of `bad.jsonl`");
    check(&good, &["--set=training.max_length=5"], "none is left");
    let smoothed = ["--set=dpo.loss=ipo", "--set=dpo.label_smoothing=0.1"];
    check(&good, &smoothed, "only the loss `dpo` has a probability of wrong labels");
    check(&good, &["--set=dpo.beta=0"], "dpo.beta");
    // One pair of eight is too long: it is counted, and the others are learnt from.
    let long = changed("abc 1", &"abc ".repeat(60)) + &lines[2..].join("\n") + "\n";
    fs::write(at("bad.jsonl"), long).expect("a file");
    let flags = ["--pairs=bad.jsonl", "--dry-run", "--set=dpo.held_out_fraction=0.5"];
    let ran = done(dir.path(), &dpo("dpo", &flags));
    assert!(ran.err.contains("1 longer than 160 tokens"), "{}", ran.err);
}
