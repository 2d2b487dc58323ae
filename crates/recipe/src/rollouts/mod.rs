//! Rollouts of a model: tasks in, G replies to each out, which nobody judges.
//!
//! ```text
//! a model here   ─┐
//! a server       ─┴─► replies ─► OUT.journal ─► OUT: `whet score` judges it
//! ```
//!
//! No judge is started. So the prompt of a program's task is made from the task alone, as its environment makes
//! it, and an episode of several turns is refused.

mod dry_run;
mod local;
mod remote;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use whetstone_config::Sources;
use whetstone_core::config::{Config, PromptConfig};
use whetstone_core::jsonl::read_tasks;
use whetstone_core::message::Message;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::{Seed, Task};
use whetstone_env::environment::{EnvError, Environment as _};
use whetstone_env::registry::Environments;
use whetstone_eval::{Earlier, suite};
use whetstone_infer::{Generator, Rule};
use whetstone_record::batch::check_outputs;
use whetstone_rollout::collect::RenderError;
use whetstone_rollout::sample::{
    SampleError, SampleSummary, Sampling, TaskPrompt, make_room, sample,
};

use crate::dry_run::Outcome;
use crate::environment::{self, RunPrograms};
use crate::failure::Failure;
use crate::observer::{Observer, Progress};
use crate::prompting;
use crate::text::counted;

/// Tokens of a reply at most, where a model's context allows that.
pub const MAX_NEW_TOKENS: usize = 1800;

/// Rollouts to sample.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct RolloutRequest {
    /// The file of tasks.
    pub prompts: PathBuf,
    /// The file of rollouts.
    pub out: PathBuf,
    /// The model's name; of a server, if it is not that of the settings.
    pub model: Option<String>,
    /// An adapter for the model.
    pub adapter: Option<PathBuf>,
    /// The address of a server to ask instead of a local model.
    pub server: Option<String>,
    /// The optimizer step that stands in the lines.
    pub step: u64,
    /// Tasks to draw from the file; all if absent.
    pub num_prompts: Option<usize>,
    /// Replies to each task.
    pub group_size: usize,
    /// The seed of the draw and of sampling.
    pub seed: u64,
    /// The sampling rule.
    pub rule: Rule,
    /// Tokens of a reply at most; [`MAX_NEW_TOKENS`], or half of a smaller context, if absent.
    pub max_new_tokens: Option<usize>,
    /// Stores token ids and log-probabilities.
    pub keep_tokens: bool,
    /// Discards unfinished rollouts, and replaces finished ones.
    pub fresh: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
    /// Quantises projections to 8 bits.
    pub eight_bit: bool,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Sources of settings.
    pub sources: Sources,
}

