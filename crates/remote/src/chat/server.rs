//! A server as the settings describe it, tested by the first request.

use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::config::TeacherConfig;
use whetstone_core::prompt::begun_answer;
use whetstone_core::{Message, Seed};

use super::{ChatError, Client, Request, Response, Settings};
use crate::http::HttpError;
use crate::retry::OnRetry;

/// A server with the model and the sampling that settings name. Shared by reference between threads.
#[derive(Debug)]
pub struct Server {
    client: Client,
    settings: TeacherConfig,
    /// Whether the first connection was tried.
    looked: AtomicBool,
}

impl Server {
    /// The server that the settings name; nothing is sent yet. `seed` is that of the pauses between tries.
    pub fn new(settings: TeacherConfig, seed: Seed) -> Result<Self, ChatError> {
        let client = Client::new(&Settings::of(&settings, seed))?;
        Ok(Self { client, settings, looked: AtomicBool::new(false) })
    }

    /// The same, and `on_retry` is called before each pause between two tries.
    #[must_use]
    pub fn watched(self, on_retry: OnRetry) -> Self {
        Self { client: self.client.watched(on_retry), ..self }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The settings.
    pub fn settings(&self) -> &TeacherConfig {
        &self.settings
    }

    /// A request for one completion, sampled as the settings say.
    pub fn request(&self, messages: Vec<Message>) -> Request {
        Request::of(&self.settings, messages)
    }

    /// Connects once: a server that was never reachable is reported immediately, without the retries for one
    /// that went away. Later calls do nothing.
    pub fn reach(&self) -> Result<(), ChatError> {
        if self.looked.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        match self.client.models() {
            Err(err @ ChatError::Http(HttpError::Unreachable { .. })) => Err(err),
            _ => Ok(()),
        }
    }

    /// Sends a request, with retries, to a server that was reached.
    pub fn complete(&self, request: &Request) -> Result<Response, ChatError> {
        self.reach()?;
        let mut response = self.client.complete(request)?;
        if request.continue_final_message == Some(true)
            && let Some(begun) = begun_answer(&request.messages)
        {
            for completion in &mut response.completions {
                completion.text.insert_str(0, begun);
            }
        }
        Ok(response)
    }
}
