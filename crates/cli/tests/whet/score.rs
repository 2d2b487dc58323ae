//! `whet score` without running programs: files, bad lines, reports, exit codes.
//!
//! What the judge says of programs is tested where the judge is; the engine with a stand-in in
//! `whetstone-rollout`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};

const TASK: &str = concat!(
    r#"{"id":"a","statement":"Add one.","#,
    r#""tests":{"kind":"asserts","hidden":["assert f(1) == 2"]}}"#,
    "\n"
);

fn rollout(prompt: &str, text: &str) -> String {
    let line = serde_json::json!({"step": 0, "prompt_id": prompt, "text": text, "mine": 1.5});
    format!("{line}\n")
}

const CODE: &str = "```python\ndef f(x):\n    return x + 1\n```";

/// Scores `rollouts` in an empty folder, with these flags more.
fn score(folder: &Path, rollouts: &str, flags: &[&str]) -> Ran {
    fs::write(folder.join("tasks.jsonl"), TASK).expect("a file");
    fs::write(folder.join("rollouts.jsonl"), rollouts).expect("a file");
    let args = ["score", "rollouts.jsonl", "--prompts", "tasks.jsonl"];
    whet_in(folder, &[&args[..], flags].concat())
}

#[test]
fn static_terms_alone_are_scored_and_no_verdict_is_claimed() {
    let dir = tempfile::tempdir().unwrap();
    let lines = rollout("a", CODE) + &rollout("a", "I cannot.");
    let weighted = ["--skip-runtime", "--set", "reward.composite=weighted_sum"];
    let ran = score(dir.path(), &lines, &weighted);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    assert!(
        ran.out.starts_with("2 of 2 lines scored into rollouts.scored.jsonl, in "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("not run") && ran.out.contains("no_code"), "{}", ran.out);
    let output = fs::read_to_string(dir.path().join("rollouts.scored.jsonl")).unwrap();
    let lines: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["validation"], serde_json::json!({"skipped": "runtime"}));
    assert_eq!(lines[1]["validation"]["verdict"], "no_code");
    assert_eq!(lines[0]["mine"], 1.5);
    assert!(lines[0]["advantage"].as_f64() > lines[1]["advantage"].as_f64(), "{output}");
    assert!(!ran.out.contains("paid without passing"), "nothing was tested: {}", ran.out);
}

#[test]
fn by_default_nothing_is_paid_without_a_run_and_terms_are_still_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let ran = score(dir.path(), &rollout("a", CODE), &["--skip-runtime"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("every reward will be 0: nothing is run"), "{}", ran.err);
    assert!(!ran.out.contains("paid without passing"), "nothing was tested: {}", ran.out);
    let output = fs::read_to_string(dir.path().join("rollouts.scored.jsonl")).unwrap();
    let line: Value = serde_json::from_str(output.trim()).unwrap();
    assert_eq!(
        (&line["reward"]["total"], &line["reward"]["terms"]["syntax"]),
        (&0.0.into(), &1.0.into())
    );
    assert_eq!(line["reward"]["weights"]["syntax"], 0.0);
}

