//! A server of chat completions that answers as vLLM does, and misbehaves by script.
//!
//! The answer depends only on the request (its messages, its seed and the index of the choice), so
//! that two runs with the same requests get the same answers. The server counts its requests and
//! the time it was busy.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Asked, Reply, Server, Wire};

/// The server's action on one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers properly.
    Answer,
    /// Answers properly, over another wire.
    Over(Wire),
    /// Sends this.
    Send(Reply),
}

/// Chooses the action on a request.
pub type Script = dyn Fn(u64, &Value) -> Act + Send + Sync;
/// Chooses the text of an answer.
pub type Speech = dyn Fn(&Value, usize) -> String + Send + Sync;

/// The behaviour of a server.
pub struct Manners {
    /// The action, by the number of the request (from 0) and its JSON.
    pub act: Box<Script>,
    /// The text of choice number `usize`; thinking in it is moved to `reasoning_content` if
    /// [`Manners::reasoning`] says so.
    pub text: Box<Speech>,
    /// Whether thinking goes into a field of its own.
    pub reasoning: Reasoning,
    /// The latency of an answer.
    pub latency: Duration,
    /// Requests worked on at a time; others wait.
    pub places: usize,
    /// Choices given at most, whatever `n` says.
    pub most_choices: usize,
}

/// The part of a response in which the server returns thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// It stays in the text.
    Inline,
    /// `reasoning_content`.
    Content,
    /// `reasoning`.
    Plain,
}

/// A running server.
pub struct ChatServer {
    server: Server,
    state: Arc<State>,
}

struct State {
    manners: Manners,
    asked: AtomicU64,
    requests: Mutex<Vec<Asked>>,
    working: Mutex<usize>,
    freed: Condvar,
    busy_us: AtomicU64,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            act: Box::new(|_, _| Act::Answer),
            text: Box::new(said),
            reasoning: Reasoning::Inline,
            latency: Duration::ZERO,
            places: usize::MAX,
            most_choices: usize::MAX,
        }
    }
}

impl Manners {
    /// Does `acts` in turn and then answers properly.
    pub fn script(acts: impl IntoIterator<Item = Act>) -> Self {
        let acts: Vec<Act> = acts.into_iter().collect();
        let at = move |n: u64| usize::try_from(n).ok().and_then(|n| acts.get(n).cloned());
        Self { act: Box::new(move |n, _| at(n).unwrap_or(Act::Answer)), ..Self::default() }
    }
}

impl ChatServer {
    /// Starts a server.
    pub fn start(manners: Manners) -> Self {
        let state = Arc::new(State {
            manners,
            asked: AtomicU64::new(0),
            requests: Mutex::new(Vec::new()),
            working: Mutex::new(0),
            freed: Condvar::new(),
            busy_us: AtomicU64::new(0),
        });
        let own = Arc::clone(&state);
        Self { server: Server::start(move |asked| own.reply(asked)), state }
    }

    /// The address of its chat completions.
    pub fn url(&self) -> String {
        format!("{}/v1/chat/completions", self.server.url())
    }

    /// Everything it was asked, in the order in which it came.
    pub fn requests(&self) -> Vec<Asked> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests for completions and scores so far.
    pub fn asked(&self) -> u64 {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.server.connections()
    }

    /// Time for which its places were taken, added up over them.
    pub fn busy(&self) -> Duration {
        Duration::from_micros(self.state.busy_us.load(Ordering::SeqCst))
    }
}

