//! The input of a batch: the lines of one or more files as they stand there, within bounds.
//!
//! Lines are passed on with their own bytes, so they come raw; what they hold is decided elsewhere.
//! A line longer than [`MAX_LINE_BYTES`] is passed over but counted. Everything read goes through a
//! digest, so that the second pass can tell whether the files are still the same. A line has its place, so that
//! [`read_at`] can read it again.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::lines::{Hashed, LineEnd, next_line};

use crate::error::BatchError;

/// The byte order mark, which some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Files of lines.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// What they hold, for messages: `tasks`.
    pub noun: &'static str,
    /// The files, read one after another.
    pub files: &'a [PathBuf],
}

/// The digests of all files, and how many lines they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDigest {
    /// One BLAKE3 digest for each file.
    pub files: Vec<[u8; 32]>,
    /// All lines.
    pub lines: u64,
    /// Those that hold nothing.
    pub blank: u64,
}

/// One line of one of the files.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its place among the lines of all files, from 0.
    pub at: u64,
    /// Its file.
    pub file: &'a Path,
    /// Its number in that file, from 1.
    pub number: u64,
    /// The place of its first byte in that file.
    pub offset: u64,
    /// Its bytes without the newline; none if there are too many.
    pub bytes: Vec<u8>,
    /// How it ended.
    pub end: LineEnd,
}

/// The lines of files, one after another.
#[derive(Debug)]
pub struct Lines<'a> {
    input: Input<'a>,
    /// Files that were opened.
    opened: usize,
    reader: Option<BufReader<Hashed<File>>>,
    /// Lines of the open file that were read.
    number: u64,
    /// Bytes of the open file that were read.
    offset: u64,
    at: u64,
    digests: Vec<[u8; 32]>,
}

impl<'a> Input<'a> {
    /// Reads the lines from the first one.
    pub fn lines(&self) -> Lines<'a> {
        let (reader, digests) = (None, Vec::new());
        Lines { input: *self, opened: 0, reader, number: 0, offset: 0, at: 0, digests }
    }

    /// Reads all files once, before the work is begun.
    pub fn digest(&self) -> Result<InputDigest, BatchError> {
        let mut lines = self.lines();
        let mut blank = 0;
        while let Some(line) = lines.next()? {
            blank += u64::from(line.is_blank());
        }
        Ok(InputDigest { files: lines.digests, lines: lines.at, blank })
    }

    /// Calls `each` with every line, and checks that the files are still those of `digest`.
    pub fn each<E: From<BatchError>>(
        &self,
        digest: &InputDigest,
        mut each: impl FnMut(&Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = self.lines();
        while let Some(line) = lines.next()? {
            each(&line)?;
        }
        if lines.digests == digest.files { Ok(()) } else { Err(self.changed().into()) }
    }

    /// The files are not what they were.
    pub fn changed(&self) -> BatchError {
        BatchError::Changed { noun: self.noun }
    }

    /// Opens one of the files.
    pub fn open(&self, path: &Path) -> Result<File, BatchError> {
        let file = File::open(path).map_err(self.unreadable(path))?;
        if !file.metadata().map_err(self.unreadable(path))?.is_file() {
            return Err(BatchError::NotAFile { noun: self.noun, path: path.to_owned() });
        }
        Ok(file)
    }

    fn unreadable(&self, path: &Path) -> impl Fn(std::io::Error) -> BatchError {
        let (noun, path) = (self.noun, path.to_owned());
        move |source| BatchError::Input { noun, path: path.clone(), source }
    }
}

impl<'a> Lines<'a> {
    /// The next line; `None` after the last one of the last file.
    #[expect(clippy::should_implement_trait, reason = "an iterator of results hides the end")]
    pub fn next(&mut self) -> Result<Option<Line<'a>>, BatchError> {
        loop {
            if let Some(line) = self.next_of_file()? {
                return Ok(Some(line));
            }
            let Some(path) = self.input.files.get(self.opened) else { return Ok(None) };
            let file = self.input.open(path)?;
            self.reader = Some(BufReader::with_capacity(1 << 17, Hashed::new(file)));
            (self.opened, self.number, self.offset) = (self.opened + 1, 0, 0);
        }
    }

    /// The next line of the open file; `None` behind its last one, or if none is open.
    fn next_of_file(&mut self) -> Result<Option<Line<'a>>, BatchError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let file = self.input.files[self.opened - 1].as_path();
        let unreadable = self.input.unreadable(file);
        let mut bytes = Vec::new();
        let end = next_line(reader, &mut bytes, MAX_LINE_BYTES).map_err(&unreadable)?;
        let offset = self.offset;
        self.offset += bytes.len() as u64 + u64::from(end == LineEnd::Newline);
        if end == LineEnd::TooLong {
            bytes = Vec::new();
            self.offset += reader.skip_until(b'\n').map_err(&unreadable)? as u64;
        }
        if end == LineEnd::EndOfFile && bytes.is_empty() {
            self.digests.push(*reader.get_ref().digest().as_bytes());
            self.reader = None;
            return Ok(None);
        }
        self.number += 1;
        self.at += 1;
        Ok(Some(Line { at: self.at - 1, file, number: self.number, offset, bytes, end }))
    }
}

