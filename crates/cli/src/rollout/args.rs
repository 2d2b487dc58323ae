//! Arguments and help of `whet rollout`.

use std::path::PathBuf;

use clap::Args;
use whetstone_config::Sources;
use whetstone_core::config::DeviceChoice;
use whetstone_infer::Rule;
use whetstone_recipe::rollouts::RolloutRequest;

use crate::cli::ConfigArgs;
use crate::generate::{count, within};

/// Flags that mock replies have no use for.
const OF_A_MODEL: [&str; 14] = [
    "model",
    "adapter",
    "server",
    "temperature",
    "top_p",
    "max_new_tokens",
    "keep_tokens",
    "fresh",
    "dry_run",
    "eight_bit",
    "device",
    "threads",
    "files",
    "set",
];

/// `whet rollout`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct RolloutArgs {
    /// The model: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`; with
    /// `--server`, its name there
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// LoRA adapter for the model: a directory in PEFT format
    #[arg(long, value_name = "DIR", requires = "model", conflicts_with = "server")]
    pub adapter: Option<PathBuf>,

    /// Use an OpenAI-compatible chat completions server instead of a local model
    ///
    /// Its key, timeouts, retries and concurrency are set by `teacher.*`, and so is its model's name where
    /// `--model` is left out.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,

    /// Write replies of planted quality instead of asking a model
    #[arg(long, conflicts_with_all = OF_A_MODEL)]
    pub mock: bool,

    /// The tasks to answer, one JSON object per line
    #[arg(long, value_name = "FILE", default_value = "data/prompts_train.jsonl")]
    pub prompts: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE", default_value = "data/rollouts.jsonl")]
    pub out: PathBuf,

    /// The optimizer step that stands in the lines
    #[arg(long, value_name = "STEP", default_value_t = 1)]
    pub step: u64,

    /// Tasks to draw from the file [default: all; 8 with `--mock`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub num_prompts: Option<u32>,

    /// Replies to each task
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub group_size: u32,

    /// Seed of the draw and of sampling
    #[arg(long, value_name = "SEED", default_value_t = 2026)]
    pub seed: u64,

    /// Sampling temperature; 0 is greedy decoding
    #[arg(long, value_name = "T", default_value_t = 0.7, allow_negative_numbers = true, value_parser = within(0.0..=100.0))]
    pub temperature: f32,

    /// Nucleus sampling: the most probable tokens whose probabilities add up to P
    #[arg(long, value_name = "P", default_value_t = 0.9, allow_negative_numbers = true, value_parser = within(f32::MIN_POSITIVE..=1.0))]
    pub top_p: f32,

    /// Maximal tokens per reply [default: 1800, at most half of a local model's context length]
    #[arg(long, value_name = "N", value_parser = count())]
    pub max_new_tokens: Option<u32>,

    /// Store token ids and log-probabilities with every reply, for `whet train grpo --rollouts`
    #[arg(long, conflicts_with = "server")]
    pub keep_tokens: bool,

    /// Discard an unfinished OUT, and replace a finished one
    #[arg(long)]
    pub fresh: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one task, which is sampled and discarded.
    #[arg(long)]
    pub dry_run: bool,

    /// Quantise projections to 8 bits with a scale per row: a quarter of the memory, slightly different text
    #[arg(long = "8bit", conflicts_with = "server")]
    pub eight_bit: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE", conflicts_with = "server")]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

impl RolloutArgs {
    /// The rollouts to sample.
    pub(super) fn request(&self) -> RolloutRequest {
        RolloutRequest {
            prompts: self.prompts.clone(),
            out: self.out.clone(),
            model: self.model.clone(),
            adapter: self.adapter.clone(),
            server: self.server.clone(),
            step: self.step,
            num_prompts: self.num_prompts.map(|count| count as usize),
            group_size: self.group_size as usize,
            seed: self.seed,
            rule: Rule { temperature: self.temperature, top_p: self.top_p, ..Rule::default() },
            max_new_tokens: self.max_new_tokens.map(|most| most as usize),
            keep_tokens: self.keep_tokens,
            fresh: self.fresh,
            dry_run: self.dry_run,
            eight_bit: self.eight_bit,
            threads: self.threads.map(usize::from),
            sources: self.sources(),
        }
    }

    /// Settings as they were given, with the device over them.
    fn sources(&self) -> Sources {
        let mut sources = self.config.sources();
        sources.set.extend(self.device.map(|device| format!("run.device={device}")));
        sources
    }
}

const AFTER_HELP: &str = "\
A line of the output is one reply, which is not judged: `whet score` does that.
  {\"step\":1,\"prompt_id\":\"seed_000123\",\"group_id\":0,\"text\":\"[PLAN]…[/PLAN]\\n\\n```javascript …\",
   \"meta\":{\"temperature\":0.7,\"top_p\":0.9,\"max_new_tokens\":1800,\"model\":\"…\",\"tokens\":412,\"finish\":\"stop\",\"end\":\"done\"}}
`finish` is `length` where the limit on tokens cut a reply off. Tasks may be of any kind whose episodes have one
reply; the prompt is the one that training and `whet eval` send. Episodes of several turns are refused, since only
their environment can make the later prompts: `whet eval --keep-tokens` plays them.

To resume a killed command, run it again: what is sampled stays in OUT.journal, nothing is sampled or asked for
twice, and a local model ends with the bytes of an undisturbed run. With other inputs it is refused.

`whet train grpo --rollouts` learns from the scored file. That is exact where the log-probabilities are those of
the distribution that was sampled: with `--keep-tokens --temperature 1 --top-p 1`.

Replies of `--mock` have one of these qualities, which stands in meta.mock and which no score reads:
  good           the reference program of the task
  half_good      the reference without its last statement: some checks fail
  idle           a scene that shows nothing
  hallucinating  the reference with a call that Phaser does not have
  broken         a program that does not parse
  no_code        words without a program
  long_plan      the reference behind a plan of about a thousand words
  hostile        tampering with the engine, or an endless loop (meta.mock_trick)
  plain          a valid game that does something else, for good and half_good where a task has no reference
Each of them occurs in every eleven lines. The same prompts and seed give the same bytes.

Examples:
  whet data prompts
  whet rollout --model runs/sft-1 --prompts data/prompts_train.jsonl --out rollouts.jsonl --group-size 8
  whet rollout --model Qwen/Qwen2.5-Coder-1.5B-Instruct --num-prompts 32 --device auto --dry-run
  whet rollout --server http://gpu7:8000/v1 --model Qwen/Qwen3-32B-FP8 --out rollouts.jsonl
  whet rollout --mock --prompts data/prompts_train.jsonl --out rollouts.jsonl --step 1 --num-prompts 8 \\
    --group-size 8 --seed 2026 --json
  whet score rollouts.jsonl --prompts data/prompts_train.jsonl --out scored.jsonl

Exit codes: 0 the file was written, 1 some reply is missing, 2 wrong usage, config or input, 3 the server went
away or something broke, 130 stopped by Ctrl-C: the same command resumes.";
