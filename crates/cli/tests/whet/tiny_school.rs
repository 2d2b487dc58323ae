//! A folder in which a training takes a moment: four tiny tasks, their traces, and a student of a few
//! thousand numbers that has learnt by heart to answer with one program or another.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use whetstone_record::journal;

use crate::binary::{Ran, whet_in};

/// What makes a training small.
const SMALL: [&str; 8] = [
    "student.model_name=student",
    "lora.rank=4",
    "training.max_length=160",
    "training.per_device_train_batch_size=2",
    "training.gradient_accumulation_steps=2",
    "training.learning_rate=1e-3",
    "grpo.num_samples_per_prompt=2",
    "grpo.max_completion_length=32",
];

/// What makes a training with PPO small, beside that: two updates a step, and no end by itself.
const SMALL_PPO: [&str; 6] = [
    "ppo.learning_rate=1e-3",
    "ppo.batch_size=4",
    "ppo.mini_batch_size=2",
    "ppo.ppo_epochs=1",
    "ppo.max_completion_length=32",
    "ppo.kl_patience=0",
];

/// The folder, made once.
static MADE: LazyLock<TempDir> = LazyLock::new(make);

/// Whether programs can be judged here; says so if not.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn judged() -> bool {
    static FIT: LazyLock<bool> = LazyLock::new(|| {
        let dir = tempfile::tempdir().expect("a folder");
        whet_in(dir.path(), &["doctor"]).code == 0
    });
    if !*FIT {
        println!("SKIPPED: `whet doctor` says that programs cannot be judged here");
    }
    *FIT
}

/// A copy of the folder: `tasks.jsonl`, `traces.jsonl`, and the student in `student`.
pub(crate) fn school() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    copy(MADE.path(), dir.path());
    dir
}

/// `whet train grpo` with small settings, and these flags more.
pub(crate) fn grpo(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = args(&["train", "grpo", "--threads=1", "--run", run]);
    for file in ["--tasks=tasks.jsonl", "--traces=traces.jsonl"] {
        let is_given = flags.iter().any(|flag| flag.split('=').next() == file.split('=').next());
        all.extend((!is_given).then(|| file.to_owned()));
    }
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| args(&["--set", set])));
    }
    all.extend(args(flags));
    all
}

/// `whet train sft` with small settings, and these flags.
pub(crate) fn sft(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = args(&["train", "sft", "--threads=1", "--run", run]);
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().flat_map(|set| args(&["--set", set])));
    }
    all.extend(args(flags));
    all
}

/// `whet train ppo` with small settings, and these flags more.
pub(crate) fn ppo(run: &str, flags: &[&str]) -> Vec<String> {
    let mut all = args(&["train", "ppo", "--threads=1", "--run", run, "--tasks=tasks.jsonl"]);
    if !flags.contains(&"--resume") {
        all.extend(SMALL.iter().chain(&SMALL_PPO).flat_map(|set| args(&["--set", set])));
    }
    all.extend(args(flags));
    all
}

/// Runs it.
pub(crate) fn trained(dir: &Path, all: &[String]) -> Ran {
    whet_in(dir, &all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn args(all: &[&str]) -> Vec<String> {
    all.iter().map(|arg| (*arg).to_owned()).collect()
}

/// The tasks under names that begin otherwise, with answers that no program gives.
pub(crate) fn unsolvable(dir: &Path, name: &str) -> String {
    let tasks = fs::read_to_string(dir.join("tasks.jsonl")).expect("tasks");
    let changed = tasks.lines().map(|line| {
        let mut task: Value = serde_json::from_str(line).expect("a task");
        task["id"] = task["id"].as_str().expect("a name").replace("t/", name).into();
        for test in task["tests"]["hidden"].as_array_mut().expect("tests") {
            test["expected"] = "never".into();
        }
        format!("{task}\n")
    });
    changed.collect()
}

/// The events of a run, or its rollouts, up to where a kill tore them.
pub(crate) fn records(path: &Path) -> Vec<Value> {
    let Ok(reader) = journal::read(path) else { return Vec::new() };
    let whole = reader.map_while(|record| match record {
        Err(err) if err.is_torn() => None,
        record => Some(record.expect("only its end can be torn")),
    });
    whole.map(|record| serde_json::from_str(&record.json).expect("JSON")).collect()
}

/// The steps that are recorded, in that order.
pub(crate) fn steps(dir: &Path, run: &str) -> Vec<u64> {
    let events = records(&dir.join("runs").join(run).join("events.jsonl"));
    let metrics = events.iter().filter(|event| event["type"] == "metrics");
    metrics.map(|event| event["step"].as_u64().expect("a number")).collect()
}

/// Every file of a directory and the directories in it, with its bytes.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name: PathBuf = path.file_name().expect("a name").into();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(file, bytes)| (name.join(file), bytes)));
        } else {
            all.push((name, fs::read(&path).expect("a file")));
        }
    }
    all.sort();
    all
}

