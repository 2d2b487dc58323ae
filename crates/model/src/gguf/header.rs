//! The header of a GGUF file: its metadata, its tensors, and the offset of their data.
//!
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. Versions 2 and 3, which differ only
//! in that 3 may be big-endian; such files are refused. Every length is checked against the rest of
//! the file before it is used, and every tensor must be inside the file and must not overlap
//! another.

use std::collections::BTreeMap;
use std::io::Read;

use super::reader::BoundedReader;
use super::value::MetadataValue;
use crate::shown;
use crate::weights::{Dtype, HeaderError, Stored};

/// GGUF's own limit on dimensions.
const MAX_DIMENSIONS: u32 = 4;

/// Longest name of a tensor; ggml allows 63 bytes.
const NAME_BYTES: u64 = 255;

/// Longest key of the metadata, as specified.
const KEY_BYTES: u64 = 65_535;

/// A header, after it was checked against the file.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufHeader {
    /// The metadata by key.
    pub metadata: BTreeMap<String, MetadataValue>,
    /// The tensors by GGUF's own names.
    pub tensors: BTreeMap<String, Stored>,
}

impl GgufHeader {
    /// Reads the header at the beginning of a file of `file_bytes` bytes.
    pub fn read(reader: &mut impl Read, file_bytes: u64) -> Result<Self, HeaderError> {
        let mut reader = BoundedReader::new(reader, file_bytes);
        check_version(&mut reader)?;
        let tensors = reader.unsigned("the number of tensors")?;
        let entries = reader.unsigned("the number of entries")?;
        let mut metadata = BTreeMap::new();
        for _ in 0..entries {
            let key = reader.text("a key", KEY_BYTES)?;
            let value = reader.value().map_err(|err| in_metadata(&key, err))?;
            if metadata.contains_key(&key) {
                return Err(bad_key(&key, "it occurs twice".to_owned()));
            }
            metadata.insert(key, value);
        }
        let alignment = alignment(&metadata)?;
        let mut described = BTreeMap::new();
        for _ in 0..tensors {
            let name = reader.text("a tensor's name", NAME_BYTES)?;
            let tensor = Described::read(&mut reader).map_err(|err| in_tensor(&name, err))?;
            if described.contains_key(&name) {
                return Err(bad_tensor(&name, "it occurs twice".to_owned()));
            }
            described.insert(name, tensor);
        }
        let data = reader.position().next_multiple_of(alignment);
        let tensors = place(described, alignment, data..file_bytes)?;
        Ok(Self { metadata, tensors })
    }
}

fn check_version(reader: &mut BoundedReader<'_, impl Read>) -> Result<(), HeaderError> {
    if reader.bytes::<4>("the magic")? != *b"GGUF" {
        return Err(HeaderError::Format("it does not begin with `GGUF`".to_owned()));
    }
    let version = reader.word("the version")?;
    let problem = match version {
        2 | 3 => return Ok(()),
        version if version.swap_bytes() < 1 << 16 => "it is big-endian, which is not read",
        _ => "only versions 2 and 3 are read",
    };
    Err(HeaderError::Format(format!("version {version}: {problem}")))
}

fn alignment(metadata: &BTreeMap<String, MetadataValue>) -> Result<u64, HeaderError> {
    let key = "general.alignment";
    match metadata.get(key) {
        None => Ok(32),
        Some(MetadataValue::Unsigned(bytes))
            if bytes.is_power_of_two() && (8..=1 << 16).contains(bytes) =>
        {
            Ok(*bytes)
        }
        Some(_) => Err(bad_key(key, "expected a power of two from 8 to 65536".to_owned())),
    }
}

/// A tensor as its entry describes it.
struct Described {
    shape: Vec<usize>,
    dtype: Dtype,
    offset: u64,
}

