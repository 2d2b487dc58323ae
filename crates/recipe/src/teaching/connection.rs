//! Whether the teacher's server is there, and how it answers.

use std::time::Instant;

use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_core::{Completion, Message, with_causes};
use whetstone_remote::chat::{ChatError, Client, Probe, ReasoningPlace, Request};

use crate::text::plain;

/// Characters of a name that a server says.
const NAME_CHARS: usize = 100;
/// Characters of the reason why there is no list of models.
const ERROR_CHARS: usize = 200;

/// The result of a connection test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Connection {
    /// The server answers.
    pub ok: bool,
    /// Its address.
    pub url: String,
    /// The model that the settings ask for.
    pub model: String,
    /// The models that the server lists, if it does.
    pub models: Option<Vec<String>>,
    /// Why its list of models cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models_error: Option<String>,
    /// Something answers at the address.
    pub is_answered: bool,
    /// The environment variable with the key, if it is set.
    pub key: Option<String>,
    /// The answer to a small request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answered>,
    /// Why the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A suggestion for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The answer to a small request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answered {
    /// How long it took.
    pub seconds: f64,
    /// The model that answered.
    pub model: String,
    /// Where thinking is returned: `text`, `field` or `not seen`.
    pub thinking: &'static str,
    /// Completions that came, of two.
    pub samples: u32,
    /// Whether several samples can be asked for in one request.
    pub honours_n: bool,
    /// Whether the server counts tokens.
    pub usage_reported: bool,
}

/// One answer of the server.
#[derive(Debug)]
pub struct ServerAnswer {
    /// The server and the model.
    pub server: String,
    /// How long it took.
    pub seconds: f64,
    /// The answer itself.
    pub completion: Completion,
}

/// Sends one request to the server, as a collection does.
///
/// # Errors
///
/// If there is no answer: why not, with a suggestion.
pub fn ask(config: &Config, messages: Vec<Message>) -> Result<ServerAnswer, String> {
    let start = Instant::now();
    let model = config.teacher.asked_models().swap_remove(0);
    let request = Request { model: model.to_owned(), ..Request::of(&config.teacher, messages) };
    let (found, response) = reach(config, model, |client| client.complete_once(&request));
    let Some(mut response) = response else {
        let said = found.error.as_deref().unwrap_or("does not answer");
        let hint = found.hint.as_deref().unwrap_or_default();
        return Err(format!("{}: {said}; {hint}", found.url));
    };
    let model = if response.model.is_empty() { &found.model } else { &response.model };
    Ok(ServerAnswer {
        server: format!("{}: {}", found.url, plain(model, NAME_CHARS)),
        seconds: start.elapsed().as_secs_f64(),
        completion: response.completions.swap_remove(0),
    })
}

/// Tests the server that the settings name, with each of its models.
pub fn test(config: &Config) -> Vec<Connection> {
    let models = config.teacher.asked_models();
    models.into_iter().map(|model| test_model(config, model)).collect()
}

fn test_model(config: &Config, model: &str) -> Connection {
    let like = Request { model: model.to_owned(), ..Request::of(&config.teacher, Vec::new()) };
    let (mut found, probe) = reach(config, model, |client| client.probe(&like));
    if let Some(probe) = &probe {
        found.succeed(probe);
    }
    found
}

/// Sends a request to the configured server, and collects observations.
fn reach<T>(
    config: &Config,
    model: &str,
    send: impl FnOnce(&Client) -> Result<T, ChatError>,
) -> (Connection, Option<T>) {
    let mut found = Connection::new(config, model);
    let server = match super::server(config, model) {
        Ok(server) => server,
        Err(err) => {
            found.fail(&err);
            return (found, None);
        }
    };
    let client = server.client();
    found.url = client.url();
    match list_models(config, model) {
        Ok(names) => {
            found.models = Some(names.iter().map(|name| plain(name, NAME_CHARS)).collect());
        }
        Err(err) => found.models_error = Some(plain(&with_causes(&err), ERROR_CHARS)),
    }
    let sent = send(client).map_err(|err| found.fail(&err)).ok();
    (found, sent)
}

/// The models that the server lists. The connection is not used again: some servers close it after an error.
fn list_models(config: &Config, model: &str) -> Result<Vec<String>, ChatError> {
    super::server(config, model)?.client().models()
}

impl Connection {
    /// Of a server that nothing was sent to.
    fn new(config: &Config, model: &str) -> Self {
        let teacher = &config.teacher;
        let variable = &teacher.api_key_env;
        let has_key = std::env::var_os(variable).is_some_and(|key| !key.is_empty());
        Self {
            ok: false,
            url: teacher.api_url.clone(),
            model: model.to_owned(),
            models: None,
            models_error: None,
            is_answered: false,
            key: has_key.then(|| variable.clone()),
            answer: None,
            error: None,
            hint: None,
        }
    }

    fn fail(&mut self, err: &ChatError) {
        self.is_answered = err.is_answered();
        self.error = Some(match err {
            // There is only one try here, so its number is not mentioned.
            ChatError::GaveUp { last, .. } => last.to_string(),
            err => with_causes(err),
        });
        let unlisted = self.models.as_ref().filter(|models| !models.contains(&self.model));
        self.hint = match unlisted {
            Some(models) if !models.is_empty() => Some(format!(
                "the server lists {}: set teacher.model_name or teacher.models",
                models.join(", ")
            )),
            _ => Some(
                err.hint().unwrap_or("is the server running, and is this its address?").to_owned(),
            ),
        };
    }

    fn succeed(&mut self, probe: &Probe) {
        (self.ok, self.is_answered) = (true, true);
        self.answer = Some(Answered {
            seconds: probe.latency.as_secs_f64(),
            honours_n: probe.honours_n(),
            samples: probe.given,
            thinking: match probe.reasoning {
                ReasoningPlace::Inline => "text",
                ReasoningPlace::Field => "field",
                ReasoningPlace::NotSeen => "not seen",
            },
            usage_reported: probe.usage.is_reported,
            model: plain(&probe.model, NAME_CHARS),
        });
    }
}
