//! A position after a record of a journal, from which reading can resume.
//!
//! ```text
//! 4711-12-90ab12cd     behind 4711 bytes and 12 records, of which the last has this crc
//! ```
//!
//! The crc makes a saved position safe: if the file was written again under the same name, the
//! bytes before the position differ, and the file is refused instead of being read from the middle.

use std::fmt;
use std::str::FromStr;

const CRC_DIGITS: usize = 8;

/// A place behind a record. The default is the beginning of any journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Bytes in front of it.
    pub(super) offset: u64,
    /// Records in front of it, and so the number of the next.
    pub(super) next_seq: u64,
    /// The crc of the record before it, as in the file.
    pub(super) crc: Option<[u8; CRC_DIGITS]>,
}

/// A text that is not a [`Position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of bytes, a number of records and a crc, like `4711-12-90ab12cd`")]
pub struct NotAPosition;

impl Position {
    /// Bytes of the journal in front of it.
    pub fn offset_bytes(&self) -> u64 {
        self.offset
    }

    /// Records of the journal in front of it.
    pub fn records(&self) -> u64 {
        self.next_seq
    }

    /// Moves behind a line, newline included.
    pub(super) fn pass(&mut self, line: &[u8]) {
        self.offset += line.len() as u64 + 1;
        self.next_seq += 1;
        let end = line.len().saturating_sub(super::line::CRC_CLOSE.len());
        let digits = line[..end].last_chunk();
        self.crc = digits.copied();
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crc = self.crc.as_ref().map_or("", |crc| str::from_utf8(crc).unwrap_or_default());
        write!(out, "{}-{}-{crc}", self.offset, self.next_seq)
    }
}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or(NotAPosition);
        let (offset, next_seq, crc) = (number(part()?)?, number(part()?)?, part()?);
        if parts.next().is_some() {
            return Err(NotAPosition);
        }
        let crc = crc_digits(crc)?;
        let is_beginning = offset == 0;
        if is_beginning != crc.is_none() || is_beginning != (next_seq == 0) {
            return Err(NotAPosition);
        }
        Ok(Self { offset, next_seq, crc })
    }
}

fn number(text: &str) -> Result<u64, NotAPosition> {
    let number: u64 = text.parse().map_err(|_| NotAPosition)?;
    // One way to write each, and room to count on.
    if text != number.to_string() || number > u64::MAX / 2 {
        return Err(NotAPosition);
    }
    Ok(number)
}

fn crc_digits(text: &str) -> Result<Option<[u8; CRC_DIGITS]>, NotAPosition> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits: [u8; CRC_DIGITS] = text.as_bytes().try_into().map_err(|_| NotAPosition)?;
    if digits.iter().all(is_digit) { Ok(Some(digits)) } else { Err(NotAPosition) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_has_one_text() {
        for text in ["0-0-", "4711-12-90ab12cd"] {
            assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
        }
        let others = [
            "",
            "0",
            "0-0",
            "0-0-90ab12cd",
            "5-1-",
            "5-0-90ab12cd",
            "5-1-90AB12CD",
            "05-1-90ab12cd",
            "+5-1-90ab12cd",
            "5-1-90ab12c",
            "5-1-90ab12cd-",
            "-5-1-90ab12cd",
            "5-1-90ab12c\u{e9}",
            "18446744073709551615-1-90ab12cd",
        ];
        for text in others {
            assert_eq!(text.parse::<Position>(), Err(NotAPosition), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "[0-9a-f-]{0,30}|\\PC{0,20}") {
            if let Ok(position) = text.parse::<Position>() {
                prop_assert_eq!(position.to_string(), text);
            }
        }
    }
}
