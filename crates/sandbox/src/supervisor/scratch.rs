//! A folder outside for programs that cannot mount their own: a fresh one for each.
//!
//! What a program built there is hostile: links are never followed, nothing is opened but folders,
//! and depth does not matter, because folders are moved to the top before they are emptied. Modes
//! do not matter either: a folder is opened by name without rights, and what that opened is given
//! them.
//!
//! A folder remembers what was done in it: its size, its times, and on some file systems how many names
//! were ever made in it. So each program has a new one, made when it begins, inside a folder of ours in which
//! programs can make and list nothing. Ours is given up for a new one when it has grown, which some file systems
//! never take back.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmod, fchmodat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use crate::zygote::folders::PROGRAM_FOLDER;

/// Names taken from a folder at once.
const NAMES_MAX: usize = 8192;

/// Folders in folders that are looked into; deeper ones count as too much.
const DEPTH_MAX: usize = 64;

/// The number of the first folder that was put aside; no slot has it.
const ASIDE: u32 = 100_000;

/// A slot's folder, which holds the folder of the program that is judged there.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    folder: OwnedFd,
    /// The path of the folder inside the sandbox.
    inside: String,
    /// The user that writes to it, if it is not ours.
    user: Option<u32>,
    /// The folder of the program that is judged now.
    program: Option<Arc<ProgramFolder>>,
    /// Its own size while it was empty and new.
    size: i64,
}

impl Scratch {
    /// Makes it, for `user` if that is not ourselves; programs call their folder `inside`.
    pub(crate) fn make(path: &Path, user: Option<u32>, inside: &Path) -> Result<Self, String> {
        let fail =
            |error: &dyn std::fmt::Display| format!("cannot make {}: {error}", path.display());
        match std::fs::create_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(fail(&"it is there already"));
            }
            Err(error) => return Err(fail(&error)),
        }
        let folder = nix::fcntl::open(path, FOLDER, Mode::empty()).map_err(|e| fail(&e))?;
        let mut made = Self::of(path, folder, inside).map_err(|e| fail(&e))?;
        made.user = user;
        Ok(made)
    }

    fn of(path: &Path, folder: OwnedFd, inside: &Path) -> Result<Self, nix::Error> {
        let size = nix::sys::stat::fstat(&folder)?.st_size;
        let inside = inside.to_string_lossy().into_owned();
        Ok(Self { path: path.to_owned(), folder, inside, user: None, program: None, size })
    }

    /// The folder for the next child: a new one for a program, the program's for its test code.
    pub(crate) fn take(&mut self) -> Result<Arc<ProgramFolder>, String> {
        if let Some(program) = &self.program {
            return Ok(program.clone());
        }
        let said = |error| format!("cannot make a folder in {}: {error}", self.path.display());
        let program = Arc::new(self.make_program().map_err(said)?);
        self.program = Some(program.clone());
        Ok(program)
    }

    /// Takes away a folder that another supervisor made and can no longer take away itself; only
    /// if it is our user's, or we are root.
    pub(crate) fn remove(path: &Path) {
        let Some(name) = path.to_str().and_then(|path| CString::new(path).ok()) else { return };
        if let Ok(folder) = open_by_force(AT_FDCWD, &name) {
            drop(Self::of(path, folder, path));
        }
    }

    /// Takes away the last program's folder; an error if nothing can follow it here.
    pub(crate) fn clear(&mut self) -> Result<(), String> {
        if self.program.take().is_none() {
            return Ok(());
        }
        self.empty()?;
        let size = nix::sys::stat::fstat(&self.folder).map_or(-1, |status| status.st_size);
        if size == self.size { Ok(()) } else { Err(format!("{} has grown", self.path.display())) }
    }

    fn make_program(&self) -> Result<ProgramFolder, nix::Error> {
        match mkdirat(&self.folder, PROGRAM_FOLDER, all()) {
            // Left behind by a try that failed half-way.
            Err(Errno::EEXIST) => {
                unlinkat(&self.folder, PROGRAM_FOLDER, UnlinkatFlags::RemoveDir)?;
                mkdirat(&self.folder, PROGRAM_FOLDER, all())?;
            }
            made => made?,
        }
        let folder = openat(&self.folder, PROGRAM_FOLDER, FOLDER, Mode::empty())?;
        if let Some(user) = self.user {
            fchown(&folder, Some(Uid::from_raw(user)), Some(Gid::from_raw(user)))?;
        }
        // Programs may go through ours, and neither list it nor make a name in it.
        let through = if self.user.is_some() { 0o111 } else { 0o100 };
        fchmod(&self.folder, Mode::from_bits_truncate(through))?;
        Ok(ProgramFolder { folder, inside: self.inside.clone(), user: self.user })
    }

    /// Takes away everything in it.
    fn empty(&self) -> Result<(), String> {
        let said = |error: nix::Error| format!("cannot empty {}: {error}", self.path.display());
        // Without its rights it could not be listed.
        fchmod(&self.folder, all()).map_err(said)?;
        loop {
            let entries = entries(self.folder.as_fd()).map_err(said)?;
            if entries.is_empty() {
                return Ok(());
            }
            for entry in entries {
                if unlinkat(&self.folder, entry.as_c_str(), UnlinkatFlags::NoRemoveDir).is_err() {
                    // Folders are moved within the program's: ours must not grow, which the next would see.
                    empty_top(self.folder.as_fd(), &entry).map_err(said)?;
                }
            }
        }
    }

    /// Moves a folder that cannot be emptied out of the way of the next one; a later supervisor
    /// tries again.
    fn put_aside(&self) {
        for number in ASIDE..ASIDE + 1000 {
            let name = format!("whet-{}-{number}", std::process::id());
            if std::fs::rename(&self.path, self.path.with_file_name(name)).is_ok() {
                return;
            }
        }
    }
}

