//! The data sets as they are published: folders of APPS, and the project's own copies.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_data::prepare::{Counts, MbppCounts};
use whetstone_data::source::{DataSet, Difficulty, MbppVariant};

use crate::support::{Bench, apps_row, lines, mbpp_row, shared};

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
    let (_, report) = Bench::lines_of(Some(DataSet::Mbpp), &folder.join("mbpp.jsonl"));
    assert_eq!((report.sources["mbpp"].rows, report.sources["mbpp"].bad), (974, 0));
    let (_, report) = Bench::lines_of(Some(DataSet::Mbpp), &folder);
    let Counts { rows, bad, left_out, duplicates, .. } = report.sources["mbpp"];
    assert_eq!((rows, bad, left_out), (974 + 427, 0, 427));
    let MbppCounts { first, sanitized } = report.mbpp;
    assert_eq!(first + sanitized + duplicates, 974);
    assert!(sanitized > 410, "{report:?}");
    let (_, report) = Bench::lines_of(None, &folder.join("sanitized-mbpp.json"));
    assert_eq!((report.sources["mbpp"].rows, report.sources["mbpp"].bad), (427, 0));
}

/// Rows of the two publications of MBPP: 2 and 3 are in both.
fn two_publications(bench: &Bench) -> [std::path::PathBuf; 2] {
    let full: Vec<Value> = (1..=5).map(mbpp_row).collect();
    let sanitized = |number: usize| {
        let row = mbpp_row(number + 50);
        json!({"task_id": number, "prompt": row["text"], "code": row["code"],
            "source_file": "x", "test_imports": ["import math"], "test_list": row["test_list"]})
    };
    let sanitized = Value::from(vec![sanitized(2), sanitized(3)]).to_string();
    [bench.file("mbpp.jsonl", lines(&full)), bench.file("sanitized-mbpp.json", sanitized)]
}

/// The statements' first words by id: `w52x0` is of the sanitized row of task 2.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
fn statements(lines: &[String]) -> Vec<String> {
    let of = |line: &String| {
        let task: Value = serde_json::from_str(line).unwrap();
        let statement = task["statement"].as_str().unwrap().split(' ').next().unwrap().to_owned();
        format!("{} {statement}", task["id"].as_str().unwrap())
    };
    lines.iter().map(of).collect()
}

#[test]
fn a_task_in_both_publications_of_mbpp_gets_the_sanitized_statement_and_tests() {
    let bench = Bench::new();
    let [full, sanitized] = two_publications(&bench);
    let expected = ["mbpp/1 w1x0", "mbpp/2 w52x0", "mbpp/3 w53x0", "mbpp/4 w4x0", "mbpp/5 w5x0"];
    let mbpp = Some(DataSet::Mbpp);
    for paths in [vec![&full, &sanitized], vec![&sanitized, &full]] {
        let bench = paths.into_iter().fold(Bench::new(), |bench, path| bench.source(mbpp, path));
        let report = bench.prepare().unwrap();
        let mut found = statements(&bench.written());
        found.sort();
        assert_eq!(found, expected);
        let counts = &report.sources["mbpp"];
        assert_eq!((counts.rows, counts.left_out, counts.bad), (7, 2, 0));
        assert_eq!(report.mbpp, MbppCounts { first: 3, sanitized: 2 });
    }
    let (found, _) = Bench::lines_of(mbpp, bench.dir.path());
    assert_eq!(statements(&found), expected, "a folder with both");
    assert!(found[1].contains(r#""setup":"import math""#), "{}", found[1]);
    assert!(found[1].contains(r#""hidden":["assert f(52)","assert f(0)"]"#), "{}", found[1]);
}

#[test]
fn the_first_publication_of_mbpp_stays_a_variant() {
    let bench = Bench::new();
    let [full, _] = two_publications(&bench);
    let (alone, without) = Bench::lines_of(Some(DataSet::Mbpp), &full);
    let folder = bench.dir.path().to_owned();
    let mut bench = Bench::new().source(Some(DataSet::Mbpp), &folder);
    bench.mbpp = MbppVariant::First;
    let report = bench.prepare().unwrap();
    let mut found = bench.written();
    found.sort();
    assert_eq!(found, alone);
    assert_eq!((report.mbpp, without.mbpp), (without.mbpp, MbppCounts { first: 5, sanitized: 0 }));
}

#[test]
fn a_task_twice_in_one_publication_of_mbpp_is_bad() {
    let bench = Bench::new();
    let [_, sanitized] = two_publications(&bench);
    let again = bench.file("again.jsonl", lines([&mbpp_row(4), &mbpp_row(4)]));
    let bench = bench.source(Some(DataSet::Mbpp), &sanitized).source(None, &again);
    let report = bench.prepare().unwrap();
    assert_eq!((report.sources["mbpp"].bad, report.bad.len()), (1, 1));
    let reason = &report.bad[0].reason;
    assert!(reason.starts_with("task id `mbpp/4` stands already in "), "{reason}");
}

#[test]
fn evalplus_and_livecodebench_are_told_by_their_columns() {
    let bench = Bench::new();
    let human = json!({"task_id": "HumanEval/0", "prompt": "def f(x):\n    \"\"\"F.\"\"\"\n", "entry_point": "f",
        "canonical_solution": "    return x\n", "test": "def check(c): pass", "contract": "",
        "base_input": [[1]], "plus_input": [[2]], "atol": 0});
    let hub = json!({"task_id": 3, "code": "def g(): pass", "prompt": "Something else.", "source_file": "",
        "test_imports": [], "test_list": ["assert g()"], "test": "assert g()"});
    let contest = json!({"question_title": "t", "question_content": "Read and add.", "platform": "atcoder",
        "question_id": "abc1_a", "starter_code": "", "difficulty": "easy", "metadata": "{}",
        "public_test_cases": "[{\"input\": \"1\", \"output\": \"2\", \"testtype\": \"stdin\"}]",
        "private_test_cases": "[]"});
    let of = |name: &str, row: &Value| {
        let (lines, report) = Bench::lines_of(None, &bench.file(name, lines([row])));
        let task: Value = serde_json::from_str(&lines[0]).unwrap();
        let source = report.sources.keys().next().unwrap().clone();
        (task["id"].as_str().unwrap().to_owned(), source)
    };
    let named = |id: &str, source: &str| (id.to_owned(), source.to_owned());
    assert_eq!(of("a.jsonl", &human), named("humanevalplus/0", "humanevalplus"));
    assert_eq!(of("b.jsonl", &hub), named("mbppplus/3", "mbppplus"));
    assert_eq!(of("c.jsonl", &contest), named("livecodebench/atcoder/abc1_a", "livecodebench"));
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
