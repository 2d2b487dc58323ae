//! `whet quickstart` from one end to the other, small enough to wait for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use whetstone_model::tokenizer::SpecialTokens;

use crate::binary::{Ran, whet_in};

/// Four steps of two tasks, a few tokens each.
const SMALL: [&str; 10] = [
    "training.max_steps=4",
    "training.save_steps=1",
    "training.per_device_train_batch_size=4",
    "training.gradient_accumulation_steps=1",
    "grpo.num_samples_per_prompt=2",
    "grpo.max_completion_length=16",
    "lora.rank=4",
    "eval.k=[1,2]",
    "eval.num_samples=2",
    "quickstart.held_out_tasks=3",
];

fn small(flags: &[&'static str]) -> Vec<&'static str> {
    let settings = SMALL.iter().flat_map(|&set| ["--set", set]);
    ["quickstart", "--json"].into_iter().chain(settings).chain(flags.iter().copied()).collect()
}

fn quickstart(dir: &Path, flags: &[&'static str]) -> Value {
    let ran = whet_in(dir, &small(flags));
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

/// An undisturbed run, on one thread.
static CALM: LazyLock<(TempDir, Value)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a folder");
    let report = quickstart(dir.path(), &["--threads", "1"]);
    (dir, report)
});

fn run(dir: &TempDir) -> std::path::PathBuf {
    dir.path().join("runs/quickstart")
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Everything but how long it took.
fn timeless(report: &Value) -> Value {
    let mut report = report.clone();
    report.as_object_mut().expect("an object").remove("times").expect("times");
    report
}

/// What was learnt, and all that it was learnt from.
fn assert_same(dir: &TempDir, report: &Value) {
    let (calm, expected) = &*CALM;
    assert_eq!(timeless(report), timeless(expected));
    let adapter = "outputs/final_model/adapter_model.safetensors";
    let card = "outputs/final_model/README.md";
    for file in [adapter, card, "train.jsonl", "val.jsonl", "teacher_traces.jsonl"] {
        assert!(fs::read(run(dir).join(file)).unwrap() == fs::read(run(calm).join(file)).unwrap());
    }
    let rollouts = |dir| -> Vec<Value> {
        let mut lines = lines(&run(dir).join("rollouts/rollouts.jsonl"));
        for line in &mut lines {
            line["validation"].as_object_mut().unwrap().remove("cpu_ms");
            line.as_object_mut().unwrap().remove("crc");
        }
        lines
    };
    assert_eq!(rollouts(dir), rollouts(calm));
}

#[test]
fn every_phase_leaves_what_it_made_and_the_report_counts_it() {
    let (dir, report) = &*CALM;
    let run = run(dir);
    let count = |name: &str| lines(&run.join(name)).len();
    assert_eq!((count("train.jsonl"), count("val.jsonl")), (8, 3), "as many as the steps take");
    assert_eq!(report["tasks"], serde_json::json!({"train": 8, "held_out": 3}));
    let traces = lines(&run.join("teacher_traces.jsonl"));
    assert!(traces.len() == 8 && traces.iter().all(|trace| trace["verdict"] == "pass"));
    assert_eq!(report["traces"], serde_json::json!({"judged": 8, "passing": 8}));
    let card = fs::read_to_string(run.join("outputs/final_model/README.md")).unwrap();
    for part in [
        "license: mit\n",
        "# LoRA adapter on `embedded`\n",
        "student.model_name = \"embedded\"\n",
        "\nwhet quickstart --run NAME --config settings.toml\n",
        "before training`: 3 tasks",
        "after training`: 3 tasks",
        "| pass@1, T=0.6 | ",
        "| pass@1, greedy | ",
    ] {
        assert!(card.contains(part), "{part} in {card}");
    }
    assert_eq!(report["training"]["steps"], 4);
    assert_eq!(report["training"]["rollouts"], count("rollouts/rollouts.jsonl"));
    assert_eq!(report["training"]["rollouts"], 16);
    for side in ["before", "after"] {
        let verdicts = report[side]["verdicts"].as_object().unwrap();
        assert_eq!(verdicts.values().filter_map(Value::as_u64).sum::<u64>(), 6, "{verdicts:?}");
        assert_eq!(report[side]["sampled_tokens"], 6 * 16, "no answer is so short");
    }
    assert_ne!(report["before"]["surprise"], report["after"]["surprise"], "it has learnt");
    for k in ["1", "2"] {
        assert_eq!(report["pass_at_k"][k]["difference"]["tasks"], 3);
    }
    let decodings: Vec<&String> = report["by_temperature"].as_object().unwrap().keys().collect();
    assert_eq!(decodings, ["T=1", "T=0.6", "greedy"]);
    let own = &report["by_temperature"]["T=1"];
    assert_eq!(*own, report["pass_at_k"]["1"], "one figure, whichever table it is in");
    let better = &report["better_temperature"];
    for side in ["before", "after"] {
        let best =
            decodings.iter().map(|name| &report["by_temperature"][name.as_str()][side]["value"]);
        let best = best.filter_map(Value::as_f64).fold(0.0, f64::max);
        let at = better[side].as_str().unwrap();
        assert!(
            (report["by_temperature"][at][side]["value"].as_f64().unwrap() - best).abs() < 1e-12,
            "{better}"
        );
        assert!((better["gain"][side]["value"].as_f64().unwrap() - best).abs() < 1e-12, "{better}");
    }
    let phases: Value =
        serde_json::from_slice(&fs::read(run.join("phases.json")).unwrap()).unwrap();
    let greedy = phases["before_further"]["greedy"]["tallies"].as_array().unwrap();
    assert!(greedy.len() == 3 && greedy.iter().all(|tally| tally["samples"] == 1), "{greedy:?}");
    for (name, path) in report["files"].as_object().unwrap() {
        assert!(dir.path().join(path.as_str().unwrap()).exists(), "{name}");
    }
    let written: Value = serde_json::from_slice(&fs::read(run.join("quickstart.json")).unwrap())
        .expect("the report is in the run");
    assert_eq!(&written, report);
    let checked = whet_in(dir.path(), &["config", "check", "runs/quickstart/config.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
}

#[test]
fn nothing_to_learn_from_is_composed_as_something_held_out_is() {
    let (dir, _) = &*CALM;
    let shapes = |name: &str| -> BTreeSet<String> {
        lines(&run(dir).join(name)).iter().map(|task| task["shape"].to_string()).collect()
    };
    let (train, held_out) = (shapes("train.jsonl"), shapes("val.jsonl"));
    assert!(train.is_disjoint(&held_out), "{train:?} {held_out:?}");
}

#[test]
fn no_hidden_test_is_in_any_prompt() {
    let (dir, _) = &*CALM;
    let model = whetstone_model::open(&run(dir).join("student")).unwrap();
    let tasks = lines(&run(dir).join("train.jsonl"));
    let rollouts = lines(&run(dir).join("rollouts/rollouts.jsonl"));
    for rollout in &rollouts {
        let task = tasks.iter().find(|task| task["id"] == rollout["prompt_id"]).unwrap();
        let tokens: Vec<u32> =
            serde_json::from_value(rollout["meta"]["turns"][0]["prompt"].clone()).unwrap();
        let prompt = model.tokenizer.decode(&tokens, SpecialTokens::Shown).unwrap();
        let calls = |part: &str| -> Vec<String> {
            let tests = task["tests"][part].as_array().unwrap();
            tests.iter().map(|test| call(&task["tests"]["entry_point"], test)).collect()
        };
        for shown in calls("visible") {
            assert!(prompt.contains(&shown), "{shown} is not in {prompt}");
        }
        for hidden in calls("hidden") {
            assert!(!prompt.contains(&hidden), "{hidden} is in {prompt}");
        }
    }
    assert_eq!(rollouts.len(), 16);
}

/// A test as a prompt shows it.
fn call(name: &Value, test: &Value) -> String {
    let args: Vec<String> =
        test["args"].as_array().unwrap().iter().map(ToString::to_string).collect();
    format!("`{}({})`", name.as_str().unwrap(), args.join(", "))
}

#[test]
fn the_same_seed_gives_the_same_on_two_threads_and_another_seed_other_tasks() {
    let dir = tempfile::tempdir().unwrap();
    assert_same(&dir, &quickstart(dir.path(), &["--threads", "2"]));
    let flags = ["--run", "other", "--seed", "7", "--set", "training.max_steps=1"];
    let other = quickstart(dir.path(), &flags);
    assert_eq!(other["seed"], 7);
    let tasks = |run: &str| fs::read(dir.path().join(run).join("val.jsonl")).unwrap();
    assert!(tasks("runs/other") != tasks("runs/quickstart"));
}

/// Runs `whet` until it says a line that begins so, sends it a signal, and hears it out.
fn disturbed(dir: &TempDir, args: &[&str], line: &str, signal: Signal) -> Ran {
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(args)
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(whet.stderr.take().unwrap());
    let mut err = String::new();
    while !err.lines().any(|said| said.starts_with(line)) {
        assert_ne!(talk.read_line(&mut err).unwrap(), 0, "`{line}` was never said: {err}");
    }
    kill(Pid::from_raw(i32::try_from(whet.id()).unwrap()), signal).unwrap();
    talk.read_to_string(&mut err).unwrap();
    let output = whet.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out, err }
}

#[test]
fn a_run_that_was_stopped_and_killed_ends_like_one_that_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let killed = disturbed(&dir, &small(&["--threads", "1"]), "4/6", Signal::SIGKILL);
    assert_eq!((killed.code, killed.out.as_str()), (-1, ""), "{}", killed.err);
    let resume = ["quickstart", "--resume", "--threads", "1", "--json"];
    let stopped = disturbed(&dir, &resume, "step 1/4", Signal::SIGINT);
    assert_eq!(stopped.code, 130, "{}", stopped.err);
    assert!(stopped.err.contains("resume with `whet quickstart --resume`"), "{}", stopped.err);
    let said: Value = serde_json::from_str(&stopped.out).expect("JSON");
    assert_eq!(said["done"], false);
    assert_eq!(said["run"], "runs/quickstart");
    assert!(!run(&dir).join("outputs/final_model").exists(), "it stopped in time");
    let ran = whet_in(dir.path(), &resume);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_same(&dir, &serde_json::from_str(&ran.out).expect("JSON"));
    // All of it is there: the summary is told again, and nothing is computed.
    let again = whet_in(dir.path(), &resume);
    assert_eq!(again.out, ran.out);
    assert!(!again.err.contains("step "), "{}", again.err);
    forget(&dir, &["traces", "training", "after"]);
    let again = whet_in(dir.path(), &resume);
    assert!(!again.err.contains("step "), "{}", again.err);
    assert_same(&dir, &serde_json::from_str(&again.out).expect("JSON"));
    // A run of a version that measured one temperature: its student is trained, so the start stays unknown elsewhere.
    forget(&dir, &["before_further", "after_further", "after"]);
    let again = whet_in(dir.path(), &resume);
    assert_eq!(again.code, 0, "{}", again.err);
    let report: Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(report["pass_at_k"], CALM.1["pass_at_k"]);
    let decodings: Vec<&String> = report["by_temperature"].as_object().unwrap().keys().collect();
    assert_eq!((decodings.len(), &report["better_temperature"]), (1, &Value::Null));
}

/// Leaves a run as it is when it is killed after a phase has made its files and before it says so.
fn forget(dir: &TempDir, phases: &[&str]) {
    let path = run(dir).join("phases.json");
    let mut done: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for phase in phases {
        let taken = done.as_object_mut().unwrap().remove(*phase).unwrap_or_default();
        assert!(taken.is_object(), "{phase} was done");
    }
    fs::write(path, done.to_string()).unwrap();
}

#[test]
fn a_name_that_is_taken_says_what_to_type() {
    let (dir, _) = &*CALM;
    let ran = whet_in(dir.path(), &["quickstart"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for part in [
        "error: the run `runs/quickstart` exists already",
        "`whet quickstart --resume`",
        "`whet quickstart --run NAME`",
    ] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
    let ran = whet_in(dir.path(), &["quickstart", "--resume", "--seed", "3"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("resumes with its original settings"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["quickstart", "--resume", "--run", "none"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("there is no run `runs/none`"), "{}", ran.err);
}

#[test]
fn a_run_of_another_command_is_left_alone() {
    let (calm, _) = &*CALM;
    let dir = tempfile::tempdir().unwrap();
    let copied =
        Command::new("cp").arg("-r").arg(calm.path().join("runs")).arg(dir.path()).status();
    assert!(copied.unwrap().success());
    fs::remove_file(run(&dir).join("phases.json")).unwrap();
    let ran = whet_in(dir.path(), &["quickstart", "--resume"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("it was not started with `whet quickstart`"), "{}", ran.err);
}

#[test]
fn settings_that_do_not_fit_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    for (set, said) in [
        ("eval.num_samples=3", "pass@4 needs 4 samples, and `eval.num_samples` is 3"),
        ("grpo.num_samples_per_prompt=5", "no whole groups of 5"),
        ("quickstart.families=[\"none\"]", "none"),
    ] {
        let ran = whet_in(dir.path(), &["quickstart", "--set", set]);
        assert_eq!(ran.code, 2, "{set}: {}", ran.err);
        assert!(ran.err.contains(said), "{set}: {}", ran.err);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
