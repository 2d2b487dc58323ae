//! The folder of the runs, and that nothing outside of it is read.
//!
//! A name of a run is one plain component (`record` refuses all others). What lies under it may still be
//! a symbolic link: the run itself, or any file that a page is made from. Each is followed to its end,
//! which must be in the folder, and must be what it should be: a pipe would be waited for. A link that
//! stays in the folder is fine.
//!
//! Not here: somebody who may write into the folder and changes a link between this look and the reading.
//! Such a person can write the runs themselves.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use whetstone_record::error::{FileError, RunError, ViewError};
use whetstone_record::overview;
use whetstone_record::report;
use whetstone_record::run_dir::{RunDir, RunView};

/// A run's name, and the run.
pub(super) type Opened = (String, Result<RunView, ViewError>);

/// A folder of runs.
#[derive(Debug)]
pub(super) struct Folder {
    /// Without links.
    root: PathBuf,
}

impl Folder {
    /// The folder at a path.
    pub(super) fn open(root: &Path) -> Result<Self, FileError> {
        let failed = |source| FileError { step: "look into", path: root.to_owned(), source };
        let found = fs::canonicalize(root).map_err(failed)?;
        fs::read_dir(&found).map_err(failed)?;
        Ok(Self { root: found })
    }

    /// The run of a name.
    pub(super) fn run(&self, name: &str) -> Result<RunView, ViewError> {
        let view = RunDir::open_read_only(&self.root, name)?;
        self.check(&view)?;
        Ok(view)
    }

    /// The runs by name, each opened or with why not. What leads outside is none of this folder's.
    pub(super) fn runs(&self) -> Result<Vec<Opened>, FileError> {
        let open = |name: String| {
            let view = overview::open(&self.root, &name)?;
            let view = view.and_then(|view| self.check(&view).map(|()| view));
            let is_outside = matches!(&view, Err(ViewError::Run(RunError::NotFound { .. })));
            (!is_outside).then_some((name, view))
        };
        Ok(overview::names(&self.root)?.into_iter().filter_map(open).collect())
    }

    /// Refuses a run of which anything lies outside. To whoever asks, it is not there.
    fn check(&self, view: &RunView) -> Result<(), ViewError> {
        let inside = [view.dir().to_owned()].into_iter().chain(report::inputs(view));
        for path in inside {
            if !self.holds(&path)? {
                return Err(RunError::NotFound { path: view.dir().to_owned() }.into());
            }
        }
        Ok(())
    }

    /// Whether a path ends in the folder, at a file or a folder, or at nothing.
    fn holds(&self, path: &Path) -> Result<bool, FileError> {
        let end = match fs::canonicalize(path) {
            Ok(end) => end,
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(true),
            Err(source) => {
                return Err(FileError { step: "look at", path: path.to_owned(), source });
            }
        };
        let is_plain = end.is_file() || end.is_dir();
        Ok(is_plain && end.starts_with(&self.root))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn names(folder: &Folder) -> Vec<String> {
        folder.runs().unwrap().into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn a_link_within_the_folder_is_followed_and_one_that_leads_out_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("runs");
        for (root, name) in [(&root, "a"), (&dir.path().to_owned(), "secret")] {
            drop(RunDir::create(root, name, "", 1).unwrap());
        }
        symlink(root.join("a"), root.join("same")).unwrap();
        symlink(dir.path().join("secret"), root.join("out")).unwrap();
        symlink("../secret", root.join("out2")).unwrap();
        let folder = Folder::open(&root).unwrap();
        assert_eq!(names(&folder), ["a", "same"]);
        assert!(folder.run("same").is_ok());
        for name in ["out", "out2", "secret", "..", "../secret", "", "."] {
            assert!(matches!(folder.run(name), Err(ViewError::Run(_))), "{name}");
        }
    }

    #[test]
    fn what_is_neither_a_file_nor_a_folder_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::create(dir.path(), "a", "", 1).unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        assert!(folder.run("a").is_ok());
        let _socket = UnixListener::bind(run.view().rollouts_dir().join("a.jsonl")).unwrap();
        assert!(matches!(folder.run("a"), Err(ViewError::Run(RunError::NotFound { .. }))));
    }

    #[test]
    fn every_file_that_a_page_is_made_from_must_be_in_the_folder() {
        let files = [
            "config.toml",
            "events.jsonl",
            "rollouts",
            "rollouts/a.jsonl",
            "train.jsonl",
            "quickstart.json",
        ];
        for file in files {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("runs");
            drop(RunDir::create(&root, "a", "", 1).unwrap());
            drop(RunDir::create(dir.path(), "secret", "", 1).unwrap());
            fs::write(dir.path().join("secret/rollouts/a.jsonl"), "").unwrap();
            let folder = Folder::open(&root).unwrap();
            assert!(folder.run("a").is_ok(), "{file}");
            let path = root.join("a").join(file);
            let _ = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
            symlink(dir.path().join("secret").join(file), &path).unwrap();
            fs::write(dir.path().join("secret/train.jsonl"), "").unwrap();
            fs::write(dir.path().join("secret/quickstart.json"), "").unwrap();
            let found = folder.run("a");
            assert!(matches!(found, Err(ViewError::Run(RunError::NotFound { .. }))), "{file}");
            assert_eq!(names(&folder), [""; 0], "{file}");
        }
    }
}
