//! A disk with no room left, played by a limit on the size of files.
//!
//! Like a full disk, the kernel takes the part of a line that fits and refuses the rest. A shell
//! sets the limit and turns off the signal that goes with it, because both need C or `unsafe` here.

use std::fs;

use crate::child;

use serde_json::{Value, json};
use whetstone_record::error::JournalError;
use whetstone_record::journal::{Journal, read};

/// Files of at most 8 blocks: 4 or 8 KiB, as the shell counts.
const LIMIT: &str = "trap '' XFSZ && ulimit -f 8 &&";

#[test]
fn a_full_disk_leaves_no_half_line_and_the_journal_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let output = child::command(LIMIT, "full_disk::writer_child", &path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));

    let records: Vec<(u64, Value)> =
        read(&path).unwrap().typed().collect::<Result<_, _>>().unwrap();
    let (last, others) = records.split_last().unwrap();
    assert!(others.len() >= 3, "only {} records fitted", others.len());
    assert!(others.iter().all(|(_, value)| value["text"] == json!("x".repeat(1000))));
    assert_eq!(last.1, json!({"small": true}));
}

#[test]
#[ignore = "the child process of other tests"]
fn writer_child() {
    let path = child::path();
    let (mut journal, _) = Journal::open(&path).unwrap();
    let large = json!({"text": "x".repeat(1000)});
    let err = loop {
        let before = fs::metadata(&path).unwrap().len();
        if let Err(err) = journal.append(&large) {
            assert_eq!(fs::metadata(&path).unwrap().len(), before, "half a line is left");
            break err;
        }
    };
    let JournalError::Write { seq, source, .. } = err else { panic!("{err}") };
    assert_eq!(source.kind(), std::io::ErrorKind::FileTooLarge);
    assert_eq!(journal.append(&json!({"small": true})).unwrap(), seq);
}