/// Takes a folder away with everything in it, in which folders are moved to the top before they are emptied.
fn empty_top(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), nix::Error> {
    let top = open_by_force(parent, name)?;
    let mut names = 0;
    loop {
        let entries = entries(top.as_fd())?;
        if entries.is_empty() {
            return unlinkat(parent, name, UnlinkatFlags::RemoveDir);
        }
        for entry in entries {
            if unlinkat(&top, entry.as_c_str(), UnlinkatFlags::NoRemoveDir).is_err() {
                empty_folder(top.as_fd(), &entry, &mut names)?;
            }
        }
    }
}

/// Takes the files out of a folder at the top, and moves the folders in it up beside it.
fn empty_folder(top: BorrowedFd<'_>, name: &CStr, names: &mut u64) -> Result<(), nix::Error> {
    let folder = open_by_force(top, name)?;
    loop {
        let entries = entries(folder.as_fd())?;
        if entries.is_empty() {
            return unlinkat(top, name, UnlinkatFlags::RemoveDir);
        }
        for entry in entries {
            if [UnlinkatFlags::NoRemoveDir, UnlinkatFlags::RemoveDir]
                .into_iter()
                .any(|how| unlinkat(&folder, entry.as_c_str(), how).is_ok())
            {
                continue;
            }
            // Only one who may write to a folder may move it: its `..` changes.
            drop(open_by_force(folder.as_fd(), &entry)?);
            move_up(folder.as_fd(), &entry, top, names)?;
        }
    }
}

/// Moves a folder to the top, to a name that is free: a program may have taken any of them.
fn move_up(
    from: BorrowedFd<'_>,
    name: &CStr,
    top: BorrowedFd<'_>,
    names: &mut u64,
) -> Result<(), nix::Error> {
    loop {
        *names += 1;
        let up = CString::new(format!(".whet-{names}")).unwrap_or_default();
        match renameat(from, name, top, up.as_c_str()) {
            Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR | Errno::EISDIR) => {}
            other => return other,
        }
    }
}

/// The folder of one program.
#[derive(Debug)]
pub(crate) struct ProgramFolder {
    folder: OwnedFd,
    inside: String,
    user: Option<u32>,
}

impl ProgramFolder {
    /// Its path inside the sandbox.
    pub(crate) fn inside(&self) -> &str {
        &self.inside
    }

    /// The user that writes to it, if it is not ours.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// Whether it holds more than these bytes or entries, or cannot be read.
    pub(crate) fn look(&self, most_bytes: u64, most_entries: usize) -> FolderSize {
        let mut count = Count { bytes: 0, entries: 0, vanished: false, most_bytes, most_entries };
        let seen = match open_folder(self.folder.as_fd(), c".") {
            Ok(top) => count.add(top, DEPTH_MAX),
            Err(error) => not_seen(error),
        };
        match seen {
            Err(TooMuch) => FolderSize::TooMuch,
            Ok(()) if count.vanished => FolderSize::Moving,
            Ok(()) => FolderSize::Within,
        }
    }
}

