//! The data sets as they are published: folders of APPS, and the project's own copies.

use std::fs;
use std::path::Path;

use serde_json::Value;
use whetstone_data::source::{DataSet, Difficulty};

use crate::support::{Bench, apps_row, lines, shared};

fn problem(folder: &Path, question: &str, tests: Option<&str>) {
    fs::create_dir_all(folder).expect("a file");
    fs::write(folder.join("question.txt"), question).expect("a file");
    fs::write(folder.join("solutions.json"), "[\"print(1)\"]").expect("a file");
    fs::write(folder.join("metadata.json"), r#"{"difficulty":"interview","url":"http://x"}"#)
        .expect("a file");
    if let Some(tests) = tests {
        fs::write(folder.join("input_output.json"), tests).expect("a file");
    }
}

#[test]
fn folders_of_apps_are_tasks_with_their_half_in_the_id() {
    let bench = Bench::new();
    let apps = bench.dir.path().join("APPS");
    problem(&apps.join("train/0007"), "Print one.", Some(r#"{"inputs":["1"],"outputs":["2"]}"#));
    problem(&apps.join("test/0007"), "Another question altogether.", None);
    let (lines, report) = Bench::lines_of(Some(DataSet::Apps), &apps);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let task: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&task["id"], &task["difficulty"]), (&"apps/train/7".into(), &"interview".into()));
    assert_eq!((&task["reference"], &task["url"]), (&"print(1)".into(), &"http://x".into()));
    let bad = report.bad[0].to_string();
    assert!(bad.ends_with("test/0007: it has no tests: `input_output` is empty"), "{bad}");
}

#[test]
fn only_the_difficulties_asked_for_are_taken() {
    let bench = Bench::new();
    let mut easy = apps_row(1);
    easy["difficulty"] = "introductory".into();
    let path = bench.file("apps.jsonl", lines([&easy, &apps_row(2)]));
    let mut bench = bench.source(Some(DataSet::Apps), &path);
    bench.origins[0].difficulties = vec![Difficulty::Introductory];
    let report = bench.prepare().unwrap();
    assert_eq!(bench.ids("train.jsonl"), ["apps/1"]);
    assert_eq!(report.sources["apps"].left_out, 1);
}

#[test]
fn both_layouts_of_mbpp_are_read_whole() {
    let Some(folder) = shared("mbpp") else { return };
    let (_, report) = Bench::lines_of(Some(DataSet::Mbpp), &folder);
    assert_eq!((report.sources["mbpp"].rows, report.sources["mbpp"].bad), (974, 0));
    assert!(report.inputs[1].passed_over, "{:?}", report.inputs);
    let (_, report) = Bench::lines_of(None, &folder.join("sanitized-mbpp.json"));
    assert_eq!((report.sources["mbpp"].rows, report.sources["mbpp"].bad), (427, 0));
}

#[test]
fn humaneval_and_the_apps_format_are_told_by_their_columns() {
    let Some(path) = shared("humaneval/HumanEval.jsonl.gz") else { return };
    let (lines, report) = Bench::lines_of(None, &path);
    assert_eq!((report.sources["humaneval"].rows, report.sources["humaneval"].bad), (164, 0));
    assert!(lines[0].contains(r#""id":"humaneval/"#), "{}", lines[0]);
    let Some(path) = shared("apps_format/codecontests140.jsonl.gz") else { return };
    let (_, report) = Bench::lines_of(None, &path);
    assert_eq!((report.sources["apps"].rows, report.sources["apps"].bad), (140, 0));
}
