//! SFT rows as training examples: conversations of which every reply is trained, and nothing else.
//!
//! ```text
//! prompt ++ reply ++ end ++ what the template puts between two turns ++ reply ++ end …
//! unlabelled  trained       unlabelled                                 trained
//! ```
//!
//! The tokens are those that a rollout of the same conversation has: every reply is encoded by itself, and the
//! prompt of a later turn is made as for an episode (`collect::next_prompt`). Where a template rewrites earlier turns,
//! a later turn is an example of its own, as in a rollout.

use std::sync::Arc;

use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::config::Config;
use whetstone_core::extract::opens_thinking;
use whetstone_core::message::Message;
use whetstone_core::sft_row::{SftRow, SftTurn};
use whetstone_data::rows::Tokens;
use whetstone_model::template::Options;
use whetstone_rollout::collect::{Turn, next_prompt};

use crate::error::TrainError;
use crate::example::Example;
use crate::rollouts::sequences::sampled_sequences;
use crate::rows::Ending;
use crate::student::Student;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Examples of rows, and what became of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowExamples {
    /// The examples, in the order of their rows.
    pub examples: Vec<Example>,
    /// Rows there were.
    pub rows: u64,
    /// Rows left out: one of their examples has more than `training.max_length` tokens.
    pub too_long: u64,
}

/// Makes examples of rows, with the student's chat template.
///
/// # Errors
///
/// If the student has no chat template or no token that ends a message, or the template refuses a conversation.
pub fn row_examples(
    student: &Student,
    rows: &[SftRow],
    config: &Config,
) -> Result<RowExamples, TrainError> {
    let ending = Ending::of(&student.model).ok_or_else(|| {
        TrainError::Settings("the student has no token that ends a message".to_owned())
    })?;
    let max_tokens = config.training.max_length as usize;
    let mut made = RowExamples::default();
    for row in rows {
        made.rows += 1;
        let turns = Conversation { student, ending }
            .turns(row)
            .map_err(|problem| TrainError::Row { row: made.rows, problem: problem.to_string() })?;
        let examples: Vec<Example> = sampled_sequences(turns.iter().enumerate())
            .into_iter()
            .map(|sequence| sequence.example)
            .collect();
        if examples.iter().any(|example| example.tokens.len() > max_tokens) {
            made.too_long += 1;
        } else {
            made.examples.extend(examples);
        }
    }
    Ok(made)
}

/// How the conversation of a row becomes tokens.
struct Conversation<'a> {
    student: &'a Student,
    ending: Ending<'a>,
}

impl Conversation<'_> {
    fn turns(&self, row: &SftRow) -> Result<Vec<Turn>, TrainError> {
        let mut messages: Vec<Message> = row.standing().into_iter().collect();
        let mut turns: Vec<Turn> = Vec::new();
        for SftTurn { user, reply } in row.turns() {
            messages.push(Message::user(user));
            let prompt = match turns.last() {
                None => self.student.prompt(&messages)?,
                Some(last) => next_prompt(last, &messages, &|all| self.student.render(all))
                    .map_err(|err| TrainError::Settings(err.to_string()))?,
            };
            let text = after_prompt(&self.prompt_text(&messages)?, &reply);
            messages.push(Message::assistant(&text));
            // Rows are not shown: what was asked stands in the file.
            let asked = Arc::from([]);
            turns.push(Turn { prompt: Arc::from(prompt), asked, completion: self.said(text) });
        }
        Ok(turns)
    }

    fn prompt_text(&self, messages: &[Message]) -> Result<String, TrainError> {
        let template = self.student.model.template.as_ref().ok_or(TrainError::NoTemplate)?;
        Ok(template.render(messages, &Options::prompt())?)
    }

    /// A reply with its tokens and the end of a message. Log-probabilities are not used.
    fn said(&self, text: String) -> Completion {
        let mut ids = self.ending.encode(&text);
        ids.push(self.ending.end());
        let logps = vec![0.0; ids.len()];
        let tokens = SampledTokens::new(ids, logps).ok();
        Completion { text, reasoning: None, finish: Finish::Stop, tokens }
    }
}