/// The result of measuring a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderSize {
    /// No more than there may be.
    Within,
    /// No more was seen, but something was moved or taken away meanwhile: it may hide the rest.
    Moving,
    /// More than there may be.
    TooMuch,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.empty();
        if std::fs::remove_dir(&self.path).is_err() {
            self.put_aside();
        }
    }
}

/// The entries counted in a folder.
struct Count {
    bytes: u64,
    entries: usize,
    /// Something went away while we looked.
    vanished: bool,
    most_bytes: u64,
    most_entries: usize,
}

/// There is more than there may be.
struct TooMuch;

impl Count {
    /// One folder after another, so that as many are open as are inside each other.
    fn add(&mut self, folder: OwnedFd, depth: usize) -> Result<(), TooMuch> {
        if depth == 0 {
            return Err(TooMuch);
        }
        let mut dir = match Dir::from_fd(folder) {
            Ok(dir) => dir,
            Err(error) => return not_seen(error),
        };
        for entry in names(&mut dir, self.most_entries).unwrap_or_default() {
            let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
            let Ok(status) = nix::sys::stat::fstatat(&dir, entry.as_c_str(), flags) else {
                self.vanished = true;
                continue;
            };
            self.entries += 1;
            self.bytes += u64::try_from(status.st_blocks).unwrap_or(0) * 512;
            if self.entries >= self.most_entries || self.bytes > self.most_bytes {
                return Err(TooMuch);
            }
            if status.st_mode & libc::S_IFMT == libc::S_IFDIR {
                let plainly = open_folder(dir.as_fd(), &entry);
                match plainly.or_else(|_| open_by_force(dir.as_fd(), &entry)) {
                    Ok(inner) => self.add(inner, depth - 1)?,
                    Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => self.vanished = true,
                    Err(error) => not_seen(error)?,
                }
            }
        }
        Ok(())
    }
}

/// A folder that cannot be looked at hides what is in it, unless it is ourselves who lack something.
fn not_seen(error: Errno) -> Result<(), TooMuch> {
    match error {
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => Ok(()),
        _ => Err(TooMuch),
    }
}

const FOLDER: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Opens a folder, never a link to one. That it was read is not noted: on a busy disk the note can
/// take long.
fn open_folder(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, nix::Error> {
    match openat(parent, name, FOLDER | OFlag::O_NOATIME, Mode::empty()) {
        Err(Errno::EPERM) => openat(parent, name, FOLDER, Mode::empty()),
        other => other,
    }
}

/// Everything for its owner, nothing for others.
fn all() -> Mode {
    Mode::from_bits_truncate(0o700)
}

/// Opens a folder, never a link to one, whatever its mode: it is given rights if it has none.
fn open_by_force(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, nix::Error> {
    let place = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(parent, name, place, Mode::empty())?;
    let status = nix::sys::stat::fstat(&found)?;
    if status.st_mode & 0o700 != 0o700 {
        // What was found, not what now has that name.
        let by_number = format!("/proc/self/fd/{}", found.as_raw_fd());
        fchmodat(AT_FDCWD, by_number.as_str(), all(), FchmodatFlags::FollowSymlink)?;
    }
    open_folder(found.as_fd(), c".")
}

/// Names in a folder, not all of very many.
fn entries(folder: BorrowedFd<'_>) -> Result<Vec<CString>, nix::Error> {
    let again = open_folder(folder, c".")?;
    names(&mut Dir::from_fd(again)?, NAMES_MAX)
}

/// The first names in a folder.
fn names(dir: &mut Dir, most: usize) -> Result<Vec<CString>, nix::Error> {
    let mut names = Vec::new();
    for entry in dir.iter() {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
        if names.len() >= most {
            break;
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that has grown stays as large as it is, which the next program would see.
    #[test]
    fn the_slots_folder_does_not_grow_by_what_programs_leave() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("slot");
        let mut scratch = Scratch::make(&path, None, &path.join("program")).unwrap();
        for _ in 0..2 {
            scratch.take().unwrap();
            let program = path.join(PROGRAM_FOLDER);
            for number in 0..500 {
                std::fs::create_dir_all(program.join(format!("folder {number}/inner/last")))
                    .unwrap();
            }
            assert_eq!(scratch.clear(), Ok(()));
            assert!(!program.exists());
        }
    }
}
