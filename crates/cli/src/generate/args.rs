//! Arguments and help of `whet generate`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use whetstone_core::config::DeviceChoice;
use whetstone_infer::Rule;
use whetstone_recipe::generation::{GenerateRequest, Shown};
use whetstone_recipe::prompts::Chat;

/// `whet generate`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct GenerateArgs {
    /// The model: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`
    #[arg(value_name = "MODEL")]
    pub model: String,

    /// The text to complete; with `--chat`, the user's message
    #[arg(value_name = "PROMPT", conflicts_with = "file", required_unless_present = "file")]
    pub prompt: Option<String>,

    /// Read prompts from a file, one per line or as JSON Lines; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Apply the model's chat template
    #[arg(long)]
    pub chat: bool,

    /// System message before the user's
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub system: Option<String>,

    /// Value of `enable_thinking` for the chat template
    #[arg(long, value_name = "BOOL", requires = "chat")]
    pub enable_thinking: Option<bool>,

    /// Maximal tokens per completion
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count())]
    pub max_tokens: u32,

    /// Sampling options.
    #[command(flatten)]
    pub rule: RuleArgs,

    /// Completions per prompt
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count())]
    pub samples: u32,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = whetstone_core::config::Config::default().seed)]
    pub seed: u64,

    /// Stop string, not included in the completion; can be given several times
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub stop: Vec<String>,

    /// LoRA adapter for the model: a directory in PEFT format
    #[arg(long, value_name = "DIR")]
    pub adapter: Option<PathBuf>,

    /// Quantise projections to 8 bits with a scale per row: a quarter of the memory, slightly different text
    #[arg(long = "8bit")]
    pub eight_bit: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Cpu)]
    pub device: DeviceChoice,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Maximal tokens of prompt and completion together [default: the model's context length]
    #[arg(long, value_name = "N", value_parser = count())]
    pub context: Option<u32>,

    /// Size of the KV cache in MiB; samples that do not fit wait [default: what the memory allows]
    #[arg(long, value_name = "N", value_parser = count())]
    pub cache_mb: Option<u32>,

    /// Print text as it is sampled, also where standard output is not a terminal
    #[arg(long, overrides_with = "no_stream", conflicts_with = "json")]
    pub stream: bool,

    /// Print a completion when it is whole, also on a terminal
    #[arg(long, overrides_with = "stream")]
    pub no_stream: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl GenerateArgs {
    /// How the prompts are completed.
    pub(super) fn request(&self, shown: Shown, chat_hint: Option<String>) -> GenerateRequest {
        GenerateRequest {
            model: self.model.clone(),
            adapter: self.adapter.clone(),
            chat: self.chat.then(|| Chat {
                model: self.model.clone(),
                system: self.system.clone(),
                enable_thinking: self.enable_thinking,
            }),
            max_tokens: self.max_tokens as usize,
            rule: self.rule.into(),
            samples: self.samples as usize,
            seed: self.seed,
            stop: self.stop.clone(),
            eight_bit: self.eight_bit,
            device: self.device,
            threads: self.threads.map(usize::from),
            context: self.context.map(|most| most as usize),
            cache_bytes: self.cache_mb.map(|mib| (mib as usize).saturating_mul(1 << 20)),
            shown,
            chat_hint,
        }
    }
}

/// Sampling options.
#[derive(Debug, Clone, Copy, Args)]
pub struct RuleArgs {
    /// Sampling temperature; 0 is greedy decoding
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_negative_numbers = true, value_parser = within(0.0..=100.0))]
    pub temperature: f32,

    /// Nucleus sampling: the most probable tokens whose probabilities add up to P
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true, value_parser = within(f32::MIN_POSITIVE..=1.0))]
    pub top_p: f32,

    /// Sample from the K most probable tokens; 0 is all
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub top_k: u32,

    /// Sample from tokens with at least P times the probability of the most probable one
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_negative_numbers = true, value_parser = within(0.0..=1.0))]
    pub min_p: f32,

    /// Subtracted from the logit of every token that was already sampled
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true, value_parser = within(-100.0..=100.0))]
    pub presence_penalty: f32,

    /// Divides the logit of every token that already occurred, also in the prompt; 1 has no effect
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true, value_parser = within(f32::MIN_POSITIVE..=100.0))]
    pub repetition_penalty: f32,
}

impl From<RuleArgs> for Rule {
    fn from(args: RuleArgs) -> Self {
        Self {
            temperature: args.temperature,
            top_k: args.top_k as usize,
            top_p: args.top_p,
            min_p: args.min_p,
            presence_penalty: args.presence_penalty,
            repetition_penalty: args.repetition_penalty,
        }
    }
}

/// A whole number from 1 on, of a size that can be counted with.
pub(crate) fn count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1 << 27)
}

/// A number in a range.
pub(crate) fn within(
    range: RangeInclusive<f32>,
) -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number: f32 = text.parse().map_err(|_| "it is not a number".to_owned())?;
        if range.contains(&number) {
            return Ok(number);
        }
        let (from, to) = (range.start(), range.end());
        Err(if range.contains(&0.0) {
            format!("expected a number from {from} to {to}")
        } else {
            format!("expected a number above 0, at most {to}")
        })
    }
}

const AFTER_HELP: &str = "\
Text goes to standard output; timings, and tokens per second of prefill and of decoding, go to
standard error. Several completions are printed in order, each under a header line. A prompt is
prefilled once for all of its samples. On a terminal text appears as it is sampled (`--stream` does so
in a pipe, too). Of several completions, the first unfinished one is streamed. Ctrl-C stops. A terminal
shows control characters of the text other than newline and tab as escapes (`\\u{1b}`); a pipe gets them as
they are. Without `--chat` nothing is added to a prompt. With temperature
1 and no top-k, top-p or min-p, tokens are sampled from the distribution that training uses.

`--json` prints one object: for each prompt its tokens and its completions, each with text, finish
(`stop` or `length`), token ids and their log-probabilities at the temperature, without truncation and
penalties; and the token counts, with seconds.

A file whose first line begins with `{` is JSON Lines: each line an object with `prompt` (a text) or
`messages` (a list of `role` and `content`; if the last is the assistant's, the model continues it). Each is
answered by its own line, as soon as all of its completions are done, with all of its fields and `completions`:
sample, text, finish and number of tokens; with `--json` also token ids and log-probabilities. Ctrl-C writes
what is done.

Examples:
  whet generate models/SmolLM2-135M-Instruct 'Write fizzbuzz in Python.' --chat --temperature 0
  whet generate model.gguf --file prompts.txt --samples 4 --max-tokens 512 --stop '### Question' --json
  whet generate model.gguf --file tasks.jsonl --chat --samples 8 > answers.jsonl
  whet generate models/Qwen3-1.7B 'Is 91 prime?' --chat --enable-thinking false --adapter runs/a1/adapter

Exit codes: 0 every completion was generated, 130 stopped, 2 wrong usage, model or prompt, 3 something broke.";
