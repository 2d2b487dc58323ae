//! A look at a server before anything depends on it.

use std::time::{Duration, Instant};

use whetstone_core::{Completion, Message};

use super::{ChatError, Client, Request, Usage};

/// Completions asked for, to see whether `n` is known.
const SAMPLES: u32 = 2;
/// Enough to see where thinking begins.
const TOKENS: u32 = 64;

/// The result of one small request.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// From sending to the whole answer.
    pub latency: Duration,
    /// The model, as the server names it.
    pub model: String,
    /// Where thinking is returned.
    pub reasoning: ReasoningPlace,
    /// Completions that came for [`Probe::asked`].
    pub given: u32,
    /// Completions that were asked for.
    pub asked: u32,
    /// The token usage.
    pub usage: Usage,
}

/// The part of a response in which a server returns thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningPlace {
    /// In the text, between its tags.
    Inline,
    /// In a field of its own.
    Field,
    /// None was seen.
    NotSeen,
}

impl Probe {
    /// Whether the server gives as many completions as are asked for.
    pub fn honours_n(&self) -> bool {
        self.given == self.asked
    }
}

impl Client {
    /// Sends one tiny request, once, with the model and the sampling of `like`.
    pub fn probe(&self, like: &Request) -> Result<Probe, ChatError> {
        let request = Request {
            messages: vec![Message::user("What is 1 + 1? Answer with the number.")],
            n: Some(SAMPLES),
            ..like.clone().with_limit(Some(TOKENS))
        };
        let start = Instant::now();
        let response = self.send_once(&request)?;
        let latency = start.elapsed();
        let given = u32::try_from(response.completions.len()).unwrap_or(u32::MAX);
        Ok(Probe {
            latency,
            model: response.model,
            reasoning: place(&response.completions),
            given,
            asked: SAMPLES,
            usage: response.usage,
        })
    }
}

fn place(completions: &[Completion]) -> ReasoningPlace {
    let is_inline = |text: &str| text.contains("<think>") || text.contains("</think>");
    if completions.iter().any(|completion| completion.reasoning.is_some()) {
        ReasoningPlace::Field
    } else if completions.iter().any(|completion| is_inline(&completion.text)) {
        ReasoningPlace::Inline
    } else {
        ReasoningPlace::NotSeen
    }
}
