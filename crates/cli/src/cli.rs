//! The command line: what can be typed, and what `--help` teaches.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

pub use crate::bench::BenchArgs;
pub use crate::board::BoardArgs;
pub use crate::data::DataCommand;
pub use crate::eval::{CompareArgs, EvalArgs, EvalCommand, MeasureArgs};
pub use crate::export::ExportArgs;
pub use crate::generate::GenerateArgs;
pub use crate::model::ModelCommand;
pub use crate::quickstart::QuickstartArgs;
pub use crate::report::ReportArgs;
pub use crate::runs::RunsArgs;
pub use crate::score::{AdvantageArg, ScoreArgs};
pub use crate::teach::{TeachArgs, TeacherArg};
pub use crate::train::TrainCommand;

/// Post-train code models on rewards that can be verified
///
/// Whetstone takes a student model through one pipeline, and every stage is one command:
///
///   tasks ─► teacher traces ─► rollouts ─► verdicts ─► rewards ─► updates ─► pass@k
///
/// Every program is judged in a jail before it is paid; every number can be traced to the run
/// that it came from.
#[derive(Debug, Parser)]
#[command(name = "whet", version, verbatim_doc_comment, after_help = AFTER_HELP)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Verbosity.
    #[command(flatten)]
    pub talk: TalkArgs,
}

const AFTER_HELP: &str = "\
All of it at once, small and in minutes:
     whet quickstart        What does training do? pass@k before and after, with intervals.

The pipeline in order:
  1. whet doctor            Is this machine fit? Run it first.
  2. whet config show       What would a run do? Every setting, and where it came from.
     whet config check      Is my file right? Every problem at once.
     whet config reference  What can be set?
  3. whet data prepare      What is there to learn from? Data sets in, train and validation out.
     whet data validate     Can these tasks be trusted? Each reference passes, no trivial answer does.
  4. whet teach             How would a teacher solve these tasks? Traces, each with its verdict.
  5. whet score             What are these rollouts worth? Verdict, reward and advantage a line.
  6. whet model new         Where does a small model of my own begin? Texts in, a directory out.
     whet model info        What is this model, and does it fit into memory?
     whet generate          What does it say? A prompt or a chat in, text out.
     whet bench             How fast is it here? Training and sampling, beside what the device can do.
  7. whet train sft         How does it learn from the traces?
     whet train grpo        How does it learn from what its own programs did?
  8. whet eval              How good is it? pass@k with intervals; any model, any tasks.
     whet eval compare      Is one better than another? The difference, paired by tasks.
     whet report            What happened in a run? One page: curves, verdicts, every completion.
     whet board             How does it go right now? The same pages, live, in a browser.
     whet runs              Which runs are there, and how do they stand? Also as CSV, for TensorBoard.

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or config, 3 something broke.
Data goes to standard output, everything else to standard error; `--json` is for scripts.";

/// Verbosity.
#[derive(Debug, Clone, Copy, Args)]
pub struct TalkArgs {
    /// Log more to standard error; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Say nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// A stage of the pipeline, or a helper beside it.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See the whole pipeline work: pass@k before and after training, in minutes, on any machine
    ///
    /// Takes the student that ships with `whet` and tasks that it composes itself: traces, judged
    /// for real; pass@k on tasks that training never sees; GRPO with three sources; pass@k again;
    /// and a summary with intervals. Needs no download, no server and no GPU.
    Quickstart(QuickstartArgs),

    /// Check every assumption about this machine before training on it
    ///
    /// Prints one numbered line for each check, PASS, WARN or FAIL, and a total. WARN means that
    /// something works less well than it could; FAIL that it cannot work.
    Doctor(DoctorArgs),

    /// Prepare tasks, and prove them
    #[command(subcommand)]
    Data(DataCommand),

    /// Collect a teacher's traces of the tasks, each with the judge's verdict
    ///
    /// Requests several solutions of every task from an OpenAI-compatible server, extracts the
    /// thinking and the program from each, judges the program, and writes one line for each.
    /// Answers are stored as they arrive: a request is never paid for twice.
    Teach(TeachArgs),

