//! `--dry-run`: the plan, the memory, one probe and a time; nothing is written and nothing stays.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{ChatServer, Manners};

use crate::binary::whet_under;
use crate::teach::{said, task};
use crate::tiny_school::{grpo, judged, school};

/// Every file and folder below one, with the bytes of files.
fn all_below(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(all_below(&path));
            found.push((path, None));
        } else {
            found.push((path.clone(), fs::read(&path).ok()));
        }
    }
    found.sort();
    found
}

/// Runs a command with `--dry-run` twice, as text and as JSON, and looks that nothing was written, neither in
/// its folder nor among temporary files.
#[track_caller]
fn dry(dir: &Path, flags: &[&str]) -> (String, Value) {
    let temporary = tempfile::tempdir().expect("a folder");
    let before = all_below(dir);
    let [text, json] = ["--quiet", "--json"].map(|more| {
        let tmpdir = temporary.path().to_str().expect("text");
        let ran = whet_under(dir, &[flags, &["--dry-run", more]].concat(), &[("TMPDIR", tmpdir)]);
        assert_eq!(ran.code, 0, "{flags:?}: {}", ran.err);
        ran.out
    });
    assert!(all_below(dir) == before, "{flags:?} wrote something");
    let left = all_below(temporary.path());
    assert!(left.is_empty(), "{flags:?} left {left:?}");
    assert!(text.starts_with("dry run of `whet "), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("about ")), "{text}");
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    assert_eq!(json["dry_run"], true, "{json}");
    assert!(json["estimate_seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0), "{json}");
    assert!(json["probe"]["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{json}");
    (text, json)
}

#[test]
fn a_training_takes_one_step_and_keeps_nothing() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = grpo("run", &["--set=training.max_steps=7"]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (text, json) = dry(dir.path(), &flags);
    for part in [
        "reads    tasks.jsonl: 4 tasks",
        "traces.jsonl: passing traces of 4 tasks",
        "2 tasks × 2 samples a step, of at most 32 tokens",
        "runs/run: settings, events, rollouts, checkpoints, the final model",
        "MiB to train",
        "MiB to sample",
        "probe    one step (sampling and judging ",
        ", learning ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let counts = json!({"tasks": 4, "steps": 7, "rollouts": 28, "sampled_tokens_at_most": 28 * 32});
    assert_eq!(json["counts"], counts, "{json}");

    let sft = ["train", "sft", "--run=s", "--traces=traces.jsonl", "--set=training.max_steps=3"];
    let small = ["--set=student.model_name=student", "--set=training.max_length=160"];
    let (text, json) = dry(dir.path(), &[&sft[..], &small].concat());
    assert!(text.contains("traces.jsonl: 4 rows") && text.contains("one step: "), "{text}");
    assert!(text.contains("runs/s: settings, events, checkpoints, the final model"), "{text}");
    assert_eq!((&json["counts"]["rows"], &json["counts"]["steps"]), (&4.into(), &3.into()));
}

#[test]
fn a_training_that_could_not_begin_says_so_in_a_dry_run_too() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = grpo("run", &["--dry-run", "--set=grpo.num_samples_per_prompt=3"]);
    let ran = crate::tiny_school::trained(dir.path(), &flags);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("no whole groups of 3"), "{}", ran.err);
    let flags = grpo("run", &["--dry-run", "--resume"]);
    let ran = crate::tiny_school::trained(dir.path(), &flags);
    assert_eq!(ran.code, 2, "there is nothing to resume: {}", ran.out);
}

#[test]
fn a_quickstart_is_tried_with_one_step_of_it() {
    if !judged() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        "training.max_steps=5",
        "training.per_device_train_batch_size=2",
        "training.gradient_accumulation_steps=2",
        "grpo.num_samples_per_prompt=2",
        "grpo.max_completion_length=24",
        "quickstart.held_out_tasks=2",
        "eval.num_samples=1",
        "eval.k=[1]",
    ];
    let sets: Vec<String> = sets.iter().map(|set| format!("--set={set}")).collect();
    let flags: Vec<&str> =
        ["quickstart"].into_iter().chain(sets.iter().map(String::as_str)).collect();
    let (text, json) = dry(dir.path(), &flags);
    assert!(text.contains("the student that ships with whet"), "{text}");
    assert!(
        text.contains("2 held-out tasks × 1 samples at T=1, T=0.6, greedy, before and after"),
        "{text}"
    );
    assert_eq!((&json["counts"]["steps"], &json["counts"]["rollouts"]), (&5.into(), &20.into()));
}

