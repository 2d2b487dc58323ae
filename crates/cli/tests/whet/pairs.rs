//! `whet data pairs`: from judged rollouts to pairs, bad input, and what is said.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in, whet_under};
use crate::teach::task;

fn sample(task: usize, body: &str) -> String {
    let text = format!("```python\ndef f(x):\n    {body}\n```");
    format!("{}\n", json!({"prompt_id": format!("t/{task}"), "text": text}))
}

/// Four samples of each of three tasks, scored: two that pass, one of them renamed, and two that do not.
fn scored(dir: &Path) {
    let tasks: String = (0..3).map(|at| task(&format!("t/{at}"), "")).collect();
    fs::write(dir.join("tasks.jsonl"), tasks).unwrap();
    let bodies = ["return x + 1", "y = x\n    return y + 1", "return x", "return [x]"];
    let lines: String = (0..3).flat_map(|at| bodies.map(|body| sample(at, body))).collect();
    fs::write(dir.join("rollouts.jsonl"), lines).unwrap();
    let args = ["score", "rollouts.jsonl", "--prompts", "tasks.jsonl", "--out", "scored.jsonl"];
    let ran = whet_in(dir, &args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

fn pairs(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["data", "pairs", "--out", "pairs.jsonl"], flags].concat())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const ROLLOUTS: [&str; 4] = ["--rollouts", "scored.jsonl", "--tasks", "tasks.jsonl"];

#[test]
fn judged_rollouts_become_pairs_that_are_counted_by_origin_and_reason() {
    let dir = tempfile::tempdir().unwrap();
    scored(dir.path());
    let flags = [&ROLLOUTS[..], &["--out-val", "val.jsonl", "--val-fraction", "0.4"]].concat();
    let ran = pairs(dir.path(), &flags);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    assert!(ran.out.starts_with("8 pairs of 2 tasks into pairs.jsonl, in "), "{}", ran.out);
    assert!(ran.out.contains("\n4 pairs of 1 task into val.jsonl\n"), "{}", ran.out);
    let row = |name: &str, rest: &str| format!("\n  {name:<28} {rest}");
    assert!(ran.out.contains(&row("rollouts:pass_over_fail", "      12  100.0%")), "{}", ran.out);
    assert!(ran.out.contains(&row("small_gap", "       6")), "{}", ran.out);
    assert!(ran.out.contains("  mean length: chosen "), "{}", ran.out);
    let (train, held_out) =
        (lines(&dir.path().join("pairs.jsonl")), lines(&dir.path().join("val.jsonl")));
    assert_eq!((train.len(), held_out.len()), (8, 4));
    for pair in train.iter().chain(&held_out) {
        assert_eq!((&pair["margin"], &pair["v"]), (&json!(1.0), &json!(1)));
        assert!(pair["chosen"].as_str().unwrap().contains("+ 1"), "{pair}");
        assert_eq!(pair["prompt"][1]["role"], "user");
    }
    let first = fs::read(dir.path().join("pairs.jsonl")).unwrap();
    let again: Value =
        serde_json::from_str(&pairs(dir.path(), &[&flags[..], &["--json"]].concat()).out).unwrap();
    assert_eq!((&again["pairs"], &again["tasks_held_out"]), (&json!(12), &json!(1)));
    assert_eq!(again["pairs_left_out"], json!({"small_gap": 6}));
    assert_eq!(fs::read(dir.path().join("pairs.jsonl")).unwrap(), first, "same seed, same bytes");
    // What was written can be read as pairs of others.
    let again = ["data", "pairs", "--pairs", "val.jsonl", "--out", "again.jsonl", "--strict"];
    let ran = whet_in(dir.path(), &again);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lines(&dir.path().join("again.jsonl")).len(), 4);
}

