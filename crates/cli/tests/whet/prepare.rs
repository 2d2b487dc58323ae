//! `whet data prepare`: files, flags, the summary, exit codes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};

fn row(number: usize) -> Value {
    let words = (0..9).map(|at| format!("w{number}x{at}")).collect::<Vec<_>>().join(" ");
    json!({"task_id": number, "text": words, "code": words, "test_list": ["assert f()"]})
}

fn lines(rows: &[Value]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| row.to_string() + "\n").collect();
    rows.concat()
}

/// Prepares ten rows of MBPP and what else stands in the file, split by the seed, with these flags more.
fn prepare(folder: &Path, more: &str, flags: &[&str]) -> Ran {
    let rows: Vec<_> = (1..=10).map(row).collect();
    fs::write(folder.join("mbpp.jsonl"), lines(&rows) + more).expect("a file");
    let command = ["data", "prepare", "--mbpp", "mbpp.jsonl", "--split", "seed"];
    whet_in(folder, &[&command, flags].concat())
}

#[test]
fn both_files_of_mbpp_are_one_set_of_tasks_in_the_variant_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mbpp.jsonl"), lines(&[row(11), row(600), row(601)])).unwrap();
    let sanitized = json!([{"task_id": 11, "prompt": "Revised by hand.", "code": "another",
        "test_imports": [], "test_list": ["assert g()"]}]);
    fs::write(dir.path().join("sanitized-mbpp.json"), sanitized.to_string()).unwrap();
    let command = ["data", "prepare", "--mbpp", "mbpp.jsonl", "sanitized-mbpp.json"];
    let ran = whet_in(dir.path(), &command);
    let said = "MBPP: 1 task with the sanitized statement and tests, 2 as first published";
    assert!(ran.out.contains(said), "{}{}", ran.out, ran.err);
    let val = |dir: &Path| fs::read_to_string(dir.join("data/val.jsonl")).unwrap();
    assert!(val(dir.path()).contains("Revised by hand."), "{}", val(dir.path()));
    let ran = whet_in(dir.path(), &[&command[..], &["--mbpp-variant", "first"]].concat());
    assert!(!ran.out.contains("MBPP: "), "{}", ran.out);
    assert!(val(dir.path()).contains("w11x0"), "{}", val(dir.path()));
}

#[test]
fn mbpp_is_split_as_it_was_published_unless_asked_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let rows: Vec<_> = (6..=12).chain(509..=512).chain(600..=602).map(row).collect();
    fs::write(dir.path().join("mbpp.jsonl"), lines(&rows)).unwrap();
    let ran = whet_in(dir.path(), &["data", "prepare", "--mbpp", "mbpp.jsonl", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["split"], &report["val"]["tasks"]), (&"official".into(), &4.into()));
    let ids = |part: &str| {
        let lines = fs::read_to_string(dir.path().join(part)).unwrap();
        let id =
            |line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().map(String::from);
        let mut ids: Vec<_> = lines.lines().filter_map(id).collect();
        ids.sort();
        ids.join(" ")
    };
    assert_eq!(ids("data/val.jsonl"), "mbpp/11 mbpp/12 mbpp/509 mbpp/510");
    assert_eq!(ids("data/dev.jsonl"), "mbpp/511 mbpp/512 mbpp/600");
    let ran = whet_in(dir.path(), &["data", "prepare", "--mbpp", "mbpp.jsonl"]);
    let said = "511 to 600 for development; `--split seed` makes it 80/20";
    assert!(ran.out.contains(said), "{}", ran.out);
    let ran = prepare(dir.path(), "", &[]);
    assert!(ran.out.contains("MBPP is split by the seed"), "{}", ran.out);
}

