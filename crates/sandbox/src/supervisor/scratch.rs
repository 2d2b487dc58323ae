//! A folder outside for programs that cannot mount their own, emptied after each.
//!
//! What a program built there is hostile: links are never followed, nothing is opened but folders,
//! and depth does not matter, because folders are moved to the top before they are emptied.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, chown, unlinkat};

/// A program may leave this many entries before the folder is given up.
const ENTRIES_MAX: usize = 1_000_000;

/// The number of the first folder that was put aside; no slot has it.
const ASIDE: u32 = 100_000;

/// A folder for programs.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    folder: OwnedFd,
}

impl Scratch {
    /// Makes it, for `user` if that is not ourselves.
    pub(crate) fn make(path: &Path, user: Option<u32>) -> Result<Self, String> {
        let fail =
            |error: &dyn std::fmt::Display| format!("cannot make {}: {error}", path.display());
        match std::fs::create_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(fail(&"it is there already"));
            }
            Err(error) => return Err(fail(&error)),
        }
        if let Some(user) = user {
            chown(path, Some(Uid::from_raw(user)), Some(Gid::from_raw(user)))
                .map_err(|e| fail(&e))?;
        }
        let mode = Mode::from_bits_truncate(0o700);
        fchmodat(nix::fcntl::AT_FDCWD, path, mode, FchmodatFlags::NoFollowSymlink)
            .or_else(|_| fchmodat(nix::fcntl::AT_FDCWD, path, mode, FchmodatFlags::FollowSymlink))
            .map_err(|e| fail(&e))?;
        let folder = nix::fcntl::open(path, FOLDER, Mode::empty()).map_err(|e| fail(&e))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Takes away a folder that another supervisor made and can no longer take away itself; only
    /// if it is our user's, or we are root.
    pub(crate) fn remove(path: &Path) {
        if let Ok(folder) = nix::fcntl::open(path, FOLDER, Mode::empty()) {
            drop(Self { path: path.to_owned(), folder });
        }
    }

    /// Takes away everything in it.
    pub(crate) fn empty(&self) -> Result<(), String> {
        let said = |error: nix::Error| format!("cannot empty {}: {error}", self.path.display());
        let mut names = 0_u64;
        let mut seen = 0;
        loop {
            let entries = entries(&self.folder).map_err(said)?;
            if entries.is_empty() {
                return Ok(());
            }
            for entry in entries {
                seen += 1;
                if seen > ENTRIES_MAX {
                    return Err(format!("{} holds too much to empty", self.path.display()));
                }
                if unlinkat(&self.folder, entry.as_c_str(), UnlinkatFlags::NoRemoveDir).is_ok() {
                    continue;
                }
                self.empty_folder(&entry, &mut names).map_err(said)?;
            }
        }
    }

    /// Takes the files out of a folder at the top, and moves the folders in it up beside it.
    fn empty_folder(&self, name: &CStr, names: &mut u64) -> Result<(), nix::Error> {
        let all = Mode::from_bits_truncate(0o700);
        let _ = fchmodat(&self.folder, name, all, FchmodatFlags::FollowSymlink);
        let folder = openat(&self.folder, name, FOLDER, Mode::empty())?;
        for entry in entries(&folder)? {
            if unlinkat(&folder, entry.as_c_str(), UnlinkatFlags::NoRemoveDir).is_ok() {
                continue;
            }
            // Only one who may write to a folder may move it: its `..` changes.
            let _ = fchmodat(&folder, entry.as_c_str(), all, FchmodatFlags::FollowSymlink);
            *names += 1;
            let up = CString::new(format!(".whet-{names}")).unwrap_or_default();
            renameat(&folder, entry.as_c_str(), &self.folder, up.as_c_str())?;
        }
        unlinkat(&self.folder, name, UnlinkatFlags::RemoveDir)
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

    /// Bytes and entries in it, as far as the first `most` entries show.
    pub(crate) fn holds(&self, most: usize) -> (u64, usize) {
        let mut bytes = 0;
        let mut count = 0;
        let mut waiting: Vec<OwnedFd> = self.folder.try_clone().into_iter().collect();
        while let Some(folder) = waiting.pop() {
            for entry in entries(&folder).unwrap_or_default() {
                count += 1;
                if count >= most {
                    return (bytes, count);
                }
                let status = nix::sys::stat::fstatat(
                    &folder,
                    entry.as_c_str(),
                    AtFlags::AT_SYMLINK_NOFOLLOW,
                );
                let Ok(status) = status else { continue };
                bytes += u64::try_from(status.st_blocks).unwrap_or(0) * 512;
                let is_folder = status.st_mode & libc::S_IFMT == libc::S_IFDIR;
                if is_folder && waiting.len() < 64 {
                    waiting.extend(openat(&folder, entry.as_c_str(), FOLDER, Mode::empty()));
                }
            }
        }
        (bytes, count)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.empty();
        if std::fs::remove_dir(&self.path).is_err() {
            self.put_aside();
        }
    }
}

const FOLDER: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

fn entries(folder: &OwnedFd) -> Result<Vec<CString>, nix::Error> {
    let again = openat(folder.as_fd(), c".", FOLDER, Mode::empty())?;
    let mut dir = Dir::from_fd(again)?;
    let mut names = Vec::new();
    for entry in dir.iter() {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    Ok(names)
}
