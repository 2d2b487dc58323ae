//! Reading whole files of tasks: each kind of bad file gives one error that names file and line.

use std::fs;
use std::path::Path;

use whetstone_core::jsonl::read_tasks;

const GOOD: &str =
    r#"{"v":1,"id":"a","statement":"s","tests":{"kind":"asserts","hidden":["assert f(2) == 3"]}}"#;

/// Writes `bytes` as `tasks.jsonl`, reads it, and returns the message with the folder taken off.
fn error_of(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a file can be written");
    let path = folder.path().join("tasks.jsonl");
    fs::write(&path, bytes).expect("a file can be written");
    let message = read_tasks(&path).expect_err("a bad file is refused").to_string();
    message
        .strip_prefix(&format!("{}/", folder.path().display()))
        .expect("the file is named")
        .to_owned()
}

#[test]
fn a_good_file_gives_its_tasks_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.jsonl");
    fs::write(&path, format!("{GOOD}\n{}\n", GOOD.replace(r#""a""#, r#""b""#))).unwrap();
    let ids: Vec<_> = read_tasks(&path).unwrap().iter().map(|task| task.id.to_string()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn an_id_that_stands_twice_names_both_lines() {
    let file = format!("{GOOD}\n\n{GOOD}\n");
    assert_eq!(error_of(file.as_bytes()), "tasks.jsonl:3: task id `a` stands already in line 1");
}

#[test]
fn a_truncated_file_is_called_so() {
    let file = format!("{GOOD}\n{}", &GOOD[..40]);
    let message = error_of(file.as_bytes());
    assert!(message.starts_with("tasks.jsonl:2: ends in the middle of a value"), "{message}");
}

#[test]
fn bytes_that_are_no_text_are_called_so() {
    let message = error_of(b"{\"id\":\"\xc3\x28\"}\n");
    assert!(message.starts_with("tasks.jsonl:1: not UTF-8 at byte 7"), "{message}");
}

#[test]
fn a_newer_version_asks_for_a_newer_whet() {
    let message = error_of(GOOD.replace(r#""v":1"#, r#""v":9"#).as_bytes());
    let expected = "tasks.jsonl:1: not a task: version 9 is newer than this whet reads (3); \
                    use a newer whet";
    assert_eq!(message, expected);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = read_tasks(Path::new("no/such.jsonl")).unwrap_err().to_string();
    assert!(message.starts_with("no/such.jsonl: cannot read: No such file"), "{message}");
}
