//! Replacing a file atomically: a reader sees the old text or the new one, never a mix.
//!
//! The new text is written to a temporary file in the target's directory, synced to disk and
//! renamed to the target; then the directory is synced too, because the rename could be lost
//! otherwise. The temporary is in the same directory because a rename cannot cross file systems.
//!
//! A target that exists keeps its permissions; a new one gets those of any new file. A symbolic
//! link is replaced, not followed.
//!
//! A kill leaves at most the temporary behind. [`clear_temporaries`] removes those; call it only
//! while holding the lock of the directory, because the temporary of a live writer looks the same.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::FileError;

const SUFFIX: &str = "whet-tmp";

/// Replaces the file at `path`, or creates it, with `contents`.
pub fn replace(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    replace_with(path, |file| file.write_all(contents))
}

/// Like [`replace`], for contents too large to hold: `write` writes them.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FileError> {
    StagedFile::write(path, write)?.commit()
}

/// Removes the temporaries that killed writers left in `dir`; returns how many there were.
pub fn clear_temporaries(dir: &Path) -> Result<usize, FileError> {
    let mut cleared = 0;
    for entry in fs::read_dir(dir).map_err(FileError::at("list", dir))? {
        let entry = entry.map_err(FileError::at("list", dir))?;
        if is_temporary(&entry.file_name()) {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_dir {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
            removed.map_err(FileError::at("remove", &entry.path()))?;
            cleared += 1;
        }
    }
    Ok(cleared)
}

/// Whether `name` is that of one of our temporaries, `.NAME.PID.COUNT.whet-tmp`, or of a temporary
/// that the model writer makes next to one, `.TEMPORARY.PID`.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let outer = name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.'));
    let inner = outer.filter(|(_, pid)| pid.parse::<u32>().is_ok()).map(|(inner, _)| inner);
    is_ours(name) || inner.is_some_and(is_ours)
}

fn is_ours(name: &str) -> bool {
    let parts = || -> Option<(&str, &str, &str)> {
        let rest = name.strip_prefix('.')?.strip_suffix(SUFFIX)?.strip_suffix('.')?;
        let (rest, count) = rest.rsplit_once('.')?;
        let (name, pid) = rest.rsplit_once('.')?;
        Some((name, pid, count))
    };
    parts().is_some_and(|(name, pid, count)| {
        !name.is_empty() && pid.parse::<u32>().is_ok() && count.parse::<u64>().is_ok()
    })
}

/// Syncs the entries of `dir` to disk.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), FileError> {
    File::open(dir)
        .and_then(|handle| handle.sync_all())
        .map_err(FileError::at("sync the directory", dir))
}

/// Syncs the directory entry of `path` to disk.
pub(crate) fn sync_parent(path: &Path) -> Result<(), FileError> {
    sync_dir(parent(path))
}

/// New contents on the disk under a temporary name. Dropped without [`StagedFile::commit`], they are
/// removed.
struct StagedFile<'a> {
    temporary: PathBuf,
    path: &'a Path,
}

impl<'a> StagedFile<'a> {
    fn write(
        path: &'a Path,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<Self, FileError> {
        let (temporary, file) = create_temporary(path)?;
        let staged = Self { temporary, path };
        let mut file = BufWriter::new(file);
        write(&mut file)
            .and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
            .and_then(|file| keep_permissions(path, &file).and_then(|()| file.sync_all()))
            .map_err(FileError::at("write", path))?;
        Ok(staged)
    }

    fn commit(self) -> Result<(), FileError> {
        fs::rename(&self.temporary, self.path).map_err(FileError::at("replace", self.path))?;
        sync_parent(self.path)
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        // After a commit there is nothing to remove. After an error the error is what matters.
        drop(fs::remove_file(&self.temporary));
    }
}

/// A name beside `path` that this process has not used yet.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    parent(path).join(format!(".{name}.{}.{count}.{SUFFIX}", process::id()))
}

