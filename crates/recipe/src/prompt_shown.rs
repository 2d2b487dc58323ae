//! A prompt as a model reads it: `whet prompt show`.

use std::path::PathBuf;

use serde::Serialize;
use whetstone_config::Sources;
use whetstone_core::config::PromptConfig;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::message::Message;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_data::embedded;
use whetstone_model::template::Options;
use whetstone_model::tokenizer::SpecialTokens;

use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;
use crate::prompting;

/// A prompt to show.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The task's id; the first of the file if absent.
    pub task: Option<String>,
    /// The file of tasks; without one, a task that ships with whet.
    pub tasks: Option<PathBuf>,
    /// The model that reads it; without one, its messages alone are known.
    pub model: Option<String>,
    /// An adapter for the model.
    pub adapter: Option<PathBuf>,
    /// Sources of settings.
    pub sources: Sources,
}

/// A prompt, as messages and as the model reads it.
#[derive(Debug, Serialize)]
pub struct ShownPrompt {
    /// The task.
    pub task: String,
    /// Name and digest of the prompt.
    pub prompt: String,
    /// Its settings, with nothing left open where the model is known.
    pub settings: PromptConfig,
    /// The conversation; an assistant message at its end is the beginning of the answer.
    pub messages: Vec<Message>,
    /// The text that the model reads, special tokens included; absent without a model.
    pub text: Option<String>,
    /// The tokens of the text.
    pub tokens: Vec<ShownToken>,
}

/// A token of a prompt.
#[derive(Debug, Serialize)]
pub struct ShownToken {
    /// Its number in the vocabulary.
    pub id: u32,
    /// What it stands for.
    pub text: String,
}

/// The text of the template that the settings name.
///
/// # Errors
///
/// If they name none.
pub fn source(sources: &Sources) -> Result<String, Failure> {
    let config = sources.load(&[]).map_err(Failure::Config)?.config;
    Ok(PromptTemplate::source(&config.prompt)?.to_owned())
}

/// The prompt of a task.
///
/// # Errors
///
/// If settings, task or model cannot be used.
pub fn run(request: &PromptRequest, observer: &dyn Observer) -> Result<ShownPrompt, Failure> {
    let config = request.sources.load(&[]).map_err(Failure::Config)?.config;
    let task = task(request)?;
    let Some(name) = &request.model else {
        let prompt = PromptTemplate::of(&config.prompt)?;
        let messages = prompt.prompt(task.view())?.messages();
        let (settings, prompt) = (config.prompt.clone(), prompt.identity());
        return Ok(ShownPrompt {
            task: task.id.to_string(),
            prompt,
            settings,
            messages,
            text: None,
            tokens: Vec::new(),
        });
    };
    let found = find(name, &Around::of(&config, observer))?;
    let found = found.with_adapter(request.adapter.as_deref())?;
    let mut model = found.open()?;
    let settings = prompting::settle(&config.prompt, &found, &mut model, observer)?;
    let prompt = PromptTemplate::of(&settings)?;
    let messages = prompt.prompt(task.view())?.messages();
    let text = match &model.template {
        Some(template) => {
            template.render(&messages, &Options::prompt()).map_err(ModelFailure::from)?
        }
        None => crate::local_model::paragraphs(&messages),
    };
    let ids = model.tokenizer.encode(&text).map_err(ModelFailure::from)?;
    let shown = |id: u32| -> Result<ShownToken, Failure> {
        let text =
            model.tokenizer.decode(&[id], SpecialTokens::Shown).map_err(ModelFailure::from)?;
        Ok(ShownToken { id, text })
    };
    let tokens = ids.into_iter().map(shown).collect::<Result<_, _>>()?;
    let (task, prompt, text) = (task.id.to_string(), prompt.identity(), Some(text));
    Ok(ShownPrompt { task, prompt, settings, messages, text, tokens })
}

/// The task that is asked for.
fn task(request: &PromptRequest) -> Result<Task, Failure> {
    let tasks = match &request.tasks {
        Some(path) => read_tasks(path)?,
        None => embedded::generate(Seed::new(0), 1).into_iter().map(|made| made.task).collect(),
    };
    let found = match &request.task {
        Some(id) => tasks.into_iter().find(|task| task.id.as_str() == id),
        None => tasks.into_iter().next(),
    };
    found.ok_or_else(|| Failure::NoTask { id: request.task.clone(), path: request.tasks.clone() })
}
