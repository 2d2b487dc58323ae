//! Traces as the student would have said them.

use whetstone_core::config::Config;
use whetstone_core::extract::Form;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::trace::Trace;
use whetstone_data::rows::{Made, Making, Take, Thinking, Tokens, from_traces};
use whetstone_model::{Pretrained, Tokenizer};

use crate::error::TrainError;
use crate::student::Student;

/// The student's tokenizer, and the token that ends a message.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    tokenizer: &'a Tokenizer,
    end: u32,
}

impl<'a> Ending<'a> {
    /// Those of a model; `None` if it has no token that ends a message.
    pub fn of(model: &'a Pretrained) -> Option<Self> {
        let tokenizer = &model.tokenizer;
        let end = tokenizer.eos().or_else(|| model.config.eos.first().copied())?;
        Some(Self { tokenizer, end })
    }
}

impl Tokens for Ending<'_> {
    fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text).unwrap_or_default()
    }

    fn end(&self) -> u32 {
        self.end
    }
}

/// What becomes of thinking, by the settings.
pub fn thinking(config: &Config) -> Thinking {
    if config.training.include_thinking { Thinking::Included } else { Thinking::LeftOut }
}

/// Makes rows of traces whose programs pass: the student's own prompt, then the trace's thinking and
/// code, or with `training.include_thinking = false` the code alone. Rows longer than
/// `training.max_length` are left out and counted.
///
/// # Errors
///
/// If the student has no chat template or no token that ends a message.
pub fn rows(student: &Student, traces: &[Trace], config: &Config) -> Result<Made, TrainError> {
    let max_tokens = config.training.max_length as usize;
    let tokens = &Ending::of(&student.model).ok_or_else(|| {
        TrainError::Settings("the student has no token that ends a message".to_owned())
    })?;
    let template = student.model.template.as_ref().ok_or(TrainError::NoTemplate)?;
    let form = Form::ThinkPython;
    let prompts = PromptTemplate::of(&config.prompt)?;
    let text = |prompt: &str| -> Result<String, TrainError> {
        let messages = prompts.of_request(prompt, form)?.messages();
        Ok(template.render(&messages, &whetstone_model::template::Options::prompt())?)
    };
    // A template that refuses one conversation of this kind refuses all of them.
    if let Some(trace) = traces.first() {
        text(&trace.prompt)?;
    }
    let render = |prompt: &str| text(prompt).unwrap_or_default();
    let (take, thinking) = (Take::Passing, thinking(config));
    let making = Making { tokens, form, render: &render, max_tokens, take, thinking };
    Ok(from_traces(traces, &making))
}
