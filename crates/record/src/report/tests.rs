//! A page of a run, taken apart again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use serde_json::{Value, json};

use super::*;
use crate::event::{Event, Outcome, TimedEvent};
use crate::journal::Journal;
use crate::run_dir::RunDir;

const HOSTILE: &str = "</script><script>alert(1)</script>\u{1b}[31m\u{202e}\u{0}<img onerror=x>";

/// A run of two steps with two tasks of two samples each, and what they say.
fn run(dir: &Path, texts: &[&str]) -> RunView {
    let mut run = RunDir::create(dir, "a", "seed = 1\n", 5).unwrap();
    let started = Event::RunStarted { command: "whet".into(), version: "0".into(), seed: 1 };
    let values = BTreeMap::from([("grpo/pass_rate".to_owned(), f64::NAN)]);
    let metrics = Event::Metrics { stage: "grpo".into(), step: 1, values };
    let ended = Event::RunFinished { outcome: Outcome::Completed, message: HOSTILE.into() };
    for event in [started, metrics, ended] {
        run.append_event(&TimedEvent { time_ms: 7, event }).unwrap();
    }
    let path = run.view().rollouts_dir().join("rollouts.jsonl");
    let (mut journal, _) = Journal::open(&path).unwrap();
    for (at, text) in texts.iter().enumerate() {
        journal.append(&line(at as u64, text)).unwrap();
    }
    run.view().clone()
}

/// Samples 0 and 1 are of task x/0, 2 and 3 of x/1; the next four of step 2. Even ones pass, but for
/// that of x/1 in step 1.
pub(super) fn line(at: u64, text: &str) -> Value {
    let (step, task, sample) = (1 + at / 4, at / 2 % 2, at % 2);
    let pass = sample == 0 && (task == 0 || step == 2);
    let validation = if pass {
        json!({"verdict": "pass", "tests_passed": 2, "tests_total": 2, "cpu_ms": 1.0, "isolation": "full"})
    } else {
        json!({"verdict": "wrong", "test": 1, "tests_passed": 1, "tests_total": 2, "cpu_ms": 1.0, "isolation": "full"})
    };
    let tests = if pass { 1.0 } else { 0.0 };
    json!({
        "step": step, "prompt_id": format!("x/{task}"), "group_id": sample, "text": text,
        "meta": {"tokens": 10 + at, "finish": if at == 3 { "length" } else { "stop" }},
        "validation": validation, "advantage": tests - 0.5,
        "reward": {"total": 0.8 * tests, "terms": {"tests": tests}, "weights": {"tests": 0.8}, "gates": {}},
    })
}

fn page(view: &RunView) -> (String, Contents) {
    let mut out = Vec::new();
    let contents = write_to(view, PageRequest::default(), &mut out, &mut |_, _| {}).unwrap();
    (String::from_utf8(out).unwrap(), contents)
}

/// The text of a chunk of a page.
pub(super) fn chunk(page: &str, name: &str) -> String {
    let open = format!("<script type=\"application/octet-stream\" id=\"{name}\">");
    unpacked(page.split_once(&open).unwrap().1.split_once("</script>").unwrap().0)
}

/// What was packed.
pub(super) fn unpacked(packed: &str) -> String {
    let bytes = chunk::unbase64(packed);
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

fn feed(page: &str, kind: &str) -> Vec<Value> {
    let records =
        chunk(page, "feed").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records: Vec<Value> = records;
    records.into_iter().filter(|record| record["type"] == kind).collect()
}

#[test]
fn the_figures_of_a_step_are_those_counted_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let (page, contents) = page(&run(dir.path(), &["a"; 8]));
    let expected = Contents { events: 3, steps: 2, completions: 8, shown: 8, tasks: 0 };
    assert_eq!(contents, expected);
    let steps = feed(&page, "rollouts");
    let first = json!({
        "type": "rollouts", "step": 1, "completions": 4, "groups": 2, "dead_groups": 1,
        "truncated": 1, "reward": 0.2, "verdicts": {"pass": 1, "wrong": 3}, "causes": {}, "terms": {"tests": 0.2},
        "tokens": [10, 10, 11, 12, 13],
    });
    assert_eq!((steps.len(), &steps[0]), (2, &first));
    assert_eq!((&steps[1]["groups"], &steps[1]["dead_groups"]), (&2.into(), &0.into()));
    assert_eq!(feed(&page, "metrics")[0]["values"]["grpo/pass_rate"], "nan");
    assert_eq!(feed(&page, "run")[0]["config"], "seed = 1\n");
}

