//! Arguments and help of `whet train`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use whetstone_core::config::DeviceChoice;

use crate::cli::ConfigArgs;

/// `whet train …`.
#[derive(Debug, Subcommand)]
pub enum TrainCommand {
    /// Fine-tune the student on teacher traces (SFT)
    ///
    /// Learns from the passing traces of a teacher: thinking and code are learnt, prompts are not.
    /// The low-rank adapter, or with `--set training.train=full` every weight, goes to
    /// `runs/NAME/outputs/final_model`.
    #[command(after_long_help = SFT_HELP)]
    Sft(SftArgs),

    /// Train the student on tasks with GRPO, rewarded by the judge's verdicts
    ///
    /// Each step samples a group of answers to a few tasks, judges every program in the jail while
    /// others are still sampled, and learns from three sources at once: the group's rewards (GRPO),
    /// the teacher's traces of the same tasks, and the student's own best passing answers. Their
    /// weights are `dual_source.*`; the reference of the KL divergence is the student without its
    /// adapter.
    #[command(after_long_help = GRPO_HELP)]
    Grpo(GrpoArgs),
}

const GRPO_HELP: &str = "\
Examples:
  whet train grpo --tasks data/train.jsonl --run grpo-1 --set student.model_name=models/student
  whet train grpo --run grpo-1 --dry-run       what would it do, and how long would it take?
  whet train grpo --run grpo-1 --held-out data/val.jsonl   see whether it carries over
  whet train grpo --run grpo-1 --resume        go on after a stop, a crash or a kill -9
  whet train grpo --run replay --rollouts rollouts.scored.jsonl --set dual_source.teacher_sft_weight=0
  whet train grpo --run grpo-2 --from runs/grpo-1/outputs/checkpoint-50 --set training.learning_rate=1e-5
  whet train grpo --run plain --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0

Before the first step it says how many steps there will be and what memory they take, and sends the
longest possible batch through once. Every rollout, with its tokens, verdict, reward and advantage, goes
to `runs/NAME/rollouts/rollouts.jsonl`; the measurements of every step to `runs/NAME/events.jsonl`.

An alarm says what to look at before the figures are believed; `docs/guides/alarms.md` has all of them.
Alarms stop nothing. They stand in the events, in `whet report` and in `whet runs` too.";

const SFT_HELP: &str = "\
Examples:
  whet train sft --traces data/teacher_traces.jsonl --run sft-1 --set student.model_name=models/student
  whet train sft --run sft-1 --dry-run         what would it do, and how long would it take?
  whet train sft --run sft-1 --resume          go on after a stop, a crash or a kill -9

A run's directory holds its settings, its events, its checkpoints and the final model. A run that is
resumed ends with the same bytes as one that was never stopped. `whet config reference` lists every
setting; those of the optimizer begin with `training.`, those of the adapter with `lora.`.";

/// Arguments of every kind of training.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The run's name: a directory in `run.dir`
    #[arg(long, value_name = "NAME")]
    pub run: String,

    /// Resume the run from its last checkpoint, with its original settings and input files
    #[arg(long)]
    pub resume: bool,

    /// Begin where a checkpoint of another run was, with the settings of this one
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub from: Option<PathBuf>,

    /// Say what would be read, done and written, what memory it takes and about how long; write nothing
    ///
    /// The time comes from a probe: one step, done for real and thrown away.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,

    /// Threads of the CPU that compute [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Print one JSON document at the end
    #[arg(long)]
    pub json: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// `whet train grpo`.
#[derive(Debug, Args)]
pub struct GrpoArgs {
    /// Tasks to solve, one JSON object a line [default: `data/train.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// The teacher's traces of these tasks; not read if `dual_source.teacher_sft_weight` is 0 [default:
    /// `data/teacher_traces.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub traces: Option<PathBuf>,

    /// Learn from a file of scored rollouts instead of sampling: what `whet score` or another run wrote
    ///
    /// Groups are the lines with the same `step` and `prompt_id`; rewards are those of the file.
    /// Importance ratios are relative to the recorded log-probabilities of the sampler
    /// (`meta.turns`); with `grpo.importance_cap` they weight the tokens instead. If none are
    /// recorded, those of the student before its first update are used, which is correct only if
    /// this student sampled. Lines without token ids are tokenized from their text, and need
    /// `--tasks`. Several epochs need an algorithm that clips.
    #[arg(long, value_name = "FILE")]
    pub rollouts: Option<PathBuf>,

    /// Held-out tasks, to measure the pass rate during training
    ///
    /// Before the first step, and then every `held_out.every_steps`, some of them are solved and judged;
    /// `held_out/pass_rate` is recorded with the step. An alarm rings if it falls while rewards rise.
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

/// `whet train sft`.
#[derive(Debug, Args)]
pub struct SftArgs {
    /// The teacher's traces, one JSON object a line [default: `data/teacher_traces.jsonl`, or with
    /// `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub traces: Option<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}
