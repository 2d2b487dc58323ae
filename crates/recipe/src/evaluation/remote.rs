//! A model behind a server, measured.
//!
//! The server renders prompts itself: it is sent the messages of a conversation.
//!
//! A failed request is a sample without a verdict, which the next run requests again. If the server
//! becomes unreachable, the evaluation stops; judged samples are kept.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use whetstone_core::{Seed, with_causes};
use whetstone_eval::{Evaluated, make_room};
use whetstone_infer::{GenerateError, Generator, Prompt, SampledCompletion, Usage};
use whetstone_remote::chat::{ChatError, Request, Server};

use super::{Measure, Source};
use crate::environment;
use crate::failure::Failure;
use crate::text::plain;

/// Evaluates the model; `None` if it was stopped.
pub(super) fn measure(measure: &Measure<'_>, url: &str) -> Result<Option<Evaluated>, Failure> {
    let mut teacher = measure.config.teacher.clone();
    url.clone_into(&mut teacher.api_url);
    teacher.model_name = measure.request.model.clone().unwrap_or(teacher.model_name);
    let environment = environment::for_tasks(measure.config, measure.tasks)?;
    make_room(&measure.request.out, measure.earlier())?;
    let seed = Seed::new(measure.config.seed).derive("eval/pauses", 0);
    let server = Server::new(teacher.clone(), seed).map_err(Failure::Teacher)?;
    server.reach().map_err(|err| gone(&err))?;
    let mut server = ChatGenerator::new(&server, measure.stop);
    let thinking = teacher.enable_thinking.to_string();
    let settings =
        vec![("--model", teacher.model_name.clone()), ("teacher.enable_thinking", thinking)];
    let max_tokens = measure.max_tokens(usize::MAX);
    let about = measure.about_sampling(teacher.model_name.clone(), max_tokens, settings);
    let mut source = Source {
        generator: &mut server,
        tokenizer: None,
        render: &|_| Ok(Vec::new()),
        // Its client handles completions truncated inside the thinking.
        thinking_opened: false,
        max_tokens,
        max_prompt_tokens: usize::MAX,
    };
    let results = measure.evaluate(&about, &environment, &mut source);
    server.tell(measure);
    match server.into_end() {
        Some(gone) => Err(gone),
        None => results,
    }
}

/// A server of chat completions as a generator.
struct ChatGenerator<'a> {
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
    /// Why no more requests are sent.
    end: Option<Failure>,
}

impl<'a> ChatGenerator<'a> {
    fn new(server: &'a Server, stop: &'a AtomicBool) -> Self {
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
            temperature: like.temperature.map(|_| f64::from(asked.rule.temperature)),
            top_p: like.top_p.map(|_| f64::from(asked.rule.top_p)),
            presence_penalty: like.presence_penalty.map(|_| 0.0),
            seed: u32::try_from(seed >> 33).ok(),
            ..like.with_limit(u32::try_from(asked.max_tokens).ok())
        };
        match self.server.complete(&request) {
            Ok(response) => {
                let tokens = usize::try_from(response.usage.completion_tokens).unwrap_or(0);
                let completion = response.completions.into_iter().next()?;
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

    /// Says which requests failed.
    fn tell(&self, measure: &Measure<'_>) {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, example) in trouble.failed.values() {
            let example = plain(example, 300);
            measure.observer.note(&format_args!("{count} requests failed: {example}"));
        }
    }

    fn into_end(self) -> Option<Failure> {
        self.trouble.into_inner().unwrap_or_else(PoisonError::into_inner).end
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
            .flat_map(|(at, prompt)| (0..prompt.samples).map(move |sample| (at, sample)))
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
                    // Threads that wait for a retry should stop, too.
                    self.server.client().stop();
                    break;
                }
            }
        });
        Ok(usage)
    }
}

/// The error of an evaluation whose server is gone.
fn gone(err: &ChatError) -> Failure {
    let hint = err.hint().unwrap_or("is the server running, and is `--server` its address?");
    let hint = format!("{hint}; judged samples are kept, and the same command resumes");
    Failure::Server { message: with_causes(err), hint }
}
