//! Arguments and help of `whet eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use whetstone_config::Sources;
use whetstone_core::config::{Config, DeviceChoice};
use whetstone_recipe::evaluation::prompts::TEMPLATES;
use whetstone_recipe::evaluation::{BestOfRequest, EvalRequest, Policy};
use whetstone_recipe::suites::{SUITE_TASKS, SUITES, Suite, SuiteRequest};

use crate::cli::ConfigArgs;

/// `whet eval`, or `whet eval compare`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = after_help())]
pub struct EvalArgs {
    /// A subcommand instead of an evaluation.
    #[command(subcommand)]
    pub command: Option<EvalCommand>,

    /// The evaluation.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// `whet eval …`.
#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Test whether one evaluation is better than another, paired by task
    ///
    /// Both must have the same tasks. The difference of each pass@k and of each figure of programs comes with its 95 % interval, a
    /// bootstrap over paired tasks, and with the p-value of a sign-flip test; the result is
    /// *better* or *worse* only if both agree. The tasks that flipped are listed below.
    ///
    /// All of this is about these two models. With `--seeds`, A and B are each a list of evaluations, one of each seed of
    /// training, and the difference has an interval over seeds.
    #[command(after_long_help = COMPARE_HELP)]
    Compare(CompareArgs),
}

/// The model, and the settings of its evaluation.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct MeasureArgs {
    /// Tasks to solve, one JSON object per line; with `--suite`, the published file [default:
    /// `data/val.jsonl`; with `--suite`, the published file on the hub]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// Published tasks with the prompt, the shown tests and the settings of published figures
    ///
    /// One greedy sample of each task, unless flags or settings say otherwise. The suites are listed
    /// below.
    #[arg(long, value_name = "NAME[:VARIANT]", value_parser = Suite::named)]
    pub suite: Option<&'static Suite>,

    /// The model: a directory, a .gguf file, an adapter, a name on the hub, or `embedded`; with
    /// `--server`, its name there [default: the final model of the last run, or else the setting
    /// `student.model_name`]
    #[arg(long, alias = "model-path", value_name = "MODEL")]
    pub model: Option<String>,

    /// LoRA adapter for the model: a directory in PEFT format
    #[arg(long, value_name = "DIR", conflicts_with_all = ["server", "samples"])]
    pub adapter: Option<PathBuf>,

    /// Use an OpenAI-compatible chat completions server instead of a local model
    ///
    /// Its key, timeouts, retries and concurrency are set by `teacher.*`.
    #[arg(long, value_name = "URL", conflicts_with = "samples")]
    pub server: Option<String>,

    /// Measure a policy of the tasks' environment instead of a model: what its figures are to be held against
    ///
    /// `expert` knows each task's solution; `trivial` is the best one known that understands nothing (`solver`: drop the
    /// first row of the IIS). One sample of each task.
    #[arg(long, value_name = "NAME", value_parser = policy, conflicts_with_all = ["model", "adapter", "server", "samples", "best_of", "baseline_prompts", "keep_tokens", "suite"])]
    pub policy: Option<Policy>,

    /// Measure existing completions: rollouts, one JSON object per line
    ///
    /// A line needs `step`, `prompt_id` (a task's `id`) and `text`. Verdicts in the file are
    /// ignored: every program is judged again.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["num_samples", "temperature", "max_tokens"])]
    pub samples: Option<PathBuf>,

    /// The directory that results and samples go to
    #[arg(long, value_name = "DIR", default_value = "outputs")]
    pub out: PathBuf,

    /// Samples of each task [default: the setting `eval.num_samples`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub num_samples: Option<u32>,

    /// Values of k for pass@k [default: the setting `eval.k`]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Vec<u32>,

    /// Reward model that chooses among the samples of a task, for `--best-of`
    ///
    /// A run of `whet train rm`, or the directory that it wrote: `runs/NAME/outputs/final_model`. Its base model is found
    /// by the name that it has there.
    #[arg(long, value_name = "DIR", requires = "best_of")]
    pub reward_model: Option<PathBuf>,

    /// Measure how often the best of N samples by the reward model passes
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "reward_model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub best_of: Vec<u32>,

    /// Before, measure the model greedily with each of these prompts, the baselines of its gains [default: plain,evalplus,unified]
    ///
    /// Built-in names or template files. `whet eval compare A B` then compares B with the best prompt of A, so that no
    /// gain is only a better-understood prompt. Samples are kept in OUT/prompts.
    #[arg(long, value_name = "NAME|FILE,…", value_delimiter = ',', num_args = 0..=1, default_missing_value = TEMPLATES, conflicts_with = "samples")]
    pub baseline_prompts: Vec<String>,

    /// Sampling temperature; of several, pass@k is measured at each [default: the settings `eval.temperature` and
    /// `eval.more_temperatures`]
    ///
    /// All figures are those at the first. Each further one has pass@k and a row in `whet eval compare`, which then says
    /// the gain at the better temperature of each side.
    #[arg(
        long,
        alias = "temperatures",
        value_name = "T,…",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub temperature: Vec<f64>,

    /// Maximal tokens per completion [default: the setting `grpo.max_completion_length`, at most
    /// half of the model's context length]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_tokens: Option<u32>,

    /// Measure the first N lines only; `whet data prepare` shuffles them by the seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tasks: Option<u32>,

    /// Leave out the greedy sample
    #[arg(long)]
    pub skip_greedy: bool,

    /// Store token ids and log-probabilities with every sample, for `whet train grpo --rollouts`
    #[arg(long, conflicts_with_all = ["server", "samples"])]
    pub keep_tokens: bool,

    /// Replace the results in OUT, and discard an interrupted evaluation
    #[arg(long)]
    pub fresh: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one task, which is run and discarded.
    #[arg(long)]
    pub dry_run: bool,

    /// Quantise projections to 8 bits with a scale per row: a quarter of the memory, slightly different text
    #[arg(long = "8bit")]
    pub eight_bit: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["server", "samples"])]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the results as one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

