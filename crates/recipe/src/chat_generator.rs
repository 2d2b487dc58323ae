//! A server of chat completions as a generator: of an evaluation, and of rollouts.
//!
//! The server renders prompts itself: it is sent the messages of a conversation.
//!
//! A failed request gives no completion. A command that stops is still given the answers to requests in flight. If the
//! server becomes unreachable, no more requests are sent and the flag that stops the work is set.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use whetstone_core::with_causes;
use whetstone_infer::{GenerateError, Generator, Prompt, SampledCompletion, Usage};
use whetstone_remote::chat::{ChatError, Request, Server};

use crate::failure::Failure;
use crate::observer::Observer;
use crate::retries;
use crate::text::{many, plain};

/// A server of chat completions as a generator.
pub(crate) struct ChatGenerator<'a> {
    server: &'a Server,
    /// Set once the server is gone.
    stop: &'a AtomicBool,
    trouble: Mutex<Trouble>,
}

/// The failures so far.
#[derive(Default)]
struct Trouble {
    /// Failed requests by kind, with the message of the first.
    failed: BTreeMap<&'static str, (u64, String)>,
    /// Whether a request was answered.
    is_answered: bool,
    /// Why no more requests are sent.
    end: Option<Failure>,
}

impl<'a> ChatGenerator<'a> {
    pub(crate) fn new(server: &'a Server, stop: &'a AtomicBool) -> Self {
        Self { server, stop, trouble: Mutex::default() }
    }

    /// Processes jobs until there are none left or the receiver is gone.
    fn work(
        &self,
        prompts: &[Prompt],
        jobs: &Mutex<Jobs>,
        done: &Sender<(SampledCompletion, usize)>,
    ) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((prompt, sample)) = job else { return };
            let Some(answered) = self.answer(prompts, prompt, sample) else { continue };
            if done.send(answered).is_err() {
                return;
            }
        }
    }

    fn answer(
        &self,
        prompts: &[Prompt],
        prompt: usize,
        sample: usize,
    ) -> Option<(SampledCompletion, usize)> {
        let asked = &prompts[prompt];
        let seed = asked.seed.derive("sample", sample as u64).get();
        let like = self.server.request(asked.messages.to_vec());
        let request = Request {
            temperature: like.temperature.map(|_| decimal(asked.rule.temperature)),
            top_p: like.top_p.map(|_| decimal(asked.rule.top_p)),
            presence_penalty: like.presence_penalty.map(|_| 0.0),
            seed: u32::try_from(seed >> 33).ok(),
            ..like.with_limit(u32::try_from(asked.max_tokens).ok())
        };
        match self.server.complete(&request) {
            Ok(response) => {
                let tokens = usize::try_from(response.usage.completion_tokens).unwrap_or(0);
                let completion = response.completions.into_iter().next()?;
                self.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_answered = true;
                Some((SampledCompletion { prompt, sample, completion }, tokens))
            }
            Err(err) => {
                self.failed(&err);
                None
            }
        }
    }

    /// Notes a failure; one that ends all ends what waits too.
    fn failed(&self, err: &ChatError) {
        if matches!(err, ChatError::Stopped) {
            return;
        }
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) =
            trouble.failed.entry(err.reason()).or_insert_with(|| (0, with_causes(err)));
        *count += 1;
        if err.ends_all() && trouble.end.is_none() {
            trouble.end = Some(gone(err));
            self.stop.store(true, Ordering::Relaxed);
            self.server.client().stop();
        }
    }

    /// Says which requests were repeated, and which failed.
    pub(crate) fn tell(&self, observer: &dyn Observer) {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sentence) = retries::sentence(&self.server.client().retried()) {
            observer.note(&sentence);
        }
        for (count, example) in trouble.failed.values() {
            let example = plain(example, 300);
            observer.note(&format_args!("{} failed: {example}", many(*count, "request")));
        }
        for doubt in self.server.client().doubts() {
            observer.warning(&doubt);
        }
    }

    /// The outcome of work on the answers, or why there were none.
    pub(crate) fn conclude<T>(self, worked: Result<T, Failure>) -> Result<T, Failure> {
        let trouble = self.trouble.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = trouble.end {
            return Err(end);
        }
        let first = trouble.failed.into_values().max_by_key(|(count, _)| *count);
        match (worked, first) {
            (Err(_), Some((_, example))) if !trouble.is_answered => Err(Failure::Server {
                message: format!("every request failed: {}", plain(&example, 300)),
                hint: format!(
                    "the requests name the model `{}`; `--model` names another",
                    self.server.settings().model_name
                ),
            }),
            (worked, _) => worked,
        }
    }
}

/// Samples that are still to be asked for: prompt and number.
type Jobs = std::vec::IntoIter<(usize, usize)>;

impl Generator for ChatGenerator<'_> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        let samples = prompts.iter().enumerate();
        let jobs: Vec<(usize, usize)> = samples
            .flat_map(|(at, prompt)| numbers(prompt).map(move |sample| (at, sample)))
            .collect();
        let threads = jobs.len().min(self.server.settings().max_concurrent_requests as usize);
        let jobs = Mutex::new(jobs.into_iter());
        let mut usage = Usage::default();
        thread::scope(|scope| {
            let (send, answers) = channel();
            for _ in 0..threads {
                let (send, jobs, generator) = (send.clone(), &jobs, &*self);
                scope.spawn(move || generator.work(prompts, jobs, &send));
            }
            drop(send);
            for (drawn, tokens) in answers {
                usage.sampled += tokens;
                if done(drawn).is_break() {
                    // Nothing more is asked, and threads that wait for a retry stop, too. Answers to what was
                    // asked before are still handed over.
                    *jobs.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new().into_iter();
                    self.server.client().stop();
                }
            }
        });
        Ok(usage)
    }
}

/// The numbers of the samples that a prompt asks for.
fn numbers(prompt: &Prompt) -> Range<usize> {
    prompt.first_sample..prompt.first_sample + prompt.samples
}

/// The number as it was written: 0.7, where the nearest of 32 bits is 0.699999988.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

/// The error of a command whose server is gone.
pub(crate) fn gone(err: &ChatError) -> Failure {
    let hint = err.hint_for("`--server`");
    let hint = hint.as_deref().unwrap_or("is the server running, and is `--server` its address?");
    let hint = format!("{hint}; finished samples are kept, and the same command resumes");
    Failure::Server { message: with_causes(err), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_the_decimal_number_that_was_given() {
        for value in [0.0, 0.7, 0.9, 1.0, 1.25] {
            #[expect(clippy::cast_possible_truncation, reason = "what a setting goes through")]
            let narrow = value as f32;
            assert!((decimal(narrow) - value).abs() < 1e-12, "{value}");
        }
    }
}
