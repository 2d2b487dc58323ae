//! The hub's parquet files: MBPP in both layouts and APPS, made with the library's own writer.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;
use whetstone_data::source::DataSet;

use crate::support::{Bench, lines, mbpp_row};

/// One column of a small file.
enum Column<'a> {
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Text(&'a [&'a str]),
    /// Lists of texts, one list a row.
    Texts(&'a [&'a [&'a str]]),
}

fn write(path: &Path, schema: &str, codec: Codec, columns: &[Column<'_>]) {
    let schema = Arc::new(parse_message_type(schema).expect("a parquet file"));
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let file = File::create(path).expect("a parquet file");
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("a parquet file");
    let mut group = writer.next_row_group().expect("a parquet file");
    for column in columns {
        let mut out = group.next_column().expect("a parquet file").expect("a parquet file");
        let bytes = |text: &&str| ByteArray::from(*text);
        match column {
            Column::Int32(values) => {
                out.typed::<Int32Type>().write_batch(values, None, None).expect("a parquet file");
            }
            Column::Int64(values) => {
                out.typed::<Int64Type>().write_batch(values, None, None).expect("a parquet file");
            }
            Column::Text(values) => {
                let values: Vec<_> = values.iter().map(bytes).collect();
                out.typed::<ByteArrayType>()
                    .write_batch(&values, None, None)
                    .expect("a parquet file");
            }
            Column::Texts(rows) => {
                let values: Vec<_> = rows.iter().copied().flatten().map(bytes).collect();
                // An empty list has one level that says so; a list's first element starts a row.
                let mut levels = Vec::new();
                for row in *rows {
                    levels.extend(
                        (0..row.len().max(1))
                            .map(|at| (i16::from(!row.is_empty()), i16::from(at > 0))),
                    );
                }
                let (defined, repeated): (Vec<_>, Vec<_>) = levels.into_iter().unzip();
                out.typed::<ByteArrayType>()
                    .write_batch(&values, Some(&defined), Some(&repeated))
                    .expect("a parquet file");
            }
        }
        out.close().expect("a parquet file");
    }
    group.close().expect("a parquet file");
    writer.close().expect("a parquet file");
}

const TEXTS: &str = "(LIST) { repeated group list { required binary element (STRING); } }";

fn mbpp_full(path: &Path, codec: Codec) {
    let schema = format!(
        "message schema {{ required int32 task_id; required binary text (STRING);
         required binary code (STRING); required group test_list {TEXTS}
         required binary test_setup_code (STRING); required group challenge_test_list {TEXTS} }}"
    );
    let columns = [
        Column::Int32(&[1, 2]),
        Column::Text(&["First one here.", "Something else, second."]),
        Column::Text(&["def f(): return 1", "def g(x): return x * 2"]),
        Column::Texts(&[&["assert f()", "assert f() == 1"], &["assert g(1)"]]),
        Column::Text(&["", "import math"]),
        Column::Texts(&[&[], &["assert g(2)"]]),
    ];
    write(path, &schema, codec, &columns);
}

fn full_rows() -> String {
    lines(&[
        json!({"task_id": 1, "text": "First one here.", "code": "def f(): return 1",
            "test_list": ["assert f()", "assert f() == 1"], "test_setup_code": "",
            "challenge_test_list": []}),
        json!({"task_id": 2, "text": "Something else, second.", "code": "def g(x): return x * 2",
            "test_list": ["assert g(1)"], "test_setup_code": "import math",
            "challenge_test_list": ["assert g(2)"]}),
    ])
}

#[test]
fn mbpp_as_parquet_is_the_same_as_its_lines() {
    let bench = Bench::new();
    let expected = Bench::lines_of(None, &bench.file("a.jsonl", full_rows())).0;
    assert_eq!(expected.len(), 2);
    let zstd = Codec::ZSTD(ZstdLevel::default());
    for (name, codec) in [("plain", Codec::UNCOMPRESSED), ("snappy", Codec::SNAPPY), ("zstd", zstd)]
    {
        let path = bench.dir.path().join(format!("{name}.parquet"));
        mbpp_full(&path, codec);
        assert_eq!(Bench::lines_of(Some(DataSet::Mbpp), &path).0, expected, "{name}");
        assert_eq!(Bench::lines_of(None, &path).0, expected, "{name}, by its columns");
    }
    let plain = std::fs::read(bench.dir.path().join("plain.parquet")).unwrap();
    let path = bench.dir.path().join("packed.parquet.gz");
    let mut packed = GzEncoder::new(File::create(&path).unwrap(), Compression::default());
    packed.write_all(&plain).unwrap();
    packed.finish().unwrap();
    assert_eq!(Bench::lines_of(None, &path).0, expected, "packed");
}

