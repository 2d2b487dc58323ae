//! A crash-safe journal: JSON lines that are appended and never changed.
//!
//! Every record is one line, written by one `write` to a file opened with `O_APPEND`. When
//! [`Journal::append`] returns, the kernel has the line and `kill -9` cannot lose it. A power cut
//! can lose only records that were not synced yet; a sync starts after 64 records or 200 ms. A
//! crash damages a journal only at its end, so [`Journal::open`] looks only at the end and takes
//! the same time for a gigabyte as for a line.
//!
//! The lock is on the journal's own file, not on a second one: it cannot be left behind. Who waited
//! to open a file that its writer removed meanwhile would lock a file without a name; so the name is
//! looked at again behind the lock.
//!
//! Not here: rotation, compression, several writers. A run's rollouts go into several journals
//! instead.

mod line;
mod position;
mod read;
mod recover;
mod syncer;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::line::MAX_LINE_BYTES;
pub use self::position::{NotAPosition, Position};
pub use self::read::{Reader, Record, read, read_from};
pub use self::recover::Recovery;
use self::syncer::{PACE, Syncer};
use crate::atomic::sync_parent;
use crate::error::{FileError, JournalError, ReadError};
use crate::plain_file::open_with;

/// The only writer of a journal. Dropping it syncs everything to disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    syncer: Syncer,
    /// Length of the file up to the end of its last record.
    len: u64,
    next_seq: u64,
    /// The line being written, kept for its memory.
    line: Vec<u8>,
    poisoned: bool,
}

impl Journal {
    /// Opens the journal at `path`, or creates it, and truncates an incomplete record that a crash
    /// left at its end.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_record::journal::{Journal, read};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("rewards.jsonl");
    /// let (mut journal, recovery) = Journal::open(&path)?;
    /// assert_eq!(recovery.last_seq, None);
    /// let seq = journal.append(&serde_json::json!({"reward": 1.0, "task": "mbpp/11"}))?;
    /// let records: Vec<_> = read(&path)?.collect::<Result<_, _>>()?;
    /// assert_eq!(records[0].seq, seq);
    /// assert_eq!(records[0].json, r#"{"reward":1.0,"task":"mbpp/11"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<(Self, Recovery), JournalError> {
        let file = open_locked(path, || ())?;
        let recovery = recover::recover(&file, path)?;
        // Not only for a new file: the process that created it may have been killed before this
        // line, but then it has no records yet.
        if recovery.kept_bytes == 0 {
            sync_parent(path)?;
        }
        let handle = file.try_clone().map_err(FileError::at("open a second handle of", path))?;
        let syncer =
            Syncer::start(handle, PACE).map_err(FileError::at("start the sync thread of", path))?;
        Ok((Self::assemble(path, file, syncer, recovery), recovery))
    }

    /// Appends one record and returns its number.
    ///
    /// The payload may be anything that serialises to a JSON object. A float in it that is not
    /// finite becomes `null`, as `serde_json` has it; a type that may hold one must write it as
    /// text, like [`Event::Metrics`](crate::event::Event). After an error the journal holds exactly
    /// the records it held before.
    pub fn append<T: Serialize + ?Sized>(&mut self, payload: &T) -> Result<u64, JournalError> {
        self.check_usable()?;
        let seq = self.next_seq;
        line::encode(seq, payload, &mut self.line).map_err(|source| JournalError::Payload {
            path: self.path.clone(),
            seq,
            source,
        })?;
        self.write_line()?;
        self.next_seq += 1;
        self.syncer.appended();
        Ok(seq)
    }

    /// Waits until every record appended so far is on the disk.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.syncer.wait().map_err(|source| JournalError::Sync { path: self.path.clone(), source })
    }

    /// Forgets every record: the journal is as if it were new.
    pub fn clear(&mut self) -> Result<(), JournalError> {
        self.syncer
            .check()
            .map_err(|source| JournalError::Sync { path: self.path.clone(), source })?;
        self.file.set_len(0).map_err(FileError::at("empty", &self.path))?;
        self.file.sync_data().map_err(FileError::at("sync", &self.path))?;
        (self.len, self.next_seq, self.poisoned) = (0, 0, false);
        Ok(())
    }

    /// Removes the journal when it is no longer needed. The lock is held until the file is gone.
    pub fn remove(self) -> Result<(), JournalError> {
        Ok(fs::remove_file(&self.path).map_err(FileError::at("remove", &self.path))?)
    }

    /// The file being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file up to the end of its last record: the offset of the next one.
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// The record at an offset, as a value.
    pub fn read_at<T: DeserializeOwned>(&self, offset: u64) -> Result<T, ReadError> {
        read::read_at(&self.file, &self.path, offset)
    }

    /// The number the next record will have.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn assemble(path: &Path, file: File, syncer: Syncer, recovery: Recovery) -> Self {
        Self {
            path: path.to_owned(),
            file,
            syncer,
            len: recovery.kept_bytes,
            next_seq: recovery.last_seq.map_or(0, |seq| seq + 1),
            line: Vec::new(),
            poisoned: false,
        }
    }

    /// A new journal whose every sync fails.
    #[cfg(test)]
    pub(crate) fn with_failing_sync(path: &Path) -> Self {
        let file = File::options().append(true).create(true).open(path).unwrap();
        // Devices cannot be synced: the kernel answers "invalid argument".
        let syncer = Syncer::start(File::open("/dev/null").unwrap(), PACE).unwrap();
        Self::assemble(path, file, syncer, Recovery::default())
    }

    fn check_usable(&self) -> Result<(), JournalError> {
        if self.poisoned {
            return Err(JournalError::Poisoned { path: self.path.clone() });
        }
        self.syncer.check().map_err(|source| JournalError::Sync { path: self.path.clone(), source })
    }

    /// Writes the whole line or nothing.
    fn write_line(&mut self) -> Result<(), JournalError> {
        let Err(source) = self.file.write_all(&self.line) else {
            self.len += self.line.len() as u64;
            return Ok(());
        };
        let (path, seq) = (self.path.clone(), self.next_seq);
        if self.file.set_len(self.len).is_err() {
            self.poisoned = true;
            return Err(JournalError::HalfWritten { path, seq, source });
        }
        Err(JournalError::Write { path, seq, source })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Callers that need the result call `sync` first.
        drop(self.syncer.wait());
        // A child that was forked a moment ago may still hold a copy of the file: closing ours
        // would not end the lock, this does. If it fails, the lock ends with that child.
        drop(self.file.unlock());
    }
}

/// Opens or creates the file at `path` and locks it. `opened` is called in between, where another
/// process may do anything.
fn open_locked(path: &Path, mut opened: impl FnMut()) -> Result<File, JournalError> {
    loop {
        let file = open_with(path, File::options().read(true).append(true).create(true))
            .map_err(FileError::at("open", path))?;
        opened();
        lock(&file, path)?;
        if is_at(&file, path).map_err(FileError::at("inspect", path))? {
            return Ok(file);
        }
    }
}

/// Whether `path` is still the name of this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(err) => Err(err),
    }
}

fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    file.try_lock().map_err(|err| match err {
        TryLockError::WouldBlock => JournalError::Locked { path: path.to_owned() },
        TryLockError::Error(source) => FileError::at("lock", path)(source).into(),
    })
}

#[cfg(test)]
mod tests;
