//! A journal cut at every byte, and one with every byte of its last line flipped.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_record::error::{JournalError, ReadError};
use whetstone_record::journal::{Journal, Recovery, read};

fn payload(seq: u64) -> Value {
    let count = usize::try_from(seq).expect("few records");
    json!({"n": seq, "text": "\"line\nü".repeat(count)})
}

/// The bytes of a journal of five records, and where each line ends.
fn sample(dir: &Path) -> (Vec<u8>, Vec<usize>) {
    let path = dir.join("sample");
    let (mut journal, _) = Journal::open(&path).expect("it is new");
    for seq in 0..5 {
        journal.append(&payload(seq)).expect("the disk has room");
    }
    let bytes = fs::read(&path).expect("it was written");
    let ends = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1).collect();
    (bytes, ends)
}

/// Opens the journal, appends the next record, and reads everything back.
fn go_on(path: &Path) -> Result<Recovery, JournalError> {
    let (mut journal, recovery) = Journal::open(path)?;
    let next = journal.next_seq();
    assert_eq!(journal.append(&payload(next))?, next);
    let found: Vec<_> =
        read(path).expect("it opens").typed().collect::<Result<_, _>>().expect("it is whole");
    assert_eq!(found, (0..=next).map(|seq| (seq, payload(seq))).collect::<Vec<_>>());
    Ok(recovery)
}

#[test]
fn a_journal_cut_at_any_byte_keeps_every_whole_record() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, ends) = sample(dir.path());
    let path = dir.path().join("cut");
    for cut in 0..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        let kept = if whole == 0 { 0 } else { ends[whole - 1] };
        let expected = Recovery {
            last_seq: (whole as u64).checked_sub(1),
            cut_bytes: (cut - kept) as u64,
            kept_bytes: kept as u64,
        };
        assert_eq!(go_on(&path).unwrap(), expected, "cut at {cut}");
    }
}

#[test]
fn a_reader_of_a_cut_journal_sees_every_whole_record_and_then_the_tear() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, ends) = sample(dir.path());
    let path = dir.path().join("cut");
    for cut in 0..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let mut records: Vec<_> = read(&path).unwrap().collect();
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        if cut > 0 && !ends.contains(&cut) {
            let err = records.pop().unwrap().unwrap_err();
            assert!(matches!(err, ReadError::Torn { line, .. } if line == whole as u64 + 1));
        }
        assert_eq!(records.iter().flatten().count(), whole, "cut at {cut}");
        assert_eq!(records.len(), whole, "cut at {cut}");
    }
}

#[test]
fn any_flipped_byte_of_the_last_line_is_found_and_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, ends) = sample(dir.path());
    let (start, path) = (ends[3], dir.path().join("flipped"));
    let cut_bytes = (bytes.len() - start) as u64;
    let expected = Recovery { last_seq: Some(3), cut_bytes, kept_bytes: start as u64 };
    for at in start..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        assert_eq!(go_on(&path).unwrap(), expected, "byte {at}");
    }
}

#[test]
fn any_flipped_byte_before_the_last_line_is_an_error_of_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, ends) = sample(dir.path());
    let path = dir.path().join("flipped");
    // The newline itself belongs to the line behind it: without it, two lines are one.
    for at in ends[1]..ends[2] - 1 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, &flipped).unwrap();
        let records: Vec<_> = read(&path).unwrap().collect();
        assert_eq!(records.len(), 3, "byte {at}");
        let err = records[2].as_ref().unwrap_err();
        assert!(matches!(err, ReadError::Damaged { line: 3, .. }), "byte {at}: {err}");
    }
}
