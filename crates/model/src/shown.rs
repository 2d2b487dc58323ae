//! Text out of a stranger's file, made fit for a message; and small files read whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Characters of a foreign text that a message shows.
const SHOWN_CHARS: usize = 120;

/// The beginning of a foreign text, without control characters.
pub(crate) fn beginning(text: &str) -> String {
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut line: String = text.chars().take(SHOWN_CHARS).map(printable).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        line.push('…');
    }
    line
}

/// A file of text, which must not be larger than `limit_bytes`.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(limit_bytes + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit_bytes {
        let problem = format!("larger than the {limit_bytes} bytes that are allowed");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_is_shortened_and_harmless() {
        assert_eq!(beginning("a\u{1b}[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
        let long = beginning(&"ä".repeat(500));
        assert_eq!(long.chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn a_file_at_the_limit_is_read_and_one_byte_more_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(file.path(), 8).unwrap(), "12345678");
        assert_eq!(read_text(file.path(), 7).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
