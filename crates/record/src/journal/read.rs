//! Reading a journal, record by record.
//!
//! Every line's crc is checked and the numbers must go 0, 1, 2, …, so a reader either sees every
//! record that was written or an error that names the file and the line. The end of the file is
//! the one place where an incomplete line is normal: it is reported as [`ReadError::Torn`].
//!
//! A line is held in memory only up to [`MAX_LINE_BYTES`]; what is longer is an error before it is
//! read. Nothing is locked: a journal may be read while it is written.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use whetstone_core::lines::{LineEnd, next_line};

use super::line::{self, MAX_LINE_BYTES};
use crate::error::ReadError;

const BUFFER_BYTES: usize = 64 << 10;

/// One record of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number: the first record of a journal is 0.
    pub seq: u64,
    /// The line it stands in, counted from 1.
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
    line_number: u64,
    next_seq: u64,
    ended: bool,
}

/// Opens the journal at `path` for reading.
pub fn read(path: &Path) -> Result<Reader, ReadError> {
    let file =
        File::open(path).map_err(|source| ReadError::Open { path: path.to_owned(), source })?;
    Ok(Reader {
        path: path.to_owned(),
        input: BufReader::with_capacity(BUFFER_BYTES, file),
        line: Vec::new(),
        line_number: 0,
        next_seq: 0,
        ended: false,
    })
}

impl Reader {
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

    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        self.line_number += 1;
        let (path, line) = (self.path.clone(), self.line_number);
        match next_line(&mut self.input, &mut self.line, MAX_LINE_BYTES) {
            Ok(LineEnd::Newline) => self.check_line().map(Some),
            Ok(LineEnd::EndOfFile) if self.line.is_empty() => Ok(None),
            Ok(LineEnd::EndOfFile) => Err(ReadError::Torn { path, line, bytes: self.line.len() }),
            Ok(LineEnd::TooLong) => {
                Err(ReadError::TooLong { path, line, limit_bytes: MAX_LINE_BYTES })
            }
            Err(source) => Err(ReadError::Read { path, line, source }),
        }
    }

    fn check_line(&mut self) -> Result<Record, ReadError> {
        let (path, line) = (&self.path, self.line_number);
        let (found, fields) = line::decode(&self.line).map_err(|source| ReadError::Damaged {
            path: path.clone(),
            line,
            source,
        })?;
        let expected = self.next_seq;
        if found != expected {
            return Err(ReadError::Sequence { path: path.clone(), line, expected, found });
        }
        self.next_seq += 1;
        Ok(Record { seq: found, line, json: format!("{{{fields}}}") })
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

fn parse<'de, T: Deserialize<'de>>(path: &Path, record: &'de Record) -> Result<T, ReadError> {
    serde_json::from_str(&record.json).map_err(|source| ReadError::WrongType {
        path: path.to_owned(),
        line: record.line,
        source,
    })
}
