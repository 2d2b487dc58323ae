//! The lines of several files, one after another, as they stand: what is written out again is what
//! was read, byte for byte.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use whetstone_core::jsonl::{LineProblem, MAX_LINE_BYTES, Records};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::Wire;

use super::error::ProveError;
use super::finding::{Dropped, Reason};

/// What some editors put at the head of a file.
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
    /// A newline ends it.
    ended: bool,
    too_long: bool,
}

/// What a line holds.
#[derive(Debug)]
pub(super) enum Held {
    Task(Box<Task>),
    Blank,
    Bad(Dropped),
}

/// The lines of several files, and a digest of what was read.
pub(super) struct Lines<'a> {
    files: std::slice::Iter<'a, PathBuf>,
    open: Option<(PathBuf, BufReader<File>, u64)>,
    at: usize,
    hasher: blake3::Hasher,
}

/// Which ids there were so far, and where.
#[derive(Debug, Default)]
pub(super) struct Ids(HashMap<TaskId, (PathBuf, u64)>);

impl<'a> Lines<'a> {
    pub(super) fn of(files: &'a [PathBuf]) -> Self {
        Self { files: files.iter(), open: None, at: 0, hasher: blake3::Hasher::new() }
    }

    /// The digest of everything read so far, with where one file ends and the next begins.
    pub(super) fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// The next line; `None` after the last one of the last file.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ProveError> {
        loop {
            if let Some((path, reader, number)) = &mut self.open {
                let unreadable = |source| ProveError::Read { path: path.clone(), source };
                let mut bytes = Vec::new();
                let length = fill(reader, &mut bytes, &mut self.hasher).map_err(unreadable)?;
                if length > 0 {
                    *number += 1;
                    if *number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                        bytes.drain(..BYTE_ORDER_MARK.len());
                    }
                    let (file, number) = (path.clone(), *number);
                    let (at, too_long) = (self.at, length > MAX_LINE_BYTES);
                    let ended = bytes.pop_if(|last| *last == b'\n').is_some();
                    self.at += 1;
                    return Ok(Some(Line { at, file, number, bytes, ended, too_long }));
                }
            }
            let Some(path) = self.files.next() else { return Ok(None) };
            self.hasher.update(b"\0file\0");
            self.open = Some((path.clone(), open(path)?, 0));
        }
    }
}

impl Line {
    /// Whether it holds nothing.
    pub(super) fn is_blank(&self) -> bool {
        !self.too_long && std::str::from_utf8(&self.bytes).is_ok_and(|text| text.trim().is_empty())
    }

    /// Reads the line as a task.
    pub(super) fn hold(&self, ids: &mut Ids) -> Held {
        let bad = |detail: String| {
            let detail = format!("{}:{}: {detail}", self.file.display(), self.number);
            Held::Bad(Dropped::new(Reason::NotATask, detail))
        };
        if self.too_long {
            return bad(LineProblem::TooLong { noun: Task::NOUN }.to_string());
        }
        let end: &[u8] = if self.ended { b"\n" } else { b"" };
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

fn open(path: &Path) -> Result<BufReader<File>, ProveError> {
    let unreadable = |source| ProveError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(ProveError::NotAFile { path: path.to_owned() });
    }
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Reads one line with its newline: how long it is, 0 at the end of the file.
fn fill(
    reader: &mut impl BufRead,
    bytes: &mut Vec<u8>,
    hasher: &mut blake3::Hasher,
) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(err),
        };
        let newline = chunk.iter().position(|&byte| byte == b'\n');
        let taken = newline.map_or(chunk.len(), |at| at + 1);
        hasher.update(&chunk[..taken]);
        length += taken;
        if length <= MAX_LINE_BYTES {
            bytes.extend_from_slice(&chunk[..taken]);
        } else {
            // Read to the line's end all the same, so that the next line is found.
            *bytes = Vec::new();
        }
        reader.consume(taken);
        if newline.is_some() || taken == 0 {
            return Ok(length);
        }
    }
}
