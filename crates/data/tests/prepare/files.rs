//! The same rows give the same tasks, whatever file they stand in.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{Bench, lines, mbpp_row};

fn packed(contents: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn lines_and_arrays_packed_or_not_are_the_same_tasks() {
    let rows: Vec<_> = (1..=5).map(mbpp_row).collect();
    let array = Value::from(rows.clone()).to_string();
    let bench = Bench::new();
    let paths = [
        bench.file("a.jsonl", lines(&rows)),
        bench.file("a.json", &array),
        bench.file("a.jsonl.gz", packed(&lines(&rows))),
        bench.file("a.json.gz", packed(&array)),
    ];
    let (first, _) = Bench::lines_of(None, &paths[0]);
    assert_eq!(first.len(), 5);
    for path in &paths[1..] {
        assert_eq!(Bench::lines_of(None, path).0, first, "{}", path.display());
    }
}
