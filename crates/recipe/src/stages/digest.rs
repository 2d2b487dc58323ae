//! The digest of a file, or of all files of a directory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::failure::Failure;

/// The blake3 of a file in hexadecimal; of a directory, that of the names and digests in it.
///
/// # Errors
///
/// If something cannot be read.
pub(super) fn digest(path: &Path) -> Result<String, Failure> {
    let unread = |err| Failure::io(format!("cannot read `{}`", path.display()), err);
    of(path).map_err(unread)
}

fn of(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    if !fs::metadata(path)?.is_dir() {
        io::copy(&mut File::open(path)?, &mut hasher)?;
        return Ok(hasher.finalize().to_hex().to_string());
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        hasher.update(entry.file_name().as_encoded_bytes());
        hasher.update(b"\0");
        hasher.update(of(&entry.path())?.as_bytes());
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_another_digest_if_a_name_or_a_byte_in_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str, text: &str| {
            let folder = dir.path().join("folder");
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.join("inner")).unwrap();
            fs::write(folder.join("inner").join(name), text).unwrap();
            digest(&folder).unwrap()
        };
        let first = of("a", "1");
        assert_eq!(first, of("a", "1"));
        assert_ne!(first, of("b", "1"));
        assert_ne!(first, of("a", "2"));
        let missing = digest(&dir.path().join("none")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read `"), "{missing}");
    }
}
