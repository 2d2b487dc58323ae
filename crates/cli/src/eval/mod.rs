//! `whet eval`: a model and tasks in, pass@k with intervals and every sample out.
//!
//! ```text
//! a model here   ─┐
//! a server       ─┼─► samples, judged ─► OUT/rollouts.jsonl ─► OUT/evaluation_results.json
//! given samples  ─┘
//! ```

mod args;
mod compare;
mod dry_run;
mod given;
mod local;
mod remote;
mod summary;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use whetstone_core::config::Config;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::task::PROGRAM;
use whetstone_core::{Seed, Task};
use whetstone_env::registry::Environments;
use whetstone_eval::{
    About, Earlier, EvalError, Evaluated, Evaluating, Results, Sampled, evaluate, suite,
};
use whetstone_infer::{Generator, Rule};
use whetstone_rollout::collect::{Collecting, Render};

pub use self::args::{CompareArgs, EvalArgs, EvalCommand, MeasureArgs};
use crate::cli::ConfigArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::train::stop;
use crate::untested;

/// Measures, or compares.
pub(crate) fn run(args: &EvalArgs, printer: Printer) -> anyhow::Result<Exit> {
    match &args.command {
        Some(EvalCommand::Compare(args)) => compare::run(args, printer),
        None => measure(&args.measure, printer),
    }
}

fn measure(args: &MeasureArgs, printer: Printer) -> anyhow::Result<Exit> {
    let began = Instant::now();
    // Scoring looks at no flag: it may be ended at any moment.
    let stop = if args.samples.is_some() { Arc::default() } else { stop::on_signal(printer) };
    let config = crate::config_command::load(&settings(args))?.config;
    let tasks = tasks(args, &config, printer)?;
    let measure = Measure { args, config: &config, tasks: &tasks, stop: &stop, began, printer };
    if args.dry_run {
        return dry_run::run(&measure);
    }
    let Some(Evaluated { results, .. }) = measure.measure()? else {
        printer.note("stopped; judged samples are kept, and the same command resumes");
        return Ok(Exit::Done);
    };
    if args.json {
        printer.json(&results)?;
    } else {
        printer.raw(&summary::text(&results, &args.out, printer))?;
    }
    Ok(ending(&results))
}

/// The exit code: 1 if a sample was not judged.
fn ending(results: &Results) -> Exit {
    if results.errors + results.rejected > 0 { Exit::No } else { Exit::Done }
}

/// Settings as they were given, with flags over them.
fn settings(args: &MeasureArgs) -> ConfigArgs {
    let mut config = args.config.clone();
    // The number of given samples is only known after they are read.
    let most = args.k.iter().copied().max().unwrap_or(0).max(Config::default().eval.num_samples);
    let samples = if args.samples.is_some() { Some(most) } else { args.num_samples };
    config.set.extend(samples.map(|samples| format!("eval.num_samples={samples}")));
    config.set.extend(args.device.map(|device| format!("run.device={device}")));
    config
        .set
        .extend(args.temperature.map(|temperature| format!("eval.temperature={temperature:?}")));
    if !args.k.is_empty() {
        config.set.push(format!("eval.k={:?}", args.k));
    }
    config
}

fn tasks(args: &MeasureArgs, config: &Config, printer: Printer) -> Result<Vec<Task>, Failure> {
    let mut tasks = untested::left_out(&args.tasks, read_tasks(&args.tasks)?, config, printer);
    if let Some(most) = args.max_tasks {
        tasks.truncate(most as usize);
    }
    if tasks.is_empty() {
        return Err(EvalError::NoTasks.into());
    }
    Ok(tasks)
}

/// Shows how far a measurement is: samples are judged while others are sampled.
pub(crate) fn show_sampled(progress: &Progress, now: Sampled) {
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
struct Measure<'a> {
    args: &'a MeasureArgs,
    config: &'a Config,
    tasks: &'a [Task],
    stop: &'a AtomicBool,
    began: Instant,
    printer: Printer,
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
}

impl Measure<'_> {
    /// Evaluates the requested model; `None` if it was stopped.
    fn measure(&self) -> Result<Option<Evaluated>, Failure> {
        match (&self.args.samples, &self.args.server) {
            (Some(samples), _) => given::measure(self, samples).map(Some),
            (None, Some(url)) => remote::measure(self, url),
            (None, None) => local::measure(self),
        }
    }

    /// Maximal tokens of a completion, for a model with this context length.
    fn max_tokens(&self, positions: usize) -> usize {
        let asked = self.args.max_tokens.map(|most| most as usize);
        asked.unwrap_or((self.config.grpo.max_completion_length as usize).min(positions / 2).max(1))
    }

    fn earlier(&self) -> Earlier {
        if self.args.fresh { Earlier::Forget } else { Earlier::Resume }
    }

    /// The description for the results: the settings that influence a sample or its verdict, and
    /// `more`.
    fn about(&self, model: String, more: Vec<(&str, String)>) -> About {
        let config = self.config;
        let common = vec![
            ("the tasks", suite(self.tasks)),
            ("prompt.language", format!("{:?}", config.prompt.language)),
            ("sandbox.cpu_seconds", config.sandbox.cpu_seconds.to_string()),
            ("sandbox.memory_mib", config.sandbox.memory_mib.to_string()),
        ];
        // Not named where they are the defaults, as in evaluations from before there was a choice.
        let env = &config.env;
        let kind = (env.kind != PROGRAM).then(|| ("env.kind", env.kind.clone()));
        let turns = (env.max_turns > 0).then(|| ("env.max_turns", env.max_turns.to_string()));
        let settings = common.into_iter().chain(kind).chain(turns).chain(more);
        let settings: BTreeMap<String, String> =
            settings.map(|(name, value)| (name.to_owned(), value)).collect();
        About { model, k: config.eval.k.clone(), settings }
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
            ("--skip-greedy", self.args.skip_greedy.to_string()),
        ]);
        self.about(model, more)
    }

    /// Evaluates a generator; `None` if it was stopped.
    fn evaluate(
        &self,
        about: &About,
        environment: &Environments,
        source: &mut Source<'_>,
    ) -> Result<Option<Evaluated>, Failure> {
        let progress = Progress::new(self.printer, "sample");
        let collecting = Collecting {
            environment,
            render: source.render,
            thinking_opened: source.thinking_opened,
            rule: Rule::at(self.config.eval.temperature),
            max_tokens: source.max_tokens,
            max_prompt_tokens: source.max_prompt_tokens,
            // Few, so that little is lost if a server goes away.
            judges: 2 * crate::judge::workers(self.config),
            on_event: &|_| ControlFlow::Continue(()),
        };
        let evaluating = Evaluating {
            collecting,
            about,
            tokenizer: source.tokenizer.as_deref(),
            keeps_tokens: self.args.keep_tokens,
            samples: self.config.eval.num_samples as usize,
            with_greedy: !self.args.skip_greedy,
            samples_at_a_time: AT_A_TIME,
            seed: Seed::new(self.config.seed).derive("eval", 0),
            directory: &self.args.out,
            earlier: self.earlier(),
            on_progress: &|now| show_sampled(&progress, now),
            stop: self.stop,
        };
        let loading = self.began.elapsed();
        let evaluated = evaluate(&evaluating, source.generator, self.tasks);
        progress.finish();
        let evaluated = evaluated?;
        if let Some(evaluated) = &evaluated {
            self.printer.note(summary::times(loading, &evaluated.times));
        }
        Ok(evaluated)
    }
}
