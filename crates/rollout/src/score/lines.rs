//! The lines of a file as they stand there, within bounds.
//!
//! Scoring passes a line's own bytes on, so it needs them raw; whether they are a rollout is
//! decided elsewhere. A line longer than [`MAX_LINE_BYTES`] is passed over but counted. Everything
//! read goes through a digest, so that the second pass can tell whether the file is still the same.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::lines::{Hashed, LineEnd, next_line, skip_line};

/// What was read into the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// A whole line, without its newline.
    Line,
    /// A line that passes the limit; the buffer is empty.
    TooLong,
    /// Nothing: the file has ended.
    End,
}

/// The digest of a file and how many lines it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) digest: blake3::Hash,
    pub(super) lines: u64,
}

/// The lines of a file, one after another.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<Hashed<R>>,
}

impl Lines<File> {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(File::open(path)?))
    }
}

impl<R: Read> Lines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { reader: BufReader::with_capacity(1 << 17, Hashed::new(inner)) }
    }

    /// Replaces `buffer` with the next line.
    pub(super) fn next_into(&mut self, buffer: &mut Vec<u8>) -> io::Result<Took> {
        match next_line(&mut self.reader, buffer, MAX_LINE_BYTES)? {
            LineEnd::EndOfFile if buffer.is_empty() => Ok(Took::End),
            LineEnd::EndOfFile | LineEnd::Newline => Ok(Took::Line),
            LineEnd::TooLong => {
                *buffer = Vec::new();
                skip_line(&mut self.reader)?;
                Ok(Took::TooLong)
            }
        }
    }

    /// The digest of the whole file, once its end was read.
    pub(super) fn digest(&self) -> blake3::Hash {
        self.reader.get_ref().digest()
    }
}

/// Reads a file once through, in pieces.
pub(super) fn survey(path: &Path) -> io::Result<Survey> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 17];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let chunk = &buffer[..count];
                hasher.update(chunk);
                lines += chunk.split(|&byte| byte == b'\n').count() as u64 - 1;
                last = chunk[count - 1];
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(Survey { digest: hasher.finalize(), lines: lines + u64::from(last != b'\n') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_as_they_stand_and_the_last_needs_no_newline() {
        let mut lines = Lines::new(&b"one\r\n\n three"[..]);
        let mut buffer = Vec::new();
        for expected in [&b"one\r"[..], b"", b" three"] {
            assert_eq!(lines.next_into(&mut buffer).unwrap(), Took::Line);
            assert_eq!(buffer, expected);
        }
        assert_eq!(lines.next_into(&mut buffer).unwrap(), Took::End);
        assert_eq!(lines.digest(), blake3::hash(b"one\r\n\n three"));
    }

    #[test]
    fn a_line_that_is_too_long_does_not_hide_the_next_one() {
        let long = io::Read::take(io::repeat(b'x'), MAX_LINE_BYTES as u64 + 10);
        let mut lines = Lines::new(io::Read::chain(long, &b"\nnext\n"[..]));
        let mut buffer = Vec::new();
        assert_eq!(lines.next_into(&mut buffer).unwrap(), Took::TooLong);
        assert_eq!(buffer, b"");
        assert_eq!(lines.next_into(&mut buffer).unwrap(), Took::Line);
        assert_eq!(buffer, b"next");
    }

    #[test]
    fn a_survey_counts_what_reading_gives() {
        let dir = tempfile::tempdir().unwrap();
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3), ("\n", 1)] {
            let path = dir.path().join("f");
            std::fs::write(&path, text).unwrap();
            let survey = survey(&path).unwrap();
            assert_eq!((survey.lines, survey.digest), (count, blake3::hash(text.as_bytes())));
        }
    }
}
