//! The prompt of an episode's next turn.
//!
//! ```text
//! earlier prompt ++ sampled tokens ++ what the template puts behind a reply, with the environment's answer
//! ```
//!
//! The model's own tokens are kept: text that is tokenized again may become other tokens, and then the
//! log-probabilities of the earlier turns would belong to a conversation that the later ones never saw.
//! What stands behind the reply is found by rendering the conversation with an empty reply in its place. If
//! the template makes anything else of the reply there, the whole conversation is rendered again.

use whetstone_core::message::{Message, Role};

use super::{Render, RenderError, Turn};

/// The prompt after `turn`, when `messages` has its reply and what the environment answered: the tokens of the turn
/// stay as they are.
///
/// # Errors
///
/// If `render` refuses a conversation.
pub fn prompt(
    turn: &Turn,
    messages: &[Message],
    render: &Render<'_>,
) -> Result<Vec<u32>, RenderError> {
    let rendered = render(messages)?;
    let Some(tokens) = &turn.completion.tokens else { return Ok(rendered) };
    let said = [&turn.prompt, tokens.ids()].concat();
    if rendered.starts_with(&said) {
        return Ok(rendered);
    }
    match behind_reply(messages, &rendered, render)? {
        Some(behind) => Ok(joined(said, &behind)),
        None => Ok(rendered),
    }
}

/// The tokens behind the last reply; none if the template does not put the reply between two texts.
fn behind_reply(
    messages: &[Message],
    rendered: &[u32],
    render: &Render<'_>,
) -> Result<Option<Vec<u32>>, RenderError> {
    let replied = messages.iter().rposition(|message| message.role == Role::Assistant);
    let Some(at) = replied else { return Ok(None) };
    let before = render(&messages[..at])?;
    let mut blank = messages.to_vec();
    blank[at].content.clear();
    let blank = render(&blank)?;
    // Not compared: what stands before the reply. Its last token may be another with the reply behind it.
    let behind = blank.strip_prefix(before.as_slice()).filter(|behind| rendered.ends_with(behind));
    Ok(behind.map(<[u32]>::to_vec))
}

/// The end of a turn is said once: by the model that sampled it, or else by the template.
fn joined(mut said: Vec<u32>, behind: &[u32]) -> Vec<u32> {
    let ended = said.last().is_some_and(|last| behind.first() == Some(last));
    said.extend_from_slice(&behind[usize::from(ended)..]);
    said
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use whetstone_core::completion::{Completion, Finish, SampledTokens};

    use super::*;

    /// The end of a message.
    const END: u32 = 0;
    /// A token for `ab`, which is what a tokenizer makes of these two letters.
    const AB: u32 = 1;

    /// Messages between marks, each behind an `a`, and the beginning of a reply.
    #[expect(clippy::unnecessary_wraps, reason = "what a renderer returns")]
    fn chat(messages: &[Message]) -> Result<Vec<u32>, RenderError> {
        let texts = messages.iter().map(|message| format!("\u{2}a{}\0", message.content));
        let text = texts.collect::<String>() + "\u{2}a";
        Ok(letters(&text.replace("ab", "\u{1}")))
    }

    fn turn(prompt: &[u32], ids: &[u32]) -> Turn {
        let tokens = SampledTokens::new(ids.to_vec(), vec![-0.5; ids.len()]).ok();
        let text = String::new();
        let completion = Completion { text, reasoning: None, finish: Finish::Stop, tokens };
        Turn { prompt: Arc::from(prompt), asked: Arc::from([]), completion }
    }

    fn letters(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn tokens_that_were_sampled_stay_also_where_their_text_would_become_others() {
        let mut messages = vec![Message::user("q")];
        let first = chat(&messages).unwrap();
        messages.extend([Message::assistant("ab"), Message::user("again")]);
        // The tokenizer would say `ab` in one token; the model said it in two.
        let sampled = [letters("ab"), vec![END]].concat();
        let second = prompt(&turn(&first, &sampled), &messages, &chat).unwrap();
        let answer = letters("\u{2}aagain\0\u{2}a");
        assert_eq!(second, [first.clone(), sampled, answer.clone()].concat());
        assert_ne!(second, chat(&messages).unwrap());
        // A third turn keeps both.
        messages.extend([Message::assistant("ab"), Message::user("again")]);
        let sampled = [AB, END];
        let third = prompt(&turn(&second, &sampled), &messages, &chat).unwrap();
        assert_eq!(third, [second, sampled.to_vec(), answer].concat());
    }

    #[test]
    fn a_reply_whose_beginning_becomes_one_token_with_the_end_of_the_prompt_stays_as_it_was() {
        let messages = [Message::user("q"), Message::assistant("bx"), Message::user("again")];
        let first = chat(&messages[..1]).unwrap();
        assert!(!chat(&messages).unwrap().starts_with(&first), "they became one token");
        let sampled = [letters("bx"), vec![END]].concat();
        let second = prompt(&turn(&first, &sampled), &messages, &chat).unwrap();
        assert_eq!(second, [first, sampled, letters("\u{2}aagain\0\u{2}a")].concat());
    }

    #[test]
    fn a_reply_that_was_cut_off_is_ended_by_the_template() {
        let messages = [Message::user("q"), Message::assistant("xab"), Message::user("go on")];
        let first = chat(&messages[..1]).unwrap();
        let cut = letters("xab");
        let second = prompt(&turn(&first, &cut), &messages, &chat).unwrap();
        let answer = letters("\0\u{2}ago on\0\u{2}a");
        assert_eq!(second, [first, cut, answer].concat());
    }

    #[test]
    fn a_template_that_rewrites_replies_and_a_server_without_tokens_are_rendered_again() {
        let reversed = |messages: &[Message]| {
            let turned = messages.iter().map(|message| {
                let content: String = message.content.chars().rev().collect();
                Message { role: message.role, content }
            });
            let mut turned: Vec<Message> = turned.collect();
            turned.reverse();
            chat(&turned)
        };
        let messages = [Message::user("q"), Message::assistant("xy"), Message::user("again")];
        let first = reversed(&messages[..1]).unwrap();
        let next = prompt(&turn(&first, &letters("xy")), &messages, &reversed).unwrap();
        assert_eq!(next, reversed(&messages).unwrap());
        let mut silent = turn(&first, &letters("xy"));
        silent.completion.tokens = None;
        assert_eq!(prompt(&silent, &messages, &chat).unwrap(), chat(&messages).unwrap());
    }
}