#[test]
fn judging_is_tried_with_one_task() {
    if !judged() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let reference = r#","reference":"def f(x):\n    return x + 1\n""#;
    let tasks: String = (0..3).map(|at| task(&format!("t/{at}"), reference)).collect();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let rollout = |task: usize, body: &str| {
        let text = format!("```python\ndef f(x):\n    return {body}\n```");
        format!("{}\n", json!({"step": 0, "prompt_id": format!("t/{task}"), "text": text}))
    };
    let rollouts = [rollout(0, "x"), rollout(1, "x"), rollout(0, "x + 1"), rollout(2, "7")];
    fs::write(dir.path().join("rollouts.jsonl"), rollouts.concat()).unwrap();

    let (text, json) = dry(dir.path(), &["score", "rollouts.jsonl", "--prompts=tasks.jsonl"]);
    assert!(text.contains("one task, 2 lines") && text.contains("rollouts.scored.jsonl"), "{text}");
    assert_eq!(json["counts"]["lines"], 4);

    let (text, json) = dry(dir.path(), &["data", "validate", "tasks.jsonl", "--out=proven.jsonl"]);
    assert!(text.contains("one task, ") && text.contains("writes   proven.jsonl"), "{text}");
    assert_eq!(json["counts"]["tasks"], 3);

    let given = ["eval", "--tasks=tasks.jsonl", "--samples=rollouts.jsonl", "--out=e", "--k=1"];
    let (text, json) = dry(dir.path(), &given);
    assert!(
        text.contains("rollouts.jsonl: 4 samples") && text.contains("one task, 2 samples"),
        "{text}"
    );
    assert_eq!(json["counts"]["samples"], 4);

    let traces = tasks_with_traces(3);
    fs::write(dir.path().join("with_traces.jsonl"), traces).unwrap();
    let (text, _) = dry(
        dir.path(),
        &["teach", "--teacher=embedded", "--tasks=with_traces.jsonl", "--out=t.jsonl"],
    );
    assert!(text.contains("3 samples, which are judged") && text.contains("one task: "), "{text}");
}

fn tasks_with_traces(count: usize) -> String {
    let trace = "<think>\\nAdd.\\n</think>\\n\\n```python\\ndef f(x):\\n    return x + 1\\n```";
    (0..count).map(|at| task(&format!("t/{at}"), &format!(r#","trace":"{trace}""#))).collect()
}

#[test]
fn a_model_is_tried_with_one_task_and_a_server_with_one_request() {
    if !judged() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tasks: String = (0..5).map(|at| task(&format!("t/{at}"), "")).collect();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let few = ["--tasks=tasks.jsonl", "--num-samples=2", "--k=1", "--max-tokens=16"];
    let local = [&["eval", "--model=embedded", "--out=e"], &few[..]].concat();
    let (text, json) = dry(dir.path(), &local);
    assert!(text.contains("5 tasks × 3 samples") && text.contains("MiB to sample"), "{text}");
    assert_eq!(json["counts"], json!({"tasks": 5, "samples": 15}));

    let server = ChatServer::start(Manners { text: Box::new(said), ..Manners::default() });
    let url = server.url();
    let (text, _) =
        dry(dir.path(), &[&["eval", "--model=m", "--out=e", "--server", &url], &few[..]].concat());
    assert!(text.contains("one task, 3 samples"), "{text}");
    let asked = server.asked();
    assert_eq!(asked, 2 * 3, "the samples of one task, as text and as JSON");

    let api = format!("teacher.api_url={url}");
    let flags = ["teach", "--tasks=tasks.jsonl", "--out=t.jsonl", "--num-samples=4", "--set", &api];
    let (text, json) = dry(dir.path(), &flags);
    assert!(text.contains("20 requests to ") && text.contains("one request: "), "{text}");
    assert_eq!(json["counts"]["requests"], 20);
    assert_eq!(server.asked() - asked, 2, "one request each");
}
