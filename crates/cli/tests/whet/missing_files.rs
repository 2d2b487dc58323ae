//! A file that another command makes and that is not there: the error says which command.

use crate::binary::whet_in;

#[track_caller]
fn check(flags: &[&str], said: &[&str]) {
    let dir = tempfile::tempdir().expect("a folder");
    let ran = whet_in(dir.path(), flags);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.err);
    for part in said {
        assert!(ran.err.contains(part), "{flags:?}: {part}\n{}", ran.err);
    }
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("a folder").count(),
        0,
        "{flags:?} left something"
    );
}

#[test]
fn the_command_that_makes_tasks_is_named() {
    let hint = "hint: `whet data prepare` makes `data/train.jsonl` and `data/val.jsonl`";
    check(&["train", "grpo", "--run=r"], &["data/train.jsonl: cannot read: No such file", hint]);
    check(&["eval", "--model=embedded"], &["data/val.jsonl: cannot read: No such file", hint]);
    check(&["data", "validate", "gone.jsonl"], &["gone.jsonl", "No such file", hint]);
    check(&["teach", "--teacher=embedded", "--no-judge"], &["data/train.jsonl", hint]);
    let score = ["score", "gone.jsonl", "--prompts=data/train.jsonl", "--skip-runtime"];
    check(&score, &["data/train.jsonl", hint]);
}

#[test]
fn the_command_that_makes_traces_is_named() {
    let hint = "hint: `whet teach` makes `data/teacher_traces.jsonl`";
    let said = "data/teacher_traces.jsonl: cannot read: No such file";
    check(&["train", "sft", "--run=r"], &[said, hint]);
}
