//! The hub's own cache, in its own layout.
//!
//! ```text
//! CACHE/datasets--owner--name/refs/main                    the commit, as text
//! CACHE/datasets--owner--name/snapshots/COMMIT/data/a.json  -> ../../../blobs/ETAG
//! CACHE/datasets--owner--name/blobs/ETAG                   the bytes
//! CACHE/datasets--owner--name/blobs/ETAG.incomplete        some of them
//! CACHE/.locks/datasets--owner--name/ETAG.lock             held while they are fetched
//! ```
//!
//! Every file gets its name by a rename, so that a reader never sees half of one.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::repo::{self, Repo};
use super::{Fetched, HubError, Listing, Origin, RemoteFile};

/// The part of the cache that belongs to one repository.
#[derive(Debug)]
pub(super) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
    revision: String,
}

impl RepoCache {
    pub(super) fn new(cache: &Path, repo: &Repo) -> Self {
        Self {
            root: cache.join(repo.folder()),
            locks: cache.join(".locks").join(repo.folder()),
            revision: repo.revision().to_owned(),
        }
    }

    /// The bytes of a content, whether they are there or not.
    pub(super) fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// The path of an incomplete download.
    pub(super) fn incomplete(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(format!("{etag}.incomplete"))
    }

    /// Waits for the right to fetch a content. Other tools take the same lock.
    pub(super) fn lock(&self, etag: &str) -> Result<File, HubError> {
        let path = self.locks.join(format!("{etag}.lock"));
        create_parent(&path)?;
        create_parent(&self.blob(etag))?;
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(HubError::at("open", &path))?;
        file.lock().map_err(HubError::at("lock", &path))?;
        Ok(file)
    }

    /// A file of a commit, if it is there with its bytes.
    pub(super) fn snapshot_file(&self, commit: &str, path: &str) -> Option<PathBuf> {
        let path = self.snapshot(commit).join(path);
        path.is_file().then_some(path)
    }

    /// A cached file of the commit that the revision had when the hub was last asked.
    pub(super) fn unasked(&self, path: &str) -> Option<Fetched> {
        let commit = self.commit()?;
        let path = self.snapshot_file(&commit, path)?;
        Some(Fetched { path, commit, origin: Origin::CacheUnasked })
    }

    /// The cached files of that commit.
    pub(super) fn list(&self) -> Option<Listing> {
        let commit = self.commit()?;
        let root = self.snapshot(&commit);
        let mut files = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).ok()?.flatten() {
                let path = entry.path();
                let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
                let name = path.strip_prefix(&root).ok().and_then(Path::to_str);
                if let (Some(metadata), Some(name)) = (metadata, name) {
                    files.push(RemoteFile { path: name.to_owned(), bytes: Some(metadata.len()) });
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                }
            }
        }
        files.sort();
        (!files.is_empty()).then_some(Listing { commit, files })
    }

    /// Records the commit of the revision.
    pub(super) fn write_ref(&self, commit: &str) -> Result<(), HubError> {
        if self.revision == commit || self.commit().as_deref() == Some(commit) {
            return Ok(());
        }
        put(&self.reference(), |path| fs::write(path, commit))
    }

    /// Puts a content into the snapshot of a commit, under its path there.
    pub(super) fn link(&self, commit: &str, path: &str, etag: &str) -> Result<PathBuf, HubError> {
        let up = "../".repeat(path.split('/').count() + 1);
        let link = self.snapshot(commit).join(path);
        put(&link, |name| symlink(format!("{up}blobs/{etag}"), name))?;
        Ok(link)
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    fn reference(&self) -> PathBuf {
        self.root.join("refs").join(&self.revision)
    }

    /// The commit that the revision is, or last stood for.
    fn commit(&self) -> Option<String> {
        if repo::is_commit(&self.revision) {
            return Some(self.revision.clone());
        }
        let mut text = String::new();
        File::open(self.reference()).ok()?.take(100).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned()).filter(|text| repo::is_commit(text))
    }
}

/// Makes something under a name of its own and gives it the name `path`.
fn put(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<(), HubError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    create_parent(path)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".whet-{}-{count}.tmp", process::id()));
    let made = make(&temporary).and_then(|()| fs::rename(&temporary, path));
    if made.is_err() {
        drop(fs::remove_file(&temporary));
    }
    made.map_err(HubError::at("write", path))
}

fn create_parent(path: &Path) -> Result<(), HubError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(HubError::at("create", parent))
}