/// `whet eval compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first evaluation: its directory, or its `evaluation_results.json`; with `--seeds`, several with commas between
    #[arg(value_name = "A")]
    pub before: PathBuf,

    /// The second
    #[arg(value_name = "B")]
    pub after: PathBuf,

    /// Compare over seeds of training: A1,A2,A3 with B1,B2,B3, paired in this order
    ///
    /// All must have the same tasks. Each pass@k and greedy decoding have the difference of each seed, the mean with its 95 %
    /// interval over seeds (Student's t), and below it the interval of a bootstrap over seeds and tasks. The result is
    /// *better* or *worse* if the first interval excludes 0.
    #[arg(long)]
    pub seeds: bool,

    /// Values of k [default: those that both have]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Vec<u32>,

    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

impl MeasureArgs {
    /// The evaluation to make.
    pub(super) fn request(&self) -> EvalRequest {
        EvalRequest {
            tasks: self.tasks_file(),
            suite: self.suite.map(|suite| SuiteRequest { suite, file: self.tasks.clone() }),
            model: self.model.clone(),
            adapter: self.adapter.clone(),
            server: self.server.clone(),
            policy: self.policy,
            samples: self.samples.clone(),
            out: self.out.clone(),
            best_of: self
                .reward_model
                .clone()
                .map(|reward_model| BestOfRequest { reward_model, counts: self.best_of.clone() }),
            baseline_prompts: self.baseline_prompts.clone(),
            max_tokens: self.max_tokens.map(|most| most as usize),
            max_tasks: self.max_tasks.map(|most| most as usize),
            skip_greedy: self.skip_greedy,
            keep_tokens: self.keep_tokens,
            fresh: self.fresh,
            dry_run: self.dry_run,
            eight_bit: self.eight_bit,
            threads: self.threads.map(usize::from),
            sources: self.sources(),
        }
    }

    /// The file of tasks; of a suite, the one that it is written to.
    pub(super) fn tasks_file(&self) -> PathBuf {
        let default = || PathBuf::from("data/val.jsonl");
        match self.suite {
            Some(_) => self.out.join(SUITE_TASKS),
            None => self.tasks.clone().unwrap_or_else(default),
        }
    }

    /// Settings as they were given, with flags over them.
    fn sources(&self) -> Sources {
        let mut sources = self.config.sources();
        // The number of given samples is only known after they are read.
        let most = self.k.iter().copied().max().unwrap_or(0);
        let most = most.max(Config::default().eval.num_samples);
        let samples = if self.samples.is_some() { Some(most) } else { self.num_samples };
        let device = self.device;
        let temperature = self.temperature.first();
        let further = self.temperature.get(1..).filter(|further| !further.is_empty());
        let flags = [
            further.map(|further| format!("eval.more_temperatures={further:?}")),
            samples.map(|samples| format!("eval.num_samples={samples}")),
            device.map(|device| format!("run.device={device}")),
            temperature.map(|temperature| format!("eval.temperature={temperature:?}")),
            (!self.k.is_empty()).then(|| format!("eval.k={:?}", self.k)),
        ];
        sources.set.extend(flags.into_iter().flatten());
        sources
    }
}

/// A policy by its name.
fn policy(name: &str) -> Result<Policy, String> {
    let found = Policy::ALL.into_iter().find(|policy| policy.name() == name);
    found.ok_or_else(|| "policies are `expert` and `trivial`".to_owned())
}