#[test]
fn sanitized_mbpp_as_parquet_is_read() {
    let bench = Bench::new();
    let path = bench.dir.path().join("a.parquet");
    let schema = format!(
        "message schema {{ required binary source_file (STRING); required int32 task_id;
         required binary prompt (STRING); required binary code (STRING);
         required group test_imports {TEXTS} required group test_list {TEXTS} }}"
    );
    let columns = [
        Column::Text(&["x.ipynb"]),
        Column::Int32(&[2]),
        Column::Text(&["Shared elements."]),
        Column::Text(&["def f(): return 1"]),
        Column::Texts(&[&["import math"]]),
        Column::Texts(&[&["assert f()", "assert f() == 1"]]),
    ];
    write(&path, &schema, Codec::SNAPPY, &columns);
    let (lines, _) = Bench::lines_of(None, &path);
    assert!(lines[0].contains(r#""id":"mbpp/2""#), "{lines:?}");
    assert!(lines[0].contains(r#""setup":"import math""#), "{lines:?}");
    assert!(lines[0].contains(r#""hidden":["assert f()","assert f() == 1"]"#), "{lines:?}");
}

#[test]
fn apps_as_parquet_is_read_and_its_half_is_in_the_id() {
    let bench = Bench::new();
    let path = bench.dir.path().join("test-00000-of-00001.parquet");
    let schema = "message schema { required int64 problem_id; required binary question (STRING);
        required binary solutions (STRING); required binary input_output (STRING);
        required binary difficulty (STRING); required binary url (STRING);
        required binary starter_code (STRING); }";
    let big = r#"{"fn_name":"f","inputs":[[1]],"outputs":[123456789012345678901234567890]}"#;
    let columns = [
        Column::Int64(&[4999]),
        Column::Text(&["How many?"]),
        Column::Text(&[""]),
        Column::Text(&[big]),
        Column::Text(&["competition"]),
        Column::Text(&["http://x"]),
        Column::Text(&[""]),
    ];
    write(&path, schema, Codec::SNAPPY, &columns);
    let (lines, _) = Bench::lines_of(Some(DataSet::Apps), &path);
    assert!(lines[0].contains(r#""id":"apps/test/4999""#), "{lines:?}");
    assert!(lines[0].contains(r#""expected":123456789012345678901234567890}"#), "{lines:?}");
}

#[test]
fn a_parquet_file_with_other_columns_names_those_it_has_and_those_wanted() {
    let bench = Bench::new();
    let path = bench.dir.path().join("other.parquet");
    let schema = "message schema { required int32 number; required binary answer (STRING); }";
    write(&path, schema, Codec::SNAPPY, &[Column::Int32(&[1]), Column::Text(&["x"])]);
    let good = bench.file("mbpp.jsonl", lines([&mbpp_row(1)]));
    let bench = bench.source(Some(DataSet::Mbpp), &path).source(Some(DataSet::Mbpp), &good);
    let report = bench.prepare().unwrap();
    let [bad] = &report.bad[..] else { panic!("{report:?}") };
    assert_eq!((bad.file.as_path(), bad.row), (path.as_path(), 0));
    assert_eq!(
        bad.reason,
        "its columns are number, answer; mbpp has task_id, text, code, test_list or task_id, \
         prompt, code, test_list"
    );
    assert_eq!(report.sources["mbpp"].train, 1);
}

/// A file whose one column is nested in this many groups.
fn nested(path: &Path, levels: usize) {
    let (open, close) = ("required group g { ".repeat(levels - 1), "} ".repeat(levels - 1));
    let schema = format!("message schema {{ {open} required int32 x; {close} }}");
    write(path, &schema, Codec::UNCOMPRESSED, &[Column::Int32(&[1])]);
}

#[test]
fn columns_nested_too_deep_for_the_library_are_refused() {
    let bench = Bench::new();
    let good = bench.file("good.jsonl", lines([&mbpp_row(77)]));
    for (levels, reason) in [(64, "its columns are g;"), (65, "its columns are nested in more")] {
        let path = bench.dir.path().join("nested.parquet");
        nested(&path, levels);
        let report = Bench::new().source(None, &path).source(None, &good).prepare().unwrap();
        let [bad] = &report.bad[..] else { panic!("{report:?}") };
        assert!(bad.reason.starts_with(reason), "{levels}: {}", bad.reason);
    }
}

#[test]
fn a_torn_or_altered_parquet_file_is_a_finding_and_never_a_crash() {
    let bench = Bench::new();
    let whole = bench.dir.path().join("whole.parquet");
    mbpp_full(&whole, Codec::UNCOMPRESSED);
    let bytes = std::fs::read(&whole).unwrap();
    let good = bench.file("good.jsonl", lines([&mbpp_row(77)]));
    let prepare = |bytes: &[u8]| {
        let torn = bench.file("torn.parquet", bytes);
        let bench = Bench::new().source(None, &torn).source(None, &good);
        bench.prepare().unwrap().total()
    };
    assert_eq!((prepare(&bytes).train + prepare(&bytes).val, prepare(&bytes).bad), (3, 0));
    let cut = prepare(&bytes[..bytes.len() / 2]);
    assert_eq!((cut.bad, cut.train), (1, 1));
    for at in (0..bytes.len()).step_by(23) {
        let mut altered = bytes.clone();
        altered[at] ^= 0xff;
        let total = prepare(&altered);
        assert!(total.train + total.val >= 1, "the good file is read: byte {at}");
    }
}
