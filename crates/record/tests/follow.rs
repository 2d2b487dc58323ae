//! A journal that is read on from where an earlier reader came to.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_record::error::ReadError;
use whetstone_record::journal::{Journal, Position, Record, read, read_from};

/// A journal of six records, its bytes, and the places in front of each and behind the last.
fn sample(dir: &Path) -> (PathBuf, Vec<u8>, Vec<Position>) {
    let path = dir.join("sample");
    let (mut journal, _) = Journal::open(&path).expect("it is new");
    let mut places = vec![Position::default()];
    for n in 0..6 {
        journal.append(&payload(n)).expect("the disk has room");
        let mut reader = read(&path).expect("it opens");
        assert_eq!(reader.by_ref().count(), n + 1);
        places.push(reader.place());
    }
    let bytes = fs::read(&path).expect("it was written");
    (path, bytes, places)
}

fn payload(n: usize) -> Value {
    json!({"n": n, "text": "\"line\nü".repeat(n)})
}

fn rest(path: &Path, place: Position) -> Result<Vec<Record>, ReadError> {
    read_from(path, place)?.collect()
}

#[test]
fn reading_on_gives_what_reading_from_the_beginning_gives() {
    let dir = tempfile::tempdir().unwrap();
    let (path, bytes, places) = sample(dir.path());
    let all = rest(&path, Position::default()).unwrap();
    assert_eq!(all.len(), 6);
    for (passed, &place) in places.iter().enumerate() {
        assert_eq!(rest(&path, place).unwrap(), all[passed..], "behind {passed}");
        assert_eq!(place.to_string().parse(), Ok(place));
    }
    assert_eq!(places[6].offset_bytes(), bytes.len() as u64);
}

#[test]
fn a_line_that_is_not_whole_yet_is_not_there_and_comes_later() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes, places) = sample(dir.path());
    let path = dir.path().join("growing");
    let start = usize::try_from(places[5].offset_bytes()).unwrap();
    for end in start..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        let mut reader = read_from(&path, places[5]).unwrap();
        let torn = reader.next().map(Result::unwrap_err);
        assert_eq!(torn.is_some_and(|err| err.is_torn()), end > start, "{end}");
        assert_eq!(reader.place(), places[5], "the place waits in front of it");
    }
    fs::write(&path, &bytes).unwrap();
    let mut reader = read_from(&path, places[5]).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().seq, 5);
    assert_eq!(reader.place(), places[6]);
}

#[test]
fn every_flipped_byte_behind_the_place_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes, places) = sample(dir.path());
    let path = dir.path().join("flipped");
    let at = |place: usize| usize::try_from(places[place].offset_bytes()).unwrap();
    // The newline itself belongs to the line behind it.
    for flipped in at(4)..at(5) - 1 {
        let mut bytes = bytes.clone();
        bytes[flipped] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let err = rest(&path, places[4]).unwrap_err();
        assert!(matches!(err, ReadError::Damaged { line: 5, .. }), "byte {flipped}: {err}");
    }
}

#[test]
fn a_record_that_is_missing_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes, places) = sample(dir.path());
    let at = |place: usize| usize::try_from(places[place].offset_bytes()).unwrap();
    let path = dir.path().join("hole");
    fs::write(&path, [&bytes[..at(3)], &bytes[at(4)..]].concat()).unwrap();
    let err = rest(&path, places[3]).unwrap_err();
    assert!(matches!(err, ReadError::Sequence { line: 4, expected: 3, found: 4, .. }), "{err}");
}

#[test]
fn another_file_under_the_name_is_not_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let (path, bytes, places) = sample(dir.path());
    let other = dir.path().join("other");
    let (mut journal, _) = Journal::open(&other).unwrap();
    for n in 0..6 {
        // As long as the first, line by line.
        let mut text = payload(n);
        text["n"] = (9 - n).into();
        journal.append(&text).unwrap();
    }
    assert_eq!(fs::metadata(&other).unwrap().len(), bytes.len() as u64);
    for (passed, &place) in places.iter().enumerate().skip(1) {
        let moved = rest(&other, place).unwrap_err().is_moved();
        assert!(moved, "behind {passed}");
        let place = usize::try_from(place.offset_bytes()).unwrap();
        fs::write(&path, &bytes[..place - 1]).unwrap();
        assert!(rest(&path, places[passed]).unwrap_err().is_moved(), "cut in front of {passed}");
    }
    fs::write(&path, &bytes).unwrap();
    for made_up in ["1-1-90ab12cd", "19-1-90ab12cd", "9000-3-90ab12cd"] {
        assert!(rest(&path, made_up.parse().unwrap()).unwrap_err().is_moved(), "{made_up}");
    }
}
