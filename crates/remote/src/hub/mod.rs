//! Files of data sets and models, by name, from a hub that speaks as huggingface.co does.
//!
//! Files are in the hub's own cache, in its own layout ([`cache`](self) keeps it), so that
//! downloads are shared with other tools. A file is fetched in three steps: its headers identify
//! the content (commit, `ETag`, size), the cache is checked for it, and only then the bytes are
//! downloaded, resumed where a transfer broke, and checked against the hash in the `ETag`.
//!
//! `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN` and `HF_HUB_OFFLINE` have their usual
//! meaning. If the hub cannot be reached, the cache is used.
//!
//! Not here: uploads, several files at a time, and the content of the files.

mod cache;
pub(crate) mod digest;
mod download;
mod error;
mod fetch;
pub(crate) mod repo;
mod settings;
#[cfg(test)]
mod tests;
pub(crate) mod wire;

use std::path::PathBuf;

pub use error::HubError;
pub use fetch::{DownloadEvent, OnDownload, Watch, fetch_all, fetch_model, is_name};
pub use repo::{Repo, RepoKind};
pub use settings::HubSettings;

use self::cache::RepoCache;
use self::download::Download;
use crate::http::{Address, Client, Limits};
use crate::retry::OnRetry;

/// A hub, and the cache in front of it.
#[derive(Debug)]
pub struct Hub {
    settings: HubSettings,
    http: Client,
    /// For where the hub sends us: other machines, which our token is not for.
    store: Client,
    on_retry: OnRetry,
}

/// A file on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its path.
    pub path: PathBuf,
    /// The commit it is from.
    pub commit: String,
    /// Its origin.
    pub origin: Origin,
}

/// The origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was in the cache, and the hub says that it is still the one.
    Cache,
    /// It was in the cache; the hub was not asked, or could not be.
    CacheUnasked,
    /// It was downloaded; this many bytes came over the network.
    Downloaded(u64),
}

/// Progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are here.
    pub bytes: u64,
    /// Bytes of the whole file, if the hub reports them.
    pub total: Option<u64>,
}

/// The content of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The commit of the revision.
    pub commit: String,
    /// Its files, sorted by path.
    pub files: Vec<RemoteFile>,
}

/// One file of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteFile {
    /// Its path within the repository.
    pub path: String,
    /// Its size, if the hub reports it.
    pub bytes: Option<u64>,
}

impl Hub {
    /// A hub as `settings` say.
    pub fn new(settings: HubSettings) -> Result<Self, HubError> {
        let address = Address::parse(&settings.endpoint)?;
        let limits = Limits {
            connect: settings.timeout,
            // A listing of many files may come slowly.
            total: settings.timeout.saturating_mul(10),
            silence: settings.timeout,
            answer_bytes: 32 << 20,
            redirects: 5,
            connections: 4,
        };
        let store = Client::new(&address, limits.clone(), None);
        let http = Client::new(&address, limits, settings.token.clone());
        Ok(Self { settings, http, store, on_retry: OnRetry::default() })
    }

    /// The same, and `on_retry` is called before each pause between two tries.
    #[must_use]
    pub fn watched(self, on_retry: OnRetry) -> Self {
        Self { on_retry, ..self }
    }

    /// A hub as the environment says.
    pub fn from_env() -> Result<Self, HubError> {
        Self::new(HubSettings::from_env()?)
    }

    /// The files of a repository: as the hub says, or as they are in the cache if it is not there.
    pub fn list(&self, repo: &Repo) -> Result<Listing, HubError> {
        let cache = self.cache(repo);
        let listed = if self.settings.offline {
            Err(HubError::Offline { what: repo.to_string() })
        } else {
            self.ask_list(repo)
        };
        match listed {
            Err(err) if err.is_absence() => cache.list().ok_or(err),
            listed => listed,
        }
    }

    /// One file of a repository, downloaded if it is not in the cache.
    pub fn file(
        &self,
        repo: &Repo,
        path: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, HubError> {
        repo::check_path(path)?;
        let cache = self.cache(repo);
        let described = if self.settings.offline {
            Err(HubError::Offline { what: format!("{repo}/{path}") })
        } else {
            self.ask_about(repo, path)
        };
        let file = match described {
            Ok(file) => file,
            Err(err) if err.is_absence() => return cache.unasked(path).ok_or(err),
            Err(err) => return Err(err),
        };
        cache.write_ref(&file.commit)?;
        if let Some(path) = cache.snapshot_file(&file.commit, path) {
            return Ok(Fetched { path, commit: file.commit, origin: Origin::Cache });
        }
        let download = Download {
            http: &self.http,
            store: &self.store,
            settings: &self.settings,
            on_retry: &self.on_retry,
            cache: &cache,
            url: self.resolve_url(repo, &file.commit, path),
            file: &file,
        };
        let origin = download.run(progress)?;
        let path = cache.link(&file.commit, path, &file.etag)?;
        Ok(Fetched { path, commit: file.commit, origin })
    }

    fn cache(&self, repo: &Repo) -> RepoCache {
        RepoCache::new(&self.settings.cache, repo)
    }
}