impl Described {
    fn read(reader: &mut BoundedReader<'_, impl Read>) -> Result<Self, HeaderError> {
        let dimensions = reader.word("the number of dimensions")?;
        if dimensions > MAX_DIMENSIONS {
            let problem = format!("{dimensions} dimensions are more than {MAX_DIMENSIONS}");
            return Err(HeaderError::Format(problem));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let size = reader.unsigned("a dimension")?;
            shape.push(usize::try_from(size).unwrap_or(usize::MAX));
        }
        // GGUF writes the innermost dimension first.
        shape.reverse();
        let code = reader.word("the type")?;
        let dtype = dtype_of(code).map_err(HeaderError::Format)?;
        Ok(Self { shape, dtype, offset: reader.unsigned("the offset")? })
    }
}

/// Puts the tensors into the file, and looks that they fit.
fn place(
    described: BTreeMap<String, Described>,
    alignment: u64,
    data: std::ops::Range<u64>,
) -> Result<BTreeMap<String, Stored>, HeaderError> {
    let mut tensors = BTreeMap::new();
    let mut order: BTreeMap<u64, String> = BTreeMap::new();
    for (name, tensor) in described {
        if !tensor.offset.is_multiple_of(alignment) {
            let problem = format!("byte {} is not a multiple of {alignment}", tensor.offset);
            return Err(bad_tensor(&name, problem));
        }
        let at = data.start.saturating_add(tensor.offset);
        let stored = Stored::new(tensor.shape, tensor.dtype, at)
            .map_err(|problem| bad_tensor(&name, problem))?;
        if stored.end() > data.end {
            let (needs, has) = (stored.bytes(), data.end.saturating_sub(at));
            let problem = format!("it needs {needs} bytes and the file has {has} left for it");
            return Err(bad_tensor(&name, problem));
        }
        if let Some(other) = order.insert(at, name.clone()) {
            return Err(overlap(&name, &other));
        }
        tensors.insert(name, stored);
    }
    for (one, next) in order.values().zip(order.values().skip(1)) {
        if tensors[one].end() > tensors[next].at() {
            return Err(overlap(next, one));
        }
    }
    Ok(tensors)
}

/// The type with that number.
fn dtype_of(code: u32) -> Result<Dtype, String> {
    let opaque = |name, bytes| Ok(Dtype::Opaque { name, bytes });
    match code {
        0 => Ok(Dtype::F32),
        1 => Ok(Dtype::F16),
        2 => Ok(Dtype::Q4_0),
        3 => Ok(Dtype::Q4_1),
        6 => Ok(Dtype::Q5_0),
        7 => Ok(Dtype::Q5_1),
        8 => Ok(Dtype::Q8_0),
        12 => Ok(Dtype::Q4K),
        13 => Ok(Dtype::Q5K),
        14 => Ok(Dtype::Q6K),
        24 => opaque("I8", 1),
        25 => opaque("I16", 2),
        26 => opaque("I32", 4),
        27 => opaque("I64", 8),
        28 => Ok(Dtype::F64),
        30 => Ok(Dtype::Bf16),
        10 => Err(unread("Q2_K")),
        11 => Err(unread("Q3_K")),
        16..=23 | 29 => Err(unread("one of the IQ types")),
        _ => Err(format!("type {code} is unknown")),
    }
}

fn unread(name: &str) -> String {
    format!("its type is {name}; F32, F16, BF16, Q8_0, Q4_0 to Q5_1 and Q4_K to Q6_K are read")
}

fn overlap(name: &str, other: &str) -> HeaderError {
    bad_tensor(name, format!("it shares bytes with `{}`", shown::beginning(other)))
}

fn bad_tensor(name: &str, problem: String) -> HeaderError {
    HeaderError::Tensor { tensor: shown::beginning(name), problem }
}

fn bad_key(key: &str, problem: String) -> HeaderError {
    HeaderError::Metadata { key: shown::beginning(key), problem }
}

fn in_metadata(key: &str, err: HeaderError) -> HeaderError {
    match err {
        HeaderError::Read(_) => err,
        other => bad_key(key, other.to_string()),
    }
}

fn in_tensor(name: &str, err: HeaderError) -> HeaderError {
    match err {
        HeaderError::Read(_) => err,
        other => bad_tensor(name, other.to_string()),
    }
}
