//! Requests to a hub, and the parsing of its answers.

use std::time::Instant;

use serde::Deserialize;

use super::repo::{self, Repo};
use super::{Hub, HubError, Listing, RemoteFile};
use crate::http::{HttpAnswer, HttpError};
use crate::secret::Secret;
use crate::shown;

/// Files named when one was asked for that is not there.
const NAMED: usize = 8;

/// The metadata of a file, from the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// The commit it is from.
    pub(crate) commit: String,
    /// Identifies the content, and is its name in the cache: a hash, on the public hub.
    pub(crate) etag: String,
    /// Its size.
    pub(crate) bytes: Option<u64>,
}

#[derive(Deserialize)]
struct RawListing {
    sha: String,
    siblings: Vec<RawFile>,
}

#[derive(Deserialize)]
struct RawFile {
    rfilename: String,
    size: Option<u64>,
}

impl Hub {
    /// The URL of a file's bytes.
    pub(super) fn resolve_url(&self, repo: &Repo, revision: &str, path: &str) -> String {
        let (endpoint, files) = (&self.settings.endpoint, repo.files_path());
        let revision = repo::encoded(revision).replace('/', "%2F");
        format!("{endpoint}/{files}/resolve/{revision}/{}", repo::encoded(path))
    }

    /// The files of a repository.
    pub(super) fn ask_list(&self, repo: &Repo) -> Result<Listing, HubError> {
        let revision = repo::encoded(repo.revision()).replace('/', "%2F");
        let (endpoint, api) = (&self.settings.endpoint, repo.api_path());
        let url = format!("{endpoint}/{api}/revision/{revision}?blobs=true");
        let answer = self.ask(url, |url| self.http.get(url))?;
        if answer.status != 200 {
            return Err(self.refusal(repo, None, answer));
        }
        listing(&answer.body, &answer.url, self.http.secret())
    }

    /// Requests the metadata of a file.
    pub(super) fn ask_about(&self, repo: &Repo, path: &str) -> Result<Described, HubError> {
        let url = self.resolve_url(repo, repo.revision(), path);
        let answer = self.ask(url, |url| self.http.head(url))?;
        match answer.status {
            200..=399 => described(&answer),
            _ => Err(self.refusal(repo, Some(path), answer)),
        }
    }

    /// Asks the hub, and again where it says that something has another place on it.
    fn ask(
        &self,
        mut url: String,
        ask: impl Fn(&str) -> Result<HttpAnswer, HttpError>,
    ) -> Result<HttpAnswer, HubError> {
        for _ in 0..5 {
            let answer = self.persist(|| ask(&url)?.kept_or_passing(self.http.secret()))?;
            match answer.redirect().and_then(|to| self.settings.own_address(to)) {
                Some(own) => url = own,
                None => return Ok(answer),
            }
        }
        Err(HttpError::Redirects { url: shown::address(&url, self.http.secret()) }.into())
    }

    /// Asks a hub that stumbles again, with growing pauses, as often as the settings allow. One
    /// that is not there is not waited for: the cache may do, and if not a user wants to know.
    fn persist(
        &self,
        ask: impl Fn() -> Result<HttpAnswer, HttpError>,
    ) -> Result<HttpAnswer, HubError> {
        let (mut pauses, began) = (self.settings.pauses(), Instant::now());
        let tries = self.settings.max_tries.max(1);
        for tried in 1.. {
            match ask() {
                Err(err @ (HttpError::Unreachable { .. } | HttpError::Timeout { .. })) => {
                    return Err(err.into());
                }
                Err(source) if source.is_passing() && tried >= tries => {
                    return Err(HubError::GaveUp { tries, took: began.elapsed(), source });
                }
                Err(err) if err.is_passing() => {
                    let pause = pauses.after(&err);
                    self.on_retry.tell(&self.settings.retry(tried, pause, &err));
                    std::thread::sleep(pause);
                }
                done => return Ok(done?),
            }
        }
        unreachable!("the last try returns")
    }

    /// The error of a non-success status.
    fn refusal(&self, repo: &Repo, path: Option<&str>, answer: HttpAnswer) -> HubError {
        let name = repo.to_string();
        match (answer.status, answer.headers.get("x-error-code"), path) {
            (_, Some("GatedRepo"), _) => HubError::Gated { repo: name },
            (404, Some("RevisionNotFound"), _) => HubError::NoRevision { repo: name },
            (404, Some("EntryNotFound"), Some(path)) => {
                HubError::NoFile { files: self.some_files(repo), repo: name, path: path.to_owned() }
            }
            (401 | 404, ..) => HubError::NoRepo {
                endpoint: self.settings.endpoint.clone(),
                repo: name,
                with_token: self.http.secret().is_some(),
            },
            _ => match answer.success(self.http.secret()) {
                Ok(answer) => HubError::NotAHub {
                    reason: format!("status {}", answer.status),
                    url: answer.url,
                },
                Err(err) => err.into(),
            },
        }
    }

