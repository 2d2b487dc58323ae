//! Requests: the fields of chat completions that this project uses, and no others.

use serde::Serialize;
use whetstone_core::Message;
use whetstone_core::config::{TeacherApi, TeacherConfig};
use whetstone_core::prompt::begun_answer;

/// One request for completions of one conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Name of the model, as the server knows it.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Sampling temperature; the server's default if absent, like all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Penalty for tokens that were already used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Maximal tokens of a completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The same under the name that hosted reasoning models take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u32>,
    /// Number of completions; one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// Seed of the sampling. Servers differ in how wide a number they take; all take this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The answer is begun: the last message is continued, and no new one is opened. vLLM's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_final_message: Option<bool>,
    /// The opposite of it, which vLLM wants said as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_generation_prompt: Option<bool>,
    /// Arguments of the model's chat template; absent for a server that does not know the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_template_kwargs: Option<TemplateArguments>,
}

/// Arguments of a chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TemplateArguments {
    /// Whether the model thinks before it answers.
    pub enable_thinking: bool,
}

impl Request {
    /// A request for one completion, sampled as the teacher's settings say. An answer that the conversation
    /// begins is continued by servers that can; for others the beginning is left out.
    pub fn of(teacher: &TeacherConfig, mut messages: Vec<Message>) -> Self {
        let whole = teacher.api == TeacherApi::Vllm;
        let is_begun = begun_answer(&messages).is_some();
        if is_begun && !whole {
            messages.pop();
        }
        let continues = (is_begun && whole).then_some(true);
        let limit = Some(teacher.max_tokens).filter(|&limit| limit > 0);
        let arguments = TemplateArguments { enable_thinking: teacher.enable_thinking };
        Self {
            model: teacher.model_name.clone(),
            messages,
            temperature: whole.then_some(teacher.temperature),
            top_p: whole.then_some(teacher.top_p),
            presence_penalty: whole.then_some(teacher.presence_penalty),
            max_tokens: limit.filter(|_| whole),
            max_completion_tokens: limit.filter(|_| !whole),
            n: None,
            seed: None,
            continue_final_message: continues,
            add_generation_prompt: continues.map(|continues| !continues),
            chat_template_kwargs: whole.then_some(arguments),
        }
    }

    /// The same with this limit on tokens, under the name that the server takes.
    #[must_use]
    pub fn with_limit(self, tokens: Option<u32>) -> Self {
        if self.temperature.is_some() {
            return Self { max_tokens: tokens, ..self };
        }
        Self { max_completion_tokens: tokens, ..self }
    }

    /// The body as it is sent: the same request is the same text.
    ///
    /// # Panics
    ///
    /// Never: strings and numbers have a form in JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers have a form in JSON")
    }

    /// Whether the model is asked to think before it answers.
    pub(super) fn asks_for_thinking(&self) -> bool {
        self.chat_template_kwargs.is_some_and(|arguments| arguments.enable_thinking)
    }

    /// Completions that are wanted at most.
    pub(super) fn wanted(&self) -> usize {
        self.n.unwrap_or(1).max(1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_teacher_is_asked_exactly_so() {
        let request = Request::of(&TeacherConfig::default(), vec![Message::user("1+1?")]);
        assert_eq!(
            request.to_json(),
            r#"{"model":"Qwen/Qwen3-32B-FP8","messages":[{"role":"user","content":"1+1?"}],"temperature":0.7,"top_p":0.8,"presence_penalty":1.5,"chat_template_kwargs":{"enable_thinking":true}}"#
        );
    }

    #[test]
    fn an_answer_that_is_begun_is_continued_where_the_server_can() {
        let begun = || vec![Message::user("1+1?"), Message::assistant("It is")];
        let request = Request::of(&TeacherConfig::default(), begun());
        let sent = request.to_json();
        assert!(
            sent.contains(r#""continue_final_message":true,"add_generation_prompt":false"#),
            "{sent}"
        );
        assert_eq!(request.messages.len(), 2);
        let teacher = TeacherConfig { api: TeacherApi::Openai, ..TeacherConfig::default() };
        let request = Request::of(&teacher, begun());
        assert_eq!((request.messages.len(), request.continue_final_message), (1, None));
    }

    #[test]
    fn a_hosted_reasoning_model_is_sent_nothing_that_it_refuses() {
        let (api, max_tokens) = (TeacherApi::Openai, 64);
        let teacher = TeacherConfig { api, max_tokens, ..TeacherConfig::default() };
        let request = Request::of(&teacher, vec![Message::user("1+1?")]);
        let sent = r#"{"model":"Qwen/Qwen3-32B-FP8","messages":[{"role":"user","content":"1+1?"}],"max_completion_tokens":64}"#;
        assert_eq!(request.to_json(), sent);
    }

    #[test]
    fn what_is_set_is_sent_and_what_is_not_set_is_not() {
        let mut request = Request::of(&TeacherConfig::default(), vec![]);
        request.max_tokens = Some(64);
        request.n = Some(8);
        request.seed = Some(u32::MAX);
        request.chat_template_kwargs = None;
        assert_eq!(
            request.to_json(),
            r#"{"model":"Qwen/Qwen3-32B-FP8","messages":[],"temperature":0.7,"top_p":0.8,"presence_penalty":1.5,"max_tokens":64,"n":8,"seed":4294967295}"#
        );
    }
}
