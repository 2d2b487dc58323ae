//! A model on this machine that is to be sampled: its identity, its prompts, and the room that they have.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use whetstone_core::Message;
use whetstone_core::config::Config;
use whetstone_core::prompt::begun_answer;
use whetstone_model::Pretrained;
use whetstone_model::template::Options;

use crate::find::Found;
use crate::model_failure::ModelFailure;

/// The identity of a model, which a resumed command must find unchanged: names, files, and what changes a
/// sample's bits.
pub(crate) fn identity(place: &Found, config: &Config) -> Vec<(&'static str, String)> {
    let adapter = place.adapter.as_ref();
    let mut settings = vec![
        ("--model", place.name.clone()),
        ("the model's files", stamp(&place.model)),
        ("--adapter", adapter.map_or_else(String::new, |path| path.display().to_string())),
        ("the adapter's files", adapter.map_or_else(String::new, |path| stamp(path))),
    ];
    // The CPU is not named, as in evaluations from before there was a choice.
    let device = Some(config.run.device.clone()).filter(|device| device != "cpu");
    settings.extend(device.map(|device| ("--device", device)));
    settings
}

/// Size and modification time of a model's files.
fn stamp(path: &Path) -> String {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.chain([path.to_owned()]).filter_map(|path| fs::metadata(path).ok());
    let files: Vec<_> = files.filter(fs::Metadata::is_file).collect();
    let bytes: u64 = files.iter().map(fs::Metadata::len).sum();
    let written = files.iter().filter_map(|file| file.modified().ok()).max();
    let seconds = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{bytes} bytes of {}", seconds.map_or(0, |since| since.as_secs()))
}

/// Tokens that a prompt may have beside a completion; none if a completion may fill the whole context.
pub(crate) fn room(model: &Pretrained, max_tokens: usize) -> Option<usize> {
    Some(model.config.positions.saturating_sub(max_tokens)).filter(|room| *room > 0)
}

/// Messages as paragraphs of plain text, for a model without a chat template. An answer that is begun stands as it is.
pub(crate) fn paragraphs(messages: &[Message]) -> String {
    let begun = begun_answer(messages);
    let asked = &messages[..messages.len() - usize::from(begun.is_some())];
    let asked = asked.iter().flat_map(|message| [message.content.as_str(), "\n\n"]);
    asked.chain(begun).collect()
}

/// The tokens of a conversation. A model without a chat template gets the messages as paragraphs of
/// plain text.
pub(crate) fn tokens(model: &Pretrained, messages: &[Message]) -> Result<Vec<u32>, ModelFailure> {
    let text = match &model.template {
        Some(template) => template.render(messages, &Options::prompt())?,
        None => paragraphs(messages),
    };
    Ok(model.tokenizer.encode(&text)?)
}
