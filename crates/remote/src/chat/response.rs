//! Responses: completions from the JSON of a server.
//!
//! Fields we do not use are ignored, because servers add their own. The fields we use are accepted
//! in every form in which servers are known to send them; anything else is not a completion.

use serde::Deserialize;
use serde_json::Value;
use whetstone_core::Completion;
use whetstone_core::completion::Finish;
use whetstone_core::extract::may_be_all_thinking;
use whetstone_core::surrogates::mend;

use super::Request;
use crate::secret::Secret;
use crate::shown;

/// An answer of more tokens than this was never paid for.
const MOST_TOKENS: u64 = u32::MAX as u64;

/// An answer with at least one completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The model that answered, as the server names it; empty where it does not.
    pub model: String,
    /// At most as many as were asked for, at least one.
    pub completions: Vec<Completion>,
    /// The token usage.
    pub usage: Usage,
}

impl Response {
    /// The answer to a request. Where that asks for thinking, the text of a completion that was cut off
    /// inside it goes where thinking is.
    pub(super) fn read_for(mut self, request: &Request) -> Self {
        if !request.asks_for_thinking() {
            return self;
        }
        for completion in &mut self.completions {
            if may_be_all_thinking(completion) {
                completion.reasoning = Some(std::mem::take(&mut completion.text));
            }
        }
        self
    }
}

/// Tokens of one answer, all its completions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the completions.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Whether the server said so; all is zero where it did not.
    pub is_reported: bool,
}

/// Why an answer holds no completion.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadAnswer {
    #[error("it is not a completion ({0})")]
    Malformed(String),
    #[error("the server reports an error")]
    Error,
    #[error("it has no choices")]
    NoChoices,
}