    fn some_files(&self, repo: &Repo) -> String {
        let Ok(listing) = self.ask_list(repo) else { return "others".to_owned() };
        let names: Vec<_> = listing.files.iter().map(|file| file.path.as_str()).collect();
        match names.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!("{} and {more} more", names[..NAMED].join(", ")),
            _ => names.join(", "),
        }
    }
}

impl HttpAnswer {
    /// The answer, unless its status says "not now".
    fn kept_or_passing(self, secret: Option<&Secret>) -> Result<Self, HttpError> {
        if crate::http::is_passing_status(self.status) { self.success(secret) } else { Ok(self) }
    }
}

/// The files in the JSON that a hub sends.
pub(crate) fn listing(
    body: &[u8],
    url: &str,
    secret: Option<&Secret>,
) -> Result<Listing, HubError> {
    let raw: RawListing = serde_json::from_slice(body).map_err(|err| {
        let reason = format!("{err}: {}", shown::beginning(body, secret));
        HubError::NotAHub { url: url.to_owned(), reason }
    })?;
    if !repo::is_commit(&raw.sha) {
        let reason = format!("its commit is `{}`", shown::beginning(raw.sha.as_bytes(), None));
        return Err(HubError::NotAHub { url: url.to_owned(), reason });
    }
    let mut files = Vec::with_capacity(raw.siblings.len());
    for file in raw.siblings {
        repo::check_path(&file.rfilename)?;
        files.push(RemoteFile { path: file.rfilename, bytes: file.size });
    }
    files.sort();
    Ok(Listing { commit: raw.sha, files })
}

pub(crate) fn described(answer: &HttpAnswer) -> Result<Described, HubError> {
    let get = |name: &str| answer.headers.get(name).map(str::trim);
    let refuse = |reason: String| HubError::NotAHub { url: answer.url.clone(), reason };
    if answer.status < 300 && get("x-repo-commit").is_none() {
        let kind = shown::beginning(get("content-type").unwrap_or("nothing").as_bytes(), None);
        return Err(refuse(format!("it sends {kind} and names no commit")));
    }
    let commit = get("x-repo-commit").filter(|commit| repo::is_commit(commit));
    let etag = get("x-linked-etag").or_else(|| get("etag")).and_then(bare_etag);
    let own_length = get("content-length").filter(|_| answer.status < 300);
    let bytes = get("x-linked-size").or(own_length).and_then(|text| text.parse().ok());
    Ok(Described {
        commit: commit.ok_or_else(|| refuse("it names no commit".to_owned()))?.to_owned(),
        etag: etag.ok_or_else(|| refuse("it names no content (ETag)".to_owned()))?.to_owned(),
        bytes,
    })
}

/// An `ETag` without its quotes, if it can be the name of a file.
fn bare_etag(text: &str) -> Option<&str> {
    let bare = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (!bare.is_empty() && bare.len() <= 128 && bare.bytes().all(is_good)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::*;
    use crate::hub::HubSettings;
    use crate::loopback::http::{Reply, Server};
    use crate::retry::OnRetry;

    #[test]
    fn a_busy_hub_is_given_up_after_so_many_tries_and_each_pause_is_told() {
        let (server, dir) = (
            Server::start(|_| Reply::new(503, "text/plain", "busy")),
            tempfile::tempdir().unwrap(),
        );
        let get = |name: &str| (name == "HF_HOME").then(|| dir.path().display().to_string());
        let settings = HubSettings {
            endpoint: server.url(),
            max_tries: 3,
            pause: Duration::from_millis(1),
            ..HubSettings::from_variables(get).unwrap()
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let hub = Hub::new(settings).unwrap();
        let hub = hub.watched(OnRetry::new(move |retry| tell.lock().unwrap().push(retry.clone())));
        let err = hub.list(&Repo::dataset("ada/tasks").unwrap()).unwrap_err();
        assert!(err.to_string().starts_with("3 tries failed in "), "{err}");
        assert!(err.is_absence() && err.hint().contains("HF_ENDPOINT"), "{}", err.hint());
        let told = told.lock().unwrap();
        let of: Vec<_> = told.iter().map(|retry| (retry.next, retry.of, &*retry.label)).collect();
        assert_eq!(of, [(2, 3, "503"), (3, 3, "503")]);
        assert!(told[0].why.ends_with("answers 503: busy"), "{}", told[0].why);
    }

    #[test]
    fn an_etag_that_can_be_no_file_name_is_refused() {
        assert_eq!(bare_etag("\"0a1b\""), Some("0a1b"));
        assert_eq!(bare_etag("W/\"0a1b\""), Some("0a1b"));
        for bad in ["", "\"\"", "../../x", "a/b", "a.incomplete", "\"a b\""] {
            assert_eq!(bare_etag(bad), None, "{bad}");
        }
    }
}
