//! A page and what is new behind it, put together again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::event::{Event, TimedEvent};
use crate::journal::Journal;
use crate::report::tests::{chunk, line, unpacked};
use crate::run_dir::RunDir;

fn measured(step: u64) -> TimedEvent {
    let values = BTreeMap::from([("grpo/mean_reward".to_owned(), 0.5)]);
    TimedEvent { time_ms: step, event: Event::Metrics { stage: "grpo".into(), step, values } }
}

fn journal(view: &RunView) -> Journal {
    Journal::open(&view.rollouts_dir().join("rollouts.jsonl")).unwrap().0
}

fn page(view: &RunView) -> String {
    let mut out = Vec::new();
    LivePage::read(view).unwrap().write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Where a page leaves off.
fn cursor(page: &str) -> Cursor {
    let live: Value = serde_json::from_str(&chunk(page, "start")).unwrap();
    live["cursor"].as_str().unwrap().parse().unwrap()
}

fn ask(view: &RunView, cursor: &Cursor) -> Option<Value> {
    news(view, cursor, Texts::Sent).unwrap().map(|news| serde_json::to_value(news).unwrap())
}

/// What is new, and the cursor behind it.
fn next(view: &RunView, cursor: &mut Cursor) -> Value {
    let found = ask(view, cursor).expect("it is the same run");
    *cursor = found["cursor"].as_str().unwrap().parse().unwrap();
    found
}

fn of(found: &Value, kind: &str) -> Vec<Value> {
    let records = found["records"].as_array().unwrap().iter();
    records.filter(|record| record["type"] == kind).cloned().collect()
}

#[test]
fn what_is_new_comes_once_and_figures_are_those_of_a_new_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(dir.path(), "a", "", 1).unwrap();
    let view = run.view().clone();
    let mut seen = cursor(&page(&view));
    let nothing = next(&view, &mut seen);
    assert_eq!((&nothing["records"], &nothing["completions"]), (&json!([]), &Value::Null));
    assert_eq!((&nothing["is_written"], &nothing["more"]), (&true.into(), &false.into()));
    let mut journal = journal(&view);
    let (mut steps, mut texts, mut numbers) = (BTreeMap::new(), Vec::new(), Vec::new());
    for at in 0..12 {
        journal.append(&line(at, &format!("text {at}"))).unwrap();
        if at % 4 == 3 {
            run.append_event(&measured(1 + at / 4)).unwrap();
        }
        if at % 3 == 0 {
            continue;
        }
        let found = next(&view, &mut seen);
        for step in of(&found, "rollouts") {
            steps.insert(step["step"].as_u64().unwrap(), step);
        }
        let new = &found["completions"];
        let chunk: Vec<Value> =
            serde_json::from_str(&unpacked(new["chunk"].as_str().unwrap())).unwrap();
        texts
            .extend(chunk.iter().map(|completion| completion["text"].as_str().unwrap().to_owned()));
        numbers.extend(new["index"]["step"].as_array().unwrap().clone());
        let later = ask(&view, &seen).unwrap();
        assert_eq!((&later["records"], &later["completions"]), (&json!([]), &Value::Null));
    }
    assert_eq!(texts, (0..12).map(|at| format!("text {at}")).collect::<Vec<_>>());
    assert_eq!(numbers.len(), 12);
    let whole = page(&view);
    let feed = chunk(&whole, "feed");
    let feed = feed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let expected: Vec<Value> = feed.filter(|record| record["type"] == "rollouts").collect();
    assert_eq!(steps.into_values().collect::<Vec<_>>(), expected, "however it was cut");
    assert_eq!(cursor(&whole).to_string(), seen.to_string(), "both are at the end");
}

#[test]
fn a_torn_line_is_not_there_yet_and_a_damaged_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDir::create(dir.path(), "a", "", 1).unwrap();
    let view = run.view().clone();
    let mut journal = journal(&view);
    journal.append(&line(0, "first")).unwrap();
    let mut seen = cursor(&page(&view));
    journal.append(&line(1, "second")).unwrap();
    let path = view.rollouts_dir().join("rollouts.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(next(&view, &mut seen)["completions"], Value::Null);
    let mut damaged = whole.clone();
    let at = whole.len() - 40;
    damaged[at] ^= 1;
    fs::write(&path, damaged).unwrap();
    let err = news(&view, &seen, Texts::Sent).unwrap_err();
    assert!(err.to_string().starts_with("line 2 of"), "{err}");
    fs::write(&path, whole).unwrap();
    assert_eq!(next(&view, &mut seen)["completions"]["index"]["step"], json!([1]));
}

