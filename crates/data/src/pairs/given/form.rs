//! One row of a file of pairs: which of the usual forms it has, and what is wrong with it.

use serde::de::DeserializeOwned;
use whetstone_core::message::{Message, Role};
use whetstone_core::task::TaskId;
use whetstone_core::wire::{Object, WireError};

use super::messages::{RawMessage, messages, transcript};

/// Columns with a prompt's text, by how sure we are of them.
const PROMPTS: [&str; 3] = ["prompt", "question", "instruction"];
/// Columns with instructions beside the prompt.
const SYSTEMS: [&str; 2] = ["system", "system_prompt"];

/// A pair that somebody else made.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenPair {
    /// The conversation before the replies.
    pub prompt: Vec<Message>,
    /// The reply that is preferred.
    pub chosen: String,
    /// The other one.
    pub rejected: String,
    /// The task, if the row names one.
    pub task_id: Option<TaskId>,
    /// By how much the first is better, if the row says it.
    pub margin: f64,
    /// Where the pair comes from, if the row says it.
    pub origin: Option<String>,
}

/// Why a row is not a pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormProblem {
    /// The row cannot be read.
    #[error("{0}")]
    NotARow(String),
    /// A column is missing, or holds something else than it should.
    #[error(transparent)]
    Column(#[from] WireError),
    /// There is no prompt.
    #[error(
        "there is no prompt: neither a column `prompt` nor a conversation that both sides begin with"
    )]
    NoPrompt,
    /// The two sides answer different conversations.
    #[error("`chosen` and `rejected` do not answer the same conversation")]
    MixedPrompts,
    /// A side does not end with one reply of the assistant.
    #[error("`{0}` does not end with one message of the assistant")]
    NoReply(&'static str),
    /// A side is empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// Both sides are the same text.
    #[error("`chosen` and `rejected` are the same text")]
    Equal,
}

impl FormProblem {
    pub(super) fn column(field: &'static str, problem: String) -> Self {
        Self::Column(WireError::Field { field, problem })
    }

    /// The reason's name in counts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotARow(_) | Self::Column(_) => "bad_row",
            Self::NoPrompt => "no_prompt",
            Self::MixedPrompts => "mixed_prompts",
            Self::NoReply(_) => "no_reply",
            Self::Empty(_) => "empty_side",
            Self::Equal => "equal_texts",
        }
    }
}

/// A column that is a text or a conversation.
#[derive(Debug, PartialEq)]
enum Content {
    Text(String),
    Messages(Vec<Message>),
}

/// The replies behind a prompt.
struct Replies {
    prompt: Vec<Message>,
    chosen: String,
    rejected: String,
}

/// Reads a row of any of the forms.
///
/// # Errors
///
/// If it is not a pair.
pub fn read_row(mut row: Object) -> Result<GivenPair, FormProblem> {
    let prompt = take_prompt(&mut row)?;
    let side = |row: &mut Object, name| {
        take_content(row, name)?.ok_or(FormProblem::Column(WireError::Missing(name)))
    };
    let (chosen, rejected) = (side(&mut row, "chosen")?, side(&mut row, "rejected")?);
    let replies = match (chosen, rejected) {
        (Content::Text(chosen), Content::Text(rejected)) => of_texts(prompt, chosen, rejected)?,
        (Content::Messages(chosen), Content::Messages(rejected)) => {
            of_messages(prompt, chosen, rejected)?
        }
        _ => {
            let problem = "a text on one side and messages on the other".to_owned();
            return Err(FormProblem::column("rejected", problem));
        }
    };
    let pair = GivenPair {
        prompt: replies.prompt,
        chosen: replies.chosen,
        rejected: replies.rejected,
        task_id: take_if_read(&mut row, "task_id"),
        margin: take_margin(&mut row)?,
        origin: take_if_read(&mut row, "origin"),
    };
    pair.check()?;
    Ok(pair)
}

impl GivenPair {
    fn check(&self) -> Result<(), FormProblem> {
        for (name, text) in [("chosen", &self.chosen), ("rejected", &self.rejected)] {
            if text.trim().is_empty() {
                return Err(FormProblem::Empty(name));
            }
        }
        if self.chosen.trim() == self.rejected.trim() {
            return Err(FormProblem::Equal);
        }
        if self.prompt.iter().all(|message| message.content.trim().is_empty()) {
            return Err(FormProblem::NoPrompt);
        }
        Ok(())
    }
}

