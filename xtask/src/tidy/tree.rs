//! The files of a repository, read once.
//!
//! What git ignores is not ours to judge: build outputs, runs, fuzz corpora. Of `.gitignore` only
//! plain lines are understood, a path from the root (`/runs`) or a name at any depth
//! (`proptest-regressions/`); that is all ours has. Links are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Never read, whatever `.gitignore` says.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", "/fuzz/corpus", "/fuzz/artifacts"];

/// Folders of files that are input to tests, not work of ours.
const TEST_DATA: &[&str] = &["testdata", "fixtures"];

/// A repository in memory. Paths are relative to its root, with `/` between their parts.
pub(crate) struct Tree {
    root: PathBuf,
    /// Text is `None` where a file is not UTF-8.
    files: BTreeMap<String, Option<String>>,
    skipped: Vec<String>,
}

impl Tree {
    /// Reads every file under `root` that is not skipped.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored =
            ignored.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        let skipped =
            SKIPPED.iter().copied().chain(ignored).map(|l| l.trim_end_matches('/').to_owned());
        let mut tree =
            Self { root: root.to_owned(), files: BTreeMap::new(), skipped: skipped.collect() };
        tree.read_folder("")?;
        Ok(tree)
    }

    /// The folder this tree was read from.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The text of one file, if it is there and is text.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Every text file, as path and text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Every Rust file, as path and text.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| has_extension(path, "rs"))
    }

    /// Names of the files and folders directly in `folder`.
    pub(super) fn names_in<'a>(&'a self, folder: &str) -> BTreeSet<&'a str> {
        let name =
            |path: &'a String| path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next();
        self.files.keys().filter_map(name).collect()
    }

    /// Whether a file or folder is there, or is one that only some machines have.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.files.contains_key(path)
            || self.files.keys().any(|file| file.starts_with(&folder))
            || self.is_skipped(path)
    }

    fn read_folder(&mut self, folder: &str) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            if self.is_skipped(&path) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&path)?;
            } else if kind.is_file() {
                let text = String::from_utf8(fs::read(entry.path())?).ok();
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    fn is_skipped(&self, path: &str) -> bool {
        self.skipped.iter().any(|skipped| match skipped.strip_prefix('/') {
            Some(from_root) => {
                path.strip_prefix(from_root).is_some_and(|r| r.is_empty() || r.starts_with('/'))
            }
            None => path.split('/').any(|part| part == skipped),
        })
    }
}

/// Whether a file is input to tests, and so not held to the rules for our own writing.
pub(super) fn is_test_data(path: &str) -> bool {
    path.split('/').any(|part| TEST_DATA.contains(&part))
}

/// Whether a file's name ends in `.` and `extension`.
pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == extension)
}
