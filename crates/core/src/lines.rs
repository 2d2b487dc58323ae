//! Lines of a file, read within bounds.
//!
//! A line is read in pieces and is held up to a limit, so a file without a newline cannot exhaust
//! memory. What a line means is not known here: [`jsonl`](crate::jsonl) reads records, and `record`,
//! `data` and `rollout` read lines that they check or pass on themselves. Those who pass lines on
//! read a file twice, and know by a digest that it is still the same ([`Hashed`]).

use std::io::{self, BufRead, Read};

use memchr::memchr;

/// The end of a line that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// With a newline.
    Newline,
    /// With the file. If the line is empty, there was none.
    EndOfFile,
    /// Not yet: it has more bytes than the limit. The rest is still to be read; [`skip_line`] does.
    TooLong,
}

/// A reader that keeps a digest of what it read.
#[derive(Debug)]
pub struct Hashed<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R> Hashed<R> {
    /// Nothing was read of `inner` so far.
    pub fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// The digest of everything read so far; under a buffer, that may be more than was taken.
    pub fn digest(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

/// Replaces `line` with the next line of `input`, without its newline, up to `limit_bytes`.
pub fn next_line(
    input: &mut impl BufRead,
    line: &mut Vec<u8>,
    limit_bytes: usize,
) -> io::Result<LineEnd> {
    line.clear();
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(err),
        };
        let newline = memchr(b'\n', buffer);
        let taken = newline.unwrap_or(buffer.len());
        if line.len() + taken > limit_bytes {
            return Ok(LineEnd::TooLong);
        }
        grow(line, taken, limit_bytes);
        line.extend_from_slice(&buffer[..taken]);
        let end_of_file = buffer.is_empty();
        input.consume(taken + usize::from(newline.is_some()));
        match newline {
            Some(_) => return Ok(LineEnd::Newline),
            None if end_of_file => return Ok(LineEnd::EndOfFile),
            None => {}
        }
    }
}

/// Reads to the end of a line without holding it.
pub fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    input.skip_until(b'\n').map(drop)
}

/// Makes room for `more` bytes: doubling like `Vec`, but never beyond `limit_bytes`.
fn grow(line: &mut Vec<u8>, more: usize, limit_bytes: usize) {
    let needed = line.len() + more;
    if needed > line.capacity() {
        let capacity = needed.max((line.capacity() * 2).min(limit_bytes));
        line.reserve_exact(capacity - line.len());
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_come_one_by_one_and_the_last_may_be_open() {
        let mut input = BufReader::with_capacity(3, &b"one\n\nthree\nfour"[..]);
        let mut line = Vec::new();
        for expected in ["one", "", "three"] {
            assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::Newline);
            assert_eq!(line, expected.as_bytes());
        }
        assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::EndOfFile);
        assert_eq!(line, b"four");
        assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::EndOfFile);
        assert_eq!(line, b"");
    }

    #[test]
    fn a_line_over_the_limit_is_refused_with_no_more_than_the_limit_in_memory() {
        for limit in [9, 10, 100, 1000] {
            let mut line = Vec::new();
            let mut input = BufReader::with_capacity(7, io::repeat(b'x').take(9_999));
            assert_eq!(next_line(&mut input, &mut line, limit).unwrap(), LineEnd::TooLong);
            assert!(line.capacity() <= limit, "{} bytes for a limit of {limit}", line.capacity());
        }
    }

    #[test]
    fn behind_a_line_that_was_skipped_stands_the_next_one() {
        for buffer_bytes in 1..9 {
            let mut input = BufReader::with_capacity(buffer_bytes, &b"longer\nnext\nlonger"[..]);
            let mut line = Vec::new();
            assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::TooLong);
            skip_line(&mut input).unwrap();
            assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::Newline);
            assert_eq!(line, b"next");
            assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::TooLong);
            skip_line(&mut input).unwrap();
            assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::EndOfFile);
            assert_eq!(line, b"");
        }
    }

    #[test]
    fn the_digest_is_that_of_the_file() {
        let mut input = BufReader::with_capacity(4, Hashed::new(&b"longer\nnext"[..]));
        let mut line = Vec::new();
        assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::TooLong);
        skip_line(&mut input).unwrap();
        assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::EndOfFile);
        assert_eq!(input.get_ref().digest(), blake3::hash(b"longer\nnext"));
    }

    #[test]
    fn a_signal_in_the_middle_of_a_line_does_not_end_it() {
        struct Interrupted<'a>(&'a [u8], bool);
        impl Read for Interrupted<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(buffer) }
            }
        }
        let mut input = BufReader::with_capacity(2, Interrupted(b"four\n", false));
        let mut line = Vec::new();
        assert_eq!(next_line(&mut input, &mut line, 5).unwrap(), LineEnd::Newline);
        assert_eq!(line, b"four");
    }
}
