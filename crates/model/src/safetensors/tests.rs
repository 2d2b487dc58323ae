//! Files that are whole, files that lie, and files that we write ourselves.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::weights::Dtype;

/// A file with that header and that many bytes behind it.
fn bytes(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

fn parse(bytes: &[u8]) -> Result<SafetensorsHeader, String> {
    let said = |err: crate::weights::HeaderError| err.to_string();
    SafetensorsHeader::read(&mut &bytes[..], bytes.len() as u64).map_err(said)
}

#[track_caller]
fn refused(header: &str, data: usize, expected: &str) {
    let err = parse(&bytes(header, data)).unwrap_err();
    assert!(err.contains(expected), "{err}");
}

#[test]
fn a_whole_header_says_where_everything_is() {
    let header = r#"{"__metadata__":{"format":"pt"},
        "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
        "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}"#;
    let header = parse(&bytes(header, 16)).unwrap();
    let (a, b) = (&header.tensors["a"], &header.tensors["b"]);
    assert_eq!((a.shape(), a.dtype(), a.rows(), a.columns()), (&[][..], Dtype::F32, 1, 1));
    assert_eq!((b.shape(), b.rows(), b.columns(), b.bytes()), (&[2, 3][..], 2, 3, 12));
    assert_eq!(b.at(), a.end());
    assert_eq!(header.metadata["format"], "pt");
}

#[test]
fn a_lying_header_is_refused_with_the_tensor_and_the_reason() {
    let one = |dtype: &str, shape: &str, place: &str| {
        format!(r#"{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{place}}}}}"#)
    };
    refused(&one("F32", "[2]", "[0,8]"), 4, "tensor `w`: it needs 8 bytes and the file has 4");
    refused(&one("F32", "[2]", "[0,8]"), 9, "1 bytes at its end belong to no tensor");
    refused(&one("F32", "[2]", "[0,4]"), 4, "shape [2] of F32 needs 8 bytes");
    refused(&one("F32", "[2]", "[8,0]"), 8, "it has bytes 8 to 0");
    refused(&one("F32", "[2]", "[1,9]"), 9, "it begins at byte 1");
    refused(&one("F32", "[0]", "[0,0]"), 0, "holds nothing");
    refused(&one("F32", "[9223372036854775808,2]", "[0,8]"), 8, "larger than any file");
    refused(&one("F32", "[18446744073709551615]", "[0,8]"), 8, "larger than any file");
    refused(&one("F32", "[18446744073709551616]", "[0,8]"), 8, "its JSON: ");
    refused(&one("F32", "[-2]", "[0,8]"), 8, "its JSON: ");
    refused(&one("F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4, "beyond any");
    refused(&one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "at most 8 sizes");
    refused(&one("F33", "[1]", "[0,4]"), 4, "tensor `w`: type `F33` is unknown");
    refused(r#"{"w":{"dtype":"F32","shape":[1]}}"#, 4, "missing field `data_offsets`");
    refused(r#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}"#, 4, "unknown field");
    refused("[]", 0, "an object of tensors");
    refused(r#"{"w":"#, 0, "EOF");
}

#[test]
fn tensors_that_share_bytes_or_a_name_are_refused() {
    let two = |a: &str, b: &str| {
        format!(
            r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{a}}},"{b}":
            {{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}}}"#
        )
    };
    refused(&two("[0,4]", "b"), 6, "tensor `b`: it begins at byte 2, the one before it ends at 4");
    refused(&two("[2,6]", "b"), 6, "it begins where `a` does");
    refused(&two("[0,4]", "a"), 6, "tensor `a` occurs twice");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = bytes(r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, 8);
    assert!(parse(&whole).is_ok());
    for cut in 0..whole.len() {
        assert!(parse(&whole[..cut]).is_err(), "{cut}");
    }
    let mut long = whole;
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let err = parse(&long).unwrap_err();
    assert!(err.contains("needs 18446744073709551615 bytes"), "{err}");
}

fn tensors() -> Vec<(String, Vec<usize>)> {
    vec![("norm".to_owned(), vec![3]), ("a.weight".to_owned(), vec![2, 3])]
}

fn write(dir: &TempDir, name: &str, dtype: Dtype) -> PathBuf {
    let path = dir.path().join(name);
    let file = fs::File::create(&path).unwrap();
    let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    let mut writer = Writer::new(file, &tensors(), dtype, &metadata).unwrap();
    writer.put("norm", &[1.0, -2.5, 0.0]).unwrap();
    writer.put("a.weight", &[1.0, 2.0, 3.0, 4.0, 5.0, 1.003_906_3]).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn what_is_written_is_read_back_whole_and_by_rows() {
    let dir = TempDir::new().unwrap();
    for (dtype, last) in [(Dtype::F32, 1.003_906_3), (Dtype::Bf16, 1.0)] {
        let weights = Safetensors::open_file(&write(&dir, "x.safetensors", dtype)).unwrap();
        assert_eq!(weights.names(), ["a.weight", "norm"]);
        assert_eq!(weights.expect_shape("a.weight", &[2, 3]).unwrap().dtype(), dtype);
        let (mut norm, mut row) = ([0.0; 3], [0.0; 3]);
        weights.read("norm", &mut norm).unwrap();
        weights.read_rows("a.weight", 1, &mut row).unwrap();
        assert_eq!((norm, row), ([1.0, -2.5, 0.0], [4.0, 5.0, last]));
    }
}

#[test]
fn the_bytes_written_are_those_of_the_format() {
    let mut writer =
        Writer::new(Vec::new(), &[("w".to_owned(), vec![2])], Dtype::F32, &BTreeMap::new())
            .unwrap();
    writer.put("w", &[1.0, -1.0]).unwrap();
    let bytes = writer.finish().unwrap();
    assert_eq!(bytes[..8], 56u64.to_le_bytes());
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..64]).unwrap();
    let entry = serde_json::json!({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]});
    assert_eq!(header, serde_json::json!({ "w": entry }));
    assert_eq!(bytes[64..], [0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf]);
}

#[test]
fn a_writer_holds_its_caller_to_what_was_announced() {
    let new = |dtype| Writer::new(Vec::new(), &tensors(), dtype, &BTreeMap::new());
    assert!(matches!(new(Dtype::F16), Err(WriteError::Dtype(Dtype::F16))));
    let mut writer = new(Dtype::F32).unwrap();
    let err = writer.put("a.weight", &[0.0; 6]).unwrap_err().to_string();
    assert_eq!(err, "tensor `a.weight`: `norm` with 3 numbers is next");
    let mut writer = new(Dtype::F32).unwrap();
    let err = writer.put("norm", &[0.0, f32::NAN, 0.0]).unwrap_err().to_string();
    assert_eq!(err, "tensor `norm`: number 1 is NaN");
    let mut writer = new(Dtype::F32).unwrap();
    writer.put("norm", &[0.0; 3]).unwrap();
    let err = writer.finish().unwrap_err().to_string();
    assert_eq!(err, "tensor `a.weight`: it was announced and not written");
}

#[test]
fn reading_names_what_is_wrong_with_the_request_or_the_numbers() {
    let dir = TempDir::new().unwrap();
    let path = write(&dir, "x.safetensors", Dtype::F32);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let weights = Safetensors::open_file(&path).unwrap();
    let said = |result: Result<(), WeightsError>| {
        result.unwrap_err().to_string().replace(&path.display().to_string(), "FILE")
    };
    let mut out = [0.0; 6];
    let err = said(weights.read("a.weight", &mut out));
    assert_eq!(err, "tensor `a.weight` of `FILE` holds inf in row 1, column 1");
    let err = said(weights.read_rows("a.weight", 1, &mut out));
    assert!(err.contains("6 numbers from row 1 on were asked for, it has 2 rows of 3"), "{err}");
    let err = said(weights.read_rows("a.weight", usize::MAX, &mut out[..3]));
    assert!(err.contains("it has 2 rows of 3"), "{err}");
    assert_eq!(said(weights.read("b", &mut out)), "`FILE` has no tensor `b`");
    let err = said(weights.read("a.weight", &mut out[..5]));
    assert_eq!(err, "tensor `a.weight` of `FILE` has shape [2, 3], not [5]");
}

#[test]
fn integers_are_no_weights() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.safetensors");
    let header = r#"{"w":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
    fs::write(&path, bytes(header, 8)).unwrap();
    let err = Safetensors::open_file(&path).unwrap().read("w", &mut [0.0]).unwrap_err();
    assert!(err.to_string().contains("has type I64, which is not supported for weights"), "{err}");
}

#[test]
fn shards_are_one_model_and_a_missing_one_is_named() {
    let dir = TempDir::new().unwrap();
    let index = dir.path().join("model.safetensors.index.json");
    let list = |shard: &str| {
        format!(
            r#"{{"metadata":{{}},"weight_map":{{"norm":"one.safetensors","a.weight":"{shard}"}}}}"#
        )
    };
    let open = || Safetensors::open_dir(dir.path()).map_err(|err| err.to_string());
    write(&dir, "one.safetensors", Dtype::F32);
    fs::write(&index, list("two.safetensors")).unwrap();
    let err = open().unwrap_err();
    assert!(err.contains("two.safetensors` is missing"), "{err}");

    write(&dir, "two.safetensors", Dtype::Bf16);
    let weights = open().unwrap();
    assert_eq!(weights.tensor("norm").unwrap().dtype(), Dtype::F32);
    assert_eq!(weights.tensor("a.weight").unwrap().dtype(), Dtype::Bf16);

    fs::write(&index, list("../two.safetensors")).unwrap();
    let err = open().unwrap_err();
    assert!(err.contains("a shard lies beside its list"), "{err}");
    fs::write(&index, list("two.safetensors").replace("a.weight", "b")).unwrap();
    let err = open().unwrap_err();
    assert!(err.ends_with("two.safetensors` has no tensor `b`"), "{err}");
    fs::write(&index, r#"{"weight_map":{}}"#).unwrap();
    assert!(open().unwrap_err().contains("lists nothing"));
}

proptest! {
    #[test]
    fn any_damage_to_a_header_is_refused_or_leaves_tensors_inside_the_file(
        at in 0usize..120, byte in any::<u8>(), cut in 0usize..130,
    ) {
        let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
            "b":{"dtype":"F16","shape":[1,2],"data_offsets":[8,12]}}"#;
        let mut file = bytes(header, 12);
        file[at] = byte;
        file.truncate(file.len().min(file.len() + 60 - cut));
        if let Ok(header) = parse(&file) {
            let ends = header.tensors.values().map(Stored::end);
            prop_assert!(ends.max().unwrap_or(0) <= file.len() as u64);
        }
    }
}
