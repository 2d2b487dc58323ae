//! The teacher that is a server.

use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::config::TeacherConfig;
use whetstone_core::seed::Seed;
use whetstone_core::trace::Usage;
use whetstone_core::wire::Object;
use whetstone_core::with_causes;
use whetstone_remote::chat::{ChatError, Client, Request, Response, Settings};
use whetstone_remote::http::HttpError;
use whetstone_rollout::teach::{Answer, Failure, Question, Refusal, Teacher};

/// A server of chat completions.
pub(super) struct Remote<'a> {
    client: Client,
    settings: &'a TeacherConfig,
    /// Whether the first connection was tried.
    looked: AtomicBool,
}

impl<'a> Remote<'a> {
    /// The server that the settings name; nothing is sent yet.
    pub(super) fn new(settings: &'a TeacherConfig, seed: Seed) -> Result<Self, ChatError> {
        let client = Client::new(&Settings::of(settings, seed.derive("teach/pauses", 0)))?;
        Ok(Self { client, settings, looked: AtomicBool::new(false) })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Why the server cannot be reached, tested by the first request: a server that was never
    /// reachable is reported immediately, without the retries for one that went away.
    fn unreachable(&self) -> Option<Refusal> {
        if self.looked.swap(true, Ordering::Relaxed) {
            return None;
        }
        match self.client.models() {
            Err(err @ ChatError::Http(HttpError::Unreachable { .. })) => Some(stopped(&err)),
            _ => None,
        }
    }
}

impl Teacher for Remote<'_> {
    fn ask(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        if let Some(refusal) = self.unreachable() {
            return Err(refusal);
        }
        let messages = question.messages.to_vec();
        let request = Request {
            n: (question.samples > 1).then_some(question.samples),
            seed: Some(question.seed),
            ..Request::of(self.settings, messages)
        };
        match self.client.complete(&request) {
            Ok(response) => Ok(self.answer(response)),
            Err(err) if err.ends_all() => Err(stopped(&err)),
            Err(err) => Err(Refusal::Failed(Failure {
                reason: err.reason().to_owned(),
                detail: with_causes(&err),
            })),
        }
    }

    fn stop(&self) {
        self.client.stop();
    }
}

impl Remote<'_> {
    fn answer(&self, response: Response) -> Answer {
        let Response { model, completions, usage } = response;
        let model = if model.is_empty() { self.settings.model_name.clone() } else { model };
        let usage = usage.is_reported.then(|| {
            let mut rest = Object::new();
            rest.put("total_tokens", &usage.total_tokens);
            let (prompt_tokens, completion_tokens) = (usage.prompt_tokens, usage.completion_tokens);
            Usage { prompt_tokens, completion_tokens, rest }
        });
        Answer { model, completions, usage }
    }
}

fn stopped(err: &ChatError) -> Refusal {
    let gone = "start the server, check it with `whet teach --test-connection`, and run the same \
                command again";
    Refusal::Stopped { message: with_causes(err), hint: err.hint().unwrap_or(gone).to_owned() }
}
