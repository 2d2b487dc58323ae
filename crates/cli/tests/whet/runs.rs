//! `whet runs`: what is listed, and what other programs get.

use std::fs;

use serde_json::Value;

use crate::binary::whet_in;
use crate::hostile_run::hostile_run;

#[test]
fn every_run_has_its_line_and_what_is_no_run_has_none() {
    let dir = tempfile::tempdir().unwrap();
    hostile_run(&dir.path().join("runs"));
    fs::create_dir(dir.path().join("runs/notes")).unwrap();
    let ran = whet_in(dir.path(), &["runs"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(
        lines[0].starts_with("run      state") && lines[1].starts_with("hostile  "),
        "{lines:?}"
    );
    let ran = whet_in(dir.path(), &["runs", "--json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["runs"][0]["name"], "hostile");
    assert!(told["runs"][0]["bytes"].as_u64().unwrap() > 0);
    assert_eq!(told["unreadable"], Value::from(Vec::<Value>::new()));
}

#[test]
fn a_run_whose_creation_was_cut_off_has_a_note_and_no_line() {
    let dir = tempfile::tempdir().unwrap();
    let run = hostile_run(&dir.path().join("runs"));
    fs::remove_file(run.join("config.toml")).unwrap();
    let ran = whet_in(dir.path(), &["runs"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    let note = "hostile cannot be shown: the run `runs/hostile` has no `config.toml`; its creation";
    assert!(ran.err.starts_with(note), "{}", ran.err);
}

#[test]
fn measurements_become_a_table_and_a_file_of_tensorboard() {
    let dir = tempfile::tempdir().unwrap();
    let run = hostile_run(&dir.path().join("runs"));
    let ran = whet_in(dir.path(), &["runs", "csv", "hostile"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "runs/hostile/metrics.csv\n"), "{}", ran.err);
    let table = fs::read_to_string(run.join("metrics.csv")).unwrap();
    assert!(table.starts_with("step,time_ms,"), "{table}");
    let ran = whet_in(dir.path(), &["runs", "tensorboard", "hostile", "--out", "tb"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let written = dir.path().join(ran.out.trim_end());
    assert!(fs::metadata(written).unwrap().len() > 50);
}

#[test]
fn before_the_first_training_there_are_no_runs() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["runs"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(ran.err.contains("no runs in `runs`"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["runs", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &told["runs"]), (0, &serde_json::json!([])));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["runs", "elsewhere"]);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("elsewhere"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["runs", "csv", "nowhere"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("there is no run `runs/nowhere`"), "{}", ran.err);
}
