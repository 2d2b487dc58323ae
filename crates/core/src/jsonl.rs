//! Files of one JSON object a line, read within bounds.
//!
//! Every line is either a record or an error that names the file, the line and what was expected;
//! none is skipped in silence. The caller decides whether an error ends the reading (`--strict`)
//! or is counted. A line is read in pieces and never past [`MAX_LINE_BYTES`], so a file without a
//! newline cannot exhaust memory. Lines that hold nothing but blanks carry no record and are
//! passed over; a byte order mark at the head of the file is too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::lines::{LineEnd, next_line, skip_line};
use crate::task::Task;
use crate::wire::{Object, Wire, WireError, message};

/// Longest line we read. The largest public problem sets stay below it.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// A line that is not a record, or a file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", file.display(), at_line(*line))]
pub struct LineError {
    /// The file as the caller named it.
    pub file: PathBuf,
    /// Its line, counted from 1; 0 for the file as a whole.
    pub line: u64,
    /// The problem. Part of the message, so not a source of its own.
    pub problem: LineProblem,
}

impl LineError {
    /// Whether the file is not there at all.
    pub fn is_missing(&self) -> bool {
        matches!(&self.problem, LineProblem::Io(err) if err.kind() == io::ErrorKind::NotFound)
    }
}

fn at_line(line: u64) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

/// A problem of a line.
#[derive(Debug, thiserror::Error)]
pub enum LineProblem {
    /// The file could not be opened or read on.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// The line passes its limit, usually [`MAX_LINE_BYTES`].
    #[error("longer than {} MiB, expected one {noun} a line", limit_bytes >> 20)]
    TooLong {
        /// The kind of record that a line should hold.
        noun: &'static str,
        /// Bytes a line may have.
        limit_bytes: usize,
    },
    /// The line is not text.
    #[error("not UTF-8 at byte {at} of the line, expected one {noun} as a JSON object")]
    NotUtf8 {
        /// The kind of record that a line should hold.
        noun: &'static str,
        /// First bad byte.
        at: usize,
    },
    /// The last line breaks off.
    #[error("ends in the middle of a value, expected one {noun} a line; was the file cut short?")]
    Truncated {
        /// The kind of record that a line should hold.
        noun: &'static str,
    },
    /// The line is not a JSON object.
    #[error("expected one {noun} as a JSON object: {problem}")]
    Json {
        /// The kind of record that a line should hold.
        noun: &'static str,
        /// The parser's message.
        problem: String,
    },
    /// The object is not the record.
    #[error("not a {noun}: {problem}")]
    Record {
        /// The kind of record that a line should hold.
        noun: &'static str,
        /// The field that is missing or has the wrong type.
        problem: WireError,
    },
    /// The record's id stands in the file already.
    #[error("{noun} id `{id}` stands already in line {first}")]
    DuplicateId {
        /// The kind of record that a line should hold.
        noun: &'static str,
        /// The id.
        id: String,
        /// The line that had it first.
        first: u64,
    },
}

/// The records of a file, one after another.
#[derive(Debug)]
pub struct Records<T, R> {
    file: PathBuf,
    reader: R,
    line: u64,
    buffer: Vec<u8>,
    limit_bytes: usize,
    ended: bool,
    record: PhantomData<T>,
}

impl<T: Wire> Records<T, BufReader<File>> {
    /// Opens a file of records.
    pub fn open(path: &Path) -> Result<Self, LineError> {
        match File::open(path) {
            Ok(file) => Ok(Self::new(path, BufReader::with_capacity(1 << 16, file))),
            Err(err) => {
                Err(LineError { file: path.to_owned(), line: 0, problem: LineProblem::Io(err) })
            }
        }
    }
}

impl<T: Wire, R: BufRead> Records<T, R> {
    /// Reads records from `reader`; `name` stands in messages.
    pub fn new(name: impl Into<PathBuf>, reader: R) -> Self {
        let file = name.into();
        let (buffer, limit_bytes) = (Vec::new(), MAX_LINE_BYTES);
        Self { file, reader, line: 0, buffer, limit_bytes, ended: false, record: PhantomData }
    }

    /// The same records with shorter lines: one of more than `limit_bytes` is an error.
    #[must_use]
    pub fn with_limit(self, limit_bytes: usize) -> Self {
        Self { limit_bytes, ..self }
    }

    /// Reads the next line into the buffer.
    fn fill(&mut self) -> io::Result<LineEnd> {
        let end = next_line(&mut self.reader, &mut self.buffer, self.limit_bytes)?;
        if end == LineEnd::TooLong {
            self.buffer = Vec::new();
            skip_line(&mut self.reader)?;
        }
        Ok(end)
    }

    fn parse(&self, end: LineEnd) -> Result<Option<T>, LineProblem> {
        let noun = T::NOUN;
        let bytes = match self.line {
            1 => self.buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.buffer),
            _ => &self.buffer,
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|err| LineProblem::NotUtf8 { noun, at: err.valid_up_to() })?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let object = serde_json::from_str::<Object>(text).map_err(|err| {
            if err.is_eof() && end == LineEnd::EndOfFile {
                LineProblem::Truncated { noun }
            } else {
                LineProblem::Json {
                    noun,
                    problem: format!("{} at column {}", message(&err), err.column()),
                }
            }
        })?;
        T::from_object(object).map(Some).map_err(|problem| LineProblem::Record { noun, problem })
    }

    fn error(&self, problem: LineProblem) -> LineError {
        LineError { file: self.file.clone(), line: self.line, problem }
    }
}

