//! `whet data prompts` and `whet rollout --mock`: files, figures, and what is said about bad input.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};

const SETS: [&str; 6] = ["data", "prompts", "--out-train", "t.jsonl", "--out-eval", "e.jsonl"];
const MOCK: [&str; 6] = ["rollout", "--mock", "--prompts", "t.jsonl", "--out", "r.jsonl"];

fn run(dir: &Path, command: &[&str], flags: &[&str]) -> Ran {
    whet_in(dir, &[command, flags].concat())
}

#[test]
fn prompts_and_mock_rollouts_are_written_and_are_the_same_again() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let mut before = None;
    for _ in 0..2 {
        let sets = run(dir.path(), &SETS, &["--json"]);
        assert_eq!(sets.code, 0, "{}", sets.err);
        let report: Value = serde_json::from_str(&sets.out).unwrap();
        assert_eq!(
            (&report["train"]["prompts"], &report["eval"]["prompts"]),
            (&50.into(), &20.into())
        );
        let mock = run(dir.path(), &MOCK, &["--num-prompts", "8", "--group-size", "8"]);
        assert_eq!(mock.code, 0, "{}", mock.err);
        assert!(mock.out.contains("64 mock rollouts to 8 prompts into r.jsonl"), "{}", mock.out);
        let files = ["t.jsonl", "e.jsonl", "r.jsonl"].map(read);
        assert_eq!(files.each_ref().map(|text| text.lines().count()), [50, 20, 64]);
        assert!(before.is_none_or(|before| before == files));
        before = Some(files);
    }
}

#[test]
fn too_few_seeds_and_prompts_are_said_with_the_fix() {
    let dir = tempfile::tempdir().unwrap();
    let few = run(dir.path(), &SETS, &["--train-count", "500"]);
    assert_eq!(few.code, 2);
    assert!(few.err.contains("500 to train on and 20 to evaluate on need 520"), "{}", few.err);
    assert!(few.err.contains("hint: lower `--train-count`"), "{}", few.err);
    assert!(!dir.path().join("t.jsonl").exists());
    assert_eq!(run(dir.path(), &SETS, &[]).code, 0);
    let few = run(dir.path(), &MOCK, &["--num-prompts", "51"]);
    assert_eq!(few.code, 2);
    assert!(
        few.err.contains("t.jsonl has 50 prompts for Phaser, and 51 are asked for"),
        "{}",
        few.err
    );
}

#[test]
fn a_seed_without_an_id_is_refused_by_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let line = r#"{"prompt":"a","checks":[{"kind":"count"}]}"#;
    fs::write(dir.path().join("seeds.jsonl"), line).unwrap();
    let ran = run(dir.path(), &SETS, &["--prompt-seeds", "seeds.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("seeds.jsonl:1: not a prompt seed: field `id` is missing"),
        "{}",
        ran.err
    );
}
