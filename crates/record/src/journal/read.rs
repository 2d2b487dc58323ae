//! Reading a journal, record by record.
//!
//! Every line's crc is checked and the numbers must go 0, 1, 2, …, so a reader either sees every
//! record that was written or an error that names the file and the line. The end of the file is
//! the one place where an incomplete line is normal: it is reported as [`ReadError::Torn`].
//!
//! A line is held in memory only up to [`MAX_LINE_BYTES`]; a longer one is an error before it is
//! read. Nothing is locked: a journal may be read while it is written.
//!
//! A reader that follows a journal keeps the [`Position`] after the last record and resumes there.
//! Earlier records are not read again, except the crc before the position: it shows that the file
//! is still the same.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::memchr;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use whetstone_core::lines::{LineEnd, next_line};

use super::line::{self, CRC_CLOSE, CRC_OPEN, MAX_LINE_BYTES};
use super::position::Position;
use crate::error::ReadError;
use crate::plain_file::open_plain;

const BUFFER_BYTES: usize = 64 << 10;
/// Bytes that are read at first of a record at an offset; most are shorter.
const FIRST_READ_BYTES: usize = 2 << 10;

/// One record of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number: the first record of a journal is 0.
    pub seq: u64,
    /// Its line, counted from 1.
    pub line: u64,
    /// The payload as it was written: a JSON object without the journal's own fields.
    pub json: String,
}

/// The records of a journal in order. Ends behind the first error.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    input: BufReader<File>,
    line: Vec<u8>,
    position: Position,
    limit_bytes: usize,
    ended: bool,
}

/// Opens the journal at `path` for reading.
pub fn read(path: &Path) -> Result<Reader, ReadError> {
    read_from(path, Position::default())
}

/// Opens the journal at `path` for reading on from a place that an earlier reader came to.
///
/// [`ReadError::Moved`] if the file that is there now is another, or was cut in front of the place.
pub fn read_from(path: &Path, position: Position) -> Result<Reader, ReadError> {
    let failed = |source| ReadError::Open { path: path.to_owned(), source };
    let mut file = open_plain(path).map_err(failed)?;
    if !is_behind_its_record(&file, position).map_err(failed)? {
        return Err(ReadError::Moved { path: path.to_owned() });
    }
    file.seek(SeekFrom::Start(position.offset)).map_err(failed)?;
    Ok(Reader {
        path: path.to_owned(),
        input: BufReader::with_capacity(BUFFER_BYTES, file),
        line: Vec::new(),
        position,
        limit_bytes: MAX_LINE_BYTES,
        ended: false,
    })
}

/// Whether the bytes in front of the place are the end of the record that was there.
fn is_behind_its_record(file: &File, position: Position) -> io::Result<bool> {
    let Some(crc) = position.crc else { return Ok(position == Position::default()) };
    let expected = [CRC_OPEN.as_bytes(), &crc, CRC_CLOSE.as_bytes(), b"\n"].concat();
    let Some(start) = position.offset.checked_sub(expected.len() as u64) else { return Ok(false) };
    let mut found = vec![0; expected.len()];
    match file.read_exact_at(&mut found, start) {
        Ok(()) => Ok(found == expected),
        Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(err) => Err(err),
    }
}

impl Reader {
    /// The same reader with a lower limit: a line of more than `limit_bytes` is an error.
    #[must_use]
    pub fn with_limit(self, limit_bytes: usize) -> Self {
        Self { limit_bytes, ..self }
    }

    /// The records as values of one type, each with its number.
    ///
    /// A record of another type is an error; the records behind it can still be asked for.
    pub fn typed<T: DeserializeOwned>(self) -> impl Iterator<Item = Result<(u64, T), ReadError>> {
        let path = self.path.clone();
        self.map(move |record| {
            let record = record?;
            parse(&path, &record).map(|value| (record.seq, value))
        })
    }

    /// A record of this journal as a value.
    pub fn parse<'de, T: Deserialize<'de>>(&self, record: &'de Record) -> Result<T, ReadError> {
        parse(&self.path, record)
    }

    /// The file being read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The place behind the last record that was read.
    pub fn place(&self) -> Position {
        self.position
    }

    /// The line behind the place: every line before it was a record.
    fn line_number(&self) -> u64 {
        self.position.next_seq + 1
    }

    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        let (path, line) = (self.path.clone(), self.line_number());
        let limit_bytes = self.limit_bytes;
        match next_line(&mut self.input, &mut self.line, limit_bytes) {
            Ok(LineEnd::Newline) => self.check_line().map(Some),
            Ok(LineEnd::EndOfFile) if self.line.is_empty() => Ok(None),
            Ok(LineEnd::EndOfFile) => Err(ReadError::Torn { path, line, bytes: self.line.len() }),
            Ok(LineEnd::TooLong) => Err(ReadError::TooLong { path, line, limit_bytes }),
            Err(source) => Err(ReadError::Read { path, line, source }),
        }
    }

    fn check_line(&mut self) -> Result<Record, ReadError> {
        let (path, line) = (&self.path, self.line_number());
        let (found, fields) = line::decode(&self.line).map_err(|source| ReadError::Damaged {
            path: path.clone(),
            line,
            source,
        })?;
        let expected = self.position.next_seq;
        if found != expected {
            return Err(ReadError::Sequence { path: path.clone(), line, expected, found });
        }
        let json = format!("{{{fields}}}");
        self.position.pass(&self.line);
        Ok(Record { seq: found, line, json })
    }
}

impl Iterator for Reader {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.next_record().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

/// The record of an open journal at an offset, as a value. Errors about the line call it 0 where its
/// number is not known.
pub(super) fn read_at<T: DeserializeOwned>(
    file: &File,
    path: &Path,
    offset: u64,
) -> Result<T, ReadError> {
    let damaged = |source| ReadError::Damaged { path: path.to_owned(), line: 0, source };
    let line = line_at(file, offset).map_err(|source| ReadError::Read {
        path: path.to_owned(),
        line: 0,
        source,
    })?;
    let (seq, fields) = line::decode(&line).map_err(damaged)?;
    parse(path, &Record { seq, line: seq + 1, json: format!("{{{fields}}}") })
}

/// The line at an offset, without its newline.
fn line_at(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let (mut line, mut size) = (Vec::new(), FIRST_READ_BYTES);
    while line.len() <= MAX_LINE_BYTES {
        let start = line.len();
        line.resize(start + size, 0);
        let count = file.read_at(&mut line[start..], offset + start as u64)?;
        line.truncate(start + count);
        if let Some(newline) = memchr(b'\n', &line[start..]) {
            line.truncate(start + newline);
            return Ok(line);
        }
        if count == 0 {
            break;
        }
        size = size.saturating_mul(2).min(MAX_LINE_BYTES);
    }
    Err(io::Error::from(io::ErrorKind::UnexpectedEof))
}

fn parse<'de, T: Deserialize<'de>>(path: &Path, record: &'de Record) -> Result<T, ReadError> {
    serde_json::from_str(&record.json).map_err(|source| ReadError::WrongType {
        path: path.to_owned(),
        line: record.line,
        source,
    })
}