/// Samples rollouts; `None` if it was stopped, and finished replies are kept.
///
/// # Errors
///
/// If settings, tasks or the model cannot be used, or sampling fails.
pub fn run(
    request: &RolloutRequest,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<Option<SampleSummary>>, Failure> {
    let mut config = request.sources.load(&[]).map_err(Failure::Config)?.config;
    check_outputs([request.prompts.as_path()], [request.out.as_path()])
        .map_err(SampleError::from)?;
    let tasks = drawn(request)?;
    // Tasks that cannot be sampled are refused before a model is fetched.
    environments(&config, &tasks)?;
    config.prompt = settled_prompt(request, &config, observer)?;
    let environments = environments(&config, &tasks)?;
    let job = SampleJob {
        request,
        config: &config,
        prompts: &PromptTemplate::of(&config.prompt)?,
        tasks: &tasks,
        environments: &environments,
        stop,
        observer,
    };
    if request.dry_run {
        return Ok(Outcome::plan(dry_run::run(&job)?));
    }
    job.run().map(Outcome::Done)
}

/// The settings of the prompt with nothing left open.
fn settled_prompt(
    request: &RolloutRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<PromptConfig, Failure> {
    if request.server.is_some() {
        return Ok(prompting::of_server(&config.prompt));
    }
    let found = local::find(request, config, observer)?;
    prompting::settle(&config.prompt, &found, &mut found.open()?, observer)
}

/// The tasks of the file, or those that are drawn from it, in its order.
fn drawn(request: &RolloutRequest) -> Result<Vec<Task>, Failure> {
    let path = request.prompts.clone();
    let tasks = read_tasks(&path)?;
    let asked = request.num_prompts.unwrap_or(tasks.len());
    if tasks.is_empty() {
        return Err(SampleError::NoTasks { path }.into());
    }
    if asked > tasks.len() {
        return Err(SampleError::TooFewTasks { path, tasks: tasks.len(), asked }.into());
    }
    Ok(draw(tasks, asked, Seed::new(request.seed).derive("rollout-prompts", request.step)))
}

/// Some of the tasks in their order: those whose ids have the smallest numbers under the seed. So whether a
/// task is drawn before another does not depend on the rest of the file.
fn draw(tasks: Vec<Task>, count: usize, seed: Seed) -> Vec<Task> {
    let number = |task: &Task| seed.derive(task.id.as_str(), 0).get();
    let mut numbers: Vec<u64> = tasks.iter().map(number).collect();
    numbers.sort_unstable();
    let Some(last) = count.checked_sub(1).and_then(|at| numbers.get(at)).copied() else {
        return Vec::new();
    };
    tasks.into_iter().filter(|task| number(task) <= last).take(count).collect()
}

/// The environments that make prompts. One that runs programs is not built, and no episode may have several turns.
fn environments(config: &Config, tasks: &[Task]) -> Result<Environments, Failure> {
    let environments = environment::scoring(config, tasks, RunPrograms::No);
    let environments = environments.map_err(environment::failure)?;
    for task in tasks.iter().filter(|task| !task.is_program(&config.env.kind)) {
        let turns = environments.max_turns(task);
        if turns > 1 {
            return Err(SampleError::Episode { task: task.id.clone(), turns }.into());
        }
    }
    Ok(environments)
}

/// Rollouts to sample, with everything that was read for them.
struct SampleJob<'a> {
    request: &'a RolloutRequest,
    config: &'a Config,
    prompts: &'a PromptTemplate,
    tasks: &'a [Task],
    environments: &'a Environments,
    stop: &'a AtomicBool,
    observer: &'a dyn Observer,
}

/// Messages as the tokens of a prompt.
type Render<'a> = dyn Fn(&[Message]) -> Result<Vec<u32>, RenderError> + 'a;

/// A generator, and how prompts become its tokens.
struct Source<'a> {
    generator: &'a mut dyn Generator,
    model: &'a str,
    /// The digest of its vocabulary; a server does not say it.
    tokenizer: Option<&'a str>,
    render: &'a Render<'a>,
    thinking_opened: bool,
    max_tokens: usize,
    max_prompt_tokens: usize,
    /// What identifies the model.
    identity: Vec<(&'static str, String)>,
    progress: &'a dyn Progress,
}

impl SampleJob<'_> {
    /// Samples with the requested model; `None` if it was stopped.
    fn run(&self) -> Result<Option<SampleSummary>, Failure> {
        make_room(&self.request.out, self.earlier())?;
        match &self.request.server {
            Some(url) => remote::run(self, url),
            None => local::run(self),
        }
    }

    fn earlier(&self) -> Earlier {
        if self.request.fresh { Earlier::Forget } else { Earlier::Resume }
    }

    /// The conversation that a task begins with: the one that training and evaluation send.
    fn messages(&self, task: &Task) -> Result<Vec<Message>, EnvError> {
        if task.is_program(&self.config.env.kind) {
            return Ok(self.prompts.prompt(task.view())?.messages());
        }
        let episode = self.environments.open(task, Seed::new(self.config.seed))?;
        Ok(episode.messages().to_vec())
    }

    fn sample(&self, source: &mut Source<'_>) -> Result<Option<SampleSummary>, Failure> {
        let began = Instant::now();
        let prompt = |task: &Task| -> Result<TaskPrompt, RenderError> {
            let messages: Arc<[Message]> = self.messages(task)?.into();
            Ok(TaskPrompt { tokens: (source.render)(&messages)?.into(), messages })
        };
        let sampling = Sampling {
            prompt: &prompt,
            max_prompt_tokens: source.max_prompt_tokens,
            rule: self.request.rule,
            stop_strings: self.prompts.stop(),
            max_tokens: source.max_tokens,
            model: source.model,
            tokenizer: source.tokenizer,
            thinking_opened: source.thinking_opened,
            keeps_tokens: self.request.keep_tokens,
            step: self.request.step,
            group_size: self.request.group_size,
            replies_at_a_time: AT_A_TIME,
            seed: Seed::new(self.request.seed),
            output: &self.request.out,
            settings: &self.settings(source),
            earlier: self.earlier(),
            on_progress: &|done, all| {
                let progress = source.progress;
                progress.reach(done as u64, all as u64);
                progress.phase("sampling", done, all);
            },
            stop: self.stop,
        };
        let sampled = sample(&sampling, source.generator, self.tasks);
        source.progress.finish();
        let sampled = sampled?;
        if let Some(summary) = &sampled {
            self.say(summary, began);
        }
        Ok(sampled)
    }

    /// Says what is missing, and how long it took.
    fn say(&self, summary: &SampleSummary, began: Instant) {
        if summary.too_long > 0 {
            self.observer.warning(&format_args!(
                "left out: {} whose prompt leaves no room for a reply of `--max-new-tokens`",
                counted(summary.too_long, "task")
            ));
        }
        if summary.missing > 0 {
            self.observer.warning(&format_args!(
                "{} of {} replies are missing: the same command asks for them again",
                summary.missing,
                summary.missing + summary.rollouts
            ));
        }
        let sampled = summary.rollouts - summary.resumed;
        let seconds = began.elapsed().as_secs_f64();
        self.observer
            .note(&format_args!("sampled {} in {seconds:.1} s", counted(sampled, "rollout")));
    }

    /// The settings that decide a reply: an unfinished file of others is not resumed.
    fn settings(&self, source: &Source<'_>) -> BTreeMap<String, String> {
        let (request, config) = (self.request, self.config);
        let own = [
            ("the tasks", suite(self.tasks)),
            ("prompt", prompting::identity(&config.prompt)),
            ("env.kind", config.env.kind.clone()),
            ("--step", request.step.to_string()),
            ("--group-size", request.group_size.to_string()),
            ("--seed", request.seed.to_string()),
            ("--temperature", request.rule.temperature.to_string()),
            ("--top-p", request.rule.top_p.to_string()),
            ("--max-new-tokens", source.max_tokens.to_string()),
            ("--keep-tokens", request.keep_tokens.to_string()),
        ];
        let named = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        own.iter().chain(&source.identity).map(named).collect()
    }
}