/// Two texts behind a prompt, or two transcripts.
fn of_texts(
    prompt: Option<Content>,
    chosen: String,
    rejected: String,
) -> Result<Replies, FormProblem> {
    match prompt {
        Some(prompt) => {
            let (chosen, rejected) = match &prompt {
                Content::Text(text) => without(text, chosen, rejected),
                Content::Messages(_) => (chosen, rejected),
            };
            Ok(Replies { prompt: prompt.into_messages(), chosen, rejected })
        }
        None => match (transcript(&chosen), transcript(&rejected)) {
            (Some(chosen), Some(rejected)) => of_messages(None, chosen, rejected),
            _ => Err(FormProblem::NoPrompt),
        },
    }
}

/// The replies without a prompt that both repeat.
fn without(prompt: &str, chosen: String, rejected: String) -> (String, String) {
    let cut = |text: &str| Some(text.strip_prefix(prompt)?.trim_start().to_owned());
    match (cut(&chosen), cut(&rejected)) {
        (Some(chosen), Some(rejected)) if !prompt.is_empty() => (chosen, rejected),
        _ => (chosen, rejected),
    }
}

/// Two conversations, or two replies as conversations.
fn of_messages(
    prompt: Option<Content>,
    chosen: Vec<Message>,
    rejected: Vec<Message>,
) -> Result<Replies, FormProblem> {
    for (name, side) in [("chosen", &chosen), ("rejected", &rejected)] {
        if side.last().is_none_or(|last| last.role != Role::Assistant) {
            return Err(FormProblem::NoReply(name));
        }
    }
    if chosen == rejected {
        return Err(FormProblem::Equal);
    }
    let common = chosen.iter().zip(&rejected).take_while(|(one, other)| one == other).count();
    if chosen.len() != common + 1 || rejected.len() != common + 1 {
        return Err(FormProblem::MixedPrompts);
    }
    let prompt = prompt.map(Content::into_messages).unwrap_or_default();
    let last = |mut side: Vec<Message>| side.pop().map(|reply| reply.content).unwrap_or_default();
    let (before, chosen, rejected) = (chosen[..common].to_vec(), last(chosen), last(rejected));
    let prompt = match (prompt.is_empty(), before.is_empty()) {
        (true, true) => return Err(FormProblem::NoPrompt),
        (false, true) => prompt,
        (true, false) => before,
        (false, false) => joined(&prompt, before)?,
    };
    Ok(Replies { prompt, chosen, rejected })
}

/// The conversation that both sides begin with, beside a prompt: it repeats it, or goes on from it.
fn joined(prompt: &[Message], before: Vec<Message>) -> Result<Vec<Message>, FormProblem> {
    let says = |text: &str| before.iter().any(|message| message.content.trim() == text.trim());
    if prompt.iter().all(|message| says(&message.content)) {
        return Ok(before);
    }
    // Ours alone and theirs alone would be two different questions.
    Err(FormProblem::MixedPrompts)
}

impl Content {
    fn into_messages(self) -> Vec<Message> {
        match self {
            Self::Text(text) => vec![Message::user(text)],
            Self::Messages(messages) => messages,
        }
    }
}

/// The prompt under any of its names, with the instructions beside it.
fn take_prompt(row: &mut Object) -> Result<Option<Content>, FormProblem> {
    let mut prompt = None;
    for name in PROMPTS {
        prompt = take_content(row, name)?;
        if prompt.is_some() {
            break;
        }
    }
    let Some(Content::Text(mut text)) = prompt else { return Ok(prompt) };
    if let Some(input) = take_if_read::<String>(row, "input").filter(|input| !input.is_empty()) {
        text = format!("{text}\n\n{input}");
    }
    let system = SYSTEMS.iter().find_map(|name| take_if_read::<String>(row, name));
    Ok(Some(match system.filter(|system| !system.trim().is_empty()) {
        Some(system) => Content::Messages(vec![Message::system(system), Message::user(text)]),
        None => Content::Text(text),
    }))
}

