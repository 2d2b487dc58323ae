//! `whet train sft --rows`: rows of an environment's expert, resumed, and rows that are none.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::whet_in;
use crate::teach_episodes::guess;
use crate::tiny_school::{school, sft, steps, trained};

/// Rows of the expert for ten numbers.
fn expert_rows(dir: &Path) {
    let tasks: String = (0..10).map(|n| guess(n, n)).collect();
    fs::write(dir.join("guesses.jsonl"), tasks).expect("the folder is writable");
    let flags = ["--tasks=guesses.jsonl", "--out=episodes.jsonl", "--rows=rows.jsonl", "--json"];
    let ran = whet_in(dir, &[&["teach", "--teacher=embedded"], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("a report");
    assert_eq!(
        (&report["rows"], &report["teachers"]["embedded"]["kept"]),
        (&10.into(), &10.into())
    );
}

#[test]
fn rows_of_an_expert_and_of_others_are_trained_and_no_other_file_resumes_the_run() {
    let dir = school();
    expert_rows(dir.path());
    // Rows of others beside them: without an input, and with a history.
    let path = dir.path().join("rows.jsonl");
    let others = concat!(
        r#"{"instruction":"Say a.","output":"a"}"#,
        "\n",
        r#"{"instruction":"Guess a number.","input":"Higher.","output":"7","history":[["Guess a number.\nIt is below 10.","5"]]}"#,
        "\n"
    );
    fs::write(&path, fs::read_to_string(&path).unwrap() + others).unwrap();
    let flags = ["--rows=rows.jsonl", "--set=training.max_steps=4"];
    let more = ["--set=training.save_steps=2"];
    let ran = trained(dir.path(), &sft("whole", &[&flags[..], &more].concat()));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("12 rows, 12 examples; left out: 0 rows longer than 160"),
        "{}",
        ran.err
    );
    assert_eq!(steps(dir.path(), "whole"), [1, 2, 3, 4]);
    let inputs = fs::read_to_string(dir.path().join("runs/whole/inputs/inputs.json")).unwrap();
    assert!(inputs.contains("\"rows\": {"), "{inputs}");

    let other = ["--resume", "--rows=guesses.jsonl"];
    let ran = trained(dir.path(), &sft("whole", &other));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("`guesses.jsonl` is not the file that the run was started with"));
    assert!(ran.err.contains("hint: leave out `--rows`"), "{}", ran.err);
}

#[test]
fn a_line_that_is_no_row_is_named_with_what_it_lacks() {
    let dir = school();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let good = r#"{"instruction":"Say a.","output":"a"}"#;
    write("bad.jsonl", &format!("{good}\n\n{{\"instruction\":\"Say b.\"}}\n"));
    write("cut.jsonl", &format!("{good}\n{}", &good[..20]));
    write("empty.jsonl", "");
    for (file, said) in [
        ("bad.jsonl", "bad.jsonl:3: not a row: field `output` is missing"),
        ("cut.jsonl", "cut.jsonl:2: ends in the middle of a value"),
        ("gone.jsonl", "gone.jsonl: cannot read"),
        ("empty.jsonl", "there is no row to learn from"),
    ] {
        let ran = trained(dir.path(), &sft("r", &[&format!("--rows={file}")]));
        assert_eq!(ran.code, 2, "{file}: {}", ran.err);
        assert!(ran.err.contains(said), "{file}: {}", ran.err);
        assert!(!dir.path().join("runs/r").exists(), "{file} left a run behind");
    }
    let ran = trained(dir.path(), &sft("r", &["--rows=bad.jsonl", "--traces=traces.jsonl"]));
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}
