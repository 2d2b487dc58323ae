//! Compiled kernels on disk: a file for each, its checksum in front, written beside and renamed.
//!
//! A file that is torn or foreign is as if it were not there. A folder that cannot be written is a
//! warning, not a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const CHECKSUM_BYTES: usize = blake3::OUT_LEN;

/// `$XDG_CACHE_HOME/whetstone/cuda`, if there is a home.
pub(super) fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(cache.join("whetstone").join("cuda"))
}

#[derive(Debug)]
pub(super) struct Cache<'a> {
    folder: Option<&'a Path>,
    problem: Mutex<Option<String>>,
}

impl<'a> Cache<'a> {
    pub(super) fn new(folder: Option<&'a Path>) -> Self {
        let none = folder.is_none().then(|| "there is no home folder to keep them in".to_owned());
        Self { folder, problem: Mutex::new(none) }
    }

    fn path(&self, hash: &str) -> Option<PathBuf> {
        self.folder.map(|folder| folder.join(format!("{hash}.cubin")))
    }

    /// The program of this name, if it is there and whole.
    pub(super) fn get(&self, hash: &str) -> Option<Vec<u8>> {
        let mut file = fs::read(self.path(hash)?).ok()?;
        let image = file.get(CHECKSUM_BYTES..)?;
        let whole =
            !image.is_empty() && blake3::hash(image).as_bytes()[..] == file[..CHECKSUM_BYTES];
        whole.then(|| file.split_off(CHECKSUM_BYTES))
    }

    /// Keeps a program. The first reason why one could not be kept is remembered.
    pub(super) fn put(&self, hash: &str, image: &[u8]) {
        let (Some(folder), Some(path)) = (self.folder, self.path(hash)) else { return };
        let beside = folder.join(format!("{hash}.{}.part", std::process::id()));
        let file = [&blake3::hash(image).as_bytes()[..], image].concat();
        let kept = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&beside, file))
            .and_then(|()| fs::rename(&beside, path));
        if let Err(err) = kept {
            let _ = fs::remove_file(&beside);
            let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            problem.get_or_insert_with(|| format!("{} cannot be written: {err}", folder.display()));
        }
    }

    /// Why something could not be kept.
    pub(super) fn problem(self) -> Option<String> {
        self.problem.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_had_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let cache = Cache::new(Some(&folder));
        assert_eq!(cache.get("x"), None);
        cache.put("x", b"program");
        assert_eq!(cache.get("x").as_deref(), Some(&b"program"[..]));
        assert_eq!(cache.get("y"), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        assert_eq!(cache.problem(), None);
    }

    #[test]
    fn a_torn_or_foreign_file_is_as_if_it_were_not_there() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(root.path()));
        cache.put("x", b"program");
        let path = root.path().join("x.cubin");
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(cache.get("x"), None, "{end} bytes of {}", whole.len());
        }
        let mut other = whole;
        *other.last_mut().unwrap() ^= 1;
        fs::write(&path, other).unwrap();
        assert_eq!(cache.get("x"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_said_once() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::new(Some(&file));
        cache.put("x", b"program");
        cache.put("y", b"program");
        assert_eq!(cache.get("x"), None);
        assert!(cache.problem().unwrap().contains("cannot be written"));
        assert!(Cache::new(None).problem().unwrap().contains("no home folder"));
    }
}
