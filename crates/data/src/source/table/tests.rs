//! Rows of lines and arrays, packed and not, whole and broken.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// What reading a file with these contents gives: for each row its number and its fields or the
/// reason, and what ended it.
fn rows(name: &str, contents: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, contents).unwrap();
    let mut rows = Vec::new();
    let ended = read(&path, Encoding::of(&path).unwrap(), &mut |row, object| {
        rows.push(match object {
            Ok(object) => format!("{row} {}", serde_json::to_string(&object).unwrap()),
            Err(problem) => format!("{row} bad: {problem}"),
        });
        ControlFlow::Continue(())
    });
    match ended {
        Ok(()) => {}
        Err(TableError::Broken { row, problem }) => {
            rows.push(format!("broken at {row}: {problem}"));
        }
        Err(TableError::Io(err)) => rows.push(format!("io: {err}")),
    }
    rows
}

fn packed(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn names_say_the_format() {
    let of = |name: &str| Encoding::of(Path::new(name)).map(|found| (found.format, found.packed));
    assert_eq!(of("a/mbpp.jsonl"), Some((TableFormat::Lines, false)));
    assert_eq!(of("HumanEval.JSONL.gz"), Some((TableFormat::Lines, true)));
    assert_eq!(of("sanitized-mbpp.json"), Some((TableFormat::Array, false)));
    assert_eq!(of("train-00000-of-00001.parquet"), Some((TableFormat::Parquet, false)));
    assert_eq!(of("x.parquet.gz"), Some((TableFormat::Parquet, true)));
    assert_eq!(of("mbpp.csv"), None);
    assert_eq!(of("gz"), None);
}

#[test]
fn lines_and_arrays_give_the_same_rows_packed_or_not() {
    let lines = b"{\"a\":1}\n\n{\"a\":[2.50]}\n";
    let array = b"\xef\xbb\xbf[ {\"a\":1},\n{\"a\":[2.50]} ]\n";
    let expected = |second| ["1 {\"a\":1}".to_owned(), format!("{second} {{\"a\":[2.50]}}")];
    assert_eq!(rows("a.jsonl", lines), expected(3), "the number is that of the line");
    assert_eq!(rows("a.jsonl.gz", &packed(lines)), expected(3));
    assert_eq!(rows("a.json", array), expected(2));
    assert_eq!(rows("a.json.gz", &packed(array)), expected(2));
}

#[test]
fn a_row_that_is_none_does_not_hide_the_next() {
    let found = rows("a.jsonl", b"<html>\n{\"a\":1}\n");
    assert!(found[0].starts_with("1 bad: expected one row as a JSON object: "), "{found:?}");
    assert_eq!(found[1], "2 {\"a\":1}");
    let found = rows("a.json", b"[7, {\"a\":1}]");
    assert!(found[0].starts_with("1 bad: expected one row as a JSON object: "), "{found:?}");
    assert_eq!(found[1], "2 {\"a\":1}");
}

#[test]
fn what_breaks_off_is_named_with_the_row() {
    let found = rows("a.json", b"[{\"a\":1}, {\"a\":");
    assert_eq!(found[0], "1 {\"a\":1}");
    assert!(
        found[1].starts_with("broken at 2: expected one JSON array of objects: EOF"),
        "{found:?}"
    );
    let found = rows("a.json", b"<html>");
    assert!(found[0].starts_with("broken at 0: expected one JSON array of objects: "), "{found:?}");
    let mut torn = packed(&b"{\"a\":1}\n".repeat(1000));
    torn.truncate(torn.len() - 9);
    let found = rows("a.jsonl.gz", &torn);
    assert!(found.last().unwrap().starts_with("broken at "), "{:?}", found.last());
    let found = rows("a.jsonl.gz", b"no gzip at all");
    assert_eq!(found, ["broken at 1: invalid gzip header"]);
    let found = rows("a.parquet", b"PAR1 or is it");
    assert!(found[0].starts_with("broken at 0: Parquet error: "), "{found:?}");
}

#[test]
fn an_element_that_never_ends_is_not_held() {
    struct Endless(u64);
    impl io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 2 << 20, "it reads on");
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    let start = &b"[{\"a\":1}, \""[..];
    let mut reader = BufReader::new(io::Read::chain(start, Endless(0)));
    let mut count = 0;
    let ended = array::read(&mut reader, 1 << 20, &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(count, 1);
    let Err(TableError::Broken { row: 2, problem }) = ended else { panic!("{ended:?}") };
    assert_eq!(problem, "an element longer than 1 MiB");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_reading() {
    let mut count = 0;
    let ended = array::read(&mut &b"[{}, {}, {}]"[..], 1 << 20, &mut |_, _| {
        count += 1;
        ControlFlow::Break(())
    });
    assert!(ended.is_ok());
    assert_eq!(count, 1);
}
