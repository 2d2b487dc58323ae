//! Lines of a file with their places, so that a line can be read again.

use std::fs::File;
use std::io::{BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;

use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::lines::{LineEnd, next_line, skip_line};
use whetstone_record::error::BatchError;

use super::error::PairError;

/// The place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePlace {
    /// The number of its file.
    pub(super) file: u32,
    /// Its first byte.
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// A line that was read; `None` of its bytes if it has too many.
pub(super) struct ReadLine<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) bytes: Option<&'a [u8]>,
}

/// Reads every line of a file that is not blank. A byte order mark at the head is passed over.
pub(super) fn each_line(
    noun: &'static str,
    path: &Path,
    mut each: impl FnMut(ReadLine<'_>) -> Result<(), PairError>,
) -> Result<(), PairError> {
    let unreadable = |source| BatchError::Input { noun, path: path.to_owned(), source };
    let mut reader = BufReader::with_capacity(1 << 17, open(noun, path)?);
    let mut line = Vec::new();
    for number in 1.. {
        let mut offset = reader.stream_position().map_err(unreadable)?;
        let end = next_line(&mut reader, &mut line, MAX_LINE_BYTES).map_err(unreadable)?;
        let mut bytes = line.as_slice();
        if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1) {
            (bytes, offset) = (rest, offset + 3);
        }
        match end {
            LineEnd::TooLong => {
                skip_line(&mut reader).map_err(unreadable)?;
                each(ReadLine { number, offset, bytes: None })?;
            }
            LineEnd::EndOfFile if line.is_empty() => break,
            _ if bytes.trim_ascii().is_empty() => {}
            _ => each(ReadLine { number, offset, bytes: Some(bytes) })?,
        }
    }
    Ok(())
}

/// Opens a file whose lines are read twice: a pipe cannot be.
pub(super) fn open(noun: &'static str, path: &Path) -> Result<File, PairError> {
    let unreadable = |source| BatchError::Input { noun, path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_file() {
        return Ok(file);
    }
    Err(BatchError::NotAFile { noun, path: path.to_owned() }.into())
}

/// Reads a line again.
pub(super) fn read_again(file: &File, place: LinePlace) -> Result<Vec<u8>, PairError> {
    let mut bytes = vec![0; place.bytes as usize];
    file.read_exact_at(&mut bytes, place.offset).map_err(|_| changed())?;
    Ok(bytes)
}

/// A file is not what it was.
pub(super) fn changed() -> PairError {
    BatchError::Changed { noun: "replies" }.into()
}
