//! Thinking and code of replies: one prompt, one response format and one extraction, used by teacher,
//! rollouts, SFT and eval alike.
//!
//! [`Prompt`](crate::prompt::Prompt) asks for thinking inside a tag and code in a fenced block; [`Response`] writes that
//! format; [`extract`] reads it back, and everything that real models make of it. Two laws hold
//! the three together: `extract(render(x)) = x`, and one pass over the text whatever it holds, so
//! that a megabyte of backticks costs what a megabyte of prose costs.
//!
//! Code is taken, in this order, from
//!
//! 1. the closed blocks in the wanted language after the thinking: of Python the last one that defines a function or a
//!    class (others are examples of a call), or else the last one,
//! 2. the last other closed block,
//! 3. an unclosed block at the end, marked truncated,
//! 4. plain text that reads as a Python program,
//!
//! and never from inside the thinking. The language of a block is its info string; of a bare fence, the line
//! below it, where that is the language's name alone. Nothing is repaired: a transcript with `>>>` prompts or a
//! line of prose inside the block stays as the model wrote it. Repairing would pay the model for a
//! program that it did not write.
//!
//! Not here: judging a program, or its syntax. What is found may still not parse.

mod cause;
mod extraction;
mod fence;
mod python;
mod python_tokens;
mod response;
mod scan;
mod tag;

pub use cause::{Cause, CauseCount, CauseCounts};
pub use extraction::{
    Code, Extraction, Origin, Reply, blocks, extract, may_be_all_thinking, opens_thinking,
    outside_thinking,
};
pub use response::{Response, ResponseError};

use crate::program::Language;

/// How a reply is laid out: what its thinking is wrapped in, and the language of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `<think>…</think>`, then a `python` block.
    ThinkPython,
    /// `[PLAN]…[/PLAN]`, then a `javascript` block; a model that thinks may do so before.
    PlanJavascript,
}

impl Form {
    /// The form in which programs of a language are asked for.
    pub fn of(language: Language) -> Self {
        match language {
            Language::Python => Self::ThinkPython,
            Language::Javascript => Self::PlanJavascript,
        }
    }

    /// The language of the code.
    pub fn language(self) -> Language {
        match self {
            Self::ThinkPython => Language::Python,
            Self::PlanJavascript => Language::Javascript,
        }
    }

    /// The info string of a block in that language.
    pub(crate) fn language_name(self) -> &'static str {
        match self {
            Self::ThinkPython => "python",
            Self::PlanJavascript => "javascript",
        }
    }

    /// The tag that the response format wraps thinking in.
    pub(crate) fn tag(self) -> tag::Tag {
        match self {
            Self::ThinkPython => tag::THINK,
            Self::PlanJavascript => tag::PLAN,
        }
    }

    /// The tags that thinking may be wrapped in.
    fn tags(self) -> &'static [tag::Tag] {
        match self {
            Self::ThinkPython => &[tag::THINK],
            Self::PlanJavascript => &[tag::THINK, tag::PLAN],
        }
    }
}