#[test]
fn javascript_that_does_not_parse_earns_nothing_also_without_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let task = TASK.replace(r#""id":"a","#, r#""id":"a","language":"javascript","#).replace(
        r#""kind":"asserts","hidden":["assert f(1) == 2"]"#,
        r#""kind":"calls","entry_point":"f","hidden":[{"args":[1],"expected":2}]"#,
    );
    fs::write(dir.path().join("tasks.jsonl"), task).unwrap();
    let block = |code: &str| rollout("a", &format!("```javascript\n{code}\n```"));
    let lines = block("I do not know the answer, sorry.") + &block("const f = (x) => x + 1;");
    fs::write(dir.path().join("rollouts.jsonl"), lines).unwrap();
    let args = ["score", "rollouts.jsonl", "--prompts", "tasks.jsonl", "--skip-runtime"];
    let ran =
        whet_in(dir.path(), &[&args[..], &["--set", "reward.composite=weighted_sum"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let output = fs::read_to_string(dir.path().join("rollouts.scored.jsonl")).unwrap();
    let lines: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["validation"]["verdict"], "syntax_error", "{output}");
    assert_eq!(lines[0]["reward"]["gates"]["syntax"]["passed"], false);
    assert_eq!(
        (&lines[0]["reward"]["total"], &lines[1]["reward"]["total"]),
        (&0.0.into(), &0.3.into())
    );
}

#[test]
fn files_of_other_tools_are_scored_and_the_report_stands_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let line = serde_json::json!({"task_id": "a", "completion": CODE}).to_string() + "\n";
    let ran = score(dir.path(), &line.repeat(2), &["--skip-runtime", "--cache", "c.redb"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("`--cache c.redb` is not used"), "{}", ran.err);
    assert!(ran.out.contains("report: rollouts.report.json"), "{}", ran.out);
    let report = fs::read_to_string(dir.path().join("rollouts.report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["scored"], &report["groups"]), (&2.into(), &1.into()));
    assert!(!dir.path().join("c.redb").exists());
}

#[test]
fn the_report_is_json_in_a_file_and_on_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    let lines = rollout("a", CODE).repeat(3) + "{}\n";
    let flags = ["--skip-runtime", "--json", "--report", "r.json", "--out", "o.jsonl"];
    let ran = score(dir.path(), &lines, &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    let written = fs::read_to_string(dir.path().join("r.json")).unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(&written).unwrap());
    assert_eq!((&shown["v"], &shown["lines"], &shown["scored"]), (&1.into(), &4.into(), &3.into()));
    assert_eq!((&shown["groups"], &shown["dead_groups"]), (&1.into(), &1.into()));
    assert_eq!(shown["rejected_lines"][0]["line"], 4);
    assert!(dir.path().join("o.jsonl.rejected.jsonl").exists());
}

#[test]
fn bad_lines_are_shown_and_refused_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let lines = rollout("a", CODE) + "nonsense\n" + &rollout("b", CODE);
    let ran = score(dir.path(), &lines, &["--skip-runtime"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("rejected 2 lines, kept in rollouts.scored.jsonl.rejected.jsonl"));
    assert!(ran.out.contains("line 3: prompt_id `b` is no task of `tasks.jsonl`"), "{}", ran.out);

    fs::remove_file(dir.path().join("rollouts.scored.jsonl")).unwrap();
    let ran = score(dir.path(), &lines, &["--skip-runtime", "--strict"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("error: 2 of the lines cannot be scored"), "{}", ran.err);
    assert!(
        ran.err.contains("rollouts.jsonl:2: expected one rollout as a JSON object"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("rollouts.jsonl:3: prompt_id `b` is no task"), "{}", ran.err);
    assert!(ran.err.contains("hint: "), "{}", ran.err);
    assert!(!dir.path().join("rollouts.scored.jsonl").exists());
}

#[test]
fn a_file_of_which_nothing_could_be_scored_is_an_answer_of_no() {
    let dir = tempfile::tempdir().unwrap();
    let ran = score(dir.path(), &rollout("b", CODE), &["--skip-runtime"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
}

#[test]
fn an_unfinished_scoring_of_something_else_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("rollouts.scored.jsonl.journal");
    // The head of a journal, as an older version would have left it.
    let (mut file, _) = whetstone_record::journal::Journal::open(&journal).unwrap();
    file.append(&serde_json::json!({"scoring": 99})).unwrap();
    drop(file);
    let ran = score(dir.path(), &rollout("a", CODE), &["--skip-runtime"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("belongs to unfinished work"), "{}", ran.err);
    assert!(ran.err.contains("give `--fresh`"), "{}", ran.err);
    let ran = score(dir.path(), &rollout("a", CODE), &["--skip-runtime", "--fresh"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!journal.exists());
}

#[test]
fn files_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["score", "none.jsonl", "--prompts", "tasks.jsonl", "--skip-runtime"];
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("tasks.jsonl"), "{}", ran.err);
    fs::write(dir.path().join("tasks.jsonl"), TASK).unwrap();
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot read the rollouts `none.jsonl`: No such file"), "{}", ran.err);
    fs::write(dir.path().join("tasks.jsonl"), "{\"id\":\"a\"}\n").unwrap();
    let ran = whet_in(dir.path(), &args);
    assert!(ran.err.contains("error: `tasks.jsonl` holds no task"), "{}", ran.err);
    assert!(
        ran.err.contains("tasks.jsonl:1: not a task: field `statement` is missing"),
        "{}",
        ran.err
    );
}

#[test]
fn help_teaches_with_examples() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["score", "--help"]);
    assert_eq!(ran.code, 0);
    for part in
        ["--prompts", "--skip-runtime", "--fresh", "Examples:", "Exit codes:", ".rejected.jsonl"]
    {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
