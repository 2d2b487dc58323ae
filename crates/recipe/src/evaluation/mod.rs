//! An evaluation: a model and tasks in, pass@k with intervals and every sample out.
//!
//! ```text
//! a model here   ─┐
//! a server       ─┼─► samples, judged ─► OUT/rollouts.jsonl ─► OUT/evaluation_results.json
//! a policy       ─┤
//! given samples  ─┘
//! ```

// size: what is asked for, what comes out, and the order of an evaluation, which all of its sources share.

mod best_of;
mod dry_run;
mod given;
mod local;
mod of_suite;
mod policy;
pub mod prompts;
mod remote;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use whetstone_config::{Loaded, Sources};
use whetstone_core::config::{Config, PromptConfig, Sanitize};
use whetstone_core::jsonl::read_tasks;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::task::{PROGRAM, TaskId};
use whetstone_core::{Seed, Task};
use whetstone_env::environment::Environment;
use whetstone_env::registry::Environments;
use whetstone_eval::{
    About, Decoding, Earlier, EvalError, Evaluated, Evaluating, Results, Sampled, Times, evaluate,
    suite,
};
use whetstone_infer::{Generator, Rule};
use whetstone_rollout::collect::{Collecting, Render};

use self::best_of::Chooser;
pub use self::policy::Policy;
use self::prompts::measure_each;
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::{Observer, Progress};
use crate::scratch::Scratch;
use crate::suites::SuiteRequest;
use crate::text::{counted, many};
use crate::{prompting, untested};

/// An evaluation to make.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct EvalRequest {
    /// The file of tasks; with a suite, the file that its tasks are written to.
    pub tasks: PathBuf,
    /// A suite of published tasks.
    pub suite: Option<SuiteRequest>,
    /// The model's name, if it is not that of the last run or of the settings.
    pub model: Option<String>,
    /// An adapter for the model.
    pub adapter: Option<PathBuf>,
    /// The address of a server to ask instead of a local model.
    pub server: Option<String>,
    /// A policy to measure instead of a model.
    pub policy: Option<Policy>,
    /// A file of completions to judge instead of sampling.
    pub samples: Option<PathBuf>,
    /// The directory of the results.
    pub out: PathBuf,
    /// The best of N by a reward model is wanted too.
    pub best_of: Option<BestOfRequest>,
    /// Templates of the prompts with which the model is measured greedily before.
    pub baseline_prompts: Vec<String>,
    /// Maximal tokens of a completion, if not those of the settings.
    pub max_tokens: Option<usize>,
    /// Only so many of the first tasks.
    pub max_tasks: Option<usize>,
    /// No greedy sample.
    pub skip_greedy: bool,
    /// Stores token ids and log-probabilities.
    pub keep_tokens: bool,
    /// Replaces earlier results.
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

/// The best of N samples by a reward model.
#[derive(Debug, Clone)]
pub struct BestOfRequest {
    /// The directory of the reward model.
    pub reward_model: PathBuf,
    /// Values of N.
    pub counts: Vec<u32>,
}

