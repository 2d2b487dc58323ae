//! Only one process writes a run.
//!
//! The kernel releases the lock when the process ends, for whatever reason, so a lock is never
//! stale. The text in the file (`pid 4711`, `started_ms 1767225600000`) is for people: it names the
//! holder and is meaningless while the lock is free.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use crate::error::{FileError, RunError};
use crate::plain_file::{open_plain, open_with, read_plain};

/// Retries while a reader holds the lock for a moment.
const LOOKS: u32 = 5;
const LOOK_TIME: Duration = Duration::from_millis(5);
/// Bytes of the file, at most: a name and two numbers.
const MAX_BYTES: u64 = 4 << 10;

/// The right to write a run, until dropped.
#[derive(Debug)]
pub(super) struct RunLock(File);

impl RunLock {
    /// Takes the lock at `path` of the run in `dir`.
    pub(super) fn take(path: &Path, dir: &Path, time_ms: u64) -> Result<Self, RunError> {
        let file = open_with(path, File::options().write(true).create(true).truncate(false))
            .map_err(FileError::at("open", path))?;
        match lock(&file, || thread::sleep(LOOK_TIME)) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunError::Locked { path: dir.to_owned(), pid: holder(path) });
            }
            Err(TryLockError::Error(source)) => return Err(FileError::at("lock", path)(source))?,
        }
        sign(&file, time_ms).map_err(FileError::at("write", path))?;
        Ok(Self(file))
    }
}

/// Takes the lock. A process that checks whether a run is being written holds it for a moment; wait
/// for that.
fn lock(file: &File, mut wait: impl FnMut()) -> Result<(), TryLockError> {
    for _ in 0..LOOKS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => wait(),
            taken => return taken,
        }
    }
    file.try_lock()
}

/// Whether a process holds the lock at `path`. A writer removes its text when it is done, so the
/// lock is only tried, for a moment, if there is a text.
pub(super) fn is_held(path: &Path) -> Result<bool, FileError> {
    let is_unknown =
        |err: &io::Error| matches!(err.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
    let text = match read_plain(path, MAX_BYTES) {
        Err(err) if is_unknown(&err) => return Ok(false),
        text => text.map_err(FileError::at("read", path))?,
    };
    if signed_by(&text).is_none() {
        return Ok(false);
    }
    let file = match open_plain(path) {
        Err(err) if is_unknown(&err) => return Ok(false),
        file => file.map_err(FileError::at("open", path))?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(FileError::at("look at the lock", path)(source)),
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A child forked a moment ago may hold a copy of the file: only this ends its lock too.
        drop(self.0.set_len(0).and_then(|()| self.0.unlock()));
    }
}

fn sign(mut file: &File, time_ms: u64) -> std::io::Result<()> {
    file.set_len(0)?;
    file.write_all(format!("pid {}\nstarted_ms {time_ms}\n", process::id()).as_bytes())
}

fn holder(path: &Path) -> Option<u32> {
    signed_by(&read_plain(path, MAX_BYTES).ok()?)
}

/// The process that signed the text of a lock.
fn signed_by(text: &[u8]) -> Option<u32> {
    let text = str::from_utf8(text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("pid "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn take(dir: &Path) -> Result<RunLock, RunError> {
        RunLock::take(&dir.join("run.lock"), dir, 5)
    }

    #[test]
    fn the_second_writer_learns_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let first = take(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join("run.lock")).unwrap();
        assert_eq!(text, format!("pid {}\nstarted_ms 5\n", process::id()));
        let err = take(dir.path()).unwrap_err();
        assert!(matches!(err, RunError::Locked { pid, .. } if pid == Some(process::id())), "{err}");
        drop(first);
        take(dir.path()).unwrap();
    }

    #[test]
    fn who_only_looks_at_the_lock_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lock");
        let [writer, looker] = [(); 2].map(|()| File::create(&path).unwrap());
        looker.lock_shared().unwrap();
        let mut waits = 0;
        let taken = lock(&writer, || {
            waits += 1;
            if waits == 3 {
                looker.unlock().unwrap();
            }
        });
        assert!(taken.is_ok() && waits == 3);
        let held = lock(&looker, || waits += 1);
        assert!(matches!(held, Err(TryLockError::WouldBlock)), "a writer does not go away");
        assert_eq!(waits, 3 + LOOKS);
    }

    #[test]
    fn text_left_by_a_killed_process_locks_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lock");
        fs::write(&path, "pid 4194305\nstarted_ms 1767225600000 and more\n").unwrap();
        let _lock = take(dir.path()).unwrap();
        assert_eq!(holder(&path), Some(process::id()));
        assert!(fs::read_to_string(&path).unwrap().ends_with("started_ms 5\n"));
    }
}
