//! Problems with an input are reported with file, row and reason, and the rest is read.

use std::path::Path;

use serde_json::{Value, json};
use whetstone_data::prepare::{PrepareError, PrepareSummary};
use whetstone_data::source::{DataSet, SourceError};

use crate::support::{Bench, apps_row, lines, mbpp_row};

/// The bad rows of a report, with the file's name alone.
fn bad(report: &PrepareSummary) -> Vec<String> {
    let name =
        |path: &Path| path.file_name().expect("a source").to_str().expect("a source").to_owned();
    report
        .bad
        .iter()
        .map(|bad| format!("{}:{}: {}", name(&bad.file), bad.row, bad.reason))
        .collect()
}

/// Prepares APPS rows among which these stand, after a good one and before another.
fn among_good_rows(rows: &[Value]) -> (Vec<String>, u64) {
    let bench = Bench::new();
    let all: Vec<_> = [&[apps_row(1)], rows, &[apps_row(2)]].concat();
    let path = bench.file("apps.jsonl", lines(&all));
    let report = bench.source(Some(DataSet::Apps), &path).prepare().expect("a source");
    let total = report.total();
    assert_eq!(total.rows, total.bad + total.train + total.val);
    (bad(&report), total.train + total.val)
}

#[test]
fn tests_that_are_no_json_or_huge_or_missing_are_named_and_the_rest_goes_on() {
    let with = |number, tests: &str| {
        let mut row = apps_row(number);
        row["input_output"] = json!(tests);
        row
    };
    let huge = format!("[\"{}\"]", "x".repeat(17 << 20));
    let rows = [with(11, "{'inputs': []}"), with(12, &huge), with(13, "")];
    let (bad, kept) = among_good_rows(&rows);
    assert_eq!(kept, 2);
    assert!(
        bad[0]
            .starts_with("apps.jsonl:2: field `input_output`: expected JSON in the text: key must"),
        "{bad:?}"
    );
    assert!(bad[1].starts_with("apps.jsonl:3: field `input_output` has 178"), "{bad:?}");
    assert_eq!(bad[2], "apps.jsonl:4: it has no tests: `input_output` is empty");
}

#[test]
fn an_id_that_stands_twice_keeps_its_first_task() {
    let mut again = apps_row(99);
    again["problem_id"] = json!(1);
    let (bad, kept) = among_good_rows(&[again]);
    assert_eq!(kept, 2);
    assert!(bad[0].starts_with("apps.jsonl:2: task id `apps/1` stands already in "), "{bad:?}");
    assert!(bad[0].ends_with("apps.jsonl:1"), "{bad:?}");
}

#[test]
fn a_function_that_cannot_be_called_is_no_task() {
    let mut row = apps_row(5);
    row["input_output"] = json!({"fn_name": "a b", "inputs": [[1]], "outputs": [1]});
    let (bad, kept) = among_good_rows(&[row]);
    assert_eq!(kept, 2);
    assert_eq!(
        bad,
        ["apps.jsonl:2: field `tests`: `entry_point` \"a b\" is not a name such as `add` or \
          `Solution.add`"]
    );
}

#[test]
fn a_page_in_place_of_a_file_is_named_and_the_other_sources_go_on() {
    let bench = Bench::new();
    let page = bench.file("mbpp.json", "<!DOCTYPE html>\n<html>\n</html>\n");
    let apps = bench.file("apps.jsonl", lines([&apps_row(1), &apps_row(2)]));
    let bench = bench.source(Some(DataSet::Mbpp), &page).source(Some(DataSet::Apps), &apps);
    let report = bench.prepare().unwrap();
    assert_eq!(
        bad(&report),
        ["mbpp.json:0: expected one JSON array of objects: expected value at line 1 column 1"]
    );
    assert_eq!((report.sources["mbpp"].bad, report.sources["apps"].train), (1, 1));
}

#[test]
fn nothing_but_bad_rows_is_an_error_that_shows_the_first() {
    let bench = Bench::new();
    let page = bench.file("mbpp.jsonl", "<!DOCTYPE html>\n<html>\n");
    let err = bench.source(Some(DataSet::Mbpp), &page).prepare().unwrap_err();
    assert_eq!(err.to_string(), "none of the 2 rows that were read is a task");
    let PrepareError::NoTasks { first: Some(first), .. } = err else { panic!("{err:?}") };
    assert!(
        first.to_string().ends_with(
            "mbpp.jsonl:1: expected one row as a JSON object: expected value at column 1"
        ),
        "{first}"
    );
}

#[test]
fn columns_that_nobody_knows_end_a_file_at_its_first_row() {
    let bench = Bench::new();
    let odd = json!({"question": "q", "answer": 42});
    let path = bench.file("odd.jsonl", lines([&odd, &odd]));
    let good = bench.file("mbpp.jsonl", lines([&mbpp_row(1)]));
    let bench = bench.source(None, &path).source(None, &good);
    let report = bench.prepare().unwrap();
    let [bad] = &bad(&report)[..] else { panic!("{report:?}") };
    assert!(bad.starts_with("odd.jsonl:1: its columns are question, answer; known are tasks (id, statement, tests), leetcode ("), "{bad}");
    assert_eq!(report.sources["mbpp"].train, 1, "the other file was recognised by its columns");
}

#[test]
fn paths_that_are_not_there_or_would_be_overwritten_are_errors() {
    let bench = Bench::new();
    let none = bench.dir.path().join("none.jsonl");
    let err = bench.source(Some(DataSet::Mbpp), &none).prepare().unwrap_err();
    assert!(matches!(&err, PrepareError::Source(SourceError::Io { .. })), "{err:?}");
    assert!(err.is_usage() && err.hint().is_some());

    let bench = Bench::new();
    let own = bench.file("out/train.jsonl", lines([&mbpp_row(1)]));
    let bench = bench.source(None, &own);
    let before = bench.output("out/train.jsonl");
    assert!(matches!(bench.prepare(), Err(PrepareError::OutputIsInput { .. })));
    assert_eq!(bench.output("out/train.jsonl"), before);
    assert!(matches!(Bench::new().prepare(), Err(PrepareError::NoSource)));
}

#[test]
fn a_benchmark_without_tasks_is_an_error_since_it_would_clean_nothing() {
    let bench = Bench::new();
    let good = bench.file("mbpp.jsonl", lines([&mbpp_row(1)]));
    let page = bench.file("bench.jsonl", "<html>\n");
    let mut bench = bench.source(None, &good);
    bench.benchmarks.push(page);
    assert!(matches!(bench.prepare(), Err(PrepareError::NoBenchmark { first: Some(_), .. })));
}