fn make() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let (tasks, traces): (Vec<String>, Vec<String>) = ["abs", "len", "max", "min"]
        .iter()
        .enumerate()
        .map(|(at, name)| (line(&task(at)), line(&trace(at, name))))
        .unzip();
    fs::write(dir.path().join("tasks.jsonl"), tasks.concat()).expect("a file");
    fs::write(dir.path().join("traces.jsonl"), traces.concat()).expect("a file");
    let new = [
        "model",
        "new",
        "model",
        "--corpus",
        "traces.jsonl",
        "--vocab",
        "400",
        "--width",
        "16",
        "--layers",
        "1",
        "--heads",
        "2",
        "--kv-heads",
        "1",
        "--ffn",
        "24",
        "--context",
        "256",
        "--drop-system",
    ];
    let ran = whet_in(dir.path(), &new);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let heart = [
        "train",
        "sft",
        "--traces=traces.jsonl",
        "--threads=1",
        "--run=sft",
        "--set=student.model_name=model",
        "--set=training.train=full",
        "--set=training.max_length=160",
        "--set=training.max_steps=400",
        "--set=training.per_device_train_batch_size=4",
        "--set=training.gradient_accumulation_steps=1",
        "--set=training.learning_rate=0.01",
        "--set=training.save_steps=0",
    ];
    let ran = whet_in(dir.path(), &heart);
    assert_eq!(ran.code, 0, "{}", ran.err);
    fs::rename(dir.path().join("runs/sft/outputs/final_model"), dir.path().join("student"))
        .expect("the final model");
    fs::remove_dir_all(dir.path().join("runs")).expect("the run");
    dir
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// All ask the same, so a small student cannot tell them apart: it guesses, and some guesses pass.
fn task(at: usize) -> Value {
    let hidden = [
        json!([{"args": [-1], "expected": 1}, {"args": [-7], "expected": 7}]),
        json!([{"args": [[5]], "expected": 1}, {"args": [[9, 9, 9]], "expected": 3}]),
        json!([{"args": [[1, 2]], "expected": 2}, {"args": [[5, 3]], "expected": 5}]),
        json!([{"args": [[1, 2]], "expected": 1}, {"args": [[5, 3]], "expected": 3}]),
    ];
    json!({
        "v": 1, "id": format!("t/{at}"), "statement": "Write f.",
        "tests": {"kind": "calls", "entry_point": "f", "visible": [], "hidden": hidden[at]},
    })
}

fn trace(at: usize, name: &str) -> Value {
    let prompt = "Solve the following problem:\n\nWrite f.\n\nThe tests call `f`.\n\nThink step by \
                  step inside <think> tags, then give the Python code in a markdown block.\n\n\
                  Format:\n<think>\nyour reasoning, step by step\n</think>\n\n```python\n# your \
                  code\n```";
    json!({
        "v": 1, "task_id": format!("t/{at}"), "sample": 0, "prompt": prompt, "thinking": "So.",
        "code": format!("f = {name}"), "text": "", "verdict": "pass", "model": "m",
    })
}

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&target).expect("a folder");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file");
        }
    }
}
