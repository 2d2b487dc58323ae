//! Directories that a run leaves behind: checkpoints and the final model.
//!
//! A directory is written under a temporary name, synced to disk file by file, and then renamed. A
//! kill leaves the temporary, which the next [`RunDir::resume`](crate::run_dir::RunDir::resume)
//! removes; a directory with its final name is complete.
//!
//! Not here: the content of the directories.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::atomic::{sync_dir, sync_parent, temporary_name};
use crate::error::FileError;

const CHECKPOINT: &str = "checkpoint-";

/// A directory that is being written; unless it is committed, nothing stays of it.
#[derive(Debug)]
pub struct Staged {
    temporary: PathBuf,
    target: PathBuf,
}

impl Staged {
    /// Begins a directory at `target`. Only the one writer of its run may do that.
    pub fn begin(target: &Path) -> Self {
        Self { temporary: temporary_name(target), target: target.to_owned() }
    }

    /// Its path until it is committed. The caller may create the directory itself.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Writes a file into it.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.stream(name, |out| out.write_all(bytes))
    }

    /// Writes a file into it piece by piece.
    pub fn stream(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), FileError> {
        fs::create_dir_all(&self.temporary)
            .map_err(FileError::at("create the directory", &self.temporary))?;
        let path = self.temporary.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(FileError::at("create the directory", folder))?;
        }
        let written = || {
            let mut out = BufWriter::new(File::create_new(&path)?);
            write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        written().map_err(FileError::at("write", &self.target.join(name)))
    }

    /// Gives it its name. What had this name before is replaced.
    pub fn commit(self) -> Result<(), FileError> {
        sync_dir(&self.temporary)?;
        if self.target.exists() {
            fs::remove_dir_all(&self.target).map_err(FileError::at("remove", &self.target))?;
        }
        fs::rename(&self.temporary, &self.target)
            .map_err(FileError::at("replace", &self.target))?;
        sync_parent(&self.target)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a commit there is nothing of that name; after an error the error is what matters.
        drop(fs::remove_dir_all(&self.temporary));
    }
}

/// The name of the checkpoint after a step.
pub fn checkpoint_name(step: u64) -> String {
    format!("{CHECKPOINT}{step}")
}

/// The checkpoints in a folder by their steps, the oldest first.
pub fn checkpoints(outputs: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(outputs).map_err(FileError::at("list", outputs))? {
        let entry = entry.map_err(FileError::at("list", outputs))?;
        let name = entry.file_name();
        let step = name.to_str().and_then(|name| name.strip_prefix(CHECKPOINT)?.parse().ok());
        found.extend(step.map(|step: u64| (step, entry.path())));
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes all checkpoints but the newest `keep`.
pub fn prune(outputs: &Path, keep: usize) -> Result<(), FileError> {
    let found = checkpoints(outputs)?;
    let old = found.len().saturating_sub(keep.max(1));
    for (_, path) in &found[..old] {
        fs::remove_dir_all(path).map_err(FileError::at("remove", path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::clear_temporaries;

    fn write(dir: &Path, step: u64) {
        let staged = Staged::begin(&dir.join(checkpoint_name(step)));
        staged.put("a", b"1").unwrap();
        staged.commit().unwrap();
    }

    fn steps(dir: &Path) -> Vec<u64> {
        checkpoints(dir).unwrap().into_iter().map(|(step, _)| step).collect()
    }

    #[test]
    fn a_directory_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let staged = Staged::begin(&dir.path().join("checkpoint-3"));
        staged.put("a", b"1").unwrap();
        assert_eq!(steps(dir.path()), Vec::<u64>::new());
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        write(dir.path(), 3);
        assert_eq!(fs::read(dir.path().join("checkpoint-3/a")).unwrap(), b"1");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let staged = Staged::begin(&dir.path().join("checkpoint-3"));
        staged.put("a", b"1").unwrap();
        std::mem::forget(staged);
        assert_eq!(clear_temporaries(dir.path()).unwrap(), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_newest_are_kept_by_number_and_not_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for step in [9, 100, 20] {
            write(dir.path(), step);
        }
        fs::create_dir(dir.path().join("final_model")).unwrap();
        assert_eq!(steps(dir.path()), [9, 20, 100]);
        prune(dir.path(), 2).unwrap();
        assert_eq!(steps(dir.path()), [20, 100]);
        assert!(dir.path().join("final_model").is_dir());
        prune(dir.path(), 0).unwrap();
        assert_eq!(steps(dir.path()), [100], "the newest is never removed");
    }

    #[test]
    fn the_same_step_again_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 3);
        let staged = Staged::begin(&dir.path().join("checkpoint-3"));
        staged.put("b", b"2").unwrap();
        staged.commit().unwrap();
        assert!(!dir.path().join("checkpoint-3/a").exists());
        assert!(dir.path().join("checkpoint-3/b").exists());
    }
}
