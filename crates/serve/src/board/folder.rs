//! The folder of the runs, and that nothing outside of it is read.
//!
//! The name of a run is one plain path component (`record` refuses all others), but it may be a
//! symbolic link. The folder of a run, and folders in it, are resolved, and the result must be
//! inside this folder: a run outside is treated as missing, and one with a part outside is listed
//! with an error and not shown. Files of a run are never followed, and must be regular files
//! (`record`'s `plain_file`).
//!
//! Not here: protection against a user with write access to the folder who changes a link between
//! the check and the read. Such a user can write the runs themselves.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use whetstone_record::error::{FileError, RunError, ViewError};
use whetstone_record::overview;
use whetstone_record::plain_file::check_plain;
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

    /// The runs by name, each opened or with an error. Links that lead outside are skipped.
    pub(super) fn runs(&self) -> Result<Vec<Opened>, FileError> {
        let open = |name: String| {
            let view = overview::open(&self.root, &name)?;
            let view = view.and_then(|view| self.check(&view).map(|()| view));
            let is_outside = matches!(&view, Err(ViewError::Run(RunError::NotFound { .. })));
            (!is_outside).then_some((name, view))
        };
        Ok(overview::names(&self.root)?.into_iter().filter_map(open).collect())
    }

    /// Refuses a run with a part outside of the folder. A run that is outside as a whole is
    /// reported as missing.
    fn check(&self, view: &RunView) -> Result<(), ViewError> {
        if !self.holds(view.dir())? {
            return Err(RunError::NotFound { path: view.dir().to_owned() }.into());
        }
        let folder = view.rollouts_dir();
        if !self.holds(&folder)? {
            let source = io::Error::other("it leads out of the folder of the runs");
            return Err(refused("look into", &folder, source));
        }
        for path in report::inputs(view) {
            check_plain(&path).map_err(|source| refused("open", &path, source))?;
        }
        Ok(())
    }

    /// Whether a path ends in the folder, or at nothing.
    fn holds(&self, path: &Path) -> Result<bool, FileError> {
        match fs::canonicalize(path) {
            Ok(end) => Ok(end.starts_with(&self.root)),
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(true),
            Err(source) => Err(FileError { step: "look at", path: path.to_owned(), source }),
        }
    }
}

/// The error of a run that has something else where a file should be.
fn refused(step: &'static str, path: &Path, source: io::Error) -> ViewError {
    RunError::File(FileError { step, path: path.to_owned(), source }).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use whetstone_core::with_causes;

    use super::*;

    fn names(folder: &Folder) -> Vec<String> {
        folder.runs().unwrap().into_iter().map(|run| run.0).collect()
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
        assert!(matches!(folder.run("a"), Err(ViewError::Run(RunError::File(_)))));
        assert_eq!(names(&folder), ["a"], "it is named, with the reason");
    }

    #[test]
    fn a_run_with_a_file_or_a_folder_that_leads_outside_is_named_and_not_shown() {
        let files = [
            "config.toml",
            "run.lock",
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
            let problem = with_causes(&folder.run("a").unwrap_err());
            let end = problem.rsplit(": ").next().unwrap();
            let expected = match file {
                "rollouts" => "it leads out of the folder of the runs",
                _ => "it is a symbolic link, expected a regular file",
            };
            assert_eq!(end, expected, "{file}");
            assert!(problem.contains(file), "{problem}");
            assert!(matches!(&folder.runs().unwrap()[..], [(name, Err(_))] if name == "a"));
        }
    }
}
