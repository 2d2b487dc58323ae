//! Chat templates: a conversation as the text that a model was trained on.
//!
//! A template is a small Jinja program that comes with the model. It is run by minijinja, set up to
//! do as transformers does with jinja2 (blocks trimmed, no escaping, Python's methods on strings and
//! dictionaries, and `tojson` as `json.dumps` writes); a test compares byte by byte.
//!
//! A template is untrusted code: it can access only its inputs, and it stops after [`FUEL`]
//! instructions. It also has no clock: with `strftime_now`, the same conversation would give
//! another text tomorrow. Templates that check whether it exists fall back to a fixed date.

mod error;
mod generation;
mod json;

use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};
use whetstone_core::extract::opens_thinking;
use whetstone_core::message::Message;

pub use error::TemplateError;

use crate::shown;
use crate::small_file;
use crate::tokenizer::Specials;

/// Instructions that one rendering may take: a hundred messages take some ten thousand.
const FUEL: u64 = 10_000_000;

/// Templates are a few kilobytes; the longest known one has thirty.
const LIMIT_BYTES: u64 = 1 << 20;

const NAME: &str = "chat";

/// A chat template, ready to render.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    specials: Map<String, Value>,
    enable_thinking: Option<bool>,
    source: String,
    path: PathBuf,
}

/// The inputs of a template besides the messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Whether the text ends where the model is to speak.
    pub add_generation_prompt: bool,
    /// Whether a last message of the assistant is an answer that is begun, whose text stands behind the prompt
    /// before it; it goes with `add_generation_prompt`.
    pub continue_final_message: bool,
    /// Qwen3's switch: `Some(false)` writes an empty thought in the model's place. `None` leaves the
    /// choice to the template.
    pub enable_thinking: Option<bool>,
    /// Tools that the model may call, as JSON schemas.
    pub tools: Vec<Value>,
    /// Whatever else the template knows by name.
    pub extra: Map<String, Value>,
}

impl Options {
    /// For a prompt: the model speaks next, or continues the answer that a last message of the assistant begins.
    pub fn prompt() -> Self {
        Self { add_generation_prompt: true, continue_final_message: true, ..Self::default() }
    }

    /// For a whole conversation, as it is trained on.
    pub fn conversation() -> Self {
        Self::default()
    }
}

impl ChatTemplate {
    /// A template from its source; `path` is for messages.
    pub fn new(source: &str, specials: &Specials, path: &Path) -> Result<Self, TemplateError> {
        let bad = |problem: &str| TemplateError::Syntax {
            path: path.to_owned(),
            problem: shown::beginning(problem),
        };
        if source.len() as u64 > LIMIT_BYTES {
            return Err(bad(&format!("it is longer than {LIMIT_BYTES} bytes")));
        }
        let mut environment = environment();
        environment
            .add_template_owned(NAME, generation::without_tags(source))
            .map_err(|err| bad(&err.to_string()))?;
        let (source, path) = (source.to_owned(), path.to_owned());
        let specials = tokens(specials);
        Ok(Self { environment, specials, enable_thinking: None, source, path })
    }

    /// Reads a `chat_template.jinja`.
    pub fn from_file(path: &Path, specials: &Specials) -> Result<Self, TemplateError> {
        let source = small_file::read_text(path, LIMIT_BYTES)
            .map_err(|source| TemplateError::Read { path: path.to_owned(), source })?;
        Self::new(&source, specials, path)
    }

    /// The template as it was given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the template has a switch for thinking.
    pub fn has_thinking_switch(&self) -> bool {
        self.source.contains("enable_thinking")
    }

    /// Sets the switch for thinking of every rendering whose options leave it open.
    pub fn set_thinking(&mut self, thinking: Option<bool>) {
        self.enable_thinking = thinking.filter(|_| self.has_thinking_switch());
    }

    /// The text of a conversation. A message is anything with `role` and `content`.
    pub fn render(
        &self,
        messages: &[impl Serialize],
        options: &Options,
    ) -> Result<String, TemplateError> {
        let mut messages = serde_json::to_value(messages).map_err(|err| self.failed(&err))?;
        let continues = options.add_generation_prompt && options.continue_final_message;
        let begun = if continues { take_begun_answer(&mut messages) } else { None };
        let mut context = self.specials.clone();
        context.insert("messages".to_owned(), messages);
        context.insert("add_generation_prompt".to_owned(), options.add_generation_prompt.into());
        if let Some(thinking) = options.enable_thinking.or(self.enable_thinking) {
            context.insert("enable_thinking".to_owned(), thinking.into());
        }
        // Absent values are left undefined: in minijinja, `none` cannot be iterated over.
        if !options.tools.is_empty() {
            context.insert("tools".to_owned(), options.tools.clone().into());
        }
        let extra = options.extra.iter().filter(|(_, value)| !value.is_null());
        context.extend(extra.map(|(key, value)| (key.clone(), value.clone())));
        let template = self.environment.get_template(NAME).map_err(|err| self.failed(&err))?;
        let text = template.render(minijinja::Value::from(Serde(&context)));
        let text = text.map_err(|err| self.explain(&err))?;
        Ok(text + begun.as_deref().unwrap_or_default())
    }

    /// Whether a prompt ends inside the thinking tag, so that the completion begins with thinking.
    ///
    /// Found out with a conversation of one message: what comes after the messages is the same for all
    /// of them. A template that refuses it opens nothing.
    pub fn opens_thinking(&self) -> bool {
        let rendered = self.render(&[Message::user("Hello")], &Options::prompt());
        rendered.is_ok_and(|prompt| opens_thinking(&prompt))
    }

    fn explain(&self, err: &Error) -> TemplateError {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(err);
        while let Some(err) = cause {
            if let Some(Refused(message)) = err.downcast_ref() {
                let message = shown::beginning(message);
                return TemplateError::Refused { path: self.path.clone(), message };
            }
            cause = err.source();
        }
        self.failed(err)
    }

    fn failed(&self, err: &dyn std::error::Error) -> TemplateError {
        let problem = shown::beginning(&err.to_string());
        TemplateError::Render { path: self.path.clone(), problem }
    }
}

/// Takes the beginning of an answer off a conversation.
fn take_begun_answer(messages: &mut Value) -> Option<String> {
    let messages = messages.as_array_mut()?;
    let last =
        messages.pop_if(|last| last["role"] == "assistant" && last["content"].is_string())?;
    last["content"].as_str().map(str::to_owned)
}

/// The message of a template's `raise_exception`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_fuel(Some(FUEL));
    environment.add_filter("tojson", json::tojson);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        let err = Error::new(ErrorKind::InvalidOperation, "the template refuses");
        Err(err.with_source(Refused(message)))
    });
    environment
}

fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.trim_blocks(true).lstrip_blocks(true);
    builder.build().expect("the default delimiters are valid")
}

fn tokens(specials: &Specials) -> Map<String, Value> {
    let named = [
        ("bos_token", &specials.bos),
        ("eos_token", &specials.eos),
        ("pad_token", &specials.pad),
        ("unk_token", &specials.unk),
    ];
    let known = named.into_iter().filter_map(|(name, token)| Some((name, token.as_ref()?)));
    known.map(|(name, token)| (name.to_owned(), token.as_str().into())).collect()
}
