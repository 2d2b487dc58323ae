//! A hub with one repository, which breaks transfers by script.
//!
//! It answers like the public hub: a small file is redirected within the hub and has Git's hash as
//! its `ETag`; a large one is redirected to a store (another server) that knows neither commit nor
//! hash, and these are in the headers of the redirect.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use super::http::{Asked, Reply, Server};
use crate::hub::digest::Hash;

/// The commit of every revision.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// Files from here on are large.
pub const LARGE_BYTES: usize = 4096;

/// Changes a transfer, given its number (from 0) and the proper reply.
pub type Transfer = dyn Fn(u64, Reply) -> Reply + Send + Sync;

/// The content of a hub, and its faults.
pub struct Holding {
    /// `datasets/owner/name`, or `owner/name` of a model.
    pub repo: String,
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The fault of each transfer.
    pub transfer: Box<Transfer>,
}

/// A running hub.
pub struct HubServer {
    server: Server,
    // Held for its life alone: clients learn of it from redirects.
    _store: Server,
    state: Arc<State>,
}

struct State {
    holding: Holding,
    store: OnceLock<String>,
    transfers: AtomicU64,
    requests: Mutex<Vec<Asked>>,
}

impl Holding {
    /// A repository with these files and no faults.
    pub fn new(repo: &str, files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
        Self { repo: repo.to_owned(), files: files.collect(), transfer: Box::new(|_, reply| reply) }
    }

    /// The same hub with faults.
    #[must_use]
    pub fn breaking(self, transfer: impl Fn(u64, Reply) -> Reply + Send + Sync + 'static) -> Self {
        Self { transfer: Box::new(transfer), ..self }
    }
}

impl HubServer {
    /// Starts a hub.
    pub fn start(holding: Holding) -> Self {
        let state = Arc::new(State {
            holding,
            store: OnceLock::new(),
            transfers: AtomicU64::new(0),
            requests: Mutex::default(),
        });
        let own = Arc::clone(&state);
        let store = Server::start(move |asked| own.reply(asked));
        state.store.get_or_init(|| store.url());
        let own = Arc::clone(&state);
        Self { server: Server::start(move |asked| own.reply(asked)), _store: store, state }
    }

    /// Its address, for `HF_ENDPOINT`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Everything it was asked.
    pub fn requests(&self) -> Vec<Asked> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Transfers of bytes so far.
    pub fn transfers(&self) -> u64 {
        self.state.transfers.load(Ordering::SeqCst)
    }
}

impl State {
    fn reply(&self, asked: &Asked) -> Reply {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        let path = asked.path.split('?').next().unwrap_or_default().trim_start_matches('/');
        let repo = &self.holding.repo;
        if let Some(path) = path.strip_prefix("store/") {
            return self.bytes(asked, path);
        }
        if let Some(path) = path.strip_prefix("small/") {
            let reply = self.bytes(asked, path);
            return self.described(reply, path, "etag");
        }
        if path.contains("gated") {
            return refusal(403, "GatedRepo");
        }
        let listing = format!("api/{}/revision/", api_path(repo));
        if let Some(revision) = path.strip_prefix(&listing) {
            return if is_known(revision) { self.listing() } else { no_revision() };
        }
        match path.strip_prefix(&format!("{repo}/resolve/")).and_then(|rest| rest.split_once('/')) {
            None => refusal(401, "RepoNotFound"),
            Some((revision, _)) if !is_known(revision) => no_revision(),
            Some((_, path)) => self.resolve(path),
        }
    }

    fn listing(&self) -> Reply {
        let files = self.holding.files.iter();
        let siblings: Vec<Value> =
            files.map(|(path, bytes)| json!({"rfilename": path, "size": bytes.len()})).collect();
        Reply::json(200, &json!({"id": "loopback", "sha": COMMIT, "siblings": siblings}))
    }

    fn resolve(&self, path: &str) -> Reply {
        let Some(bytes) = self.holding.files.get(path) else {
            return refusal(404, "EntryNotFound");
        };
        if bytes.len() < LARGE_BYTES {
            let reply = Reply::new(307, "text/plain", "Temporary Redirect");
            return reply.with("location", &format!("/small/{path}"));
        }
        let reply = Reply::new(302, "text/plain", "Found. Redirecting");
        let store = self.store.get().map(String::as_str).unwrap_or_default();
        let reply = reply.with("location", &format!("{store}/store/{path}?Signature=s"));
        self.described(reply, path, "x-linked-etag").with("x-linked-size", &bytes.len())
    }

    fn described(&self, reply: Reply, path: &str, etag: &str) -> Reply {
        let bytes = self.holding.files.get(path).map(Vec::as_slice).unwrap_or_default();
        let hash = if bytes.len() < LARGE_BYTES { Hash::GitBlob } else { Hash::Sha256 };
        let hash = hash.of_reader(bytes, bytes.len() as u64).expect("memory can be read");
        reply.with(etag, &format!("\"{hash}\"")).with("x-repo-commit", COMMIT)
    }

    /// The bytes, or those from where they are asked for.
    fn bytes(&self, asked: &Asked, path: &str) -> Reply {
        let Some(bytes) = self.holding.files.get(path) else { return refusal(404, "NoSuchKey") };
        let range = asked.headers.get("range").and_then(|range| range.strip_prefix("bytes="));
        let from = range.and_then(|range| range.strip_suffix('-')?.parse::<usize>().ok());
        let kind = "application/octet-stream";
        let reply = match from {
            None => Reply::new(200, kind, bytes.as_slice()),
            Some(from) if from >= bytes.len() => Reply::new(416, kind, ""),
            Some(from) => {
                let (last, all) = (bytes.len() - 1, bytes.len());
                let range = format!("bytes {from}-{last}/{all}");
                Reply::new(206, kind, &bytes[from..]).with("content-range", &range)
            }
        };
        if asked.method == "HEAD" {
            return reply;
        }
        (self.holding.transfer)(self.transfers.fetch_add(1, Ordering::SeqCst), reply)
    }
}

fn api_path(repo: &str) -> String {
    if repo.starts_with("datasets/") { repo.to_owned() } else { format!("models/{repo}") }
}

fn is_known(revision: &str) -> bool {
    ["main", COMMIT].contains(&revision)
}

fn no_revision() -> Reply {
    refusal(404, "RevisionNotFound")
}

fn refusal(status: u16, code: &str) -> Reply {
    Reply::json(status, &json!({"error": code})).with("x-error-code", code)
}