/// A record with the line it stands in.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbered<T> {
    /// Counted from 1.
    pub line: u64,
    /// What stands there.
    pub record: T,
}

impl<T: Wire, R: BufRead> Iterator for Records<T, R> {
    type Item = Result<Numbered<T>, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.line += 1;
            let parsed = match self.fill() {
                Ok(LineEnd::TooLong) => {
                    let limit_bytes = self.limit_bytes;
                    Err(LineProblem::TooLong { noun: T::NOUN, limit_bytes })
                }
                Ok(end) => {
                    self.ended = end == LineEnd::EndOfFile;
                    self.parse(end)
                }
                // A line that is too long has an end; a file that cannot be read has none.
                Err(err) => {
                    self.ended = true;
                    Err(LineProblem::Io(err))
                }
            };
            match parsed {
                Ok(Some(record)) => return Some(Ok(Numbered { line: self.line, record })),
                Ok(None) => {}
                Err(problem) => return Some(Err(self.error(problem))),
            }
        }
        None
    }
}

/// Reads a whole file of tasks; the first bad line or repeated id is the error.
pub fn read_tasks(path: &Path) -> Result<Vec<Task>, LineError> {
    let mut tasks = Vec::new();
    let mut lines = HashMap::new();
    for read in Records::<Task, _>::open(path)? {
        let Numbered { line, record: task } = read?;
        if let Some(first) = lines.insert(task.id.clone(), line) {
            let problem =
                LineProblem::DuplicateId { noun: Task::NOUN, id: task.id.to_string(), first };
            return Err(LineError { file: path.to_owned(), line, problem });
        }
        tasks.push(task);
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::RolloutLine;

    const GOOD: &str = r#"{"step":0,"prompt_id":"a","text":"x"}"#;

    /// Reads `bytes` as rollouts and returns, for each item, its line and `ok` or the message.
    fn read(bytes: &[u8]) -> Vec<String> {
        Records::<RolloutLine, _>::new("r.jsonl", bytes)
            .map(|item| match item {
                Ok(Numbered { line, .. }) => format!("r.jsonl:{line}: ok"),
                Err(err) => err.to_string(),
            })
            .collect()
    }

    #[track_caller]
    fn check(bad: &[u8], message: &str) {
        let file = [GOOD.as_bytes(), bad, GOOD.as_bytes()].join(&b'\n');
        let expected =
            ["r.jsonl:1: ok".to_owned(), format!("r.jsonl:2: {message}"), "r.jsonl:3: ok".into()];
        assert_eq!(read(&file), expected, "a bad line must not hide its neighbours");
    }

    #[test]
    fn a_line_that_is_not_text_names_the_byte() {
        check(
            b"{\"step\":\xff}",
            "not UTF-8 at byte 8 of the line, expected one rollout as a JSON object",
        );
    }

    #[test]
    fn a_line_that_is_not_an_object_says_so() {
        check(
            b"[1]",
            "expected one rollout as a JSON object: invalid type: sequence, expected a JSON object at column 0",
        );
        check(b"{\"step\" 0}", "expected one rollout as a JSON object: expected `:` at column 9");
    }

    #[test]
    fn a_wrong_type_names_its_field() {
        check(
            br#"{"step":"0","prompt_id":"a","text":"x"}"#,
            r#"not a rollout: field `step`: invalid type: string "0", expected u64"#,
        );
    }

    #[test]
    fn a_last_line_without_its_end_is_called_cut_short() {
        let file = format!("{GOOD}\n{}", &GOOD[..GOOD.len() - 3]);
        let expected = "r.jsonl:2: ends in the middle of a value, expected one rollout a line; \
                        was the file cut short?";
        assert_eq!(read(file.as_bytes()), ["r.jsonl:1: ok", expected]);
    }

    #[test]
    fn blank_lines_windows_ends_and_a_byte_order_mark_are_no_records() {
        let file = format!("\u{feff}{GOOD}\r\n\r\n  \n{GOOD}\r\n");
        assert_eq!(read(file.as_bytes()), ["r.jsonl:1: ok", "r.jsonl:4: ok"]);
    }

    #[test]
    fn a_line_of_100_mb_is_refused_and_the_next_one_read() {
        let long = io::Read::take(io::repeat(b'x'), 100_000_000);
        let file = io::Read::chain(io::Read::chain(GOOD.as_bytes(), &b"\n"[..]), long);
        let file = io::Read::chain(file, &b"\n"[..]);
        let file = BufReader::new(io::Read::chain(file, GOOD.as_bytes()));
        let mut records = Records::<RolloutLine, _>::new("r.jsonl", file);
        assert!(records.next().unwrap().is_ok());
        let err = records.next().unwrap().unwrap_err().to_string();
        assert_eq!(err, "r.jsonl:2: longer than 64 MiB, expected one rollout a line");
        assert!(records.buffer.capacity() <= 2 * MAX_LINE_BYTES, "bounded by the limit");
        assert_eq!(records.next().unwrap().unwrap().line, 3);
        assert!(records.next().is_none());
    }

    #[test]
    fn a_reader_that_breaks_ends_the_records() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad sector"))
            }
        }
        let mut records = Records::<RolloutLine, _>::new("r.jsonl", BufReader::new(Broken));
        let err = records.next().unwrap().unwrap_err().to_string();
        assert_eq!(err, "r.jsonl:1: cannot read: bad sector");
        assert!(records.next().is_none());
    }
}
