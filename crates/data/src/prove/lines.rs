//! The lines of several files in sequence, unchanged: outputs have the same bytes as inputs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use whetstone_core::jsonl::{LineProblem, MAX_LINE_BYTES, Records};
use whetstone_core::lines::{Hashed, LineEnd, next_line, skip_line};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::Wire;

use super::error::ProveError;
use super::finding::{Dropped, Reason};

/// The byte order mark, which some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of one of the files.
#[derive(Debug)]
pub(super) struct Line {
    /// Its place among the lines of all files, from 0.
    pub(super) at: usize,
    /// Its file.
    pub(super) file: PathBuf,
    /// Its number in that file, from 1.
    pub(super) number: u64,
    /// Its bytes without the newline; none if there are too many.
    pub(super) bytes: Vec<u8>,
    end: LineEnd,
}

/// The content of a line.
#[derive(Debug)]
pub(super) enum Held {
    Task(Box<Task>),
    Blank,
    Bad(Dropped),
}

/// The lines of several files, and their digest.
pub(super) struct Lines<'a> {
    files: std::slice::Iter<'a, PathBuf>,
    open: Option<Open>,
    at: usize,
    /// Of the digests of the files that were read to their end.
    hasher: blake3::Hasher,
}

/// The file that is being read.
struct Open {
    path: PathBuf,
    reader: BufReader<Hashed<File>>,
    /// Lines of it that were read.
    count: u64,
}

/// The ids so far, and their lines.
#[derive(Debug, Default)]
pub(super) struct Ids(HashMap<TaskId, (PathBuf, u64)>);

impl<'a> Lines<'a> {
    pub(super) fn of(files: &'a [PathBuf]) -> Self {
        Self { files: files.iter(), open: None, at: 0, hasher: blake3::Hasher::new() }
    }

    /// The digest of all files that were read to their end, each for itself.
    pub(super) fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// The next line; `None` after the last one of the last file.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ProveError> {
        loop {
            if let Some(open) = &mut self.open {
                let unreadable = |source| ProveError::Read { path: open.path.clone(), source };
                let mut bytes = Vec::new();
                let end = next_line(&mut open.reader, &mut bytes, MAX_LINE_BYTES);
                let end = end.map_err(unreadable)?;
                if end == LineEnd::TooLong {
                    bytes = Vec::new();
                    skip_line(&mut open.reader).map_err(unreadable)?;
                }
                if end != LineEnd::EndOfFile || !bytes.is_empty() {
                    open.count += 1;
                    if open.count == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                        bytes.drain(..BYTE_ORDER_MARK.len());
                    }
                    let (file, number) = (open.path.clone(), open.count);
                    let at = self.at;
                    self.at += 1;
                    return Ok(Some(Line { at, file, number, bytes, end }));
                }
                self.hasher.update(open.reader.get_ref().digest().as_bytes());
            }
            self.open = None;
            let Some(path) = self.files.next() else { return Ok(None) };
            self.open = Some(open(path)?);
        }
    }
}

impl Line {
    /// Whether it holds nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.end != LineEnd::TooLong
            && std::str::from_utf8(&self.bytes).is_ok_and(|text| text.trim().is_empty())
    }

    /// Reads the line as a task.
    pub(super) fn hold(&self, ids: &mut Ids) -> Held {
        let bad = |detail: String| {
            let detail = format!("{}:{}: {detail}", self.file.display(), self.number);
            Held::Bad(Dropped::new(Reason::NotATask, detail))
        };
        if self.end == LineEnd::TooLong {
            return bad(
                LineProblem::TooLong { noun: Task::NOUN, limit_bytes: MAX_LINE_BYTES }.to_string()
            );
        }
        let end: &[u8] = if self.end == LineEnd::Newline { b"\n" } else { b"" };
        let bytes = io::Read::chain(self.bytes.as_slice(), end);
        let mut read = Records::<Task, _>::new(self.file.as_path(), bytes);
        match read.next() {
            None => Held::Blank,
            Some(Err(err)) => bad(err.problem.to_string()),
            Some(Ok(found)) => match ids.first(&found.record.id, self) {
                None => Held::Task(Box::new(found.record)),
                Some(detail) => Held::Bad(Dropped::new(Reason::DuplicateId, detail)),
            },
        }
    }
}

impl Ids {
    /// Notes an id; if it was there before, says where.
    fn first(&mut self, id: &TaskId, line: &Line) -> Option<String> {
        if let Some((file, number)) = self.0.get(id) {
            let before = format!("{}:{number}", file.display());
            let here = format!("{}:{}", line.file.display(), line.number);
            return Some(format!("{here}: task id `{id}` stands already in {before}"));
        }
        self.0.insert(id.clone(), (line.file.clone(), line.number));
        None
    }
}

fn open(path: &Path) -> Result<Open, ProveError> {
    let unreadable = |source| ProveError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(ProveError::NotAFile { path: path.to_owned() });
    }
    let reader = BufReader::with_capacity(1 << 16, Hashed::new(file));
    Ok(Open { path: path.to_owned(), reader, count: 0 })
}
