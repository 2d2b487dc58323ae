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
fn a_line_of_rollouts_is_shown_where_there_are_none() {
    let dir = tempfile::tempdir().expect("a folder");
    let task = r#"{"id":"a","statement":"s","tests":["assert f() == 1"]}"#;
    std::fs::write(dir.path().join("tasks.jsonl"), task).expect("a file");
    let score = ["score", "gone.jsonl", "--prompts=tasks.jsonl", "--skip-runtime"];
    let pairs = ["data", "pairs", "--rollouts=gone.jsonl", "--tasks=tasks.jsonl"];
    for flags in [&score[..], &pairs[..]] {
        let ran = whet_in(dir.path(), flags);
        assert_eq!(ran.code, 2, "{}", ran.err);
        let said = "cannot read the rollouts `gone.jsonl`";
        let hint = "hint: a line of rollouts is {\"prompt_id\":";
        assert!(ran.err.contains(said) && ran.err.contains(hint), "{}", ran.err);
    }
}

#[test]
fn the_command_that_makes_traces_is_named() {
    let hint = "hint: `whet teach` makes `data/teacher_traces.jsonl`";
    let said = "data/teacher_traces.jsonl: cannot read: No such file";
    check(&["train", "sft", "--run=r"], &[said, hint]);
}
