//! A parquet file with bytes altered or cut off: what the library panics about is caught and becomes
//! a finding, and what can be read is read.
//!
//! The input is edits of a whole file, three bytes each (where, and what is turned over; nothing to
//! turn over cuts the file there), since no fuzzer finds a parquet file by itself. A caught panic
//! must not end the fuzzer, so its hook, which ends the process, is taken away: a panic that nobody
//! catches still does.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use whetstone_data::source::{DataSet, TaskSource, What, read};

const SCHEMA: &str = "message schema { required int32 task_id; required binary text (STRING);
    required binary code (STRING); required group test_list (LIST) {
    repeated group list { required binary element (STRING); } } }";

/// Whole files, one a codec.
static WHOLE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd].map(whole).to_vec()
});

static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("whet-fuzz-{}.parquet", std::process::id()))
});

fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| {
        let Some((&first, edits)) = bytes.split_first() else { return };
        let mut file = WHOLE[usize::from(first) % WHOLE.len()].clone();
        for edit in edits.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % file.len().max(1);
            match (edit[2], file.get_mut(at)) {
                (0, _) => file.truncate(at),
                (turned, Some(byte)) => *byte ^= turned,
                (_, None) => {}
            }
        }
        fs::write(&*PATH, &file).expect("the file");
        let origin =
            TaskSource { kind: Some(DataSet::Mbpp), path: PATH.clone(), difficulties: Vec::new() };
        let mut tasks = 0;
        let inputs = read(&origin, &mut |found| match found.what {
            What::Task(..) => tasks += 1,
            What::Bad(reason) => assert!(!reason.chars().any(char::is_control), "{reason:?}"),
            What::LeftOut => panic!("nothing was asked for"),
        });
        assert_eq!(inputs.expect("a file").len(), 1);
        assert!(!edits.is_empty() || tasks == 2);
    }
);

fn whole(codec: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).expect("a file");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("a column");
    column.typed::<Int32Type>().write_batch(&[1, 2], None, None).expect("numbers");
    column.close().expect("a column");
    for texts in [["First one.", "Second."], ["def f(): return 1", "def g(): return 2"]] {
        let texts = texts.map(ByteArray::from);
        let mut column = group.next_column().expect("a column").expect("a column");
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).expect("texts");
        column.close().expect("a column");
    }
    let tests = ["assert f()", "assert f() == 1", "assert g()"].map(ByteArray::from);
    let mut column = group.next_column().expect("a column").expect("a column");
    let lists = column.typed::<ByteArrayType>();
    lists.write_batch(&tests, Some(&[1, 1, 1]), Some(&[0, 1, 0])).expect("lists");
    column.close().expect("a column");
    group.close().expect("a group");
    writer.into_inner().expect("a file")
}