/// Measures a model, or completions of a file; `None` if it was stopped, and judged samples are kept.
///
/// # Errors
///
/// If settings, tasks or the model cannot be used, or measuring fails.
pub fn run(
    request: &EvalRequest,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<Option<Results>>, Failure> {
    let layers = request.suite.as_ref().map(|suite| suite.suite.layers()).unwrap_or_default();
    let loaded = request.sources.load(&layers).map_err(Failure::Config)?;
    say_left_out(&loaded, observer);
    let mut config = loaded.config;
    let scratch = request.dry_run.then(Scratch::new).transpose()?;
    let request = &of_suite::with_tasks(request, &config, scratch.as_ref(), observer)?;
    let tasks = tasks(request, &config, observer)?;
    let (began, is_variant) = (Instant::now(), false);
    let asked =
        Measure { request, config: &config, tasks: &tasks, stop, began, observer, is_variant };
    config.prompt = asked.settled_prompt()?;
    let measure =
        Measure { request, config: &config, tasks: &tasks, stop, began, observer, is_variant };
    if request.dry_run {
        return Ok(Outcome::plan(dry_run::run(&measure)?));
    }
    check_best_of(request, &config, &tasks)?;
    // Before anything is sampled: a reward model that cannot be used is refused now.
    let chooser = Chooser::open(&measure)?;
    let mut results = measure.with_baselines()?;
    if let (Some(chooser), Some(results)) = (chooser, &mut results) {
        chooser.add(&measure, results)?;
    }
    Ok(Outcome::Done(results))
}

/// Says which of the default values of k are not measured.
fn say_left_out(loaded: &Loaded, observer: &dyn Observer) {
    let names: Vec<String> = loaded.left_out_k().iter().map(|k| format!("pass@{k}")).collect();
    if !names.is_empty() {
        let (names, samples) = (names.join(" and "), loaded.config.eval.num_samples);
        observer.note(&format_args!(
            "left out: {names}, which need more than {} of each task (`--num-samples`)",
            many(u64::from(samples), "sample")
        ));
    }
}

/// Refuses the best of more samples than there will be, and of episodes.
fn check_best_of(request: &EvalRequest, config: &Config, tasks: &[Task]) -> Result<(), Failure> {
    let is_other = |task: &Task| !task.is_program(&config.env.kind);
    if request.best_of.is_some() && tasks.iter().any(is_other) {
        return Err(Failure::Usage {
            problem: "`--best-of` scores programs, and some tasks ask for something else",
            hint: "leave out `--best-of`, or tasks without programs",
        });
    }
    let most = request.best_of.iter().flat_map(|best_of| &best_of.counts).copied().max();
    if request.samples.is_none() && most.is_some_and(|most| most > config.eval.num_samples) {
        return Err(Failure::Usage {
            problem: "`--best-of` asks for the best of more samples than a task has",
            hint: "raise `--num-samples`, or lower `--best-of`",
        });
    }
    Ok(())
}

fn tasks(
    request: &EvalRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Vec<Task>, Failure> {
    let path = &request.tasks;
    let mut tasks = untested::left_out(path, read_tasks(path)?, config, observer);
    if let Some(most) = request.max_tasks {
        tasks.truncate(most);
    }
    if tasks.is_empty() {
        return Err(EvalError::NoTasks.into());
    }
    Ok(tasks)
}

/// What to do with an earlier evaluation in the same place.
fn earlier(request: &EvalRequest) -> Earlier {
    if request.fresh { Earlier::Forget } else { Earlier::Resume }
}

/// Shows how far a measurement is: samples are judged while others are sampled.
pub(crate) fn show_sampled(progress: &dyn Progress, now: Sampled) {
    let Sampled { sampled, done, all } = now;
    progress.reach(done as u64, all as u64);
    if sampled < all {
        progress.phase("sampling", sampled, all);
    } else {
        progress.phase("judging", done, all);
    }
}

/// Samples whose prompts are in memory at a time.
const AT_A_TIME: usize = 4096;

/// A measurement to make.
#[derive(Clone, Copy)]
struct Measure<'a> {
    request: &'a EvalRequest,
    config: &'a Config,
    tasks: &'a [Task],
    stop: &'a AtomicBool,
    began: Instant,
    observer: &'a dyn Observer,
    /// One of several prompts: results that are there already, of the same settings, are taken.
    is_variant: bool,
}

/// The generator, and how its prompts are rendered.
struct Source<'a> {
    generator: &'a mut dyn Generator,
    /// The digest of its vocabulary; a server does not say it.
    tokenizer: Option<String>,
    render: &'a Render<'a>,
    thinking_opened: bool,
    max_tokens: usize,
    max_prompt_tokens: usize,
    progress: &'a dyn Progress,
}

