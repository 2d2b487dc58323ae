//! The response format: thinking in its tag, then the code in a fenced block.
//!
//! What a teacher's trace is rewritten to and what a student learns to write. A response that
//! could not be read back as it is cannot be made: thinking that holds its own closing tag is
//! refused, and the fence is longer than any in the code.

use super::Form;
use super::extraction::{opens_thinking, with_newlines};
use super::tag::THINK;

/// Thinking and code that can be written in a form and read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    form: Form,
    thinking: String,
    code: String,
}

/// Why thinking and code do not make a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The thinking would be cut short or go on too long.
    #[error("the thinking holds `{0}`, which would end it early or start it twice")]
    Tag(&'static str),
    /// There is no code.
    #[error("the code is blank")]
    NoCode,
}

impl Response {
    /// Trims the thinking, makes line ends `\n`, and checks that both can be read back.
    pub fn new(form: Form, thinking: &str, code: &str) -> Result<Self, ResponseError> {
        let marks = form.tags().iter().flat_map(|tag| [tag.open, tag.close]);
        if let Some(tag) = marks.into_iter().find(|tag| thinking.contains(tag)) {
            return Err(ResponseError::Tag(tag));
        }
        if code.trim().is_empty() {
            return Err(ResponseError::NoCode);
        }
        let code = with_newlines(code).into_owned();
        Ok(Self { form, thinking: thinking.trim().to_owned(), code })
    }

    /// The reasoning.
    pub fn thinking(&self) -> &str {
        &self.thinking
    }

    /// The program.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The text of the response.
    pub fn render(&self) -> String {
        let Self { form, thinking, .. } = self;
        let (open, close) = (form.tag().open, form.tag().close);
        format!("{open}\n{thinking}\n{close}\n\n{}", self.block())
    }

    /// The text without its thinking, as it continues a rendered prompt: the code block. Thinking that
    /// the prompt has opened is closed empty.
    pub fn render_answer_after(&self, prompt: &str) -> String {
        if self.form.tag() != THINK || !opens_thinking(prompt) {
            return self.block();
        }
        let line = if prompt.ends_with('\n') { "" } else { "\n" };
        format!("{line}\n{}\n\n{}", THINK.close, self.block())
    }

    /// The code in its fence.
    fn block(&self) -> String {
        let Self { form, code, .. } = self;
        let fence = "`".repeat(longest_run(code).max(2) + 1);
        format!("{fence}{}\n{code}\n{fence}\n", form.language_name())
    }

    /// The text of the response as it continues a rendered prompt: without its opening tag, if the
    /// prompt ends inside it.
    pub fn render_after(&self, prompt: &str) -> String {
        let whole = self.render();
        if self.form.tag() != THINK || !opens_thinking(prompt) {
            return whole;
        }
        let inside = whole.strip_prefix(THINK.open).unwrap_or(&whole);
        let line_is_over = prompt.ends_with('\n');
        let inside = if line_is_over { inside.trim_start_matches('\n') } else { inside };
        inside.to_owned()
    }
}

/// The longest run of backticks.
fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::{Reply, extract};

    #[test]
    fn it_is_written_as_the_prompt_asks() {
        let response = Response::new(Form::ThinkPython, " Add. ", "x = 1").unwrap();
        assert_eq!(response.render(), "<think>\nAdd.\n</think>\n\n```python\nx = 1\n```\n");
        let response = Response::new(Form::PlanJavascript, "", "let x").unwrap();
        assert_eq!(response.render(), "[PLAN]\n\n[/PLAN]\n\n```javascript\nlet x\n```\n");
    }

    /// What the prompt and the response say together has one opening tag, whatever the template does.
    #[test]
    fn after_a_prompt_that_opens_the_thinking_the_tag_is_not_said_again() {
        let response = Response::new(Form::ThinkPython, "Add.", "x = 1").unwrap();
        for prompt in ["user: hi\nassistant:\n<think>\n", "user: hi\nassistant: <think>", "hi\n"] {
            let both = format!("{prompt}{}", response.render_after(prompt));
            assert!(both.contains("<think>\nAdd.\n</think>\n\n```python"), "{both}");
            assert_eq!(both.matches("<think>").count(), 1, "{both}");
        }
        let closed = "assistant: <think>\n\n</think>\n\n";
        assert_eq!(response.render_after(closed), response.render());
        let plan = Response::new(Form::PlanJavascript, "Add.", "x").unwrap();
        assert_eq!(plan.render_after("<think>\n"), plan.render());
    }

    #[test]
    fn an_answer_alone_is_its_block_and_read_back_without_thinking() {
        let response = Response::new(Form::ThinkPython, "Add.", "x = 1").unwrap();
        let block = "```python\nx = 1\n```\n";
        assert_eq!(response.render_answer_after("user: hi\nassistant:\n"), block);
        for prompt in ["assistant:\n<think>\n", "assistant: <think>"] {
            let both = format!("{prompt}{}", response.render_answer_after(prompt));
            assert!(both.ends_with(&format!("<think>\n\n</think>\n\n{block}")), "{both}");
            let said = response.render_answer_after(prompt);
            let read = extract(Reply::text(&said).after(true), Form::ThinkPython);
            assert_eq!(read.thinking.unwrap_or_default(), "");
            assert_eq!(read.code.unwrap().source.trim(), "x = 1");
        }
        let plan = Response::new(Form::PlanJavascript, "Add.", "x").unwrap();
        assert_eq!(plan.render_answer_after("<think>\n"), "```javascript\nx\n```\n");
    }

    #[test]
    fn the_fence_is_longer_than_any_in_the_code() {
        let response = Response::new(Form::ThinkPython, "", "'''\n````\n'''").unwrap();
        assert!(response.render().contains("`````python\n"));
    }

    #[test]
    fn what_could_not_be_read_back_is_refused() {
        let err = Response::new(Form::ThinkPython, "a</think>b", "x").unwrap_err();
        assert_eq!(err, ResponseError::Tag("</think>"));
        let err = Response::new(Form::ThinkPython, "a", " \n").unwrap_err();
        assert_eq!(err, ResponseError::NoCode);
    }
}
