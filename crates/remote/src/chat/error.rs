//! Errors of a chat completion.

use std::time::Duration;

use super::response::BadAnswer;
use crate::http::HttpError;
use crate::retry::seconds;
use crate::secret::NotAKey;

/// The setting that hints name.
const ADDRESS: &str = "teacher.api_url";

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The key in the environment cannot be sent.
    #[error("the key in the environment variable {variable} cannot be sent")]
    Key {
        /// The variable.
        variable: String,
        /// Why.
        #[source]
        source: NotAKey,
    },
    /// The exchange failed in a way that another try does not change.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server says no, and will say so again.
    #[error("`{url}` refuses the request with status {status}: {message}")]
    Refused {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The answer is longer than allowed. It is not asked for again: it was paid for already.
    #[error("an answer is too long")]
    TooLong(#[source] HttpError),
    /// Every try failed.
    #[error("{tries} tries failed in {}; the last error: {last}", seconds(*took))]
    GaveUp {
        /// Number of tries.
        tries: u32,
        /// The time that they took, with the pauses between them.
        took: Duration,
        /// The last failure.
        last: Failure,
    },
    /// The server has not answered any request for a while; all requests end with this.
    #[error(
        "no completion from the server at `{url}`: {failures} requests in a row failed; the last error: {last}"
    )]
    Gone {
        /// The server.
        url: String,
        /// Tries without a success in between.
        failures: u32,
        /// The last failure.
        last: Failure,
    },
    /// The caller stopped the client.
    #[error("stopped")]
    Stopped,
    /// The URL of the list of models is not known.
    #[error("the URL of the model list of `{url}` is not known")]
    NoModels {
        /// The chat's address.
        url: String,
    },
    /// The URL of completions is not known.
    #[error("the URL of the completions of `{url}` is not known")]
    NoCompletions {
        /// The chat's address.
        url: String,
    },
    /// The server answers, and does not say how likely the tokens of a prompt are.
    #[error("`{url}` answers without `prompt_logprobs`: it cannot score tokens")]
    NoPromptLogprobs {
        /// The URL.
        url: String,
    },
    /// The list of models cannot be read.
    #[error("`{url}` does not list models: {reason}")]
    Models {
        /// The URL that answered.
        url: String,
        /// The problem.
        reason: String,
    },
}

/// One try that failed and may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The HTTP status, if that is the failure.
    pub status: Option<u16>,
    /// The failure, with the address, in one line.
    pub message: String,
    /// The server's `Retry-After`.
    pub retry_after: Option<Duration>,
}

/// Kinds of failures, to count them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// 429.
    RateLimited,
    /// 408, 425, 5xx.
    ServerError,
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Connection,
    /// An answer that is not a completion.
    Malformed,
    /// An answer without a choice.
    NoChoices,
}

