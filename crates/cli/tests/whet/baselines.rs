//! Gains that are format: `whet eval compare` on samples with and without code, `--baseline-prompts`, and `whet prompt
//! compare`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};
use crate::teach::task;

const RIGHT: &str = "```python\ndef f(x):\n    return x + 1\n```";
const WORDS: &str = "It returns the next number.";

/// Tasks that are solved by adding one, and the samples of which the first have code that passes.
fn given(dir: &Path, out: &str, with_code: usize) {
    let tasks: String = (0..12).map(|at| task(&format!("t/{at}"), "")).collect();
    fs::write(dir.join("tasks.jsonl"), tasks).unwrap();
    let line = |at: usize| {
        let text = if at < with_code { RIGHT } else { WORDS };
        format!("{}\n", json!({"step": 0, "prompt_id": format!("t/{at}"), "text": text}))
    };
    fs::write(dir.join("samples.jsonl"), (0..12).map(line).collect::<String>()).unwrap();
    let ran =
        run(dir, &["eval", "--tasks", "tasks.jsonl", "--samples", "samples.jsonl", "--out", out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\n  replies              samples\n  with code"), "{}", ran.out);
}

fn run(dir: &Path, command: &[&str]) -> Ran {
    whet_in(dir, command)
}

fn results(dir: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(dir.join("evaluation_results.json")).unwrap()).unwrap()
}

/// From 2 to 12 of 12 replies with code, all of which pass: ten differences of one sign are no chance.
#[test]
fn a_gain_of_replies_with_code_alone_is_called_format() {
    let dir = tempfile::tempdir().unwrap();
    given(dir.path(), "before", 2);
    given(dir.path(), "after", 12);
    let found = results(&dir.path().join("before"));
    assert_eq!(found["code"]["pass_given_code"]["value"], 1.0);
    assert_eq!(found["by_task"][11]["no_code"], json!({"samples": 1, "greedy": false}));
    let compared = run(dir.path(), &["eval", "compare", "before", "after"]);
    let says = [
        "\n  with code              16.7 % [",
        "  pass@1 of these        100.0 % [",
        "  pass@1 +83.3 points = +83.3 by the share of replies with code +0.0 by what they contain\n",
        "  most of this gain is format: replies without code became replies with code;",
    ];
    for says in says {
        assert!(compared.out.contains(says), "{says}{}", compared.out);
    }
    let back = run(dir.path(), &["eval", "compare", "after", "before"]);
    assert!(!back.out.contains("most of this gain"), "{}", back.out);
    // Results from before replies with code were counted.
    let mut old = found;
    old.as_object_mut().unwrap().remove("code");
    for task in old["by_task"].as_array_mut().unwrap() {
        task.as_object_mut().unwrap().remove("no_code");
    }
    fs::write(dir.path().join("old.json"), old.to_string()).unwrap();
    let old = run(dir.path(), &["eval", "compare", "old.json", "after"]);
    assert!(old.code == 0 && old.out.contains("+83.3 points [+"), "{}{}", old.out, old.err);
    assert!(!old.out.contains("with code"), "{}", old.out);
}

/// A model that was measured with other prompts is compared with the best of them; measured again after an interruption
/// of the main part, it is not asked with them again.
#[test]
fn baselines_are_kept_and_what_follows_is_compared_with_the_best() {
    let dir = tempfile::tempdir().unwrap();
    let prepare = run(dir.path(), &["data", "prepare", "--embedded", "40", "--skip-apps"]);
    assert_eq!(prepare.code, 0, "{}", prepare.err);
    let small = ["--max-tokens", "24", "--max-tasks", "3", "--num-samples", "1", "--k", "1"];
    let base =
        ["eval", "--model", "embedded", "--out", "base", "--baseline-prompts", "plain,unified"];
    let base = [&base[..], &small].concat();
    let ran = run(dir.path(), &base);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\n  greedy with the prompt"), "{}", ran.out);
    assert!(ran.out.contains("\n  the best of these: "), "{}", ran.out);
    let out = dir.path().join("base");
    let found = results(&out);
    let prompts = found["baseline_prompts"].as_array().unwrap();
    let names: Vec<&str> = prompts.iter().map(|it| it["template"].as_str().unwrap()).collect();
    assert_eq!(names, ["plain", "unified"]);
    assert!(prompts.iter().all(|it| it["by_task"].as_array().unwrap().len() == 3));
    let kept = |prompt: &Value| {
        out.join("prompts").join(prompt["prompt"].as_str().unwrap()).join("rollouts.jsonl")
    };
    let times = || -> Vec<_> {
        prompts.iter().map(|it| fs::metadata(kept(it)).unwrap().modified().unwrap()).collect()
    };
    let before = times();
    fs::remove_file(out.join("evaluation_results.json")).unwrap();
    fs::remove_file(out.join("rollouts.jsonl")).unwrap();
    assert_eq!(run(dir.path(), &base).code, 0);
    assert_eq!(times(), before, "what was measured is not measured again");
    assert_eq!(results(&out)["baseline_prompts"], found["baseline_prompts"]);
    let compared = run(dir.path(), &["eval", "compare", "base", "base"]);
    assert!(
        compared.out.contains("\n  greedy over A with its best prompt (`"),
        "{}{}",
        compared.out,
        compared.err
    );
}

#[test]
fn prompts_are_compared_on_small_tasks_and_unknown_ones_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let compare =
        ["prompt", "compare", "--model", "embedded", "--max-tasks", "2", "--max-tokens", "16"];
    let ran =
        run(dir.path(), &[&compare[..], &["--templates", "plain,unified", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let prompts = found["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 2);
    assert!(prompts.iter().all(|it| it["greedy"]["tasks"] == 2 && it["cut_off"].is_u64()));
    let unknown = run(dir.path(), &[&compare[..], &["--templates", "plane"]].concat());
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("plane"), "{}", unknown.err);
}
