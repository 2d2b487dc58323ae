//! Rollouts of a model behind a server.
//!
//! A request that fails leaves its reply out, and the same command asks again. If the server becomes
//! unreachable, sampling stops; finished replies are kept.

use whetstone_core::Seed;
use whetstone_remote::chat::Server;
use whetstone_rollout::sample::SampleSummary;

use super::{MAX_NEW_TOKENS, SampleJob, Source};
use crate::chat_generator::{ChatGenerator, gone};
use crate::failure::Failure;
use crate::retries;

/// Samples; `None` if it was stopped.
pub(super) fn run(job: &SampleJob<'_>, url: &str) -> Result<Option<SampleSummary>, Failure> {
    let mut teacher = job.config.teacher.clone();
    url.clone_into(&mut teacher.api_url);
    teacher.model_name = job.request.model.clone().unwrap_or(teacher.model_name);
    let pauses = Seed::new(job.config.seed).derive("rollout-pauses", 0);
    let server = Server::new(teacher.clone(), pauses).map_err(Failure::ServerFlag)?;
    let server = server.watched(retries::some(job.observer));
    server.reach().map_err(|err| gone(&err))?;
    let mut generator = ChatGenerator::new(&server, job.stop);
    let progress = job.observer.progress("reply");
    let sampled = job.sample(&mut Source {
        generator: &mut generator,
        model: &teacher.model_name,
        tokenizer: None,
        render: &|_| Ok(Vec::new()),
        // Its client handles completions truncated inside the thinking.
        thinking_opened: false,
        max_tokens: job.request.max_new_tokens.unwrap_or(MAX_NEW_TOKENS),
        max_prompt_tokens: usize::MAX,
        identity: vec![
            ("--model", teacher.model_name.clone()),
            ("teacher.enable_thinking", teacher.enable_thinking.to_string()),
        ],
        progress: &*progress,
    });
    generator.tell(job.observer);
    generator.conclude(sampled)
}
