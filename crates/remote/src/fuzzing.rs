//! Entry points for the fuzz targets into this crate's private parsers.
//!
//! Built with the feature `fuzzing` alone. Each function is the one that `whet` calls, with the
//! bytes of the network in front of it.

use std::time::{Duration, SystemTime};

use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use crate::chat::Response;
use crate::chat::{prompt_logprobs, response};
use crate::http::{Headers, HttpAnswer, retry_after};
use crate::hub::digest::Hash;
use crate::hub::{HubError, HubSettings, Listing, Repo, repo, wire};
use crate::secret::Secret;
use crate::shown;

/// The completions of an answer, or the reason why it has none.
pub fn completions(body: &[u8], wanted: usize) -> Result<Response, String> {
    response::parse(body, wanted).map_err(|bad| bad.to_string())
}

/// The log-probabilities of three tokens, or the reason why there are none.
pub fn scores(body: &[u8]) -> Result<Vec<f64>, String> {
    prompt_logprobs::parse(body, &[1, 2, 3], 1).map_err(|bad| bad.to_string())
}

/// The names in a list of models.
pub fn models(body: &[u8]) -> Result<Vec<String>, String> {
    response::models(body)
}

/// Parses a server's error message.
pub fn server_message(body: &[u8], secret: Option<&Secret>) -> String {
    response::server_message(body, secret)
}

/// The beginning of a foreign text.
pub fn beginning(bytes: &[u8], secret: Option<&Secret>) -> String {
    shown::beginning(bytes, secret)
}

/// The pause that `Retry-After` asks for, beside a `Date`.
pub fn pause(asked: &[u8], date: &[u8]) -> Option<Duration> {
    let headers = headers(&[("retry-after", asked), ("date", date)]);
    retry_after(&headers, SystemTime::UNIX_EPOCH)
}

/// The files in a hub's JSON.
pub fn listing(body: &[u8]) -> Result<Listing, HubError> {
    wire::listing(body, "http://hub/api", None)
}

/// Commit, content and size of a file, out of the headers that describe it.
pub fn described(
    status: u16,
    fields: &[(&'static str, &[u8])],
) -> Result<(String, String, Option<u64>), HubError> {
    let url = "http://hub/file".to_owned();
    let answer = HttpAnswer { url, status, headers: headers(fields), body: Vec::new() };
    wire::described(&answer).map(|file| (file.commit, file.etag, file.bytes))
}

/// The hash of `bytes` that `etag` could be, as an `ETag` writes it.
pub fn digest(etag: &str, bytes: impl std::io::Read, length: u64) -> Option<String> {
    Hash::of_etag(etag)?.of_reader(bytes, length).ok()
}

/// The address of a redirect within a hub.
pub fn own_address(settings: &HubSettings, location: &str) -> Option<String> {
    settings.own_address(location)
}

/// Whether a path stays in its folder, and how it is written in an address.
pub fn path(path: &str) -> Option<String> {
    repo::check_path(path).ok().map(|()| repo::encoded(path))
}

/// The folder of a repository in the cache.
pub fn folder(repo: &Repo) -> String {
    repo.folder()
}

/// Headers out of bytes; what can be in none is left out.
fn headers(fields: &[(&'static str, &[u8])]) -> Headers {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            map.insert(HeaderName::from_static(name), value);
        }
    }
    Headers::of(map)
}
