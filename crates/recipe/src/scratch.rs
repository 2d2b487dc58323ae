//! A temporary folder, removed on drop.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, io, process};

use crate::failure::Failure;

/// A folder of this process's own among temporary files.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates it, readable only by the user.
    pub(crate) fn new() -> Result<Self, Failure> {
        let folder = env::temp_dir();
        let made = (0..1000).find_map(|number| {
            let path = folder.join(format!("whet-{}-{number}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => Some(Ok(path)),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => None,
                Err(err) => Some(Err(err)),
            }
        });
        let made = made.unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()));
        let failed =
            |source| Failure::io(format!("cannot make a folder in `{}`", folder.display()), source);
        made.map(Self).map_err(failed)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure to remove it cannot be reported here, and is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_with_all_that_is_in_it() {
        let (one, other) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(one.path(), other.path());
        fs::write(one.path().join("file"), "text").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().is_dir());
    }
}
