//! `whet data check` as a user runs it: what is printed, and how it ends.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};

const GOOD: &str =
    r#"{"id":"mine/1","statement":"Write f.","tests":["assert f(1) == 2"],"url":"x"}"#;
const BAD: &str = r#"{"id":"mine/2","question":"Write g.","tests":["assert g(1) == 2"]}"#;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, contents) in files {
        fs::write(dir.path().join(name), contents).expect("a file");
    }
    dir
}

fn check(dir: &Path, args: &[&str]) -> Ran {
    whet_in(dir, &[&["data", "check"], args].concat())
}

#[test]
fn a_good_file_ends_with_0_and_a_bad_one_with_1() {
    let both = format!("{GOOD}\n{BAD}\n");
    let dir = folder(&[("good.jsonl", GOOD), ("bad.jsonl", &both)]);
    let ran = check(dir.path(), &["good.jsonl"]);
    let said = "\
good.jsonl: tasks, ok
  1 line: 1 right, 0 wrong
  ids: 1, none stands twice
  fields that are not of this kind, and pass through unread: url (1 line)
";
    assert_eq!((ran.code, ran.out.as_str(), ran.err_before_next()), (0, said, ""));
    let ran = check(dir.path(), &["bad.jsonl"]);
    let said = "\
bad.jsonl: tasks, wrong
  2 lines: 1 right, 1 wrong
    line 2: `statement`: it is missing
      fix: rename `question` to `statement`
";
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(ran.out.starts_with(said), "{}", ran.out);
    assert!(ran.out.contains("  a line that is right: {\"id\":\"mine/1\","), "{}", ran.out);
}

#[test]
fn a_file_that_cannot_be_read_ends_with_2_and_the_others_are_still_checked() {
    let dir = folder(&[("good.jsonl", GOOD)]);
    let ran = check(dir.path(), &["teacher_traces.jsonl", "good.jsonl", "."]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.starts_with("good.jsonl: tasks, ok\n"), "{}", ran.out);
    for part in [
        "error: teacher_traces.jsonl: cannot read: ",
        "  hint: `whet teach` makes `data/teacher_traces.jsonl`\n",
        "error: .: cannot read: is a directory\n  hint: name a file in it\n",
    ] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
}

#[test]
fn the_kind_can_be_forced_and_the_shown_lines_are_counted() {
    let foreign = r#"{"q":"Write f."}"#;
    let file = [foreign; 5].join("\n");
    let dir = folder(&[("x.jsonl", &file)]);
    let ran = check(dir.path(), &["x.jsonl"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("x.jsonl: nothing that whet reads, wrong\n"), "{}", ran.out);
    let ran = check(dir.path(), &["x.jsonl", "--as", "tasks", "--show", "2"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("5 lines: 0 right, 5 wrong\n    line 1: `id`: it is missing\n"));
    assert!(ran.out.contains("    and 3 more; `--show N` shows more of them\n"), "{}", ran.out);
    let ran = check(dir.path(), &["x.jsonl", "--as", "cakes"]);
    assert!(ran.code == 2 && ran.err.contains("prompt-seeds"), "{}", ran.err);
}

#[test]
fn the_report_is_one_json_document() {
    let dir = folder(&[("bad.jsonl", BAD)]);
    let ran = check(dir.path(), &["bad.jsonl", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let file = &report["files"][0];
    assert_eq!(
        (ran.code, &report["v"], &file["kind"]),
        (1, &Value::from(1), &Value::from("tasks"))
    );
    assert_eq!(file["problems"][0]["line"], 1);
    assert_eq!(file["problems"][0]["field"], "statement");
    assert_eq!(file["problems"][0]["fix"], "rename `question` to `statement`");
}

/// The replies of `whet score --help` with and without a program.
#[test]
fn the_replies_that_hold_a_program_are_those_of_the_help() {
    let code = "def f(a):\\n    return a + 1\\n";
    let with = [
        format!("Here:\\n```python\\n{code}```\\nDone."),
        format!("```\\n{code}```"),
        format!("~~~py\\n{code}~~~"),
        format!("```python\\n{code}"),
        code.to_owned(),
        format!("<answer>\\n```python\\n{code}```\\n</answer>"),
        format!("<think>\\nAdd.\\n</think>\\n\\n{code}"),
    ];
    let without = [
        format!("Here is the code:\\n\\n{code}"),
        "Use `return a + 1`.".to_owned(),
        format!("<think>\\n```python\\n{code}```\\n</think>\\nDone."),
        format!("Sure! <code>{code}</code>"),
    ];
    let line = |text: &String| format!(r#"{{"prompt_id":"mine/1","text":"{text}"}}"#);
    let lines: Vec<String> = with.iter().chain(&without).map(line).collect();
    let dir = folder(&[("tasks.jsonl", GOOD), ("x.jsonl", &lines.join("\n"))]);
    let ran = whet_in(dir.path(), &["score", "x.jsonl", "--prompts=tasks.jsonl", "--skip-runtime"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  4 lines had no code: first at line 8 ("), "{}", ran.out);
    let ran = whet_in(dir.path(), &["generate", "--help"]);
    assert!(!ran.out.contains("</code>"), "no example stops at a shape that is not found");
}

#[test]
fn values_of_k_that_do_not_fit_are_left_out_unless_they_are_asked_for() {
    let dir = folder(&[("tasks.jsonl", GOOD)]);
    let show = |args: &[&str]| whet_in(dir.path(), &[&["config", "show"], args].concat());
    let fitting = show(&["--set", "eval.num_samples=5"]);
    assert!(fitting.code == 0 && fitting.out.contains("k = [1, 5]"), "{}", fitting.out);
    let asked = show(&["--set", "eval.num_samples=5", "--set", "eval.k=[1,10]"]);
    assert!(asked.code == 2 && asked.err.contains("pass@10 needs 10 samples"), "{}", asked.err);
    let plan = ["eval", "--model=embedded", "--tasks=tasks.jsonl", "--num-samples=2", "--dry-run"];
    let ran = whet_in(dir.path(), &plan);
    let said = "left out: pass@5 and pass@10, which need more than 2 samples of each task";
    assert!(ran.code == 0 && ran.err.contains(said), "{}", ran.err);
}
