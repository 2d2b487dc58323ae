//! The prompt around a problem: one template for every stage of a run.
//!
//! ```text
//! [prompt] ─► PromptTemplate ─┐
//!            task ─► TaskView ┴─► Prompt: system, user, and the text that the answer begins with
//! ```
//!
//! A template gets a [`TaskView`](crate::task::TaskView), which has neither hidden tests nor the reference
//! solution, so neither can get into a prompt (invariant 4). The problem stands in it as its source wrote it;
//! only the words around it change with template and language.

mod context;
mod error;
mod template;
#[cfg(test)]
mod tests;

pub use error::PromptError;
pub use template::{BUILT_IN, PromptTemplate};

use crate::message::{Message, Role};

/// A prompt: standing instructions, one request, and the beginning of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Standing instructions; none if empty, and a chat template may then have its own.
    pub system: String,
    /// The problem and the format of the answer.
    pub user: String,
    /// The text that the answer begins with.
    pub prefill: String,
}

impl Prompt {
    /// The conversation before a whole reply, whose text has the beginning too.
    pub fn asked(self) -> Vec<Message> {
        let is_empty = self.system.is_empty() && self.user.is_empty();
        let user = if is_empty { self.prefill } else { self.user };
        Self { user, prefill: String::new(), ..self }.messages()
    }

    /// The prompt as a conversation. One that ends with an assistant message has an answer that is begun:
    /// the model continues it.
    pub fn messages(&self) -> Vec<Message> {
        let Self { system, user, prefill } = self;
        let parts =
            [(Role::System, system), (Role::User, user), (Role::Assistant, prefill)].into_iter();
        let filled = parts.filter(|(_, text)| !text.is_empty());
        filled.map(|(role, text)| Message { role, content: text.clone() }).collect()
    }
}

/// The text that the answer to a conversation begins with, if it begins with any.
pub fn begun_answer(messages: &[Message]) -> Option<&str> {
    let last = messages.last().filter(|message| message.role == Role::Assistant)?;
    Some(&last.content)
}
