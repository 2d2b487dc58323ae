//! The command line: what can be typed, and what `--help` teaches.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};
use whetstone_config::Sources;

pub use crate::about::{CompletionsArgs, ManArgs};
pub use crate::bench::BenchArgs;
pub use crate::board::BoardArgs;
pub use crate::colour::ColourArg;
pub use crate::data::DataCommand;
pub use crate::env_command::EnvCommand;
pub use crate::eval::{CompareArgs, EvalArgs, EvalCommand, MeasureArgs};
pub use crate::export::ExportArgs;
pub use crate::generate::GenerateArgs;
pub use crate::model::ModelCommand;
pub use crate::prompt::PromptCommand;
pub use crate::quickstart::QuickstartArgs;
pub use crate::report::ReportArgs;
pub use crate::rollout::RolloutArgs;
pub use crate::runs::RunsArgs;
pub use crate::score::{AdvantageArg, ScoreArgs};
pub use crate::stages::StagesArgs;
pub use crate::teach::{TeachArgs, TeacherArg};
pub use crate::train::TrainCommand;
use crate::version;

/// Post-train code models on rewards that can be verified
///
/// Whetstone takes a student model through one pipeline, and every stage is one command:
///
///   tasks ─► teacher traces ─► rollouts ─► verdicts ─► rewards ─► updates ─► pass@k
///
/// Every program is judged in a sandbox before it is rewarded; every number can be traced to the
/// run that it came from.
#[derive(Debug, Parser)]
#[command(name = "whet", version = version::short(), long_version = version::long())]
#[command(verbatim_doc_comment, after_help = AFTER_HELP)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Verbosity and colour.
    #[command(flatten)]
    pub talk: TalkArgs,
}

const AFTER_HELP: &str = "\
The whole pipeline in minutes:
     whet quickstart        Train a small model; pass@k before and after, with intervals.
     whet run FILE          Run your own stages from one file, and resume them.

The pipeline step by step:
  1. whet doctor            Check this machine. Run it first.
  2. whet config show       Print every setting, and where it came from.
     whet config check      Report all problems of a config file at once.
     whet config reference  List all settings.
  3. whet data prepare      Convert data sets into train and validation tasks.
     whet data check        Say what a file is, and what is wrong with each of its lines.
     whet data validate     Check that each reference passes its tests and no trivial answer does.
     whet data filter       Keep the tasks that the student solves now and then.
     whet data tests        Add generated tests to tasks.
     whet data prompts      Draw prompts for Phaser games to train on and to evaluate on.
  4. whet teach             Collect a teacher's traces, each with the judge's verdict.
  5. whet score             Add verdict, reward and advantage to each rollout of a file.
     whet rollout           Sample groups of replies to tasks; `--mock` writes some without a model.
  6. whet model new         Create a small model, with a tokenizer trained on your text.
     whet model info        Describe a model, and the memory it needs.
     whet prompt show       Show the prompt of a task as a model reads it.
     whet generate          Complete a prompt or a chat.
     whet bench             Measure the throughput of training and sampling on this machine.
  7. whet train sft         Fine-tune on the traces.
     whet train grpo        Train with GRPO on judged rollouts.
  8. whet eval              Measure pass@k with intervals, for any model on any tasks.
     whet eval compare      Compare two evaluations, paired by task.
     whet report            Write a run as one page: curves, verdicts, every completion.
     whet board             Serve the same pages live to a browser.
     whet runs              List runs and their state; export metrics as CSV or for TensorBoard.
  9. whet export            Merge an adapter into its model, for other tools.
     whet completions       Print the completions of your shell; `whet man` the manual pages.

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or config, 3 something broke, 130 stopped by Ctrl-C,
can be resumed.
Data goes to standard output, everything else to standard error; `--json` is for scripts.";

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Verbosity and colour.
#[derive(Debug, Clone, Copy, Args)]
pub struct TalkArgs {
    /// Log more to standard error; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = GLOBAL)]
    pub verbose: u8,

    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub quiet: bool,

