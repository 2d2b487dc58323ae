//! Chat completions of an OpenAI-compatible server, as a teacher gives them.
//!
//! [`Client::complete`] blocks until there is an answer or an error, and is called from as many
//! threads at once as requests may be in flight. There are three kinds of failure:
//!
//! | failure | handling |
//! |---|---|
//! | 408, 429, 5xx, timeouts, cut connections, answers that are not a completion | retried, with growing pauses that `Retry-After` can set |
//! | other 4xx, redirects, an answer beyond the limit | final for this request |
//! | a series of failures over all threads with no success in between | all requests pause, a single one probes whether the server is back, and if not, all stop with one message ([`ChatError::Gone`]) |
//!
//! [`Client::prompt_logprobs`] asks for the log-probabilities of given tokens instead, with the same retries.
//!
//! Reasoning in a separate field goes to [`Completion::reasoning`]; thinking inside the text stays
//! there, because extraction handles both. A server renders its prompts itself and does not report
//! whether its chat template opens the thinking. So if thinking was requested, a truncated
//! completion without an end of thinking is treated as thinking, as a reasoning parser does: a
//! draft inside it is not an answer. Each completion is parsed on its own, so their order changes
//! nothing.
//!
//! [`Completion::reasoning`]: whetstone_core::Completion::reasoning

mod backoff;
mod breaker;
mod error;
mod observed;
mod place;
mod probe;
pub(crate) mod prompt_logprobs;
mod request;
pub(crate) mod response;
mod server;
mod settings;
#[cfg(test)]
mod tests;

pub use error::{ChatError, Failure, FailureKind};
pub use probe::{Probe, ReasoningPlace};
pub use prompt_logprobs::TokensToScore;
pub use request::{Request, TemplateArguments};
pub use response::{Response, Usage};
pub use server::Server;
pub use settings::Settings;

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use self::backoff::Backoff;
use self::breaker::Breaker;
use self::observed::Observed;
use crate::http::{self, Address, HttpAnswer, HttpError};
use crate::retry::{OnRetry, Retry};
use crate::secret::{NotAKey, Secret};
use crate::shown;

/// Path of chat completions, next to the list of models.
const CHAT: &str = "/chat/completions";

/// A server of chat completions. Shared by reference between threads.
#[derive(Debug)]
pub struct Client {
    url: Address,
    http: http::Client,
    backoff: Backoff,
    breaker: Breaker,
    max_tries: u32,
    on_retry: OnRetry,
    /// Tries that failed and were repeated, by their labels.
    retried: Mutex<BTreeMap<String, u64>>,
    observed: Mutex<Observed>,
}

/// The failure of one try.
enum Miss {
    /// Another try may succeed.
    Passing(Failure),
    /// It may not.
    Final(ChatError),
}

impl Client {
    /// A client as `settings` say, with the key from the environment if it is there.
    pub fn new(settings: &Settings) -> Result<Self, ChatError> {
        let variable = &settings.api_key_env;
        let key = match env::var(variable) {
            Ok(text) => Secret::new(&text),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => Err(NotAKey),
        };
        let key = key.map_err(|source| ChatError::Key { variable: variable.clone(), source })?;
        Self::with_key(settings, key)
    }

    /// A client with a key from elsewhere, or none.
    pub fn with_key(settings: &Settings, key: Option<Secret>) -> Result<Self, ChatError> {
        let url = Address::parse(&place::whole(&settings.api_url))?;
        let limits = http::Limits {
            connect: settings.connect_timeout,
            total: settings.request_timeout,
            silence: settings.request_timeout,
            answer_bytes: settings.answer_limit_bytes,
            redirects: 0,
            connections: settings.connections,
        };
        Ok(Self {
            http: http::Client::new(&url, limits, key),
            backoff: Backoff::new(settings),
            breaker: Breaker::new(url.shown(), settings),
            max_tries: settings.max_tries.max(1),
            on_retry: OnRetry::default(),
            retried: Mutex::default(),
            observed: Mutex::default(),
            url,
        })
    }

    /// The same, and `on_retry` is called before each pause between two tries.
    #[must_use]
    pub fn watched(self, on_retry: OnRetry) -> Self {
        Self { on_retry, ..self }
    }