#[test]
fn another_run_under_the_name_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let make = |texts: &[&str]| {
        let mut run = RunDir::create(dir.path(), "a", "", 1).unwrap();
        run.append_event(&measured(1)).unwrap();
        let mut journal = journal(run.view());
        for (at, text) in (0..).zip(texts) {
            journal.append(&line(at, text)).unwrap();
        }
        run.view().clone()
    };
    let view = make(&["a", "b"]);
    let seen = cursor(&page(&view));
    let rollouts = view.rollouts_dir().join("rollouts.jsonl");
    fs::remove_file(&rollouts).unwrap();
    assert!(ask(&view, &seen).is_none(), "its rollouts are gone");
    fs::remove_dir_all(view.dir()).unwrap();
    make(&["c", "d", "e"]);
    assert!(ask(&view, &seen).is_none(), "its rollouts are others");
    fs::write(view.rollouts_dir().join("more.jsonl"), "").unwrap();
    let seen = cursor(&page(&view));
    fs::write(view.rollouts_dir().join("even-more.jsonl"), "").unwrap();
    assert!(ask(&view, &seen).is_none(), "it has journals that were not followed");
}

#[test]
fn a_run_that_goes_on_after_a_kill_is_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(dir.path(), "a", "", 1).unwrap();
    run.append_event(&measured(1)).unwrap();
    let view = run.view().clone();
    drop(run);
    let torn = [fs::read(view.events_path()).unwrap().as_slice(), b"{\"seq\":1,"].concat();
    fs::write(view.events_path(), torn).unwrap();
    let mut seen = cursor(&page(&view));
    assert_eq!(next(&view, &mut seen)["is_written"], false);
    let (mut run, _) = RunDir::resume(dir.path(), "a", 2).unwrap();
    run.append_event(&measured(2)).unwrap();
    let found = next(&view, &mut seen);
    assert_eq!((of(&found, "run_resumed").len(), of(&found, "metrics").len()), (1, 1));
}

#[test]
fn an_answer_has_bounds_and_says_that_there_is_more() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDir::create(dir.path(), "a", "", 1).unwrap();
    let view = run.view().clone();
    let mut seen = cursor(&page(&view));
    let start = seen;
    let mut journal = journal(&view);
    let long = "x".repeat(15 << 10);
    for at in 0..40 {
        journal.append(&line(at, &long)).unwrap();
    }
    let (mut completions, mut answers) = (0, 0);
    loop {
        let found = next(&view, &mut seen);
        let new = found["completions"]["text_bytes"].as_u64().unwrap();
        assert!(new < (256 + 16) << 10, "{new}");
        completions += found["completions"]["index"]["step"].as_array().unwrap().len();
        answers += 1;
        if found["more"] == false {
            break;
        }
    }
    assert_eq!((completions, answers), (40, 3));
    let figures = news(&view, &start, Texts::LeftOut).unwrap().unwrap();
    let figures = serde_json::to_value(figures).unwrap();
    assert_eq!((of(&figures, "rollouts").len(), &figures["completions"]), (10, &Value::Null));
}

#[test]
fn a_page_brings_the_tasks_of_steps_to_come_and_figures_come_when_they_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDir::create(dir.path(), "a", "", 1).unwrap();
    let view = run.view().clone();
    let task = r#"{"id":"x/1","statement":"s","tests":{"kind":"asserts","hidden":["assert f()"]}}"#;
    fs::write(view.dir().join("train.jsonl"), task).unwrap();
    let whole = page(&view);
    let live: Value = serde_json::from_str(&chunk(&whole, "start")).unwrap();
    assert_eq!(live["places"], json!({"x/1": [0, 0]}));
    let tasks: Value = serde_json::from_str(&chunk(&whole, "tasks-0")).unwrap();
    assert_eq!(tasks[0]["statement"], "s");
    let mut seen = cursor(&whole);
    write_figures(view.dir());
    assert_eq!(of(&next(&view, &mut seen), "figures").len(), 1);
    assert_eq!(next(&view, &mut seen)["records"], json!([]));
}

fn write_figures(dir: &Path) {
    let figures = json!({
        "v": 1, "samples": 4, "temperature": 1.0, "pass_at_k": {},
        "before": {"verdicts": {}}, "after": {"verdicts": {}}, "times": {"seconds": {}},
    });
    fs::write(dir.join("quickstart.json"), figures.to_string()).unwrap();
}
