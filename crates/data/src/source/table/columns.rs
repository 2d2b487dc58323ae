//! Parquet, through the library's rows.
//!
//! Arrow's kinds of text (`large_string`, `string_view`) have the same encoding in the file, so
//! rows do not need Arrow. The library panics on some invalid files; the panic is caught here and
//! reported as a broken file. Pages are decompressed as a whole, so a file whose metadata claims a
//! column beyond [`MAX_GROUP_BYTES`] is refused before it is read; so is one whose columns are
//! nested too deep for the library ([`footer`]).

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use serde_json::{Map, Value};
use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::wire::Object;

use super::super::row::brief;
use super::caught::caught;
use super::{Each, TableError, footer};

/// The largest column of a row group, unpacked: ten times the largest that the hub has.
const MAX_GROUP_BYTES: i64 = 16 << 30;
/// The largest compressed file, decompressed: it is on disk in the meantime.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// Rows that the library reads at once. A cell may have megabytes.
const BATCH_ROWS: usize = 64;

/// Reads every row.
pub(super) fn read(file: File, packed: bool, each: Each<'_>) -> Result<(), TableError> {
    let reader = guarded(0, || open(file, packed))?;
    let mut rows = guarded(0, || {
        let rows = RowIter::from_file(None, &reader).map_err(|err| broken(&err, 0))?;
        Ok(rows.with_batch_size(BATCH_ROWS))
    })?;
    for row in 1.. {
        let next = || rows.next().transpose().map_err(|err| broken(&err, row));
        let Some(read) = guarded(row, next)? else { break };
        if each(row, object(read)).is_break() {
            break;
        }
    }
    Ok(())
}

/// The names of the columns.
pub(super) fn names(file: File, packed: bool) -> Result<Vec<String>, TableError> {
    let reader = guarded(0, || open(file, packed))?;
    let schema = reader.metadata().file_metadata().schema();
    Ok(schema.get_fields().iter().map(|field| field.name().to_owned()).collect())
}

/// Calls the library; a panic of it is a broken file, at this row.
fn guarded<T>(row: u64, work: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    caught(work).unwrap_or_else(|| {
        let problem = "the parquet file contradicts itself".to_owned();
        Err(TableError::Broken { row, problem })
    })
}

fn open(file: File, packed: bool) -> Result<SerializedFileReader<File>, TableError> {
    let file = if packed { unpacked(&file, MAX_UNPACKED_BYTES)? } else { file };
    footer::check(&file)?;
    let reader = SerializedFileReader::new(file).map_err(|err| broken(&err, 0))?;
    let claimed = largest_column(reader.metadata());
    if !(0..=MAX_GROUP_BYTES).contains(&claimed) {
        let problem = format!("a column claims {claimed} bytes");
        return Err(TableError::Broken { row: 0, problem });
    }
    Ok(reader)
}

fn largest_column(metadata: &ParquetMetaData) -> i64 {
    let columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    // Of a negative size, nothing is taken either.
    let sizes = columns.map(ColumnChunkMetaData::uncompressed_size);
    sizes.max_by_key(|size| size.unsigned_abs()).unwrap_or(0)
}

fn broken(err: &ParquetError, row: u64) -> TableError {
    TableError::Broken { row, problem: brief(&err.to_string()) }
}

/// The contents of a packed file in a file that has no name, since parquet is read from its end.
fn unpacked(file: &File, limit_bytes: u64) -> Result<File, TableError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("whet-{}-{count}.parquet", std::process::id()));
    let open = || File::options().read(true).write(true).create_new(true).open(&path);
    let mut plain = open().map_err(TableError::Io)?;
    fs::remove_file(&path).map_err(TableError::Io)?;
    let mut reader = MultiGzDecoder::new(BufReader::new(file)).take(limit_bytes + 1);
    let bytes = io::copy(&mut reader, &mut plain).map_err(|err| TableError::of(err, 0))?;
    if bytes > limit_bytes {
        let problem = format!("unpacked it has more than {limit_bytes} bytes");
        return Err(TableError::Broken { row: 0, problem });
    }
    plain.rewind().map_err(TableError::Io)?;
    Ok(plain)
}

fn object(row: Row) -> Result<Object, String> {
    let mut left = MAX_LINE_BYTES;
    let mut object = Object::new();
    for (name, field) in row.into_columns() {
        let value =
            value(&field, &mut left).map_err(|problem| format!("field `{name}`: {problem}"))?;
        object.put(&name, &value);
    }
    Ok(object)
}

/// A cell as JSON, as long as there are bytes left for the row.
fn value(field: &Field, left: &mut usize) -> Result<Value, String> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::from(*value),
        Field::Byte(value) => Value::from(*value),
        Field::Short(value) => Value::from(*value),
        Field::Int(value) => Value::from(*value),
        Field::Long(value) => Value::from(*value),
        Field::UByte(value) => Value::from(*value),
        Field::UShort(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::ULong(value) => Value::from(*value),
        Field::Float(value) => Value::from(*value),
        Field::Double(value) => Value::from(*value),
        Field::Str(text) => text_value(text, left)?,
        Field::Bytes(bytes) => {
            text_value(std::str::from_utf8(bytes.data()).map_err(|_| "not UTF-8")?, left)?
        }
        Field::ListInternal(list) => {
            let values = list.elements().iter().map(|element| value(element, left));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Field::Group(row) => {
            let mut map = Map::new();
            for (name, field) in row.get_column_iter() {
                map.insert(name.clone(), value(field, left)?);
            }
            Value::Object(map)
        }
        other => text_value(&other.to_string(), left)?,
    })
}

fn text_value(text: &str, left: &mut usize) -> Result<Value, String> {
    *left = left
        .checked_sub(text.len())
        .ok_or_else(|| format!("the row is longer than {} MiB", MAX_LINE_BYTES >> 20))?;
    Ok(Value::from(text))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_is_unpacked_has_a_limit() {
        let packed = || {
            let mut encoder = GzEncoder::new(tempfile::tempfile().unwrap(), Compression::default());
            encoder.write_all(&[0; 1000]).unwrap();
            let mut file = encoder.finish().unwrap();
            file.rewind().unwrap();
            file
        };
        assert_eq!(unpacked(&packed(), 1000).unwrap().metadata().unwrap().len(), 1000);
        let err = unpacked(&packed(), 999).unwrap_err();
        let TableError::Broken { row: 0, problem } = err else { panic!("{err:?}") };
        assert_eq!(problem, "unpacked it has more than 999 bytes");
    }
}
