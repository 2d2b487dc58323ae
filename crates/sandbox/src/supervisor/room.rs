//! Free space of the folder that programs write to, where they cannot mount one of their own.
//!
//! A program that finds the disk full fails through no fault of its own. So there must be room for one program
//! at the start, and again behind a program that did not pass: too little is a broken machine, not a verdict.
//!
//! What the program itself wrote must not count, or it could choose to look like a broken machine: room is
//! measured once more when its folder has been emptied ([`too_little_after`]).

use std::fs::File;
use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::syncfs;

/// Bytes that a program may have in its folder, at most.
pub const SCRATCH_BYTES: u64 = 64 << 20;
/// Files and folders that it may have there, at most.
pub(crate) const SCRATCH_ENTRIES: usize = 1024;

/// The free part of a file system, for those who are not root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    bytes: u64,
    /// `None` where the file system makes inodes as it needs them.
    inodes: Option<u64>,
}

/// What is missing in `folder` for one program; `None` if there is room, or if that cannot be told.
pub(crate) fn too_little(folder: &Path) -> Option<String> {
    look(folder).and_then(|room| problem(folder, room))
}

/// The same behind a program; `empty` takes away what it wrote. Nothing of it happens where there is room.
pub(crate) fn too_little_after(folder: &Path, empty: impl FnOnce()) -> Option<String> {
    too_little(folder)?;
    empty();
    too_little(folder)?;
    // Some file systems give space back later, when they write their journal.
    let _ = File::open(folder).map(syncfs);
    too_little(folder)
}

/// Free bytes of the file system of `folder`, for those who are not root; `None` if that cannot be told.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    look(folder).map(|room| room.bytes)
}

fn look(folder: &Path) -> Option<Room> {
    // File systems without a limit say that they have no blocks at all.
    let found = statvfs(folder).ok().filter(|found| found.blocks() > 0)?;
    let bytes = found.blocks_available().saturating_mul(found.fragment_size());
    let inodes = (found.files() > 0).then(|| found.files_available());
    Some(Room { bytes, inodes })
}

fn problem(folder: &Path, room: Room) -> Option<String> {
    let needed = SCRATCH_ENTRIES as u64;
    let missing = if room.bytes < SCRATCH_BYTES {
        format!("{} MiB free, and a program may use {}", room.bytes >> 20, SCRATCH_BYTES >> 20)
    } else {
        let inodes = room.inodes.filter(|inodes| *inodes < needed)?;
        format!("{inodes} free inodes, and a program may use {needed}")
    };
    Some(format!(
        "the folder for programs' files, {}, has {missing}: free some space, or set TMPDIR to another folder",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: u64, inodes: Option<u64>, expected: Option<&str>) {
        let told = problem(Path::new("/tmp"), Room { bytes, inodes });
        let whole = expected.map(|missing| {
            format!(
                "the folder for programs' files, /tmp, has {missing}: free some space, or set TMPDIR to \
                 another folder"
            )
        });
        assert_eq!(told, whole);
    }

    #[test]
    fn too_little_room_is_told_with_what_is_there_and_what_is_needed() {
        check(SCRATCH_BYTES, None, None);
        check(SCRATCH_BYTES, Some(1024), None);
        check(SCRATCH_BYTES - 1, None, Some("63 MiB free, and a program may use 64"));
        check(0, Some(0), Some("0 MiB free, and a program may use 64"));
        let few = "1023 free inodes, and a program may use 1024";
        check(SCRATCH_BYTES, Some(1023), Some(few));
    }

    #[test]
    fn a_folder_without_a_size_is_not_called_full() {
        // The kernel's own tree has no blocks.
        for folder in ["/proc", "/no/such/folder"] {
            let told = too_little_after(Path::new(folder), || panic!("nothing is to be emptied"));
            assert_eq!(told, None, "{folder}");
        }
    }
}