/// Creates a file beside `path` under an unused name.
fn create_temporary(path: &Path) -> Result<(PathBuf, File), FileError> {
    loop {
        let temporary = temporary_name(path);
        match File::create_new(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Left behind by a killed process that had our number.
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(FileError::at("write", path)(source)),
        }
    }
}

fn keep_permissions(path: &Path, file: &File) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(target) => file.set_permissions(target.permissions()),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(err) => Err(err),
    }
}

/// The directory of `path`; that of a bare file name is the current one.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;
    use std::{mem, thread};

    use proptest::prelude::*;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_new_text_takes_the_place_of_the_old() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["a.json"]);
    }

    #[test]
    fn a_writer_that_fails_half_way_leaves_the_old_text_and_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"old").unwrap();
        let err = replace_with(&path, |file| {
            file.write_all(b"ne")?;
            file.flush()?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(err.unwrap_err().to_string(), format!("cannot write `{}`", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["a.json"]);
    }

    #[test]
    fn a_target_that_cannot_be_replaced_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        fs::create_dir(&path).unwrap();
        let err = replace(&path, b"text").unwrap_err();
        assert_eq!(err.to_string(), format!("cannot replace `{}`", path.display()));
        assert_eq!(names(dir.path()), ["folder"]);
    }

    #[test]
    fn permissions_of_the_target_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn only_our_temporaries_are_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        mem::forget(StagedFile::write(&path, |file| file.write_all(b"torn")).unwrap());
        fs::create_dir(dir.path().join("..checkpoint-3.7.0.whet-tmp.7")).unwrap();
        let foreign = [
            "..a.7.0.whet-tmp.x",
            ".a.json.7.whet-tmp",
            ".a.json.7.whet-tmp.7",
            ".a.json.x.1.whet-tmp",
            ".hidden",
            "a.7.1.whet-tmp",
        ];
        for name in foreign {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(clear_temporaries(dir.path()).unwrap(), 2);
        assert_eq!(names(dir.path()), foreign);
    }

    #[test]
    fn a_reader_at_the_same_time_sees_one_text_or_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let texts = ["a".repeat(100_000), "b".repeat(70_000)];
        replace(&path, texts[0].as_bytes()).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..100 {
                    replace(&path, texts[round % 2].as_bytes()).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&path).unwrap();
                assert!(texts.contains(&text), "a mix of {} bytes", text.len());
            }
        });
    }

    /// The point at which a simulated kill stops a replacement.
    #[derive(Debug, Clone, Copy)]
    enum Kill {
        InTheWrite(usize),
        BeforeTheRename,
        Never,
    }

    fn kills() -> impl Strategy<Value = Kill> {
        prop_oneof![
            (0..64usize).prop_map(Kill::InTheWrite),
            Just(Kill::BeforeTheRename),
            Just(Kill::Never),
        ]
    }

    /// Leaves the files that a kill at that point leaves; returns whether the new text is in place.
    fn replace_until(path: &Path, text: &[u8], kill: Kill) -> bool {
        match kill {
            Kill::InTheWrite(bytes) => {
                let (_, mut file) = create_temporary(path).unwrap();
                file.write_all(&text[..bytes.min(text.len())]).unwrap();
            }
            Kill::BeforeTheRename => {
                mem::forget(StagedFile::write(path, |file| file.write_all(text)).unwrap());
            }
            Kill::Never => replace(path, text).unwrap(),
        }
        matches!(kill, Kill::Never)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_kill_between_any_two_steps_leaves_one_whole_text(
            rounds in prop::collection::vec((any::<Vec<u8>>(), kills()), 1..8),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a");
            let mut current = b"first".to_vec();
            replace(&path, &current).unwrap();
            for (text, kill) in rounds {
                if replace_until(&path, &text, kill) {
                    current = text;
                }
                prop_assert_eq!(&fs::read(&path).unwrap(), &current);
            }
            clear_temporaries(dir.path()).unwrap();
            prop_assert_eq!(names(dir.path()), ["a"]);
        }
    }
}