impl State {
    fn reply(&self, asked: &Asked) -> Reply {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/v1/models") => {
                let models = json!([{"id": "loopback", "object": "model"}]);
                Reply::json(200, &json!({"object": "list", "data": models}))
            }
            ("POST", "/v1/chat/completions") => self.asked_for(asked, Self::answer),
            ("POST", "/v1/completions") => self.asked_for(asked, Self::scores),
            _ => Reply::json(404, &json!({"detail": "Not Found"})),
        }
    }

    /// Does what the script says, which may be to answer properly.
    fn asked_for(&self, asked: &Asked, answer: impl Fn(&Self, &Value) -> Reply) -> Reply {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let Ok(request) = serde_json::from_slice(&asked.body) else {
            return Reply::json(400, &json!({"error": {"message": "the body is not JSON"}}));
        };
        match (self.manners.act)(number, &request) {
            Act::Send(reply) => reply,
            Act::Answer => answer(self, &request),
            Act::Over(wire) => answer(self, &request).sent(wire),
        }
    }

    /// The log-probabilities of the prompt's tokens, as vLLM writes them: each follows from the token's id.
    fn scores(&self, request: &Value) -> Reply {
        self.work();
        let ids = request["prompt"].as_array().cloned().unwrap_or_default();
        let entry = |(index, id): (usize, &Value)| match index {
            0 => Value::Null,
            _ => json!({ id.to_string(): { "logprob": logprob_of(id), "rank": 1 } }),
        };
        let entries: Vec<Value> = ids.iter().enumerate().map(entry).collect();
        let choice = json!({
            "index": 0,
            "text": "x",
            "logprobs": null,
            "finish_reason": "length",
            "prompt_logprobs": entries,
        });
        Reply::json(200, &json!({ "object": "text_completion", "choices": [choice] }))
    }

    fn answer(&self, request: &Value) -> Reply {
        self.work();
        let wanted = request["n"].as_u64().unwrap_or(1);
        let wanted = usize::try_from(wanted).unwrap_or(1).min(self.manners.most_choices);
        let choices: Vec<Value> = (0..wanted).map(|index| self.choice(request, index)).collect();
        let words = |value: &Value| value.to_string().split_whitespace().count();
        let (prompt, completion) =
            (words(&request["messages"]), choices.iter().map(words).sum::<usize>());
        Reply::json(
            200,
            &json!({
                "id": "chatcmpl-loopback",
                "object": "chat.completion",
                "created": 1_767_225_600,
                "model": request["model"],
                "choices": choices,
                "usage": {
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt + completion,
                },
            }),
        )
    }

    fn choice(&self, request: &Value, index: usize) -> Value {
        let text = (self.manners.text)(request, index);
        let parts = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
        let message = match (self.manners.reasoning, parts) {
            (Reasoning::Content, Some((thinking, rest))) => {
                json!({"role": "assistant", "content": rest, "reasoning_content": thinking})
            }
            (Reasoning::Plain, Some((thinking, rest))) => {
                json!({"role": "assistant", "content": rest, "reasoning": thinking})
            }
            _ => json!({"role": "assistant", "content": text, "reasoning_content": null}),
        };
        json!({"index": index, "message": message, "logprobs": null, "finish_reason": "stop"})
    }

    /// Takes a place for as long as an answer takes.
    fn work(&self) {
        let places = self.manners.places;
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        while *working >= places {
            working = self.freed.wait(working).unwrap_or_else(PoisonError::into_inner);
        }
        *working += 1;
        drop(working);
        let start = Instant::now();
        std::thread::sleep(self.manners.latency);
        let took = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.busy_us.fetch_add(took, Ordering::SeqCst);
        *self.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.freed.notify_one();
    }
}

/// The log-probability that the server gives a token: between -1 and -2.
#[expect(clippy::cast_precision_loss, reason = "a remainder below 8")]
fn logprob_of(id: &Value) -> f64 {
    -1.0 - (id.as_u64().unwrap_or(0) % 8) as f64 / 8.0
}

/// Thinking and a program that both follow from the request.
fn said(request: &Value, index: usize) -> String {
    let question = request["messages"].to_string();
    let mark = question.bytes().fold(request["seed"].as_u64().unwrap_or(0), |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    }) % 1_000_003;
    format!(
        "<think>The answer is {mark}, choice {index}.</think>\n\n\
         ```python\ndef answer():\n    return {mark} + {index}\n```"
    )
}
