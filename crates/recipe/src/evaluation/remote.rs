//! A model behind a server, measured.
//!
//! A failed request is a sample without a verdict, which the next run requests again. If the server
//! becomes unreachable, the evaluation stops; judged samples are kept.

use whetstone_core::Seed;
use whetstone_eval::{Evaluated, make_room};
use whetstone_remote::chat::Server;

use super::{Measure, Source};
use crate::chat_generator::{ChatGenerator, gone};
use crate::environment;
use crate::failure::Failure;
use crate::retries;

/// Evaluates the model; `None` if it was stopped.
pub(super) fn measure(measure: &Measure<'_>, url: &str) -> Result<Option<Evaluated>, Failure> {
    let mut teacher = measure.config.teacher.clone();
    url.clone_into(&mut teacher.api_url);
    teacher.model_name = measure.request.model.clone().unwrap_or(teacher.model_name);
    let environment = environment::for_evaluation(measure.config, measure.tasks)?;
    make_room(&measure.request.out, measure.earlier())?;
    let seed = Seed::new(measure.config.seed).derive("eval/pauses", 0);
    let server = Server::new(teacher.clone(), seed).map_err(Failure::ServerFlag)?;
    let server = server.watched(retries::some(measure.observer));
    server.reach().map_err(|err| gone(&err))?;
    let mut server = ChatGenerator::new(&server, measure.stop);
    let thinking = teacher.enable_thinking.to_string();
    let settings =
        vec![("--model", teacher.model_name.clone()), ("teacher.enable_thinking", thinking)];
    let max_tokens = measure.max_tokens(usize::MAX);
    let about = measure.about_sampling(teacher.model_name.clone(), max_tokens, settings);
    let progress = measure.observer.progress("sample");
    let mut source = Source {
        generator: &mut server,
        tokenizer: None,
        render: &|_| Ok(Vec::new()),
        // Its client handles completions truncated inside the thinking.
        thinking_opened: false,
        max_tokens,
        max_prompt_tokens: usize::MAX,
        progress: &*progress,
    };
    let results = measure.evaluate(&about, &environment, &mut source);
    server.tell(measure.observer);
    server.conclude(results)
}
