//! What a command says to type next can be typed.

use std::path::Path;

use crate::binary::{Ran, whet_in};

/// The command after `next:`, which is the last line of standard error.
fn next(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let last = ran.err.lines().last().unwrap_or_default();
    let command = last.strip_prefix("next: whet ").unwrap_or_else(|| panic!("{:?}", ran.err));
    command.split(' ').map(str::to_owned).collect()
}

/// Runs what was said.
fn follow(folder: &Path, words: &[String]) -> Ran {
    whet_in(folder, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn from_tasks_to_traces_by_typing_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = whet_in(folder.path(), &["data", "prepare", "--embedded", "6"]);
    assert!(prepared.out.contains("nothing was dropped; the report is in data/prepare.json"));
    let validate = next(&prepared);
    assert_eq!(validate.join(" "), "data validate data/train.jsonl --out data/proven.jsonl");
    let teach = next(&follow(folder.path(), &validate));
    assert_eq!(teach.join(" "), "teach --teacher reference --tasks data/proven.jsonl");
    let train = next(&follow(folder.path(), &teach));
    assert_eq!(train.join(" "), "train sft --run sft-1 --traces data/teacher_traces.jsonl");
    let checked = whet_in(folder.path(), &["data", "check", "data/teacher_traces.jsonl"]);
    assert_eq!(next(&checked), train);
    let unproven = whet_in(folder.path(), &["data", "validate", "data/train.jsonl"]);
    assert_eq!(next(&unproven), validate, "nothing was kept");
}

#[test]
fn from_prompts_to_rollouts_by_typing_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let rollout = next(&whet_in(folder.path(), &["data", "prompts"]));
    let score = next(&follow(folder.path(), &rollout));
    assert_eq!(score.join(" "), "score rollouts.jsonl --prompts data/prompts_train.jsonl");
}

#[test]
fn a_script_and_a_quiet_user_are_told_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["--json", "--quiet"] {
        let out = format!("data{flag}");
        let args = ["data", "prepare", "--embedded", "6", "--out", &out, flag];
        let ran = whet_in(folder.path(), &args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{flag}");
    }
    let ran = whet_in(folder.path(), &["runs"]);
    assert!(ran.err.ends_with("next: whet quickstart\n"), "{}", ran.err);
}
