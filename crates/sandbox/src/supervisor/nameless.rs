//! Files without a name: unlinked, or made without one, and kept by a descriptor or a mapping.
//!
//! They take space on the disk and no folder lists them. Descriptors are asked for their sizes. Of a
//! file that is mapped and open nowhere only the name that it had is known, so it counts as the
//! longest file that there may be. Where a process's open files may not be seen, nothing is counted.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::scratch::ProgramFolder;

/// Bytes of one file, at most.
pub(crate) const FILE_MAX: u64 = 16 << 20;

/// Bytes of files that a process keeps and that have no name any more, but for files in memory, which
/// other limits count. The disk is not asked for: on an overlay, files and folders have different ones.
pub(crate) fn nameless(pid: i32, scratch: &ProgramFolder) -> u64 {
    let mut bytes = 0;
    let mut open = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        let Ok(file) = fs::metadata(entry.path()) else { continue };
        if !file.is_file() || file.nlink() != 0 {
            continue;
        }
        let in_memory = fs::read_link(entry.path()).is_ok_and(|name| {
            let name = name.as_os_str().as_encoded_bytes();
            name.starts_with(b"/memfd:")
        });
        if !in_memory && open.insert(file.ino()) {
            bytes += file.blocks() * 512;
        }
    }
    // Names of files may be any bytes.
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    for inode in maps.lines().filter_map(|line| deleted(line, scratch.inside())) {
        if open.insert(inode) {
            bytes += FILE_MAX;
        }
    }
    bytes
}

/// The number of a mapped file that was below `folder` and has no name any more.
fn deleted(line: &str, folder: &str) -> Option<u64> {
    let name = line.strip_suffix(" (deleted)")?;
    let mut fields = name.splitn(6, ' ');
    let inode = fields.nth(4)?.parse().ok()?;
    let below = fields.next()?.trim_start().strip_prefix(folder)?;
    below.starts_with('/').then_some(inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_name_are_found_by_what_they_were_called() {
        let line =
            |path: &str| format!("7f00-7f10 r--s 00000000 fe:00 1234                 {path}");
        let found = |path: &str| deleted(&line(path), "/tmp/whet-1-0");
        assert_eq!(found("/tmp/whet-1-0/f (deleted)"), Some(1234));
        assert_eq!(found("/tmp/whet-1-0/a b/#7 (deleted)"), Some(1234));
        assert_eq!(found("/tmp/whet-1-0/f"), None);
        assert_eq!(found("/tmp/whet-1-01/f (deleted)"), None);
        assert_eq!(found("/dev/zero (deleted)"), None);
        assert_eq!(found("/memfd:whet (deleted)"), None);
        assert_eq!(deleted("", "/tmp"), None);
    }
}
