//! A file of an archive, and the order in which an archive lists its files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The time of every file in an archive, in seconds since 1970: the first that a zip can express.
pub(super) const TIME: u64 = 315_532_800;

/// A file with its name inside the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path, with `/` between parts.
    pub(super) name: String,
    /// Its content.
    pub(super) bytes: Vec<u8>,
    /// Whether it can be executed.
    pub(super) executable: bool,
}

impl Entry {
    /// A file that is read.
    pub(super) fn file(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), bytes, executable: false }
    }

    /// A file of text.
    pub(super) fn text(name: &str, text: String) -> Self {
        Self::file(name, text.into_bytes())
    }

    /// A file that is executed.
    pub(super) fn program(name: &str, bytes: Vec<u8>) -> Self {
        Self { executable: true, ..Self::file(name, bytes) }
    }

    /// Permissions as `chmod` counts them.
    pub(super) fn mode(&self) -> u32 {
        if self.executable { 0o755 } else { 0o644 }
    }

    /// Writes the file into a folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(&self.name);
        fs::write(&path, &self.bytes)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(self.mode()))
    }
}

/// The entries by name, so that the order in which they were gathered does not reach an archive.
pub(super) fn sorted(entries: &[Entry]) -> Vec<&Entry> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    sorted
}