    /// Colours: `always`, `never`, or `auto`: on a terminal, as `NO_COLOR` and `CLICOLOR_FORCE` say
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColourArg::Auto)]
    #[arg(help_heading = GLOBAL, hide_possible_values = true)]
    pub color: ColourArg,
}

/// A stage of the pipeline, or a helper beside it.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the whole pipeline in minutes, with pass@k before and after training
    ///
    /// Uses the student that is embedded in `whet` and generated tasks: judges the traces, measures
    /// pass@k on held-out tasks, trains with GRPO and two auxiliary SFT losses, measures pass@k
    /// again, and prints a summary with intervals. Needs no download, no server and no GPU.
    Quickstart(QuickstartArgs),

    /// Run the stages of a file in order, each with its inputs from the stages before it
    ///
    /// A file has settings, like any config file, and a list of stages such as `data`, `teach`, `sft`,
    /// `grpo` and `eval`. Everything goes into one run with one page. To resume after an interruption, a
    /// crash or a `kill -9`, run the file again.
    Run(StagesArgs),

    /// Check whether this machine can judge programs and train models
    ///
    /// Prints one numbered line for each check, PASS, WARN or FAIL, and a total. WARN means that
    /// something works less well than it could; FAIL that it cannot work.
    Doctor(DoctorArgs),

    /// Prepare and validate tasks
    #[command(subcommand)]
    Data(DataCommand),

    /// Collect and judge a teacher's traces of the tasks
    ///
    /// Requests several solutions of every task from an OpenAI-compatible server, extracts the
    /// thinking and the program from each, judges the program, and writes one line for each.
    /// Answers are stored as they arrive: a request is never paid for twice.
    Teach(TeachArgs),

    /// Add verdict, reward and advantage to every rollout of a file
    ///
    /// Finds the program in each reply, judges it against the hidden tests of its task, and adds
    /// `validation`, `reward` and `advantage` to the line. Lines with the same `step` and
    /// `prompt_id` are one group.
    Score(ScoreArgs),

    /// Sample groups of replies to tasks from a model, for `whet score`
    ///
    /// A local model or a server answers every task several times; nothing is judged. With `--mock`, replies to
    /// prompts for Phaser are good, half-good, idle, hallucinating, broken and hostile programs instead: a
    /// pipeline can be tried, and a reward checked, without a model.
    Rollout(RolloutArgs),

    /// Train a student
    #[command(subcommand)]
    Train(TrainCommand),

    /// Measure a model: pass@k on tasks, with intervals
    ///
    /// Samples a local model, or one behind a server, several times on every task, judges every
    /// program in the sandbox, and writes pass@k with 95 % intervals, by source and difficulty, and
    /// every sample. `whet eval compare` compares two such results.
    Eval(EvalArgs),

    /// Describe models, and create new ones
    #[command(subcommand)]
    Model(ModelCommand),

    /// Show what a model is asked, to the token
    #[command(subcommand)]
    Prompt(PromptCommand),

    /// Complete prompts with a local model
    ///
    /// Takes a model directory or a GGUF file and a prompt, or a message for the model's chat
    /// template, and prints the completion. The same seed gives the same text, whatever else is in
    /// the batch.
    Generate(GenerateArgs),

    /// Write a run as one HTML page: curves, verdicts, and every completion with its failing test
    ///
    /// Reads the events and rollouts of a run, finished or not, and writes one self-contained file.
    /// It works offline, in light and dark mode, and on a phone.
    Report(ReportArgs),

    /// Serve the pages of runs, live, to a local browser
    ///
    /// A list of the runs in a folder and the page of each, as `whet report` writes it, updated
    /// with every step. The page needs no reload, and your view is preserved.
    Board(BoardArgs),

    /// List runs with their state, last metrics and size
    ///
    /// `whet runs csv` and `whet runs tensorboard` export a run's metrics for other programs.
    Runs(RunsArgs),

    /// Measure the throughput and memory of training and sampling on this machine
    ///
    /// One table: tokens per second of LoRA training and of sampling with log-probabilities,
    /// TFLOP/s, and the shares of the device's throughput in a large matrix product and of its
    /// bandwidth in a copy.
    Bench(BenchArgs),

    /// Merge a LoRA adapter into its base model, as a directory that other tools can load
    Export(ExportArgs),

    /// Show, check and explain settings
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Set up what environments need
    #[command(subcommand)]
    Env(EnvCommand),

    /// Print the completions of a shell
    Completions(CompletionsArgs),

    /// Print the manual page, or write one for every command
    Man(ManArgs),

    /// Tries one kernel feature in a process of its own, for `whet doctor`.
    #[command(name = "__probe", hide = true)]
    Probe(ProbeArgs),

    /// Is one of the judge's own processes.
    #[command(name = "__judge", hide = true)]
    Judge(JudgeArgs),
}