impl ChatError {
    /// One word to count by.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Key { .. } => "key",
            Self::Http(_)
            | Self::NoModels { .. }
            | Self::NoCompletions { .. }
            | Self::Models { .. } => "http",
            Self::NoPromptLogprobs { .. } => "no_prompt_logprobs",
            Self::Refused { .. } => "refused",
            Self::TooLong(_) => "too_long",
            Self::GaveUp { last, .. } => last.kind.name(),
            Self::Gone { .. } => "server_gone",
            Self::Stopped => "stopped",
        }
    }

    /// Whether the next request would end the same way: no server, no right to ask it, no model
    /// of that name.
    pub fn ends_all(&self) -> bool {
        match self {
            Self::Key { .. }
            | Self::Gone { .. }
            | Self::Stopped
            | Self::NoCompletions { .. }
            | Self::NoPromptLogprobs { .. } => true,
            Self::Http(err) => !matches!(err, HttpError::Status { .. }),
            Self::Refused { status, .. } => matches!(status, 300..=399 | 401 | 403 | 404 | 405),
            Self::TooLong(_)
            | Self::GaveUp { .. }
            | Self::NoModels { .. }
            | Self::Models { .. } => false,
        }
    }

    /// Whether something answers at the address, though not with a completion.
    pub fn is_answered(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::TooLong(_) | Self::NoPromptLogprobs { .. } => true,
            Self::GaveUp { last, .. } | Self::Gone { last, .. } => {
                !matches!(last.kind, FailureKind::Timeout | FailureKind::Connection)
            }
            _ => false,
        }
    }

    /// A suggestion for the user, who gave the address with `named`: a setting or a flag.
    pub fn hint_for(&self, named: &str) -> Option<String> {
        self.hint().map(|hint| hint.replace(ADDRESS, named))
    }

    /// A suggestion for the user, who gave the address with the setting.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Gone { last, .. } | Self::GaveUp { last, .. }
                if last.kind == FailureKind::RateLimited =>
            {
                "the server limits requests: lower teacher.max_concurrent_requests, or look at the limits of your \
                 key; the same command continues, answers that arrived are kept"
            }
            Self::Gone { .. } => {
                "start the server, check it with `whet teach --test-connection`, and run the same \
                 command again: answers that arrived are kept"
            }
            Self::Key { .. } | Self::Refused { status: 401 | 403, .. } => {
                "put the key into the environment variable that teacher.api_key_env names, OPENAI_API_KEY by default"
            }
            Self::Refused { status: 404 | 405 | 300..=399, .. } => {
                "teacher.api_url usually ends in /v1 or /v1/chat/completions; the model's name is one that the \
                 server lists"
            }
            Self::Http(HttpError::Address { .. }) => {
                "teacher.api_url is a whole address, like http://localhost:8129/v1"
            }
            Self::Http(HttpError::Tls { .. }) => {
                "check teacher.api_url and this machine's clock; certificates must come from a \
                 public authority, so a server of your own is asked over http://"
            }
            Self::NoModels { .. } => "teacher.api_url usually ends in /v1/chat/completions",
            Self::NoCompletions { .. } => {
                "teacher.api_url is a base address that usually ends in /v1"
            }
            Self::NoPromptLogprobs { .. } => {
                "`vllm serve MODEL` knows `prompt_logprobs` (0.6 or newer); hosted services do not return them"
            }
            Self::TooLong(_) => "teacher.max_tokens bounds an answer",
            Self::GaveUp { last, .. } => match last.kind {
                FailureKind::Timeout => {
                    "teacher.request_timeout_s bounds the wait for an answer; teacher.max_tokens its length"
                }
                FailureKind::ServerError => {
                    "something answers, but not with a completion: see the server's log"
                }
                FailureKind::Malformed | FailureKind::NoChoices => {
                    "something answers, but not with a completion: is teacher.api_url an OpenAI-compatible server?"
                }
                FailureKind::Connection | FailureKind::RateLimited => return None,
            },
            _ => return None,
        })
    }
}

impl FailureKind {
    /// One word to count by.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Malformed => "malformed",
            Self::NoChoices => "no_choices",
        }
    }
}

impl Failure {
    /// A word or two to count by, for people: `429`, `timeout`.
    pub(super) fn label(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => self.kind.name().replace('_', " "),
        }
    }

    pub(super) fn of_http(err: &HttpError) -> Self {
        let kind = match err {
            HttpError::Timeout { .. } => FailureKind::Timeout,
            _ => FailureKind::Connection,
        };
        Self { kind, status: None, message: err.in_one_line(), retry_after: None }
    }

    pub(super) fn of_status(
        url: &str,
        status: u16,
        message: &str,
        retry_after: Option<Duration>,
    ) -> Self {
        let kind = match status {
            429 => FailureKind::RateLimited,
            _ => FailureKind::ServerError,
        };
        let message = format!("`{url}` answers {status}: {message}");
        Self { kind, status: Some(status), message, retry_after }
    }

    /// An answer that is not what was asked for.
    pub(super) fn malformed(url: &str, problem: &str, beginning: &str) -> Self {
        let message = format!("`{url}` answers, but {problem}: {beginning}");
        Self { kind: FailureKind::Malformed, status: None, message, retry_after: None }
    }

    pub(super) fn of_answer(url: &str, bad: &BadAnswer, beginning: &str) -> Self {
        let kind = match bad {
            BadAnswer::NoChoices => FailureKind::NoChoices,
            BadAnswer::Error => FailureKind::ServerError,
            BadAnswer::Malformed(_) => FailureKind::Malformed,
        };
        let message = format!("`{url}` answers, but {bad}: {beginning}");
        Self { kind, status: None, message, retry_after: None }
    }
}