/// A column as a text or as messages; `None` if it is absent, `null` or an empty list.
fn take_content(row: &mut Object, column: &'static str) -> Result<Option<Content>, FormProblem> {
    match row.get(column).map(|raw| raw.as_bytes()[0]) {
        None => Ok(None),
        Some(b'"') => Ok(Some(Content::Text(row.require_reply(column)?))),
        Some(b'{') => {
            let message: RawMessage = row.require(column)?;
            Ok(Some(Content::Messages(messages(column, vec![message])?)))
        }
        Some(_) => {
            let list: Option<Vec<RawMessage>> = row.take(column)?;
            let list = list.filter(|list| !list.is_empty());
            list.map(|list| Ok(Content::Messages(messages(column, list)?))).transpose()
        }
    }
}

/// A column of ours; files of others may have anything there.
fn take_if_read<T: DeserializeOwned>(row: &mut Object, column: &'static str) -> Option<T> {
    row.take(column).ok().flatten()
}

fn take_margin(row: &mut Object) -> Result<f64, FormProblem> {
    let margin: f64 = row.take("margin")?.unwrap_or(0.0);
    if margin.is_finite() && margin >= 0.0 {
        return Ok(margin);
    }
    Err(FormProblem::column("margin", "expected a number of at least 0".to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Result<GivenPair, FormProblem> {
        read_row(serde_json::from_str(text).expect("test data is JSON"))
    }

    /// The prompt's messages as `role: content`, and both replies.
    #[track_caller]
    fn check(row: &str, prompt: &[&str], replies: [&str; 2]) {
        let pair = read(row).unwrap_or_else(|problem| panic!("{problem}: {row}"));
        let found: Vec<String> = pair
            .prompt
            .iter()
            .map(|message| format!("{:?}: {}", message.role, message.content).to_lowercase())
            .collect();
        assert_eq!(found, prompt, "{row}");
        assert_eq!([pair.chosen.as_str(), pair.rejected.as_str()], replies, "{row}");
    }

    #[track_caller]
    fn refused(row: &str, name: &str) {
        let problem = read(row).expect_err(row);
        assert_eq!(problem.name(), name, "{problem}: {row}");
    }

    #[test]
    fn the_usual_forms_are_read() {
        check(r#"{"prompt":"q","chosen":"a","rejected":"b"}"#, &["user: q"], ["a", "b"]);
        check(r#"{"prompt":"q ","chosen":"q a","rejected":"q b"}"#, &["user: q "], ["a", "b"]);
        check(
            r#"{"system":"s","question":"q","chosen":"a","rejected":"b"}"#,
            &["system: s", "user: q"],
            ["a", "b"],
        );
        check(
            r#"{"instruction":"q","input":"i","system":"","chosen":"a","rejected":"b"}"#,
            &["user: q\n\ni"],
            ["a", "b"],
        );
        let hh = |reply: &str| {
            format!(r"\n\nHuman: q\n\nAssistant: x\n\nHuman: r\n\nAssistant: {reply}")
        };
        check(
            &format!(r#"{{"chosen":"{}","rejected":"{}"}}"#, hh("a"), hh("b")),
            &["user: q", "assistant: x", "user: r"],
            ["a", "b"],
        );
        let list = |reply: &str| {
            format!(
                r#"[{{"role":"user","content":"q","x":1}},{{"role":"assistant","content":"{reply}"}}]"#
            )
        };
        for prompt in ["", r#""prompt":"q","#, r#""prompt":[{"role":"user","content":"q"}],"#] {
            let row = format!(r#"{{{prompt}"chosen":{},"rejected":{}}}"#, list("a"), list("b"));
            check(&row, &["user: q"], ["a", "b"]);
        }
        check(
            r#"{"prompt":[{"from":"human","value":"q"}],"chosen":[{"from":"gpt","value":"a"}],"rejected":{"from":"gpt","value":"b"}}"#,
            &["user: q"],
            ["a", "b"],
        );
    }

    #[test]
    fn a_line_of_our_own_is_read_again() {
        let pair = read(
            r#"{"v":1,"id":"x/1:0","task_id":"x/1","prompt":[{"role":"user","content":"q"}],"chosen":"a","rejected":"b","margin":0.5,"origin":"rollouts:reward"}"#,
        )
        .unwrap();
        assert_eq!(pair.task_id.unwrap().as_str(), "x/1");
        assert_eq!((pair.margin, pair.origin.as_deref()), (0.5, Some("rollouts:reward")));
    }

    /// Values that a column of some file may have.
    fn column() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            Just(""),
            Just("a"),
            Just("b"),
            Just("q"),
            Just("\n\nHuman: q\n\nAssistant: a"),
            Just("\n\nHuman: q\n\nAssistant: b"),
        ];
        let role = prop_oneof![Just("user"), Just("assistant"), Just("gpt"), Just("judge\u{7}")];
        let message = (role, text.clone()).prop_map(|(role, text)| {
            json!({if role == "gpt" { "from" } else { "role" }: role, "content": text})
        });
        prop_oneof![
            Just(Value::Null),
            Just(json!(7)),
            Just(json!({"x": []})),
            text.prop_map(Value::from),
            prop::collection::vec(message, 0..4).prop_map(Value::from),
        ]
    }

    proptest! {
        /// Whatever stands in the columns: a pair that can be learnt from, or a reason to print.
        #[test]
        fn a_row_is_a_pair_or_has_a_reason(
            names in prop::collection::vec(0_usize..7, 0..6),
            values in prop::collection::vec(column(), 6),
        ) {
            let columns = ["prompt", "question", "system", "chosen", "rejected", "margin", "task_id"];
            let row: serde_json::Map<String, Value> =
                names.iter().map(|at| columns[*at].to_owned()).zip(values).collect();
            match read(&Value::from(row).to_string()) {
                Ok(pair) => {
                    prop_assert!(!pair.chosen.trim().is_empty() && !pair.rejected.trim().is_empty());
                    prop_assert_ne!(pair.chosen.trim(), pair.rejected.trim());
                    prop_assert!(pair.prompt.iter().any(|said| !said.content.trim().is_empty()));
                }
                Err(problem) => {
                    let reason = problem.to_string();
                    prop_assert!(!reason.is_empty() && !reason.chars().any(char::is_control));
                }
            }
        }
    }

    #[test]
    fn what_is_no_pair_is_named() {
        refused(r#"{"prompt":"q","chosen":"a","rejected":" a"}"#, "equal_texts");
        refused(r#"{"prompt":"q","chosen":"a","rejected":""}"#, "empty_side");
        refused(r#"{"chosen":"a","rejected":"b"}"#, "no_prompt");
        refused(r#"{"prompt":" ","chosen":"a","rejected":"b"}"#, "no_prompt");
        refused(r#"{"prompt":"q","chosen":"a"}"#, "bad_row");
        refused(r#"{"prompt":"q","chosen":"a","rejected":["b"]}"#, "bad_row");
        refused(
            r#"{"prompt":"q","chosen":"a","rejected":[{"role":"assistant","content":"b"}]}"#,
            "bad_row",
        );
        refused(r#"{"prompt":"q","chosen":"a","rejected":"b","margin":-1}"#, "bad_row");
        refused(r#"{"prompt":"q","chosen":7,"rejected":"b"}"#, "bad_row");
        let list = |question: &str, reply: &str| {
            format!(
                r#"[{{"role":"user","content":"{question}"}},{{"role":"assistant","content":"{reply}"}}]"#
            )
        };
        let row = |prompt: &str, chosen: &str, rejected: &str| {
            format!(r#"{{{prompt}"chosen":{chosen},"rejected":{rejected}}}"#)
        };
        refused(&row("", &list("q", "a"), &list("r", "b")), "mixed_prompts");
        refused(&row(r#""prompt":"other","#, &list("q", "a"), &list("q", "b")), "mixed_prompts");
        refused(&row("", &list("q", "a"), &list("q", "a")), "equal_texts");
        let open = r#"[{"role":"user","content":"q"}]"#;
        refused(&row("", &list("q", "a"), open), "no_reply");
        let alone = |reply: &str| format!(r#"[{{"role":"assistant","content":"{reply}"}}]"#);
        refused(&row("", &alone("a"), &alone("b")), "no_prompt");
        refused(&row("", r#"[{"role":"judge","content":"a"}]"#, open), "bad_row");
    }
}
