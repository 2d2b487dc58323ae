//! What many answers of a server say about the server.
//!
//! A server that ignores the temperature, or a model that never thinks where thinking was requested, makes figures
//! meaningless although no request fails. Neither can be seen in a single answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use whetstone_core::Completion;
use whetstone_core::extract::may_be_all_thinking;

use super::{Request, Response};

/// Prompts with several samples, all the same, from which on it is no coincidence.
const SAME_PROMPTS: usize = 3;
/// Prompts that are remembered.
const PROMPTS: usize = 10_000;

/// The answers of one server, counted.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Replies that were cut off and taken for unfinished thinking.
    cut_thinking: u64,
    /// Whether any reply had thinking, in its text or in a field.
    has_thinking: bool,
    /// Sampled texts by prompt.
    prompts: BTreeMap<u64, Texts>,
}

/// The texts of one prompt.
#[derive(Debug, Clone, Copy)]
struct Texts {
    first: u64,
    count: u64,
    are_same: bool,
}

impl Observed {
    /// Counts an answer as it came, before it is read for its request.
    pub(super) fn count(&mut self, request: &Request, response: &Response) {
        for completion in &response.completions {
            self.has_thinking |= thinks(completion);
            if request.asks_for_thinking() && may_be_all_thinking(completion) {
                self.cut_thinking += 1;
            }
        }
        // Greedy decoding gives the same text each time.
        if request.temperature.is_some_and(|temperature| temperature > 0.0) {
            for completion in &response.completions {
                self.count_text(request, completion);
            }
        }
    }

    fn count_text(&mut self, request: &Request, completion: &Completion) {
        let prompt = hash(&serde_json::to_string(&request.messages).unwrap_or_default());
        let text = hash(&(&completion.text, &completion.reasoning));
        if self.prompts.len() >= PROMPTS && !self.prompts.contains_key(&prompt) {
            return;
        }
        let new = Texts { first: text, count: 0, are_same: true };
        let texts = self.prompts.entry(prompt).or_insert(new);
        texts.count += 1;
        texts.are_same &= texts.first == text;
    }

    /// Reasons to doubt what was sampled, each a sentence.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.cut_thinking > 0 && !self.has_thinking {
            doubts.push(format!(
                "{} replies were cut off by the limit on tokens and count as unfinished thinking, without code: thinking \
                 is requested, but no reply has any. If the model does not think, add \
                 `--set teacher.enable_thinking=false`",
                self.cut_thinking
            ));
        }
        let several: Vec<&Texts> = self.prompts.values().filter(|texts| texts.count > 1).collect();
        if several.len() >= SAME_PROMPTS && several.iter().all(|texts| texts.are_same) {
            doubts.push(format!(
                "all samples of a prompt are the same, for each of {} prompts: the server seems to ignore the \
                 temperature, and then groups and pass@k say nothing",
                several.len()
            ));
        }
        doubts
    }
}

fn thinks(completion: &Completion) -> bool {
    let in_text = ["<think>", "</think>"].iter().any(|tag| completion.text.contains(tag));
    in_text || completion.reasoning.as_ref().is_some_and(|text| !text.is_empty())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use whetstone_core::Message;
    use whetstone_core::completion::Finish;
    use whetstone_core::config::TeacherConfig;

    use super::*;
    use crate::chat::Usage;

    fn request(prompt: &str) -> Request {
        Request::of(&TeacherConfig::default(), vec![Message::user(prompt)])
    }

    fn response(text: &str, finish: Finish) -> Response {
        let completion =
            Completion { text: text.to_owned(), reasoning: None, finish, tokens: None };
        Response { model: String::new(), completions: vec![completion], usage: Usage::default() }
    }

    fn observed(answers: &[(&str, &str)]) -> Vec<String> {
        let mut observed = Observed::default();
        for (prompt, text) in answers {
            observed.count(&request(prompt), &response(text, Finish::Stop));
        }
        observed.doubts()
    }

    #[test]
    fn equal_samples_of_three_prompts_are_doubted_and_of_two_are_not() {
        let three = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y"), ("c", "z"), ("c", "z")];
        let said = observed(&three);
        assert!(said.len() == 1 && said[0].contains("each of 3 prompts"), "{said:?}");
        assert!(observed(&three[..4]).is_empty());
        let mut other = three;
        other[5].1 = "another";
        assert!(observed(&other).is_empty(), "one difference is enough");
        assert!(observed(&[("a", "x"), ("b", "x"), ("c", "x")]).is_empty(), "one sample each");
    }

    #[test]
    fn greedy_samples_may_be_the_same() {
        let mut observed = Observed::default();
        for prompt in ["a", "a", "b", "b", "c", "c"] {
            let greedy = Request { temperature: Some(0.0), ..request(prompt) };
            observed.count(&greedy, &response("x", Finish::Stop));
        }
        assert!(observed.doubts().is_empty());
    }

    #[test]
    fn cut_replies_are_doubted_unless_the_model_thinks_somewhere() {
        let mut observed = Observed::default();
        observed.count(&request("a"), &response("def f(): pass", Finish::Length));
        let said = observed.doubts();
        assert!(said.len() == 1 && said[0].contains("teacher.enable_thinking=false"), "{said:?}");
        observed.count(&request("b"), &response("hm</think>def f(): pass", Finish::Stop));
        assert!(observed.doubts().is_empty());
        let without = TeacherConfig { enable_thinking: false, ..TeacherConfig::default() };
        let mut plain = Observed::default();
        let asked = Request::of(&without, vec![Message::user("a")]);
        plain.count(&asked, &response("def f(): pass", Finish::Length));
        assert!(plain.doubts().is_empty());
    }
}
