//! A journal with one writer: its numbers, its lock, its failures, and the law of the round trip.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn open(path: &Path) -> Journal {
    Journal::open(path).unwrap().0
}

fn values(path: &Path) -> Vec<(u64, Value)> {
    read(path).unwrap().typed().collect::<Result<_, _>>().unwrap()
}

#[test]
fn numbers_go_on_where_the_last_writer_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    for seq in 0..3u64 {
        let (mut journal, recovery) = Journal::open(&path).unwrap();
        assert_eq!(recovery.last_seq, seq.checked_sub(1));
        assert_eq!(journal.append(&json!({"n": seq})).unwrap(), seq);
    }
    assert_eq!(values(&path), [0, 1, 2].map(|seq| (seq, json!({"n": seq}))));
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let first = open(&path);
    let err = Journal::open(&path).unwrap_err();
    assert!(matches!(err, JournalError::Locked { .. }), "{err}");
    drop(first);
    open(&path);
}

#[test]
fn who_waits_while_a_journal_is_removed_gets_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let mut first = Some(open(&path));
    first.as_mut().unwrap().append(&json!({"a": 1})).unwrap();
    let mut rounds = 0;
    let file = open_locked(&path, || {
        rounds += 1;
        // The first writer ends between our opening the file and our locking it.
        first.take().into_iter().for_each(|journal| journal.remove().unwrap());
    });
    assert_eq!((file.unwrap().metadata().unwrap().len(), rounds), (0, 2));
    assert!(path.exists());

    let mut replaced = false;
    let file = open_locked(&path, || {
        if !std::mem::replace(&mut replaced, true) {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "a new one").unwrap();
        }
    });
    assert_eq!(file.unwrap().metadata().unwrap().len(), 9, "it is the one that has the name");
}

#[test]
fn a_journal_that_is_cleared_begins_again_under_the_same_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let mut journal = open(&path);
    journal.append(&json!({"a": 1})).unwrap();
    journal.append(&json!({"a": 2})).unwrap();
    journal.clear().unwrap();
    assert!(matches!(Journal::open(&path).unwrap_err(), JournalError::Locked { .. }));
    assert_eq!((journal.next_seq(), fs::metadata(&path).unwrap().len()), (0, 0));
    assert_eq!(journal.len, 0, "what fails to be written is cut back to here");
    journal.append(&json!({"b": 1})).unwrap();
    // Half a record that cannot be cut off is gone with all the others.
    let writable = std::mem::replace(&mut journal.file, File::open(&path).unwrap());
    journal.append(&json!({"b": 2})).unwrap_err();
    journal.file = writable;
    journal.clear().unwrap();
    journal.append(&json!({"c": 1})).unwrap();
    drop(journal);
    assert_eq!(values(&path), [(0, json!({"c": 1}))]);
}

#[test]
fn a_journal_that_is_removed_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    open(&path).remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_payload_that_is_refused_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let mut journal = open(&path);
    let err = journal.append(&[1, 2]).unwrap_err();
    assert_eq!(err.to_string(), format!("cannot serialize record 0 of `{}`", path.display()));
    assert_eq!(journal.append(&json!({"a": 1})).unwrap(), 0);
    assert_eq!(values(&path), [(0, json!({"a": 1}))]);
}

#[test]
fn a_journal_that_cannot_cut_back_takes_no_more_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let mut journal = open(&path);
    journal.append(&json!({"a": 1})).unwrap();
    // Neither write nor set_len works on a handle opened for reading.
    let writable = std::mem::replace(&mut journal.file, File::open(&path).unwrap());
    let err = journal.append(&json!({"a": 2})).unwrap_err();
    assert!(matches!(err, JournalError::HalfWritten { seq: 1, .. }), "{err}");
    journal.file = writable;
    let err = journal.append(&json!({"a": 3})).unwrap_err();
    assert!(matches!(err, JournalError::Poisoned { .. }), "{err}");
    assert_eq!(values(&path), [(0, json!({"a": 1}))]);
}

#[test]
fn a_failed_sync_is_an_error_of_the_next_append() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let mut journal = Journal::with_failing_sync(&path);
    journal.append(&json!({"a": 1})).unwrap();
    journal.sync().unwrap_err();
    let err = journal.append(&json!({"a": 2})).unwrap_err();
    let JournalError::Sync { source, .. } = err else { panic!("{err}") };
    assert_eq!(source.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(values(&path), [(0, json!({"a": 1}))], "nothing was written after it");
}

#[test]
fn opening_in_a_missing_directory_says_so() {
    let err = Journal::open(Path::new("no/such/j")).unwrap_err();
    assert_eq!(err.to_string(), "cannot open `no/such/j`");
}

fn payloads() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::collection::vec(any::<f64>(), 0..4).prop_map(Value::from),
    ];
    let key = any::<String>().prop_filter("reserved", |key| key != "seq" && key != "crc");
    prop::collection::btree_map(key, leaf, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_is_appended_is_read_back_bit_by_bit(
        batches in prop::collection::vec(prop::collection::vec(payloads(), 0..5), 1..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        for batch in &batches {
            let mut journal = open(&path);
            for payload in batch {
                journal.append(payload).unwrap();
            }
        }
        let expected: Vec<_> = (0..).zip(batches.concat()).collect();
        prop_assert_eq!(values(&path), expected);
        let lines = fs::read_to_string(&path).unwrap();
        for line in lines.lines() {
            prop_assert!(serde_json::from_str::<Value>(line).unwrap().is_object());
        }
    }
}