impl Measure<'_> {
    /// Evaluates the requested model; `None` if it was stopped.
    fn measure(&self) -> Result<Option<Evaluated>, Failure> {
        Ok(measure_each(&[*self])?.and_then(|mut evaluated| evaluated.pop()))
    }

    /// Judges given completions, asks a server, or lets a policy answer.
    fn measure_alone(&self) -> Result<Option<Evaluated>, Failure> {
        if let Some(policy) = self.request.policy {
            return policy::measure(self, policy);
        }
        match (&self.request.samples, &self.request.server) {
            (Some(samples), _) => given::measure(self, samples).map(Some),
            (None, Some(url)) => remote::measure(self, url),
            (None, None) => self.measure(),
        }
    }

    /// The settings of the prompt with nothing left open. Completions that are there were made with one that
    /// nobody says.
    fn settled_prompt(&self) -> Result<PromptConfig, Failure> {
        if self.request.policy.is_some() {
            return Ok(self.config.prompt.clone());
        }
        match (&self.request.samples, &self.request.server) {
            (Some(_), _) => Ok(self.config.prompt.clone()),
            (None, Some(_)) => Ok(prompting::of_server(&self.config.prompt)),
            (None, None) => local::settled_prompt(self),
        }
    }

    /// Maximal tokens of a completion, for a model with this context length.
    fn max_tokens(&self, positions: usize) -> usize {
        let asked = self.request.max_tokens;
        asked.unwrap_or((self.config.grpo.max_completion_length as usize).min(positions / 2).max(1))
    }

    fn earlier(&self) -> Earlier {
        earlier(self.request)
    }

    /// The description for the results: the settings that influence a sample or its verdict, and
    /// `more`.
    fn about(&self, model: String, more: Vec<(&str, String)>) -> About {
        let config = self.config;
        let common = vec![
            ("the tasks", suite(self.tasks)),
            ("prompt", prompting::identity(&config.prompt)),
            ("sandbox.cpu_seconds", config.sandbox.cpu_seconds.to_string()),
            ("sandbox.memory_mib", config.sandbox.memory_mib.to_string()),
        ];
        // Not named where they are the defaults, as in evaluations from before there was a choice.
        let env = &config.env;
        let kind = (env.kind != PROGRAM).then(|| ("env.kind", env.kind.clone()));
        let turns = (env.max_turns > 0).then(|| ("env.max_turns", env.max_turns.to_string()));
        let sanitize = match config.eval.sanitize {
            Sanitize::Off => None,
            Sanitize::EntryPoint => Some(("eval.sanitize", "entry_point".to_owned())),
        };
        let suite = self.request.suite.as_ref().map(|suite| ("--suite", suite.suite.full_name()));
        let chosen = kind.into_iter().chain(turns).chain(sanitize).chain(suite);
        let settings = common.into_iter().chain(chosen).chain(more);
        let settings: BTreeMap<String, String> =
            settings.map(|(name, value)| (name.to_owned(), value)).collect();
        // How many replies episodes may have is known once their environments are built.
        About { model, k: config.eval.k.clone(), settings, max_turns: BTreeMap::new() }
    }

    /// Like [`Self::about`], with the settings of sampling.
    fn about_sampling(
        &self,
        model: String,
        max_tokens: usize,
        mut more: Vec<(&str, String)>,
    ) -> About {
        let eval = &self.config.eval;
        more.extend([
            ("seed", self.config.seed.to_string()),
            ("eval.num_samples", eval.num_samples.to_string()),
            ("eval.temperature", eval.temperature.to_string()),
            ("--max-tokens", max_tokens.to_string()),
            ("--skip-greedy", self.request.skip_greedy.to_string()),
        ]);
        // Not named where there are none, as in evaluations from before there was a choice.
        let further: Vec<String> = eval.further_temperatures().iter().map(f64::to_string).collect();
        more.extend((!further.is_empty()).then(|| ("eval.more_temperatures", further.join(", "))));
        self.about(model, more)
    }

    /// Evaluates a generator; `None` if it was stopped.
    fn evaluate(
        &self,
        about: &About,
        environment: &Environments,
        source: &mut Source<'_>,
    ) -> Result<Option<Evaluated>, Failure> {
        if let Some(evaluated) = self.made_before(about)? {
            return Ok(Some(evaluated));
        }
        let about = &About { max_turns: max_turns(environment, self.tasks), ..about.clone() };
        let prompt = PromptTemplate::of(&self.config.prompt)?;
        let collecting = Collecting {
            environment,
            render: source.render,
            thinking_opened: source.thinking_opened,
            rule: Rule::at(self.config.eval.temperature),
            stop: prompt.stop(),
            max_tokens: source.max_tokens,
            max_prompt_tokens: source.max_prompt_tokens,
            // Few, so that little is lost if a server goes away.
            judges: 2 * whetstone_env::judge::workers(self.config),
            on_event: &|_| ControlFlow::Continue(()),
        };
        let further = self.config.eval.further_temperatures().into_iter();
        let further: Vec<Decoding> = further.filter_map(Decoding::at).collect();
        let evaluating = Evaluating {
            collecting,
            about,
            tokenizer: source.tokenizer.as_deref(),
            keeps_tokens: self.request.keep_tokens,
            samples: self.config.eval.num_samples as usize,
            with_greedy: !self.request.skip_greedy,
            further: &further,
            samples_at_a_time: AT_A_TIME,
            seed: Seed::new(self.config.seed).derive("eval", 0),
            directory: &self.request.out,
            earlier: self.earlier(),
            on_progress: &|now| show_sampled(source.progress, now),
            stop: self.stop,
        };
        let loading = self.began.elapsed();
        let evaluated = evaluate(&evaluating, source.generator, self.tasks);
        source.progress.finish();
        let evaluated = evaluated?;
        if let Some(evaluated) = &evaluated {
            self.observer.note(&times(loading, &evaluated.times));
        }
        Ok(evaluated)
    }
}