    /// Give every rollout its verdict, its reward and its advantage
    ///
    /// Finds the program in each reply, judges it against the hidden tests of its task, and adds
    /// `validation`, `reward` and `advantage` to the line. Lines with the same `step` and
    /// `prompt_id` are one group.
    Score(ScoreArgs),

    /// Train a student
    #[command(subcommand)]
    Train(TrainCommand),

    /// Measure a model: pass@k on tasks, with intervals
    ///
    /// Lets a model on this machine, or one behind a server, solve every task several times, judges
    /// every program in the jail, and writes pass@k with 95 % intervals, by source and difficulty, and
    /// every sample. `whet eval compare` puts two such results beside each other.
    Eval(EvalArgs),

    /// Look at models, and make new ones
    #[command(subcommand)]
    Model(ModelCommand),

    /// Let a model on this machine complete prompts
    ///
    /// Takes a model directory or a GGUF file and a prompt, or a message for the model's chat
    /// template, and prints the completion. The same seed gives the same text, whatever else is in
    /// the batch.
    Generate(GenerateArgs),

    /// Show a run as one HTML page: curves, verdicts, and every completion with its failing test
    ///
    /// Reads the events and rollouts of a run, finished or not, and writes one file that loads
    /// nothing from anywhere. It works offline, in light and dark, and on a phone.
    Report(ReportArgs),

    /// Serve the pages of runs, live, to a browser on this machine
    ///
    /// A list of the runs in a folder and the page of each, as `whet report` writes it, updated
    /// with every step. The page needs no reload, and your view is preserved.
    Board(BoardArgs),

    /// List runs with their state, their last measurements and their size
    ///
    /// `whet runs csv` and `whet runs tensorboard` write a run's measurements for other programs.
    Runs(RunsArgs),

    /// Measure what this machine does with a model: training, sampling, memory
    ///
    /// One table: tokens per second of LoRA training and of sampling with log-probabilities,
    /// TFLOP/s, and the shares of the device's throughput in a large matrix product and of its
    /// bandwidth in a copy.
    Bench(BenchArgs),

    /// Work an adapter into its model, as one directory that other tools load
    Export(ExportArgs),

    /// Show, check and explain settings
    #[command(subcommand)]
    Config(ConfigCommand),

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
    /// Read settings from a TOML file; later files win
    #[arg(long = "config", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Set one key, over all files
    ///
    /// For example `--set training.learning_rate=1e-4` or `--set eval.k=[1,10]`. Text needs no
    /// quotes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `whet doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  whet doctor                               is this machine fit to judge programs and to train?
  whet doctor --model embedded              and does the student's format, tokenizer and reward work?
  whet doctor --model Qwen/Qwen3-1.7B --teacher --config my.toml

Exit codes: 0 nothing failed, 1 something did, 2 wrong usage or config, 3 something broke.")]
pub struct DoctorArgs {
    /// Test this student end to end: prompt, training row, completion, extraction and reward
    ///
    /// A directory, a .gguf file, an adapter or a run that training left, a name of the hub, or
    /// `embedded`.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Print every token of the student's training row with its label: `masked` or `trained`
    ///
    /// With `--json` they are always there, as `tokens` of the check `SFT labels`.
    #[arg(long, requires = "model")]
    pub labels: bool,

    /// Ask the teacher of `teacher.*` for a small program, and look for its thinking and code
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

    /// Report everything that is wrong with a config, at once
    ///
    /// Exits with 0 if nothing is, and with 2 otherwise. What `whet train grpo` alone refuses is wrong
    /// with a config that sets a key of `[grpo]`; in any other it is a warning that names the command,
    /// since `whet train sft` takes it.
    Check(ConfigFileArgs),

    /// Print the reference page: every key with its meaning, default and bounds
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
pub struct ReferenceArgs {
    /// Print the JSON Schema instead, for an editor that completes and checks
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