impl Line<'_> {
    /// Its bytes without the byte order mark that a file may begin with.
    pub fn content(&self) -> &[u8] {
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { b"" };
        self.bytes.strip_prefix(mark).unwrap_or(&self.bytes)
    }

    /// The place of [`Self::content`] in its file.
    pub fn content_offset(&self) -> u64 {
        self.offset + (self.bytes.len() - self.content().len()) as u64
    }

    /// Whether it has more bytes than a line may have.
    pub fn is_too_long(&self) -> bool {
        self.end == LineEnd::TooLong
    }

    /// Whether it holds nothing.
    pub fn is_blank(&self) -> bool {
        let is_blank = |text: &str| text.trim().is_empty();
        !self.is_too_long() && std::str::from_utf8(self.content()).is_ok_and(is_blank)
    }
}

/// Reads bytes of a file again; `None` if the file ends before.
pub fn read_at(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes files with these texts.
    fn files(dir: &Path, texts: &[&[u8]]) -> Vec<PathBuf> {
        let write = |(at, text): (usize, &&[u8])| {
            let path = dir.join(format!("{at}"));
            fs::write(&path, text).unwrap();
            path
        };
        texts.iter().enumerate().map(write).collect()
    }

    fn lines(input: &Input<'_>) -> Vec<(u64, u64, Vec<u8>)> {
        let mut lines = input.lines();
        std::iter::from_fn(|| lines.next().unwrap())
            .map(|line| (line.at, line.number, line.content().to_owned()))
            .collect()
    }

    #[test]
    fn lines_come_as_they_stand_and_the_last_needs_no_newline() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path(), &[b"\xef\xbb\xbfone\r\n\n three", b"", b"four\n"]);
        let input = Input { noun: "tasks", files: &files };
        let expected: [(u64, u64, &[u8]); 4] =
            [(0, 1, b"one\r"), (1, 2, b""), (2, 3, b" three"), (3, 1, b"four")];
        assert_eq!(lines(&input), expected.map(|(at, number, text)| (at, number, text.to_owned())));
        let digest = input.digest().unwrap();
        assert_eq!((digest.lines, digest.blank, digest.files.len()), (4, 1, 3));
        input.each(&digest, |_| Ok::<_, BatchError>(())).unwrap();
        fs::write(&files[1], "x").unwrap();
        let err = input.each(&digest, |_| Ok::<_, BatchError>(())).unwrap_err();
        assert!(matches!(err, BatchError::Changed { .. }), "{err}");
    }

    #[test]
    fn a_line_is_read_again_by_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let long = vec![b'x'; MAX_LINE_BYTES + 10];
        let text = [b"\xef\xbb\xbfone\n\n", &long[..], b"\nthree\r\nfour"].concat();
        let files = files(dir.path(), &[&text]);
        let input = Input { noun: "tasks", files: &files };
        let file = input.open(&files[0]).unwrap();
        let mut lines = input.lines();
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let again = read_at(&file, line.content_offset(), line.content().len()).unwrap();
            assert_eq!(again, line.content());
            read.push(String::from_utf8(again).unwrap());
        }
        assert_eq!(read, ["one", "", "", "three\r", "four"]);
        assert_eq!(read_at(&file, text.len() as u64 - 1, 2), None);
    }

    #[test]
    fn a_line_that_is_too_long_does_not_hide_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let text = [vec![b'x'; MAX_LINE_BYTES + 10], b"\nnext\n".to_vec()].concat();
        let files = files(dir.path(), &[&text]);
        let mut lines = Input { noun: "tasks", files: &files }.lines();
        let long = lines.next().unwrap().unwrap();
        assert!(long.is_too_long() && !long.is_blank() && long.bytes.is_empty());
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"next");
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn what_is_not_a_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = [dir.path().to_owned()];
        let err = Input { noun: "tasks", files: &files }.digest().unwrap_err();
        assert!(matches!(err, BatchError::NotAFile { .. }) && err.is_usage(), "{err}");
        let files = [dir.path().join("none")];
        let err = Input { noun: "tasks", files: &files }.digest().unwrap_err();
        assert!(matches!(err, BatchError::Input { .. }) && err.is_usage(), "{err}");
    }
}