#[derive(Deserialize)]
struct RawResponse {
    model: Option<String>,
    choices: Option<Vec<RawChoice>>,
    usage: Option<RawUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct RawChoice {
    #[serde(default)]
    index: u64,
    message: RawMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct RawMessage {
    content: Option<RawContent>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawContent {
    Text(String),
    Parts(Vec<RawPart>),
}

#[derive(Deserialize)]
struct RawPart {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct RawUsage {
    #[serde(default, rename = "prompt_tokens")]
    prompt: u64,
    #[serde(default, rename = "completion_tokens")]
    completion: u64,
    #[serde(rename = "total_tokens")]
    total: Option<u64>,
}

/// The first `wanted` completions of an answer.
pub(crate) fn parse(body: &[u8], wanted: usize) -> Result<Response, BadAnswer> {
    let raw: RawResponse = match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(&mend(text)),
        Err(_) => serde_json::from_slice(body),
    }
    .map_err(|err| BadAnswer::Malformed(err.to_string()))?;
    if raw.error.is_some_and(|error| !error.is_null()) {
        return Err(BadAnswer::Error);
    }
    let mut choices = raw.choices.unwrap_or_default();
    if choices.is_empty() {
        return Err(BadAnswer::NoChoices);
    }
    choices.sort_by_key(|choice| choice.index);
    Ok(Response {
        model: raw.model.unwrap_or_default(),
        completions: choices.into_iter().take(wanted).map(completion).collect(),
        usage: raw.usage.as_ref().map(usage).unwrap_or_default(),
    })
}

/// The names in a list of models.
pub(crate) fn models(body: &[u8]) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let list: List = serde_json::from_slice(body).map_err(|err| err.to_string())?;
    Ok(list.data.into_iter().map(|model| model.id).collect())
}

/// The server's error message: from its JSON, or the beginning of its text.
pub(crate) fn server_message(body: &[u8], secret: Option<&Secret>) -> String {
    let parsed = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let places = ["/error/message", "/error", "/message", "/detail"];
    let message = places.iter().find_map(|place| parsed.pointer(place)?.as_str());
    shown::beginning(message.map_or(body, str::as_bytes), secret)
}

fn completion(choice: RawChoice) -> Completion {
    let RawMessage { content, reasoning_content, reasoning } = choice.message;
    let thinking = [reasoning_content, reasoning].into_iter().flatten();
    Completion {
        text: match content {
            None => String::new(),
            Some(RawContent::Text(text)) => text,
            Some(RawContent::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
        },
        reasoning: thinking
            .filter_map(|value| value.as_str().map(str::to_owned))
            .find(|text| !text.is_empty()),
        finish: finish(choice.finish_reason.as_deref()),
        tokens: None,
    }
}

/// A reason that is not known to be an ordinary end (`length`, `content_filter`, `abort`, …) cut
/// the completion off.
fn finish(reason: Option<&str>) -> Finish {
    match reason {
        None | Some("stop" | "eos" | "end_turn" | "tool_calls" | "function_call") => Finish::Stop,
        Some(_) => Finish::Length,
    }
}

/// The reported token usage. Impossible numbers are ignored; their sum could overflow.
fn usage(raw: &RawUsage) -> Usage {
    let numbers = [raw.prompt, raw.completion, raw.total.unwrap_or_default()];
    if numbers.iter().any(|&number| number > MOST_TOKENS) {
        return Usage::default();
    }
    Usage {
        prompt_tokens: raw.prompt,
        completion_tokens: raw.completion,
        total_tokens: raw.total.unwrap_or(raw.prompt + raw.completion),
        is_reported: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(choice: &str) -> Completion {
        let body = format!(r#"{{"choices":[{choice}]}}"#);
        parse(body.as_bytes(), 1).unwrap().completions.remove(0)
    }

    #[test]
    fn an_answer_of_vllm_is_read_whole() {
        let body = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m",
            "choices":[{"index":1,"message":{"role":"assistant","content":"b","tool_calls":[]},
            "logprobs":null,"finish_reason":"length","stop_reason":null},
            {"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"why"},
            "finish_reason":"stop"}],
            "usage":{"prompt_tokens":3,"total_tokens":10,"completion_tokens":7},"kv":null}"#;
        let response = parse(body.as_bytes(), 8).unwrap();
        assert_eq!(response.model, "m");
        let [first, second] = &response.completions[..] else { panic!("{response:?}") };
        assert_eq!((first.text.as_str(), first.finish), ("a", Finish::Stop));
        assert_eq!(first.reasoning.as_deref(), Some("why"));
        assert_eq!((second.text.as_str(), second.finish), ("b", Finish::Length));
        assert_eq!(second.reasoning, None);
        let usage =
            Usage { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10, is_reported: true };
        assert_eq!(response.usage, usage);
    }

    #[test]
    fn half_a_surrogate_pair_is_read_as_a_replacement_character() {
        let read = one(r#"{"message":{"content":"a\ud800b \\ud800 \ud83d\ude00"}}"#);
        assert_eq!(read.text, "a\u{fffd}b \\ud800 \u{1f600}");
    }

    #[test]
    fn reasoning_comes_under_two_names_and_an_empty_one_is_none() {
        let reasoning = |message: &str| one(&format!(r#"{{"message":{message}}}"#)).reasoning;
        assert_eq!(reasoning(r#"{"content":"x","reasoning":"r"}"#).as_deref(), Some("r"));
        let both = r#"{"content":"x","reasoning_content":"","reasoning":"r"}"#;
        assert_eq!(reasoning(both).as_deref(), Some("r"));
        assert_eq!(reasoning(r#"{"content":"x","reasoning_content":null}"#), None);
        assert_eq!(reasoning(r#"{"content":"<think>a</think>x"}"#), None);
    }

    #[test]
    fn content_may_be_missing_or_in_parts() {
        assert_eq!(one(r#"{"message":{"content":null,"reasoning":"cut"}}"#).text, "");
        let parts = r#"{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]}}"#;
        assert_eq!(one(parts).text, "ab");
    }

    #[test]
    fn a_reason_that_is_no_ordinary_end_counts_as_cut_off() {
        let finish = |reason: &str| {
            one(&format!(r#"{{"message":{{"content":"x"}},"finish_reason":{reason}}}"#)).finish
        };
        assert_eq!(finish("null"), Finish::Stop);
        assert_eq!(finish(r#""stop""#), Finish::Stop);
        assert_eq!(finish(r#""content_filter""#), Finish::Length);
        assert_eq!(finish(r#""abort""#), Finish::Length);
    }

    #[test]
    fn more_choices_than_wanted_are_cut_and_absent_usage_is_flagged() {
        let body = br#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#;
        let response = parse(body, 1).unwrap();
        assert_eq!(response.completions.len(), 1);
        assert_eq!(response.completions[0].text, "a");
        assert_eq!(response.usage, Usage::default());
        assert!(!response.usage.is_reported);
    }

    #[test]
    fn a_cost_that_nothing_can_have_is_not_reported() {
        let usage = |usage: &str| {
            let body = format!(r#"{{"choices":[{{"message":{{}}}}],"usage":{usage}}}"#);
            parse(body.as_bytes(), 1).unwrap().usage
        };
        assert_eq!(usage(r#"{"prompt_tokens":3,"completion_tokens":4}"#).total_tokens, 7);
        let most = usage(r#"{"prompt_tokens":4294967295,"completion_tokens":4294967295}"#);
        assert_eq!((most.total_tokens, most.is_reported), (8_589_934_590, true));
        assert_eq!(usage(r#"{"completion_tokens":18446744073709551615}"#), Usage::default());
        assert_eq!(usage(r#"{"total_tokens":4294967296}"#), Usage::default());
    }

    #[test]
    fn what_is_no_completion_says_why() {
        let bad = |body: &str| parse(body.as_bytes(), 1).unwrap_err();
        assert_eq!(bad(r#"{"choices":[]}"#), BadAnswer::NoChoices);
        assert_eq!(bad(r#"{"object":"list"}"#), BadAnswer::NoChoices);
        assert_eq!(bad(r#"{"error":{"message":"overloaded"}}"#), BadAnswer::Error);
        assert!(matches!(bad("<html>"), BadAnswer::Malformed(_)));
        assert!(matches!(bad(r#"{"choices":[{"message":{"cont"#), BadAnswer::Malformed(_)));
        assert!(matches!(bad(r#"{"choices":[{}]}"#), BadAnswer::Malformed(_)));
    }

    #[test]
    fn the_message_of_a_server_is_found_where_servers_put_it() {
        let message = |body: &str| server_message(body.as_bytes(), None);
        assert_eq!(message(r#"{"error":{"message":"too long"}}"#), "too long");
        assert_eq!(message(r#"{"error":"no such model"}"#), "no such model");
        assert_eq!(message(r#"{"object":"error","message":"bad n"}"#), "bad n");
        assert_eq!(message(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(message("<h1>502</h1>\n"), "<h1>502</h1>");
    }
}