#[test]
fn every_completion_can_be_found_by_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(super::limits::CHUNK_BYTES / 20);
    let texts: Vec<String> = (0..40).map(|at| format!("{at} {long}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (page, _) = page(&run(dir.path(), &texts));
    let index: Value = serde_json::from_str(&chunk(&page, "index")).unwrap();
    let counts: Vec<u64> = serde_json::from_value(index["chunks"].clone()).unwrap();
    assert!(counts.len() > 1 && counts.iter().sum::<u64>() == 40, "{counts:?}");
    let second: Value = serde_json::from_str(&chunk(&page, "completions-1")).unwrap();
    let begins = second[0]["text"].as_str().unwrap().starts_with(&format!("{} ", counts[0]));
    assert!(begins, "the second chunk goes on where the first ends");
    assert_eq!(index["task"].as_array().unwrap()[..5], [0, 0, 1, 1, 0].map(Value::from));
    assert_eq!(index["step"].as_array().unwrap()[3..5], [1, 2].map(Value::from));
    assert_eq!(index["verdict"].as_array().unwrap()[..2], [0, 1].map(Value::from));
    assert_eq!(index["advantage"][0], 0.5);
}

#[test]
fn hostile_text_is_in_the_page_only_packed() {
    let dir = tempfile::tempdir().unwrap();
    let megabyte = "y".repeat(1 << 20);
    let (page, _) = page(&run(dir.path(), &[HOSTILE, &megabyte]));
    assert!(!page.contains("alert(1)") && !page.contains('\u{1b}') && !page.contains("<img"));
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    let texts: Value = serde_json::from_str(&chunk(&page, "completions-0")).unwrap();
    assert_eq!(texts[0]["text"], HOSTILE);
    assert_eq!(texts[1]["text"].as_str().unwrap().len(), limits::MAX_COMPLETION_BYTES);
    assert_eq!(texts[1]["cut_bytes"], (1 << 20) - limits::MAX_COMPLETION_BYTES);
}

#[test]
fn tasks_of_the_run_are_shown_with_their_tests_and_others_are_not() {
    for own in ["train.jsonl", "inputs/tasks.jsonl"] {
        check_own_tasks(own);
    }
}

/// Checks what is shown of a run that has its tasks there.
#[track_caller]
fn check_own_tasks(own: &str) {
    let dir = tempfile::tempdir().unwrap();
    let view = run(dir.path(), &["a"; 4]);
    let task = |id: &str| {
        format!(
            r#"{{"id":"{id}","statement":"s {id}","tests":{{"kind":"asserts","hidden":["assert f()"]}}}}"#
        )
    };
    let tasks = [task("y/9"), task("x/1")].join("\n");
    let path = view.dir().join(own);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, tasks).unwrap();
    let (page, contents) = page(&view);
    assert_eq!(contents.tasks, 1, "{own}");
    let shown: Value = serde_json::from_str(&chunk(&page, "tasks-0")).unwrap();
    assert_eq!(shown.as_array().unwrap().len(), 1);
    assert_eq!(shown[0]["statement"], "s x/1");
    assert_eq!(shown[0]["tests"]["hidden"][0], json!([["test", "assert f()"]]));
    let index: Value = serde_json::from_str(&chunk(&page, "index")).unwrap();
    assert_eq!(index["places"], json!([null, [0, 0]]));
}

#[test]
fn a_journal_that_is_being_written_ends_with_its_last_whole_line() {
    let dir = tempfile::tempdir().unwrap();
    let view = run(dir.path(), &["a"; 8]);
    let path = view.rollouts_dir().join("rollouts.jsonl");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(page(&view).1.completions, 7);
}

#[test]
fn bytes_that_are_no_text_are_an_error_with_file_and_line_and_no_page() {
    let dir = tempfile::tempdir().unwrap();
    let view = run(dir.path(), &["a"; 3]);
    let path = view.rollouts_dir().join("rollouts.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 30;
    bytes[at] = 0xff;
    fs::write(&path, bytes).unwrap();
    let out = default_path(&view);
    let err = write(&view, PageRequest::default(), &out, &mut |_, _| {}).unwrap_err();
    assert!(err.to_string().starts_with("line 2 of"), "{err}");
    assert!(!out.exists(), "no half page");
}

#[test]
fn a_line_that_is_no_rollout_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let view = run(dir.path(), &["a"]);
    let (mut journal, _) = Journal::open(&view.rollouts_dir().join("rollouts.jsonl")).unwrap();
    journal.append(&json!({"step": 1})).unwrap();
    drop(journal);
    let err = write_to(&view, PageRequest::default(), &mut Vec::new(), &mut |_, _| {}).unwrap_err();
    assert!(err.to_string().ends_with("rollouts.jsonl` is not a rollout"), "{err}");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let view = run(dir.path(), &["a", "b", "c"]);
    let out = default_path(&view);
    let contents = write(&view, PageRequest::default(), &out, &mut |_, _| {}).unwrap();
    assert_eq!(contents.shown, 3);
    assert_eq!(fs::read_to_string(&out).unwrap(), page(&view).0);
}