    /// Tries that failed and were repeated, by what failed: `429`, `timeout`.
    pub fn retried(&self) -> BTreeMap<String, u64> {
        self.retried.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks until there is an answer, at most as often as the settings allow.
    ///
    /// The answer has at most as many completions as were asked for, and may have fewer: some
    /// servers know no `n`.
    pub fn complete(&self, request: &Request) -> Result<Response, ChatError> {
        let body = request.to_json();
        let response = self.with_retries(&body, || self.try_once(request, &body))?;
        self.observed().count(request, &response);
        Ok(response.read_for(request))
    }

    /// Tries until there is an answer, at most as often as the settings allow. `body` is that of the request.
    fn with_retries<T>(
        &self,
        body: &str,
        attempt: impl Fn() -> Result<T, Miss>,
    ) -> Result<T, ChatError> {
        let began = Instant::now();
        let mut last_failed = None;
        for tried in 1.. {
            let pass = self.breaker.enter()?;
            if let Some(label) = last_failed.take() {
                self.count_retry(label);
            }
            let failure = match attempt() {
                Ok(answer) => {
                    pass.succeeded();
                    return Ok(answer);
                }
                Err(Miss::Final(err)) => {
                    // The server is there; it is this request that it cannot answer.
                    pass.succeeded();
                    return Err(err);
                }
                Err(Miss::Passing(failure)) => failure,
            };
            let pause = self.backoff.pause(body, tried, failure.retry_after);
            pass.failed(&failure);
            if tried >= self.max_tries {
                let took = began.elapsed();
                return Err(ChatError::GaveUp { tries: tried, took, last: failure });
            }
            let pause = pause.max(self.breaker.open_for()?);
            let label = failure.label();
            self.on_retry.tell(&Retry {
                next: tried + 1,
                of: self.max_tries,
                pause,
                asked: failure.retry_after,
                label: label.clone(),
                why: failure.message,
            });
            last_failed = Some(label);
            self.breaker.sleep(pause)?;
        }
        unreachable!("the last try returns")
    }

    /// Reasons to doubt the answers so far, each a sentence.
    pub fn doubts(&self) -> Vec<String> {
        self.observed().doubts()
    }

    fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_retry(&self, label: String) {
        let mut retried = self.retried.lock().unwrap_or_else(PoisonError::into_inner);
        *retried.entry(label).or_default() += 1;
    }

    /// The names of the models that the server offers, from `models` beside the chat's address.
    pub fn models(&self) -> Result<Vec<String>, ChatError> {
        let url = self
            .url
            .beside(CHAT, "/models")
            .ok_or_else(|| ChatError::NoModels { url: self.url.shown() })?;
        let answer = self.http.get(&url)?.success(self.http.secret())?;
        response::models(&answer.body).map_err(|reason| ChatError::Models {
            url: answer.url,
            reason: format!("{reason}: {}", shown::beginning(&answer.body, self.http.secret())),
        })
    }

    /// Makes every call that waits, and every later one, return [`ChatError::Stopped`]. A request
    /// on its way is not cut off.
    pub fn stop(&self) {
        self.breaker.stop();
    }

    /// The address for messages.
    pub fn url(&self) -> String {
        self.url.shown()
    }

    /// Like [`Client::complete`], with a single try.
    pub fn complete_once(&self, request: &Request) -> Result<Response, ChatError> {
        self.send_once(request).map(|response| response.read_for(request))
    }

    /// The raw response of one try.
    fn send_once(&self, request: &Request) -> Result<Response, ChatError> {
        let began = Instant::now();
        self.try_once(request, &request.to_json()).map_err(|miss| match miss {
            Miss::Passing(last) => ChatError::GaveUp { tries: 1, took: began.elapsed(), last },
            Miss::Final(err) => err,
        })
    }

    /// Sends a body and returns the answer, if its status says success.
    fn post(&self, url: &str, body: &str) -> Result<HttpAnswer, Miss> {
        let answer = match self.http.post_json(url, body) {
            Ok(answer) => answer,
            Err(err) if err.is_passing() => return Err(Miss::Passing(Failure::of_http(&err))),
            Err(err @ HttpError::TooLong { .. }) => {
                return Err(Miss::Final(ChatError::TooLong(err)));
            }
            Err(err) => return Err(Miss::Final(err.into())),
        };
        if !(200..300).contains(&answer.status) {
            return Err(self.refusal(&answer));
        }
        Ok(answer)
    }

    fn try_once(&self, request: &Request, body: &str) -> Result<Response, Miss> {
        let answer = self.post(self.url.as_str(), body)?;
        response::parse(&answer.body, request.wanted()).map_err(|bad| {
            let text = shown::beginning(&answer.body, self.http.secret());
            Miss::Passing(Failure::of_answer(&answer.url, &bad, &text))
        })
    }

    /// The error of a non-success status: temporary or final.
    fn refusal(&self, answer: &HttpAnswer) -> Miss {
        let message = match answer.redirect() {
            Some(to) => format!("moved to `{}`", shown::address(to, self.http.secret())),
            None => response::server_message(&answer.body, self.http.secret()),
        };
        let (url, status) = (answer.url.clone(), answer.status);
        if http::is_passing_status(status) {
            let retry_after = http::retry_after(&answer.headers, SystemTime::now());
            return Miss::Passing(Failure::of_status(&url, status, &message, retry_after));
        }
        Miss::Final(ChatError::Refused { url, status, message })
    }
}
