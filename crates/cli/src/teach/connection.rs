//! `whet teach --test-connection`: is the server there, and how does it answer?

use whetstone_core::config::Config;
use whetstone_recipe::teaching::connection::{self, Answered, Connection};

use crate::exit::Exit;
use crate::printer::{Printer, Tone};

/// Tests the server with each of its models and prints the results.
pub(super) fn test(config: &Config, json: bool, printer: Printer) -> anyhow::Result<Exit> {
    let limit = config.teacher.request_timeout_s;
    printer.note(format_args!("asking {} (at most {limit} s) ...", config.teacher.api_url));
    let seen = connection::test(config);
    match seen.as_slice() {
        [one] if json => printer.json(one)?,
        several if json => printer.json(&several)?,
        all => {
            let texts: Vec<String> = all.iter().map(|one| text(one, config, printer)).collect();
            printer.raw(&texts.join("\n"))?;
        }
    }
    Ok(if seen.iter().all(|one| one.ok) { Exit::Done } else { Exit::No })
}

fn text(seen: &Connection, config: &Config, printer: Printer) -> String {
    let mut lines = vec![format!("server    {}", seen.url)];
    let key = match &seen.key {
        Some(variable) => format!("sent, from the environment variable {variable}"),
        None => format!("none is sent: {} is not set", config.teacher.api_key_env),
    };
    lines.push(format!("key       {key}"));
    let listed = match &seen.models {
        None => match &seen.models_error {
            Some(error) => format!("the server's list of models cannot be read: {error}"),
            None => "nothing was asked".to_owned(),
        },
        Some(models) if models.is_empty() => "the server's list of models is empty".to_owned(),
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
        let what = if seen.is_answered {
            "the teacher answers, but not with a completion"
        } else {
            "the teacher does not answer"
        };
        lines.push(format!("{}: {error}", printer.toned(what, Tone::Bad)));
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
