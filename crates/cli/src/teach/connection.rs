//! `whet teach --test-connection`: is the server there, and how does it answer?

use std::time::Instant;

use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_core::seed::Seed;
use whetstone_core::{Completion, Message, with_causes};
use whetstone_remote::chat::{ChatError, Client, Probe, ReasoningPlace, Request};

use super::remote::Remote;
use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// The result of a connection test.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Seen {
    ok: bool,
    url: String,
    /// The model that the settings ask for.
    model: String,
    /// The models that the server lists, if it does.
    models: Option<Vec<String>>,
    /// The environment variable with the key, if it is set.
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The answer to a small request.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Answered {
    seconds: f64,
    model: String,
    /// Where thinking is returned: `text`, `field` or `not seen`.
    thinking: &'static str,
    /// Completions that came, of two.
    samples: u32,
    /// Whether several samples can be asked for in one request.
    honours_n: bool,
    usage_reported: bool,
}

/// Tests the server and prints the result.
pub(super) fn test(config: &Config, json: bool, printer: Printer) -> anyhow::Result<Exit> {
    let seen = look(config);
    if json {
        printer.json(&seen)?;
    } else {
        printer.raw(&text(&seen, config, printer))?;
    }
    Ok(if seen.ok { Exit::Done } else { Exit::No })
}

/// One answer of the server.
pub(crate) struct Answer {
    /// The server and the model.
    pub(crate) server: String,
    pub(crate) seconds: f64,
    pub(crate) completion: Completion,
}

/// Sends one request to the server, as `whet teach` does. An error has a hint.
pub(crate) fn ask(config: &Config, messages: Vec<Message>) -> Result<Answer, String> {
    let start = Instant::now();
    let request = Request::of(&config.teacher, messages);
    let (seen, response) = reach(config, |client| client.complete_once(&request));
    let Some(mut response) = response else {
        let said = seen.error.as_deref().unwrap_or("does not answer");
        let hint = seen.hint.as_deref().unwrap_or_default();
        return Err(format!("{}: {said}; {hint}", seen.url));
    };
    let model = if response.model.is_empty() { &seen.model } else { &response.model };
    Ok(Answer {
        server: format!("{}: {}", seen.url, plain(model)),
        seconds: start.elapsed().as_secs_f64(),
        completion: response.completions.swap_remove(0),
    })
}

fn look(config: &Config) -> Seen {
    let like = Request::of(&config.teacher, Vec::new());
    let (mut seen, probe) = reach(config, |client| client.probe(&like));
    if let Some(probe) = &probe {
        seen.succeed(probe);
    }
    seen
}

/// Sends a request to the configured server, and collects observations.
fn reach<T>(
    config: &Config,
    send: impl FnOnce(&Client) -> Result<T, ChatError>,
) -> (Seen, Option<T>) {
    let mut seen = Seen::new(config);
    let remote = match Remote::new(&config.teacher, Seed::new(config.seed)) {
        Ok(remote) => remote,
        Err(err) => {
            seen.fail(&err);
            return (seen, None);
        }
    };
    seen.url = remote.client().url();
    let models = remote.client().models().ok();
    seen.models = models.map(|names| names.iter().map(|name| plain(name)).collect());
    let sent = send(remote.client()).map_err(|err| seen.fail(&err)).ok();
    (seen, sent)
}

impl Seen {
    /// Of a server that nothing was sent to.
    fn new(config: &Config) -> Self {
        let teacher = &config.teacher;
        let variable = &teacher.api_key_env;
        let has_key = std::env::var_os(variable).is_some_and(|key| !key.is_empty());
        Self {
            ok: false,
            url: teacher.api_url.clone(),
            model: teacher.model_name.clone(),
            models: None,
            key: has_key.then(|| variable.clone()),
            answer: None,
            error: None,
            hint: None,
        }
    }

    fn fail(&mut self, err: &ChatError) {
        self.error = Some(match err {
            // There is only one try here, so its number is not mentioned.
            ChatError::GaveUp { last, .. } => last.to_string(),
            err => with_causes(err),
        });
        let unlisted = self.models.as_ref().filter(|models| !models.contains(&self.model));
        self.hint = match unlisted {
            Some(models) if !models.is_empty() => {
                Some(format!("the server lists {}: set teacher.model_name", models.join(", ")))
            }
            _ => Some(
                err.hint().unwrap_or("is the server running, and is this its address?").to_owned(),
            ),
        };
    }

    fn succeed(&mut self, probe: &Probe) {
        self.ok = true;
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
            model: plain(&probe.model),
        });
    }
}

/// A name that a server said, at most 100 characters and nothing that a terminal would obey.
fn plain(name: &str) -> String {
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().take(100).map(printable).collect()
}

fn text(seen: &Seen, config: &Config, printer: Printer) -> String {
    let mut lines = vec![format!("server    {}", seen.url)];
    let key = match &seen.key {
        Some(variable) => format!("sent, from the environment variable {variable}"),
        None => format!("none is sent: {} is not set", config.teacher.api_key_env),
    };
    lines.push(format!("key       {key}"));
    let listed = match &seen.models {
        None => "the server lists no models".to_owned(),
        Some(models) if models.contains(&seen.model) => "listed by the server".to_owned(),
        Some(models) => format!("not listed by the server, which has {}", models.join(", ")),
    };
    lines.push(format!("model     {} ({listed})", seen.model));
    if let Some(answer) = &seen.answer {
        lines.push(format!("answer    in {:.2} s, from {}", answer.seconds, answer.model));
        lines.push(format!("thinking  {}", thinking(answer, config)));
        lines.push(format!("samples   {}", samples(answer, config)));
        let usage = if answer.usage_reported { "reported" } else { "not reported" };
        lines.push(format!("tokens    {usage}"));
        lines.push(printer.toned("the teacher answers", Tone::Good));
    }
    if let Some(error) = &seen.error {
        lines.push(format!("{}: {error}", printer.toned("the teacher does not answer", Tone::Bad)));
    }
    if let Some(hint) = &seen.hint {
        lines.push(format!("  {}: {hint}", printer.toned("hint", Tone::Hint)));
    }
    lines.join("\n") + "\n"
}

fn thinking(answer: &Answered, config: &Config) -> &'static str {
    match (answer.thinking, config.teacher.enable_thinking) {
        ("text", _) => "arrives in the text, between its tags",
        ("field", _) => "arrives in a field of its own",
        (_, true) => "was requested, but none was returned in this short answer",
        (_, false) => "was not requested, and none was returned",
    }
}

fn samples(answer: &Answered, config: &Config) -> String {
    match (answer.honours_n, config.teacher.samples_per_request) {
        (true, _) => "several can be requested at once".to_owned(),
        (false, 1) => "one a request: the server does not honour `n`".to_owned(),
        (false, wanted) => format!(
            "{} came of 2 in one request: leave teacher.samples_per_request at 1, not {wanted}",
            answer.samples
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_speak_to_the_terminal() {
        assert_eq!(plain("\u{1b}[31mred"), "\u{fffd}[31mred");
        assert_eq!(plain(&"x".repeat(1000)).len(), 100);
    }
}
