//! Recovery of a journal's end when it is opened.
//!
//! A writer killed in the middle of a `write` leaves half a line; a power cut may leave several
//! lines of garbage. Both are after the last complete line, so that line is searched from the end,
//! and everything after it is truncated. The window grows from 64 KiB to twice the longest line,
//! enough for a torn line of any length after a complete one of any length.
//!
//! A file without a single record is not ours to cut, unless it is the torn beginning of record 0.
//!
//! Not here: damage before the last record. Nothing written by a crash is there; the reader
//! reports it with its line.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::{memchr, memrchr};

use super::line::{self, MAX_LINE_BYTES};
use crate::error::{FileError, JournalError};

const FIRST_WINDOW_BYTES: u64 = 64 << 10;
const LAST_WINDOW_BYTES: u64 = 2 * (MAX_LINE_BYTES as u64 + 1);

/// The state of a journal's end when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// The last record; `None` in an empty journal.
    pub last_seq: Option<u64>,
    /// Bytes of torn records that were cut from the end.
    pub cut_bytes: u64,
    /// Bytes that remain.
    pub kept_bytes: u64,
}

/// Truncates `file` after its last complete record and returns what was found.
pub(super) fn recover(file: &File, path: &Path) -> Result<Recovery, JournalError> {
    let meta = file.metadata().map_err(FileError::at("inspect", path))?;
    if !meta.is_file() {
        return Err(not_a_journal(path, "it is not a regular file"));
    }
    let last = last_record(file, meta.len()).map_err(FileError::at("read", path))?;
    if last.is_none() {
        check_torn_first(file, meta.len(), path)?;
    }
    let kept_bytes = last.map_or(0, |(_, end)| end);
    let cut_bytes = meta.len() - kept_bytes;
    if cut_bytes > 0 {
        file.set_len(kept_bytes).map_err(FileError::at("cut the torn end of", path))?;
        file.sync_data().map_err(FileError::at("sync", path))?;
    }
    Ok(Recovery { last_seq: last.map(|(seq, _)| seq), cut_bytes, kept_bytes })
}

/// The number of the last whole record, and the offset behind its newline.
fn last_record(file: &File, len: u64) -> std::io::Result<Option<(u64, u64)>> {
    let mut window = FIRST_WINDOW_BYTES.min(len);
    loop {
        let start = len - window;
        let bytes = read_range(file, start, window)?;
        if let Some((seq, end)) = last_record_in(&bytes, start == 0) {
            return Ok(Some((seq, start + end)));
        }
        if start == 0 || window == LAST_WINDOW_BYTES {
            return Ok(None);
        }
        window = (window * 2).min(len).min(LAST_WINDOW_BYTES);
    }
}

/// Like [`last_record`], in a window. Unless the window begins with a line, its first line is
/// skipped.
fn last_record_in(bytes: &[u8], begins_with_a_line: bool) -> Option<(u64, u64)> {
    let mut end = memrchr(b'\n', bytes)?;
    loop {
        let before = memrchr(b'\n', &bytes[..end]);
        if before.is_none() && !begins_with_a_line {
            return None;
        }
        let start = before.map_or(0, |newline| newline + 1);
        if let Ok((seq, _)) = line::decode(&bytes[start..end]) {
            return Some((seq, end as u64 + 1));
        }
        end = before?;
    }
}

fn check_torn_first(file: &File, len: u64, path: &Path) -> Result<(), JournalError> {
    if len > MAX_LINE_BYTES as u64 {
        return Err(not_a_journal(path, "there is no whole record near its end"));
    }
    let bytes = read_range(file, 0, len).map_err(FileError::at("read", path))?;
    if memchr(b'\n', &bytes).is_some() || !line::may_begin_a_journal(&bytes) {
        return Err(not_a_journal(path, "none of its lines is a whole record"));
    }
    Ok(())
}

fn read_range(file: &File, start: u64, len: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(std::io::Error::other)?];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

fn not_a_journal(path: &Path, found: &'static str) -> JournalError {
    JournalError::NotAJournal { path: path.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn record(seq: u64, text_bytes: usize) -> Vec<u8> {
        let mut line = Vec::new();
        line::encode(seq, &json!({"text": "x".repeat(text_bytes)}), &mut line).unwrap();
        line
    }

    /// Recovers a file of `parts`; checks the result and the remaining bytes.
    #[track_caller]
    fn check(parts: &[&[u8]], expected: Result<(Option<u64>, usize), &str>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let before = parts.concat();
        fs::write(&path, &before).unwrap();
        let file = File::options().read(true).append(true).open(&path).unwrap();
        let found = recover(&file, &path);
        let after = fs::read(&path).unwrap();
        match expected {
            Ok((last_seq, kept)) => {
                let cut_bytes = (before.len() - kept) as u64;
                let want = Recovery { last_seq, cut_bytes, kept_bytes: kept as u64 };
                assert_eq!(found.unwrap(), want);
                assert!(after == before[..kept], "the records before the cut changed");
            }
            Err(reason) => {
                let message = found.unwrap_err().to_string();
                assert!(message.ends_with(reason), "{message}");
                assert!(after == before, "a refused file was changed");
            }
        }
    }

    #[test]
    fn whole_records_are_kept_and_what_lies_behind_them_is_cut() {
        let (a, b) = (record(0, 10), record(1, 20));
        check(&[], Ok((None, 0)));
        check(&[&a, &b], Ok((Some(1), a.len() + b.len())));
        check(&[&a, &b[..30]], Ok((Some(0), a.len())));
        check(&[&a, b"rubbish\nwith\0lines\n\n"], Ok((Some(0), a.len())));
    }

    #[test]
    fn a_last_record_longer_than_the_window_is_found() {
        let (a, b) = (record(0, 10), record(1, 1 << 20));
        check(&[&a, &b], Ok((Some(1), a.len() + b.len())));
        check(&[&a, &b[..b.len() - 1]], Ok((Some(0), a.len())));
        check(&[&b[..1 << 17], b"\n", &a, &b[..1 << 18]], Ok((Some(0), (1 << 17) + 1 + a.len())));
    }

    #[test]
    fn the_end_of_a_line_is_not_taken_for_a_line() {
        let bytes = record(0, 10);
        assert_eq!(last_record_in(&bytes, true), Some((0, bytes.len() as u64)));
        assert_eq!(last_record_in(&bytes, false), None);
    }

    #[test]
    fn a_torn_first_record_leaves_an_empty_journal() {
        let a = record(0, 10);
        check(&[&a[..1]], Ok((None, 0)));
        check(&[&a[..a.len() - 1]], Ok((None, 0)));
    }

    #[test]
    fn a_file_that_is_not_ours_is_refused_and_left_alone() {
        let refused = Err("none of its lines is a whole record");
        check(&[b"one line of notes"], refused);
        check(&[b"many\nlines\nof notes"], refused);
        check(&[b"{\"seq\":0,\"a\":1}\n"], refused);
        check(&[&[0; 4096]], refused);
        check(&[&record(5, 10)[..20]], refused);
    }

    #[test]
    fn a_device_is_refused() {
        let file = File::open("/dev/null").unwrap();
        let err = recover(&file, Path::new("/dev/null")).unwrap_err();
        assert_eq!(err.to_string(), "`/dev/null` is not a journal: it is not a regular file");
    }
}
