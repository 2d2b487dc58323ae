//! The hub and its cache, from the environment variables that every hub tool uses.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HubError;
use crate::http::HttpError;
use crate::retry::Retry;
use crate::secret::Secret;

/// A file with a token is not longer.
const TOKEN_BYTES: u64 = 4096;

/// The settings of a [`Hub`](super::Hub).
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// The address of the hub.
    pub endpoint: String,
    /// The folder of its cache.
    pub cache: PathBuf,
    /// The token, for repositories that are not public.
    pub token: Option<Secret>,
    /// Whether only the cache is used.
    pub offline: bool,
    /// To connect, and between two pieces of an answer.
    pub timeout: Duration,
    /// Maximal number of tries of a transfer.
    pub max_tries: u32,
    /// The pause between two of them; each further one is twice as long, up to `timeout`.
    pub pause: Duration,
    /// No file is longer.
    pub file_limit_bytes: u64,
}

impl HubSettings {
    /// The settings in the environment of this process.
    pub fn from_env() -> Result<Self, HubError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The settings in an environment.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let user = get("HOME").map(PathBuf::from);
        let folder = |name: &str| get(name).map(|text| expanded(&text, user.as_deref()));
        let home = folder("HF_HOME")
            .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("huggingface")))
            .or_else(|| Some(user.as_ref()?.join(".cache/huggingface")));
        let cache = folder("HF_HUB_CACHE")
            .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| Some(home.as_ref()?.join("hub")))
            .ok_or(HubError::NoCache)?;
        let token = get("HF_TOKEN").or_else(|| get("HUGGING_FACE_HUB_TOKEN")).or_else(|| {
            read_token(&folder("HF_TOKEN_PATH").or_else(|| Some(home.as_ref()?.join("token")))?)
        });
        let endpoint = get("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let offline = get("HF_HUB_OFFLINE").unwrap_or_default().to_ascii_lowercase();
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache,
            token: Secret::new(&token.unwrap_or_default())
                .map_err(|source| HubError::Token { source })?,
            offline: matches!(offline.as_str(), "1" | "on" | "yes" | "true"),
            timeout: Duration::from_secs(30),
            max_tries: 5,
            pause: Duration::from_secs(1),
            file_limit_bytes: 64 << 30,
        })
    }
}

/// The pauses between the tries of one request.
pub(super) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// The pause after a failed try: growing, or the hub's `Retry-After` if that is longer.
    pub(super) fn after(&mut self, err: &HttpError) -> Duration {
        let asked = asked(err).unwrap_or_default();
        let own = self.next;
        self.next = own.saturating_mul(2).min(self.longest);
        own.max(asked).min(self.longest)
    }
}

impl HubSettings {
    /// What is told after so many tries.
    pub(super) fn retry(&self, tried: u32, pause: Duration, err: &HttpError) -> Retry {
        Retry {
            next: tried + 1,
            of: self.max_tries,
            pause,
            asked: asked(err),
            label: err.label(),
            why: err.in_one_line(),
        }
    }

    pub(super) fn pauses(&self) -> Pauses {
        Pauses { next: self.pause, longest: self.timeout }
    }

    /// The target of a redirect that stays on the hub: a repository was renamed, or a small file
    /// has a separate path. Other redirects lead to storage servers, which do not know the file's
    /// hash.
    pub(crate) fn own_address(&self, location: &str) -> Option<String> {
        let endpoint = self.endpoint.as_str();
        if location.strip_prefix(endpoint).is_some_and(|rest| rest.starts_with('/')) {
            return Some(location.to_owned());
        }
        if !location.starts_with('/') || location.starts_with("//") {
            return None;
        }
        // From the root of the machine: an endpoint may have a path.
        let host = endpoint.find("://").map_or(0, |at| at + 3);
        let end = endpoint[host..].find('/').map_or(endpoint.len(), |at| host + at);
        Some(format!("{}{location}", &endpoint[..end]))
    }
}

/// The pause that the hub asks for.
fn asked(err: &HttpError) -> Option<Duration> {
    match err {
        HttpError::Status { retry_after, .. } => *retry_after,
        _ => None,
    }
}

fn expanded(text: &str, user: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), user) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => PathBuf::from(text),
    }
}

/// The token that a login left, if there is one that can be read.
fn read_token(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(TOKEN_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn from(variables: &[(&str, &str)]) -> HubSettings {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        HubSettings::from_variables(get).unwrap()
    }

    #[test]
    fn an_empty_environment_means_the_public_hub_and_the_users_cache() {
        let settings = from(&[("HOME", "/home/ada"), ("HF_TOKEN", " ")]);
        assert_eq!(settings.endpoint, "https://huggingface.co");
        assert_eq!(settings.cache, Path::new("/home/ada/.cache/huggingface/hub"));
        assert_eq!((settings.token, settings.offline), (None, false));
    }

    #[test]
    fn the_nearer_variable_wins() {
        let home = ("HOME", "/home/ada");
        let cache = |variables: &[(&str, &str)]| {
            from(&[&[home], variables].concat()).cache.to_string_lossy().into_owned()
        };
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x")]), "/x/huggingface/hub");
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x"), ("HF_HOME", "~/hf")]), "/home/ada/hf/hub");
        assert_eq!(cache(&[("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/c")]), "/c");
        assert_eq!(from(&[home, ("HF_ENDPOINT", "http://m/")]).endpoint, "http://m");
        for (value, offline) in [("1", true), ("True", true), ("0", false), ("no", false)] {
            assert_eq!(from(&[home, ("HF_HUB_OFFLINE", value)]).offline, offline, "{value}");
        }
    }

    #[test]
    fn pauses_grow_to_the_limit_and_the_hub_may_ask_for_longer_ones() {
        let settings = from(&[("HOME", "/home/ada")]);
        let asked = |retry_after: Option<u64>| HttpError::Status {
            url: String::new(),
            status: 429,
            beginning: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        };
        let mut pauses = settings.pauses();
        let mut after = |asked: &HttpError| pauses.after(asked).as_secs();
        assert_eq!((after(&asked(None)), after(&asked(None))), (1, 2));
        assert_eq!((after(&asked(Some(7))), after(&asked(Some(7)))), (7, 8));
        assert_eq!((after(&asked(Some(9000))), after(&asked(Some(0)))), (30, 30));
    }

    #[test]
    fn a_redirect_that_stays_on_the_hub_is_told_from_one_that_leaves_it() {
        let settings = from(&[("HOME", "/home/ada"), ("HF_ENDPOINT", "http://m:81/hf")]);
        let own = |location: &str| settings.own_address(location);
        assert_eq!(own("/new/name?x=1").as_deref(), Some("http://m:81/new/name?x=1"));
        assert_eq!(own("http://m:81/hf/x").as_deref(), Some("http://m:81/hf/x"));
        for other in ["http://m:811/hf/x", "http://m:81/hfx", "//evil/x", "https://cdn/x", "x"] {
            assert_eq!(own(other), None, "{other}");
        }
    }

    #[test]
    fn a_token_comes_from_the_environment_or_from_the_file_of_a_login() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("token"), "hf_file\n").unwrap();
        let home = ("HF_HOME", dir.path().to_str().unwrap());
        let token = |text: &str| Secret::new(text).unwrap();
        assert_eq!(from(&[home]).token, token("hf_file"));
        assert_eq!(from(&[home, ("HF_TOKEN", "hf_variable")]).token, token("hf_variable"));
        assert!(!format!("{:?}", from(&[home])).contains("hf_file"));
    }
}
