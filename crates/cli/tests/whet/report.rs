//! `whet report`: where the page goes, what is said, what is refused.

use std::fs;

use serde_json::Value;

use crate::binary::whet_in;
use crate::hostile_run::hostile_run;

#[test]
fn the_page_lies_in_the_run_and_a_name_is_enough_to_find_it() {
    let dir = tempfile::tempdir().unwrap();
    hostile_run(&dir.path().join("runs"));
    let ran = whet_in(dir.path(), &["report", "hostile"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "runs/hostile/report.html\n"), "{}", ran.err);
    assert!(ran.err.contains("4 completions of 1 step"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["report", "runs/hostile/", "--out", "page.html", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let page = fs::read(dir.path().join("page.html")).unwrap();
    assert_eq!(page, fs::read(dir.path().join("runs/hostile/report.html")).unwrap());
    assert_eq!((&report["report"], &report["completions"]), (&"page.html".into(), &4.into()));
    assert_eq!((&report["bytes"], &report["tasks_shown"]), (&page.len().into(), &1.into()));
}

#[test]
fn nothing_that_a_model_said_reaches_the_terminal_or_the_markup() {
    let dir = tempfile::tempdir().unwrap();
    let run = hostile_run(dir.path());
    let ran = whet_in(dir.path(), &["report", "./hostile", "-v"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = ran.out + &ran.err;
    assert!(!said.contains('\u{1b}') && !said.contains("owned"), "{said}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    for hostile in ["owned", "\u{1b}", "\u{202e}", "onerror", "127.0.0.1"] {
        assert!(!page.contains(hostile), "{hostile:?}");
    }
    assert!(page.len() < 200_000, "a line of a megabyte is cut: {}", page.len());
}

#[test]
fn a_run_that_cannot_be_read_is_refused_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["report", "nowhere"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("there is no run `runs/nowhere`"), "{}", ran.err);
    let run = hostile_run(dir.path());
    let journal = run.join("rollouts/rollouts.jsonl");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[40] = 0xff;
    fs::write(&journal, bytes).unwrap();
    let ran = whet_in(dir.path(), &["report", "./hostile"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err.contains("line 1 of") && ran.err.contains("byte 40 is not UTF-8"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains('\u{1b}') && !run.join("report.html").exists(), "{}", ran.err);
}

#[test]
fn tasks_that_are_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    hostile_run(dir.path());
    fs::write(
        dir.path().join("tasks.jsonl"),
        r#"{"id":"a","statement":"\u001b[31m","tests":{"kind":"\u001b[31m"}}"#,
    )
    .unwrap();
    let ran = whet_in(dir.path(), &["report", "./hostile", "--tasks", "tasks.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("tasks.jsonl:1: not a task"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
}
