//! Why a file is not here.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::http::HttpError;
use crate::retry::seconds;
use crate::secret::NotAKey;

const LOCAL: &str = "pass the path of a local file or folder instead";

/// Why the hub, or the cache in front of it, has no file for us.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Not a name of a repository.
    #[error("`{name}` is not a repository name; expected owner/name")]
    Name {
        /// The given name.
        name: String,
    },
    /// Not a name of a revision.
    #[error("`{revision}` is not a valid revision")]
    Revision {
        /// The given revision.
        revision: String,
    },
    /// A path that leaves its folder.
    #[error("`{name}` is not a safe file name: it may lead out of its folder")]
    FileName {
        /// The path, from a user or from the hub.
        name: String,
    },
    /// The environment names no folder for the cache.
    #[error("there is no folder for the hub's cache: neither HF_HOME nor HOME is set")]
    NoCache,
    /// The token cannot be sent.
    #[error("the hub's token (HF_TOKEN) cannot be sent")]
    Token {
        /// Why.
        #[source]
        source: NotAKey,
    },
    /// Offline by wish, and not in the cache.
    #[error("`{what}` is not in the hub's cache, and HF_HUB_OFFLINE forbids downloads")]
    Offline {
        /// The repository or the file.
        what: String,
    },
    /// No such repository; the hub says the same of private ones.
    #[error("`{endpoint}` has no repository `{repo}`, or it is private")]
    NoRepo {
        /// The hub.
        endpoint: String,
        /// The repository.
        repo: String,
        /// Whether a token was sent, which may be the trouble.
        with_token: bool,
    },
    /// No such branch, tag or commit.
    #[error("`{repo}` has no such revision")]
    NoRevision {
        /// The repository with its revision.
        repo: String,
    },
    /// No such file.
    #[error("`{repo}` has no file `{path}`; it has {files}")]
    NoFile {
        /// The repository.
        repo: String,
        /// The path.
        path: String,
        /// Some that it has.
        files: String,
    },
    /// Only for those who accepted its terms.
    #[error("`{repo}` is gated: its terms have to be accepted on the hub")]
    Gated {
        /// The repository.
        repo: String,
    },
    /// Not the protocol of a hub: a web page, a portal, another server.
    #[error("`{url}` is not a valid response of a hub: {reason}")]
    NotAHub {
        /// The URL that answered.
        url: String,
        /// The problem with the answer.
        reason: String,
    },
    /// The exchange failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Every try failed in a way that another might not.
    #[error("{tries} tries failed in {}", seconds(*took))]
    GaveUp {
        /// Number of tries.
        tries: u32,
        /// The time that they took, with the pauses between them.
        took: Duration,
        /// The last error.
        #[source]
        source: HttpError,
    },
    /// The transfer broke each time.
    #[error("the transfer of `{url}` broke {tries} times, the last time at byte {bytes}")]
    Transfer {
        /// The URL.
        url: String,
        /// Number of tries.
        tries: u32,
        /// Bytes received.
        bytes: u64,
        /// The last error.
        #[source]
        source: HttpError,
    },
    /// The file does not match the announced hash.
    #[error("`{url}` is corrupt after the download: {reason}")]
    Damaged {
        /// The URL.
        url: String,
        /// In which way.
        reason: String,
    },
    /// The file is larger than allowed.
    #[error("`{url}` has {bytes} bytes; {limit_bytes} are allowed")]
    TooLarge {
        /// The URL.
        url: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The disk.
    #[error("cannot {verb} `{}`", path.display())]
    Disk {
        /// The attempted operation.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl HubError {
    /// For `map_err`: the error of doing `verb` to `path`.
    pub(super) fn at<'a>(verb: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| Self::Disk { verb, path: path.to_owned(), source }
    }

    /// Whether the hub could not be reached or trusted, so that the cache may be used instead.
    pub(super) fn is_absence(&self) -> bool {
        match self {
            Self::Offline { .. } | Self::GaveUp { .. } => true,
            Self::Http(err) => err.is_passing() || matches!(err, HttpError::Tls { .. }),
            _ => false,
        }
    }

    /// A suggestion for the user.
    pub fn hint(&self) -> String {
        let first = match self {
            Self::NoRepo { with_token: true, .. } => {
                "check the name (owner/name), and the token (HF_TOKEN, or the file of a login): with \
                 an expired one the hub shows nothing"
            }
            Self::Name { .. } | Self::NoRepo { .. } => "check the name (owner/name)",
            Self::Http(HttpError::Tls { .. }) => {
                "check HF_ENDPOINT, this machine's clock and whether a proxy is in between"
            }
            Self::Revision { .. } | Self::NoRevision { .. } => "check the revision",
            Self::FileName { .. } | Self::NoFile { .. } => "check the name of the file",
            Self::NoCache => "set HF_HOME",
            Self::Token { .. } => "set HF_TOKEN to the token alone",
            Self::Offline { .. } => "unset HF_HUB_OFFLINE",
            Self::Gated { .. } => {
                "accept its terms on its page, and set HF_TOKEN to a token of that account"
            }
            Self::NotAHub { .. } => "check HF_ENDPOINT and whether a proxy or portal is in between",
            Self::Http(_) | Self::GaveUp { .. } | Self::Transfer { .. } => {
                "check the network, HF_ENDPOINT and HTTPS_PROXY, and try again: what arrived is kept"
            }
            Self::Damaged { .. } => "try again",
            Self::TooLarge { .. } => "fetch it with another tool",
            Self::Disk { .. } => "free space, or set HF_HOME to a folder that can be written",
        };
        format!("{first}; or {LOCAL}")
    }
}
