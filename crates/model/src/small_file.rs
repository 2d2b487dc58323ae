//! Files that are opened whole, and small ones read whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file. Anything else is refused before it is opened: a pipe would block.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// A file of text, which must not be larger than `limit_bytes`.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(limit_bytes + 1).read_to_string(&mut text)?;
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
    fn a_file_at_the_limit_is_read_and_one_byte_more_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(file.path(), 8).unwrap(), "12345678");
        assert_eq!(read_text(file.path(), 7).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let err = open("/dev/null".as_ref()).unwrap_err();
        assert_eq!(err.to_string(), "it is not a regular file");
        assert_eq!(open("nowhere".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