#[test]
fn three_files_and_a_report_are_written_and_summed_up() {
    let dir = tempfile::tempdir().unwrap();
    let ran = prepare(dir.path(), "", &[]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    let head = "7 tasks for training in data/train.jsonl, 1 task for development in data/dev.jsonl, \
                2 tasks for validation in data/val.jsonl";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    let count = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap().lines().count();
    let parts = ["data/train.jsonl", "data/dev.jsonl", "data/val.jsonl"].map(count);
    assert_eq!(parts, [7, 1, 2]);
    let to_the_letter = prepare(dir.path(), "", &["--dev-fraction", "0", "--out", "two"]);
    assert!(to_the_letter.out.starts_with("8 tasks for training"), "{}", to_the_letter.out);
    assert_eq!(count("two/dev.jsonl"), 0);
    let report = fs::read_to_string(dir.path().join("data/prepare.json")).unwrap();
    let ran = prepare(dir.path(), "", &["--json"]);
    let (shown, written): (Value, Value) =
        (serde_json::from_str(&ran.out).unwrap(), serde_json::from_str(&report).unwrap());
    assert_eq!(shown, written);
    assert_eq!((&shown["seed"], &shown["train"]["tasks"]), (&42.into(), &7.into()));
}

#[test]
fn a_parquet_file_that_makes_its_library_panic_is_a_finding_and_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    // MBPP as the library writes it, but for one byte of its metadata.
    fs::write(dir.path().join("lies.parquet"), include_bytes!("contradicts.parquet")).unwrap();
    let ran = prepare(dir.path(), "", &["--tasks", "lies.parquet"]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("lies.parquet:1: the parquet file contradicts itself"), "{}", ran.out);
}

#[test]
fn bad_rows_are_shown_and_are_an_answer_of_no_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let more = format!(
        "nonsense\n{}",
        lines(&[json!({"task_id": 3, "text": "t", "code": "c", "test_list": []})])
    );
    let ran = prepare(dir.path(), &more, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("bad 2\n"), "{}", ran.out);
    assert!(ran.out.contains("mbpp.jsonl:11: expected one row as a JSON object"), "{}", ran.out);
    assert!(
        ran.out.contains("mbpp.jsonl:12: it has no tests: `test_list` is empty"),
        "{}",
        ran.out
    );
    assert_eq!(prepare(dir.path(), &more, &["--strict"]).code, 1);
    assert!(dir.path().join("data/train.jsonl").exists(), "the rest is prepared all the same");
}

#[test]
fn duplicates_are_not_bad() {
    let dir = tempfile::tempdir().unwrap();
    let mut twin = row(4);
    twin["task_id"] = 11.into();
    let ran = prepare(dir.path(), &lines(&[twin]), &["--strict"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("duplicates 1: 1 by same statement"), "{}", ran.out);
    assert!(ran.out.contains("mbpp/11 is like mbpp/4: same statement, 100 %"), "{}", ran.out);
}

#[test]
fn flags_reach_the_split() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["--val-fraction", "0.5", "--limit", "4", "--seed", "7", "--out", "a/b", "--json"];
    let ran = prepare(dir.path(), "", &flags);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["val"]["tasks"], &report["seed"]), (&2.into(), &7.into()));
    assert_eq!(report["sources"]["mbpp"]["over_limit"], 6);
    assert!(dir.path().join("a/b/val.jsonl").exists());
    let by_config = prepare(dir.path(), "", &["--set", "seed=7", "--json"]);
    let report: Value = serde_json::from_str(&by_config.out).unwrap();
    assert_eq!(report["seed"], 7);
}

#[test]
fn a_benchmark_cleans_what_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bench.jsonl"), lines(&[row(5)])).unwrap();
    let ran = prepare(dir.path(), "", &["--decontaminate", "bench.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("mbpp/5 is known to mbpp/5: w5x0 w5x1 w5x2"), "{}", ran.out);
}

#[test]
fn sources_that_cannot_be_had_say_what_to_give_instead() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["data", "prepare", "--mbpp", "none.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot read `none.jsonl`: No such file"), "{}", ran.err);
    fs::write(dir.path().join("page.json"), "<html></html>").unwrap();
    let ran = whet_in(dir.path(), &["data", "prepare", "--mbpp", "page.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: none of the 1 rows that were read is a task"), "{}", ran.err);
    assert!(ran.err.contains("page.json: expected one JSON array of objects"), "{}", ran.err);
}

#[test]
fn wrong_numbers_and_contradictions_are_usage_errors() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        &["--val-fraction", "1"][..],
        &["--val-fraction", "nan"],
        &["--dev-fraction", "1"],
        &["--dev-fraction", "-0.1"],
        &["--ngram", "2"],
        &["--apps", "x", "--skip-apps"],
        &["--apps-difficulty", "hard"],
    ] {
        assert_eq!(prepare(dir.path(), "", flags).code, 2, "{flags:?}");
    }
}

#[test]
fn help_says_what_counts_as_bad() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["data", "prepare", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["these alone count for --strict", "Examples:", "Exit codes:", "80 %", "--ngram"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
