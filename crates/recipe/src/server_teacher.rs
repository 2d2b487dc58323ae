//! A server as the teacher of on-policy distillation, by vLLM's `prompt_logprobs`.
//!
//! Sequences are scored by several requests at a time; each is retried as the requests of `whet teach` are. One that fails
//! all its tries has no scores. A server that is gone ends the training, which continues from its last checkpoint.
//!
//! A server does not show its vocabulary. The probe can tell that it answers a prompt with the ids that were sent, and that
//! it takes the largest id of the student; it cannot tell whether these ids are the same texts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_core::{Message, Seed, with_causes};
use whetstone_remote::chat::{ChatError, Client, Settings, TokensToScore};
use whetstone_train::teacher::{AskedTokens, TeacherScores, TokenTeacher};
use whetstone_train::watch::{Part, Phase};
use whetstone_train::{Example, Student, TrainError};

use crate::failure::Failure;
use crate::observer::Observer;
use crate::retries;
use crate::text::plain;

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// Characters of a failure.
const CHARS: usize = 300;
/// The setting that names it.
const SETTING: &str = "dual_source.distill_server";

/// A server that scores tokens.
#[derive(Debug)]
pub(crate) struct ServerTeacher {
    client: Client,
    /// Its address, for messages.
    name: String,
    /// The model that is asked.
    model: String,
    /// Requests at a time.
    workers: usize,
}

/// The scores of the sequence at an index.
type Answer = (usize, Result<Vec<f64>, ChatError>);

impl ServerTeacher {
    /// The server of the settings, asked once.
    pub(crate) fn open(
        student: &Student,
        config: &Config,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let address = &config.dual_source.distill_server;
        let failed = |err: &ChatError| {
            Failure::Server {
            message: format!(
                "the server `{address}` cannot be the teacher of distillation: {}",
                plain(&with_causes(err), CHARS)
            ),
            hint: err.hint_for(SETTING).unwrap_or_else(|| {
                format!("`{SETTING}` is the base address of a server that is running, as `vllm serve` prints it")
            }),
        }
        };
        let seed = Seed::new(config.seed).derive("distillation", 0);
        let settings = Settings { api_url: address.clone(), ..Settings::of(&config.teacher, seed) };
        let client = Client::new(&settings).map_err(|err| failed(&err))?;
        let client = client.watched(retries::some(observer));
        let models = client.models().map_err(|err| failed(&err))?;
        let model = models.into_iter().next().ok_or_else(|| Failure::Server {
            message: format!("the server `{address}` lists no model"),
            hint: "start it with the teacher: `vllm serve MODEL`".to_owned(),
        })?;
        let mut tokens = student.prompt(&[Message::user("What is 1 + 1?")])?;
        tokens.push(u32::try_from(student.model.tokenizer.size() - 1).unwrap_or(u32::MAX));
        let probe = TokensToScore { model: &model, tokens: &tokens, first: 1 };
        client.prompt_logprobs(probe).map_err(|err| failed(&err))?;
        observer.note(&format_args!(
            "the teacher of distillation: {} on {address}; that its token ids are the same texts is not checked",
            plain(&model, CHARS)
        ));
        let workers = config.teacher.max_concurrent_requests as usize;
        Ok(Self { client, name: address.clone(), model, workers })
    }

    /// Scores the next sequences until there are none left.
    fn work(&self, examples: &[&Example], jobs: &Jobs<'_>, done: &Sender<Answer>) {
        while !jobs.stop.load(Ordering::Relaxed) {
            let at = jobs.next.fetch_add(1, Ordering::Relaxed);
            let Some(example) = examples.get(at) else { return };
            let (tokens, first) = (example.tokens.as_slice(), example.first);
            let asked = TokensToScore { model: &self.model, tokens, first };
            if done.send((at, self.client.prompt_logprobs(asked))).is_err() {
                return;
            }
        }
    }
}

/// What threads share.
struct Jobs<'a> {
    /// The next sequence.
    next: AtomicUsize,
    stop: &'a AtomicBool,
}

impl TokenTeacher for ServerTeacher {
    fn name(&self) -> &str {
        &self.name
    }

    fn device_bytes(&self, _: &Config) -> u64 {
        0
    }

    fn check_memory(&self, _: AskedTokens<'_>) -> Result<(), TrainError> {
        Ok(())
    }

    fn score(&self, asked: AskedTokens<'_>) -> Result<TeacherScores, TrainError> {
        let AskedTokens { examples, step, watch, .. } = asked;
        let all = examples.len();
        let mut scores = TeacherScores { logps: vec![None; all], failure: None };
        let jobs = Jobs { next: AtomicUsize::new(0), stop: watch.stop };
        let mut end = None;
        watch.part(Phase::Teacher, Part { done: 0, all });
        thread::scope(|scope| {
            let (send, answers) = channel();
            for _ in 0..self.workers.min(all) {
                let (send, jobs) = (send.clone(), &jobs);
                scope.spawn(move || self.work(examples, jobs, &send));
            }
            drop(send);
            let mut done = 0;
            loop {
                if watch.stop.load(Ordering::Relaxed) {
                    self.client.stop();
                }
                let (at, answer) = match answers.recv_timeout(LOOK) {
                    Ok(answer) => answer,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                done += 1;
                watch.part(Phase::Teacher, Part { done, all });
                match answer {
                    Ok(logps) => scores.logps[at] = Some(logps),
                    Err(ChatError::Stopped) => {}
                    Err(err) if err.ends_all() => {
                        self.client.stop();
                        end.get_or_insert(err);
                    }
                    Err(err) => scores.failure = Some(plain(&with_causes(&err), CHARS)),
                }
            }
        });
        match end.filter(|_| !watch.stop.load(Ordering::Relaxed)) {
            Some(err) => {
                let teacher = self.name.clone();
                Err(TrainError::Teacher { teacher, step, source: Box::new(err) })
            }
            None => Ok(scores),
        }
    }
}