#[test]
fn bad_rows_are_named_and_strict_refuses_them() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [
        json!({"prompt": "q", "chosen": "a", "rejected": "b"}),
        json!({"prompt": "q", "chosen": "c\u{1b}[31m", "rejected": "c\u{1b}[31m"}),
        json!({"chosen": [{"role": "\u{1b}]0;x", "content": "a"}], "rejected": "b"}),
    ];
    let text = rows.map(|row| row.to_string()).join("\n");
    fs::write(dir.path().join("hub.jsonl"), text).unwrap();
    let ran = pairs(dir.path(), &["--pairs", "name=hub.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("hub.jsonl:2: `chosen` and `rejected` are the same text"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("bad 2 lines: 1 bad_row, 1 equal_texts"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
    assert_eq!(lines(&dir.path().join("pairs.jsonl"))[0]["origin"], "hub:name");
    fs::remove_file(dir.path().join("pairs.jsonl")).unwrap();
    let strict = pairs(dir.path(), &["--pairs", "hub.jsonl", "--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (2, ""), "{}", strict.err);
    assert!(strict.err.contains("2 of the lines are no pairs or replies"), "{}", strict.err);
    assert!(strict.err.contains("hub.jsonl:2: ") && strict.err.contains("hint: mend these lines"));
    assert!(!dir.path().join("pairs.jsonl").exists(), "nothing is written");
}

#[test]
fn what_gives_no_pairs_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    scored(dir.path());
    let refused = |flags: &[&str], parts: &[&str]| {
        let ran = pairs(dir.path(), flags);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{part}\n{}", ran.err);
        }
        assert!(!dir.path().join("pairs.jsonl").exists(), "nothing is written");
    };
    refused(&[], &["there is nothing to make pairs of", "hint: name files with `--rollouts`"]);
    refused(&["--rollouts", "scored.jsonl"], &["12 no_prompt", "hint: name the tasks"]);
    let unscored = ["--rollouts", "rollouts.jsonl", "--tasks", "tasks.jsonl"];
    refused(&unscored, &["12 not_scored", "hint: `whet score ROLLOUTS --prompts TASKS`"]);
    refused(&["--traces", "nowhere.jsonl"], &["cannot read the traces `nowhere.jsonl`"]);
    refused(&["--pairs", "tasks.csv"], &["has an unsupported extension"]);
    refused(&["--rollouts", "scored.jsonl", "--val-fraction", "0.5"], &["--out-val"]);
    refused(&["--rollouts", "scored.jsonl", "--min-gap", "NaN"], &["at least 0"]);
    let plan = pairs(dir.path(), &[&ROLLOUTS[..], &["--dry-run"]].concat());
    assert!(plan.code == 0 && plan.out.contains("scored.jsonl: scored rollouts, "), "{}", plan.out);
    assert!(!dir.path().join("pairs.jsonl").exists(), "a dry run writes nothing");
}

/// The best of one sample is pass@1, whatever the scores are; a reward model that learnt nothing may prefer anything.
#[test]
fn a_reward_model_that_was_trained_on_pairs_chooses_among_samples() {
    let dir = tempfile::tempdir().unwrap();
    scored(dir.path());
    assert_eq!(pairs(dir.path(), &ROLLOUTS).code, 0);
    let train = ["train", "rm", "--run", "r", "--pairs", "pairs.jsonl"];
    let settings = [
        "--set",
        "student.model_name=embedded",
        "--set",
        "training.max_steps=1",
        "--set",
        "training.max_length=512",
    ];
    let cache = [("XDG_CACHE_HOME", dir.path().to_str().unwrap())];
    let ran = whet_under(dir.path(), &[&train[..], &settings].concat(), &cache);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let samples = ["eval", "--tasks", "tasks.jsonl", "--samples", "rollouts.jsonl", "--k", "1"];
    let chosen =
        ["--reward-model", "runs/r/outputs/final_model", "--best-of", "1,4", "--out", "best"];
    let ran = whet_under(dir.path(), &[&samples[..], &chosen].concat(), &cache);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\n  best of 1            50.0 % ["), "{}", ran.out);
    let text = fs::read_to_string(dir.path().join("best/evaluation_results.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["reward_model"], "runs/r/outputs/final_model");
    let best = &found["best_of"];
    assert_eq!(best["1"]["value"]["value"], found["pass_at_k"]["1"]["value"]);
    assert_eq!(
        (&best["1"]["gain"]["value"], &best["4"]["value"]["tasks"]),
        (&json!(0.0), &json!(3))
    );
    let refused = whet_in(
        dir.path(),
        &[&samples[..], &["--reward-model", "model", "--best-of", "2", "--out", "other"]].concat(),
    );
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{}", refused.err);
    assert!(refused.err.contains("`model` is not a reward model"), "{}", refused.err);
    assert!(!dir.path().join("other/rollouts.jsonl").exists(), "refused before anything is judged");
}
