//! The header of a safetensors file: eight bytes of length, that much JSON, then the numbers.
//!
//! <https://huggingface.co/docs/safetensors>. The JSON maps each tensor's name to its type, shape
//! and offsets; `__metadata__` maps text to text. We are as strict as the reference implementation:
//! tensors are contiguous, without gap or overlap, and fill the file.
//!
//! We parse it ourselves because we read at positions and want every refusal to name its tensor;
//! the reference crate wants the whole file in memory, or mapped.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;
use std::io::Read;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::shown;
use crate::weights::{Dtype, HeaderError, Stored};

/// The longest header, as in the reference implementation.
const LIMIT_BYTES: u64 = 100_000_000;

/// More dimensions than a tensor may have; a longer list is not kept.
const MAX_DIMENSIONS: usize = 8;

/// A header, after it was checked against the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetensorsHeader {
    /// The tensors by name.
    pub tensors: BTreeMap<String, Stored>,
    /// Text about the file.
    pub metadata: BTreeMap<String, String>,
}

impl SafetensorsHeader {
    /// Reads the header at the beginning of a file of `file_bytes` bytes.
    pub fn read(reader: &mut impl Read, file_bytes: u64) -> Result<Self, HeaderError> {
        let length = read_length(reader, file_bytes)?;
        let mut text = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        reader.read_exact(&mut text)?;
        let entries: Entries = serde_json::from_slice(&text)
            .map_err(|err| HeaderError::Format(shown::beginning(&format!("its JSON: {err}"))))?;
        let data = 8 + length;
        let mut tensors = BTreeMap::new();
        let mut order = BTreeMap::new();
        for (name, entry) in entries.tensors {
            let stored = entry.place(data).map_err(|problem| bad_tensor(&name, problem))?;
            if let Some(other) = order.insert(stored.at(), name.clone()) {
                let problem = format!("it begins where `{}` does", shown::beginning(&other));
                return Err(bad_tensor(&name, problem));
            }
            tensors.insert(name, stored);
        }
        check_filled(&tensors, &order, data..file_bytes)?;
        Ok(Self { tensors, metadata: entries.metadata })
    }
}

fn read_length(reader: &mut impl Read, file_bytes: u64) -> Result<u64, HeaderError> {
    if file_bytes < 8 {
        return Err(HeaderError::Short { what: "the header's length", needs: 8, has: file_bytes });
    }
    let mut length = [0; 8];
    reader.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > file_bytes - 8 {
        return Err(HeaderError::Short { what: "the header", needs: length, has: file_bytes - 8 });
    }
    if length > LIMIT_BYTES {
        let problem = format!("its header of {length} bytes is longer than {LIMIT_BYTES}");
        return Err(HeaderError::Format(problem));
    }
    Ok(length)
}

/// Every byte behind the header belongs to one tensor.
fn check_filled(
    tensors: &BTreeMap<String, Stored>,
    order: &BTreeMap<u64, String>,
    data: std::ops::Range<u64>,
) -> Result<(), HeaderError> {
    let mut end = data.start;
    for name in order.values() {
        let stored = &tensors[name];
        if stored.at() != end {
            let (at, end) = (stored.at() - data.start, end - data.start);
            let problem = format!("it begins at byte {at}, the one before it ends at {end}");
            return Err(bad_tensor(name, problem));
        }
        end = stored.end();
        if end > data.end {
            let (needs, has) = (stored.bytes(), data.end - stored.at().min(data.end));
            let problem = format!("it needs {needs} bytes and the file has {has} left for it");
            return Err(bad_tensor(name, problem));
        }
    }
    if end != data.end {
        let problem = format!("{} bytes at its end belong to no tensor", data.end - end);
        return Err(HeaderError::Format(problem));
    }
    Ok(())
}

fn bad_tensor(name: &str, problem: String) -> HeaderError {
    HeaderError::Tensor { tensor: shown::beginning(name), problem }
}

/// The type of that name, with its size.
fn dtype_of(name: &str) -> Option<Dtype> {
    let opaque = |name, bytes| Some(Dtype::Opaque { name, bytes });
    match name {
        "F64" => Some(Dtype::F64),
        "F32" => Some(Dtype::F32),
        "F16" => Some(Dtype::F16),
        "BF16" => Some(Dtype::Bf16),
        "BOOL" => opaque("BOOL", 1),
        "U8" => opaque("U8", 1),
        "I8" => opaque("I8", 1),
        "F8_E4M3" => opaque("F8_E4M3", 1),
        "F8_E5M2" => opaque("F8_E5M2", 1),
        "U16" => opaque("U16", 2),
        "I16" => opaque("I16", 2),
        "U32" => opaque("U32", 4),
        "I32" => opaque("I32", 4),
        "U64" => opaque("U64", 8),
        "I64" => opaque("I64", 8),
        _ => None,
    }
}

/// One entry as it is written.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderEntry {
    dtype: String,
    shape: TensorShape,
    data_offsets: (u64, u64),
}

impl HeaderEntry {
    /// The tensor in a file whose data begins at byte `data`; or the problem with it.
    fn place(self, data: u64) -> Result<Stored, String> {
        let dtype = dtype_of(&self.dtype)
            .ok_or_else(|| format!("type `{}` is unknown", shown::beginning(&self.dtype)))?;
        let (begin, end) = self.data_offsets;
        let at = data.checked_add(begin).ok_or("its place is beyond any file")?;
        let stored = Stored::new(self.shape.0, dtype, at)?;
        if end.checked_sub(begin) != Some(stored.bytes()) {
            let (shape, name, needs) = (stored.shape(), dtype.name(), stored.bytes());
            let place = format!("bytes {begin} to {end}");
            return Err(format!("shape {shape:?} of {name} needs {needs} bytes, it has {place}"));
        }
        Ok(stored)
    }
}

/// A shape of few dimensions: a longer list is refused before it is kept.
#[derive(Debug)]
struct TensorShape(Vec<usize>);

impl<'de> Deserialize<'de> for TensorShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = TensorShape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX_DIMENSIONS} sizes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TensorShape, A::Error> {
        let mut shape = Vec::new();
        while let Some(size) = list.next_element()? {
            if shape.len() == MAX_DIMENSIONS {
                return Err(de::Error::invalid_length(MAX_DIMENSIONS + 1, &self));
            }
            shape.push(size);
        }
        Ok(TensorShape(shape))
    }
}

/// The whole object.
#[derive(Debug)]
struct Entries {
    tensors: BTreeMap<String, HeaderEntry>,
    metadata: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Entries { tensors: BTreeMap::new(), metadata: BTreeMap::new() };
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                entries.metadata.append(&mut map.next_value()?);
                continue;
            }
            match entries.tensors.entry(name) {
                Slot::Vacant(slot) => {
                    slot.insert(map.next_value()?);
                }
                Slot::Occupied(slot) => {
                    let name = shown::beginning(slot.key());
                    return Err(de::Error::custom(format_args!("tensor `{name}` occurs twice")));
                }
            }
        }
        Ok(entries)
    }
}