/// Sources of settings.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// Read settings from a TOML file; later files take precedence
    #[arg(long = "config", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Set one key; takes precedence over all files
    ///
    /// For example `--set training.learning_rate=1e-4` or `--set eval.k=[1,10]`. Text needs no
    /// quotes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArgs {
    /// The sources as a config is assembled from them.
    pub fn sources(&self) -> Sources {
        for path in &self.files {
            tracing::debug!(path = %path.display(), "reading config file");
        }
        Sources { layers: Vec::new(), files: self.files.clone(), set: self.set.clone() }
    }
}

/// `whet doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  whet doctor                               check judging and training on this machine
  whet doctor --model embedded              also check a student's format, tokenizer and reward
  whet doctor --model Qwen/Qwen3-1.7B --teacher --config my.toml

Exit codes: 0 nothing failed, 1 a check failed, 2 wrong usage or config, 3 something broke.")]
pub struct DoctorArgs {
    /// Test this student end to end: prompt, training row, completion, extraction and reward
    ///
    /// A directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Print every token of the student's training row with its label: `masked` or `trained`
    ///
    /// With `--json` they are always included, as `tokens` of the check `SFT labels`.
    #[arg(long, requires = "model")]
    pub labels: bool,

    /// Request a small program from the configured teacher, and extract its thinking and code
    #[arg(long)]
    pub teacher: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

/// `whet config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the resolved config, with where each key was set
    ///
    /// The output is a config file that reads back the same. Without any file it is the defaults.
    Show(ConfigFileArgs),

    /// Report all problems of a config at once
    ///
    /// Exits with 0 if there are no problems, and with 2 otherwise. A problem that only `whet train
    /// grpo` refuses is an error in a config that sets a key of `[grpo]`; in any other it is a warning
    /// that names the command, since `whet train sft` accepts it.
    Check(ConfigFileArgs),

    /// Print the reference: every key, or the named ones, with meaning, default and bounds
    Reference(ReferenceArgs),
}

/// A config to look at.
#[derive(Debug, Args)]
pub struct ConfigFileArgs {
    /// TOML files; later ones win
    #[arg(value_name = "FILE")]
    pub positional: Vec<PathBuf>,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print one JSON document instead
    #[arg(long)]
    pub json: bool,
}

/// `whet config reference`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  whet config reference grpo.kl_coef    one key
  whet config reference lora            a section
  whet config reference grpo.clip       the keys that begin so
  whet config reference > config.md     the whole page")]
pub struct ReferenceArgs {
    /// A key, a section, or the beginning of keys [default: everything]
    #[arg(value_name = "KEY")]
    pub key: Option<String>,

    /// Print the JSON Schema instead, for completion and checks in an editor
    #[arg(long)]
    pub json: bool,
}

/// `whet __judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// The process, and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `whet __probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// The feature.
    #[arg(value_enum)]
    pub feature: ProbeFeature,
}

/// A kernel feature that can only be tried by changing the process that tries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ProbeFeature {
    /// User, pid and mount namespaces.
    Namespaces,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