/// Replies whose prompts are in memory at a time.
const AT_A_TIME: usize = 4096;

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    fn tasks(count: usize) -> Vec<Task> {
        let line = |at| format!(r#"{{"id":"t/{at}","statement":"s"}}"#);
        let task = |at| Task::from_object(serde_json::from_str(&line(at)).unwrap()).unwrap();
        (0..count).map(task).collect()
    }

    fn ids(tasks: &[Task]) -> Vec<String> {
        tasks.iter().map(|task| task.id.to_string()).collect()
    }

    #[test]
    fn a_draw_is_in_the_order_of_the_file_and_another_seed_draws_others() {
        let drawn = ids(&draw(tasks(40), 8, Seed::new(1)));
        assert_eq!(drawn.len(), 8);
        let place = |id: &String| id[2..].parse::<usize>().unwrap();
        assert!(drawn.is_sorted_by_key(place), "{drawn:?}");
        assert_ne!(drawn, ids(&draw(tasks(40), 8, Seed::new(2))));
        assert_ne!(drawn, ids(&tasks(8)), "not the first ones");
        assert_eq!(ids(&draw(tasks(5), 5, Seed::new(1))), ids(&tasks(5)));
    }

    #[test]
    fn what_is_drawn_of_more_tasks_is_drawn_of_fewer_unless_it_is_not_there() {
        let of_many = ids(&draw(tasks(40), 8, Seed::new(1)));
        let of_few = ids(&draw(tasks(30), 8, Seed::new(1)));
        let still_there = |id: &&String| ids(&tasks(30)).contains(id);
        assert!(of_many.iter().filter(still_there).all(|id| of_few.contains(id)));
    }
}