/// A reply as it continues a rendered prompt. Where the prompt ends inside the thinking tag, the reply has no
/// opening tag, and thinking that it has none of is closed.
fn after_prompt(prompt: &str, reply: &str) -> String {
    if !opens_thinking(prompt) {
        return reply.to_owned();
    }
    let line = if prompt.ends_with('\n') { "" } else { "\n" };
    match reply.trim_start().strip_prefix(OPEN) {
        Some(inside) => format!("{line}{}", inside.trim_start_matches('\n')),
        None if reply.contains(CLOSE) => reply.to_owned(),
        None => format!("{line}\n{CLOSE}\n\n{reply}"),
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;
    use whetstone_model::Pretrained;
    use whetstone_model::tokenizer::SpecialTokens;

    use super::*;
    use crate::testing::{settings, student};

    fn row(line: &str) -> SftRow {
        SftRow::from_object(serde_json::from_str(line).unwrap()).unwrap()
    }

    /// Settings that leave no row of these tests out.
    fn long() -> Config {
        let mut config = settings();
        config.training.max_length = 2000;
        config
    }

    const TWO_TURNS: &str = r#"{"instruction":"Guess.","input":"Higher.","output":"<think>\nup\n</think>\n\n7","history":[["Guess.\nBelow 10.","<think>\nhm\n</think>\n\n3"]]}"#;

    fn decoded(model: &Pretrained, ids: &[u32]) -> String {
        model.tokenizer.decode(ids, SpecialTokens::Shown).unwrap()
    }

    /// The texts that are trained, and those that are not, in order.
    fn parts(model: &Pretrained, example: &Example) -> (Vec<String>, Vec<String>) {
        let mask: Vec<bool> =
            std::iter::repeat_n(false, example.first).chain(example.mask()).collect();
        let (mut trained, mut shown) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < mask.len() {
            let end = (at..mask.len()).find(|&one| mask[one] != mask[at]).unwrap_or(mask.len());
            let text = decoded(model, &example.tokens[at..end]);
            if mask[at] {
                trained.push(text);
            } else {
                shown.push(text);
            }
            at = end;
        }
        (trained, shown)
    }

    #[test]
    fn every_reply_with_its_end_is_trained_and_not_one_token_of_a_prompt() {
        let (_dir, student) = student(&settings());
        let made = row_examples(&student, &[row(TWO_TURNS)], &long()).unwrap();
        assert_eq!((made.rows, made.too_long, made.examples.len()), (1, 0, 1));
        let (trained, shown) = parts(&student.model, &made.examples[0]);
        let end = decoded(&student.model, &[Ending::of(&student.model).unwrap().end()]);
        let replies = ["<think>\nhm\n</think>\n\n3", "<think>\nup\n</think>\n\n7"];
        assert_eq!(trained, replies.map(|reply| format!("{reply}{end}")));
        let conversation = [
            Message::user("Guess.\nBelow 10."),
            Message::assistant(replies[0]),
            Message::user("Higher."),
        ];
        let template = student.model.template.as_ref().unwrap();
        let prompt = |messages: &[Message]| template.render(messages, &Options::prompt()).unwrap();
        assert_eq!(shown[0], prompt(&conversation[..1]));
        assert_eq!(shown.len(), 2);
        let whole = prompt(&conversation);
        assert!(shown[1].contains("Higher.") && whole.ends_with(&shown[1]), "{}", shown[1]);
        assert!(!shown.concat().contains("up") && !shown.concat().contains("hm"));
    }

    #[test]
    fn the_tokens_are_those_of_a_rollout_of_the_same_conversation() {
        let (_dir, student) = student(&settings());
        let made = row_examples(&student, &[row(TWO_TURNS)], &long()).unwrap();
        // A rollout: the model says the tokens of its replies, and the driver makes the next prompt of them.
        let ending = Ending::of(&student.model).unwrap();
        let say = |text: &str| [ending.encode(text), vec![ending.end()]].concat();
        let (first, second) = ("<think>\nhm\n</think>\n\n3", "<think>\nup\n</think>\n\n7");
        let mut messages = vec![Message::user("Guess.\nBelow 10.")];
        let prompt = student.prompt(&messages).unwrap();
        let tokens = SampledTokens::new(say(first), vec![0.0; say(first).len()]).ok();
        let (text, finish) = (first.to_owned(), Finish::Stop);
        let completion = Completion { text, reasoning: None, finish, tokens };
        let (prompt_ids, asked) = (Arc::from(prompt.clone()), Arc::from([]));
        let turn = Turn { prompt: prompt_ids, asked, completion };
        messages.extend([Message::assistant(first), Message::user("Higher.")]);
        let later = next_prompt(&turn, &messages, &|all| student.render(all)).unwrap();
        assert!(later.starts_with(&[prompt, say(first)].concat()));
        assert_eq!(made.examples[0].tokens, [later, say(second)].concat());
    }

    #[test]
    fn a_row_that_is_too_long_is_left_out_whole_and_counted() {
        let (_dir, student) = student(&settings());
        let rows = [row(TWO_TURNS), row(r#"{"instruction":"Say a.","output":"a"}"#)];
        let mut config = long();
        let whole = row_examples(&student, &rows, &config).unwrap().examples;
        let length = whole[0].tokens.len();
        config.training.max_length = u32::try_from(length).unwrap();
        assert_eq!(row_examples(&student, &rows, &config).unwrap().examples, whole);
        config.training.max_length -= 1;
        let less = row_examples(&student, &rows, &config).unwrap();
        assert_eq!((less.rows, less.too_long, less.examples.as_slice()), (2, 1, &whole[1..]));
    }

    #[test]
    fn thinking_that_the_prompt_opens_is_not_opened_again() {
        let thought = "<think>\nhm\n</think>\n\n3";
        assert_eq!(after_prompt("user\n", thought), thought);
        assert_eq!(after_prompt("bot<think>\n", thought), "hm\n</think>\n\n3");
        assert_eq!(after_prompt("bot<think>", thought), "\nhm\n</think>\n\n3");
        assert_eq!(after_prompt("bot<think>\n", "3"), "\n</think>\n\n3");
        assert_eq!(after_prompt("bot<think>\n", "hm</think>3"), "hm</think>3");
    }
}