/// Replies at most of the tasks whose episodes may have several.
fn max_turns(environment: &dyn Environment, tasks: &[Task]) -> BTreeMap<TaskId, u32> {
    let of = |task: &Task| {
        let turns = u32::try_from(environment.max_turns(task)).unwrap_or(u32::MAX);
        (turns > 1).then(|| (task.id.clone(), turns))
    };
    tasks.iter().filter_map(of).collect()
}

/// Timings, with the time of loading.
fn times(loading: Duration, times: &Times) -> String {
    let Times { prompts, sampling, judging, counting, samples, tokens } = times;
    let seconds = |time: &Duration| format!("{:.1} s", time.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a rate in whole tokens")]
    let rate = *tokens as f64 / sampling.as_secs_f64().max(1e-9);
    let mut text = format!("time: loading {}", seconds(&loading));
    if !prompts.is_zero() {
        let _ = write!(text, ", prompts {}", seconds(prompts));
    }
    let _ = write!(text, ", sampling {} for {}", seconds(sampling), counted(*samples, "sample"));
    if *tokens > 0 {
        let _ = write!(text, " of {} ({rate:.0} a second)", counted(*tokens, "token"));
    }
    let _ = write!(text, ", judging after that {}", seconds(judging));
    let _ = write!(text, ", counting {}", seconds(counting));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_told_by_phase() {
        let of = Duration::from_millis;
        let here = Times {
            prompts: of(1500),
            sampling: of(20_000),
            judging: of(40),
            counting: of(300),
            samples: 1,
            tokens: 5000,
        };
        let expected = "time: loading 2.0 s, prompts 1.5 s, sampling 20.0 s for 1 sample of 5000 tokens \
                        (250 a second), judging after that 0.0 s, counting 0.3 s";
        assert_eq!(times(of(2000), &here), expected);
        let server = Times { prompts: Duration::ZERO, samples: 8, tokens: 0, ..here };
        let expected = "time: loading 2.0 s, sampling 20.0 s for 8 samples, judging after that 0.0 s, \
                        counting 0.3 s";
        assert_eq!(times(of(2000), &server), expected);
    }
}