/// The help below the flags, with every suite.
fn after_help() -> String {
    let name = |suite: &Suite| suite.full_name();
    let width = SUITES.iter().map(|suite| name(suite).len()).max().unwrap_or(0);
    let row = |suite: &Suite| format!("  {:<width$}  {}\n", name(suite), suite.about);
    let rows: String = SUITES.iter().map(row).collect();
    format!("{FIGURES_HELP}Suites; a name alone is its first variant:\n{rows}{SUITES_HELP}")
}

const FIGURES_HELP: &str = "\
pass@k is the unbiased estimate 1 - C(n-c,k)/C(n,k) from n samples of each task, averaged over tasks;
k may not be larger than n. Its 95 % interval covers the choice of tasks: tasks are resampled, never
samples; below 100 tasks it is a Wilson interval with the effective n. Greedy is pass@1 with greedy
decoding, and is reported separately, and so is pass@k at a further temperature. A sample that could not be judged counts as not passed and is listed
in `errors`; a task without a judged sample is left out.

with code is the share of replies that contain a program; pass@1 of these is pass@1 divided by it.

Beside pass@k, each as a mean over tasks with its 95 % interval, over all samples but the greedy one:
  syntax rate         replies with a program that compiles
  tests passed        hidden tests that a reply passed, whether or not it passed all
  quality of 10       programs that compile: 40 % low complexity, 30 % readability, 30 % documentation, unless
                      `reward.quality.*` says otherwise
  diversity           mean distance between two programs of a task, from 0 (the same) to 1 (nothing in common);
                      names, comments and layout do not count; of at most 64 programs of a task
  diversity, passing  the same among the programs that pass

--best-of N by --reward-model is the chance that the sample with the highest score of N passes, as the mean over all
choices of N of a task's samples, with its gain over pass@1. A score that knows nothing gives pass@1, and one that
knows everything pass@N.

OUT/evaluation_results.json has every figure, by source, by difficulty and by task; OUT/rollouts.jsonl has
every sample with its verdict, so `whet score OUT/rollouts.jsonl --prompts TASKS` can judge it again.
To resume a killed evaluation, run the same command again.

";

const SUITES_HELP: &str = "\
Its tasks are written to OUT/tasks.jsonl; OUT/evaluation_results.json names the suite and has their digest.

Examples:
  whet eval                                    the final model of the last run, on data/val.jsonl
  whet eval --tasks data/val.jsonl --model runs/grpo-1/outputs/final_model --out eval/grpo-1
  whet eval --tasks data/val.jsonl --model embedded --dry-run
  whet eval --model Qwen/Qwen2.5-Coder-1.5B-Instruct --num-samples 20 --k 1,10 --temperature 0.8
  whet eval --temperature 1,0.6 --out eval/both      pass@k at two temperatures, and greedily
  whet eval --suite humaneval --model Qwen/Qwen2.5-Coder-0.5B-Instruct --out eval/humaneval
  whet eval --suite mbpp-sanitized:plain --tasks sanitized-mbpp.json --out eval/mbpp
  whet eval --server http://gpu7:8000/v1 --model Qwen/Qwen3-32B-FP8 --out eval/teacher
  whet eval --tasks humaneval.jsonl --samples completions.jsonl --k 1 --out eval/given
  whet eval --num-samples 16 --reward-model runs/rm-1/outputs/final_model --best-of 4,16 --out eval/best
  whet eval --tasks data/solver/val.jsonl --policy trivial --out eval/trivial
  whet eval --model Qwen/Qwen2.5-Coder-0.5B-Instruct --baseline-prompts --out eval/base
  whet eval compare eval/base eval/grpo-1

Exit codes: 0 every sample was judged, 1 some sample was not, 2 wrong usage, config or input, 3 the
server went away or something broke, 130 stopped by Ctrl-C: the same command resumes.";

const COMPARE_HELP: &str = "\
Examples:
  whet eval compare eval/base eval/grpo-1
  whet eval compare eval/base eval/grpo-1 --k 1 --json
  whet eval compare --seeds eval/sft-1,eval/sft-2,eval/sft-3 eval/grpo-1,eval/grpo-2,eval/grpo-3

The figures of programs (syntax rate, tests passed, quality, diversity; `whet eval --help` defines them) are
compared in the same way, over the tasks that have them on both sides. Results from before these figures are
compared without them. More diversity is called higher, not better.

The difference of pass@1 is divided into what more replies with code bring and what better programs bring; where most of a
gain is the former, that is said. If A was measured with `--baseline-prompts`, B is also compared with its best prompt.

A gain at temperature 1 alone may be sharpening, which a lower temperature does for nothing. Where both sides have several
temperatures, or greedy decoding beside one, pass@1 is compared at each, and then at the better temperature of each side.

A task flips if more than half of its samples pass on one side and at most half on the other.
Exit codes: 0 compared, whatever the result; 2 wrong usage, or evaluations of different tasks.";
