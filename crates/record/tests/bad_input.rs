//! Files that are not what a reader expects. Each is an error that names the file and the line.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use whetstone_record::error::{JournalError, ReadError};
use whetstone_record::journal::{Journal, MAX_LINE_BYTES, read};

/// Two whole records.
fn two_lines(dir: &Path) -> Vec<String> {
    let path = dir.join("good");
    let (mut journal, _) = Journal::open(&path).expect("it is new");
    for n in [10, 11] {
        journal.append(&json!({"n": n})).expect("the disk has room");
    }
    let text = fs::read_to_string(&path).expect("it was written");
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// A line that is whole, with any text as its fields.
fn line(body: &[u8]) -> Vec<u8> {
    let crc = crc32fast::hash(body);
    [body, format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes()].concat()
}

/// Reads a file of `parts` up to its error; compares the error's chain.
#[track_caller]
fn check(parts: &[&[u8]], expected: &str) {
    let dir = tempfile::tempdir().expect("there is a temporary directory");
    let path = dir.path().join("bad");
    fs::write(&path, parts.concat()).expect("the disk has room");
    let err = read(&path).expect("it opens").typed::<Value>().find_map(Result::err);
    assert_eq!(
        chain(&err.expect("it is bad")).replace(&path.display().to_string(), "FILE"),
        expected
    );
}

fn chain(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(err) = source {
        text = format!("{text}: {err}");
        source = err.source();
    }
    text
}

#[test]
fn a_line_that_is_not_utf8() {
    let dir = tempfile::tempdir().unwrap();
    let good = two_lines(dir.path());
    let first = good[0].as_bytes();
    let damaged = "line 2 of `FILE` is damaged: byte 14 is not UTF-8";
    check(&[first, b"{\"seq\":1,\"n\":\"\xff\"}\n"], damaged);
    check(&[first, &line(b"{\"seq\":1,\"n\":\"\xff\"")], damaged);
}

#[test]
fn a_line_in_the_middle_that_is_not_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let good = two_lines(dir.path());
    let end = "expected it to end with `,\"crc\":\"` and eight hexadecimal digits";
    let damaged = format!("line 2 of `FILE` is damaged: {end}");
    for bad in ["\n", "{}\n", "notes\n", "{\"seq\":1,\"n\":1}\n"] {
        check(&[good[0].as_bytes(), bad.as_bytes(), good[1].as_bytes()], &damaged);
    }
    let edited = good[1].replace("11", "99");
    check(
        &[good[0].as_bytes(), edited.as_bytes()],
        "line 2 of `FILE` is damaged: its bytes have crc 04ffb35b, but it says `c2fdb161`",
    );
}

#[test]
fn a_record_that_is_missing_or_there_twice() {
    let dir = tempfile::tempdir().unwrap();
    let good = two_lines(dir.path());
    let (first, second) = (good[0].as_bytes(), good[1].as_bytes());
    check(&[first, first], "line 2 of `FILE` is record 0, expected record 1");
    check(&[second], "line 1 of `FILE` is record 1, expected record 0");
    check(&[first, second, first], "line 3 of `FILE` is record 0, expected record 2");
}

#[test]
fn a_whole_line_whose_payload_is_not_json() {
    let dir = tempfile::tempdir().unwrap();
    let good = two_lines(dir.path());
    check(
        &[good[0].as_bytes(), &line(b"{\"seq\":1,notes")],
        "line 2 of `FILE` is a record of another kind: key must be a string at line 1 column 2",
    );
}

#[test]
fn a_record_of_another_type() {
    #[derive(Debug, Deserialize)]
    struct Text {
        #[serde(rename = "n")]
        _n: String,
    }
    let dir = tempfile::tempdir().unwrap();
    two_lines(dir.path());
    let errors: Vec<_> = read(&dir.path().join("good")).unwrap().typed::<Text>().collect();
    assert_eq!(errors.len(), 2);
    let err = errors[1].as_ref().unwrap_err();
    assert!(matches!(err, ReadError::WrongType { line: 2, .. }), "{err}");
    assert!(chain(err).contains("expected a string"), "{}", chain(err));
}

#[test]
fn a_truncated_file() {
    let dir = tempfile::tempdir().unwrap();
    let good = two_lines(dir.path());
    check(
        &[good[0].as_bytes(), &good[1].as_bytes()[..9]],
        "`FILE` ends with a torn record of 9 bytes in line 2",
    );
}

#[test]
fn a_file_that_is_not_there() {
    let err = read(Path::new("no/such/file")).unwrap_err();
    assert!(chain(&err).starts_with("cannot open `no/such/file`: No such file"), "{}", chain(&err));
}

#[test]
fn a_line_of_100_mb_is_refused_without_holding_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"{\"seq\":0,\"text\":\"").unwrap();
    // A hole in the file: it has 100 MB to read and none on the disk.
    file.set_len(100_000_000).unwrap();

    let items: Vec<_> = read(&path).unwrap().collect();
    assert_eq!(items.len(), 1);
    let err = items[0].as_ref().unwrap_err();
    assert!(
        matches!(err, ReadError::TooLong { line: 1, limit_bytes: MAX_LINE_BYTES, .. }),
        "{err}"
    );
    let peak = peak_memory_bytes();
    assert!(peak < 95_000_000, "{peak} bytes were in memory at once");

    let err = Journal::open(&path).unwrap_err();
    assert!(matches!(err, JournalError::NotAJournal { .. }), "{err}");
    assert_eq!(file.metadata().unwrap().len(), 100_000_000, "a refused file is left alone");
}

/// The most memory this process ever had, by the kernel's count.
fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("it has a peak");
    1024 * kib.parse::<u64>().expect("it is a number")
}
