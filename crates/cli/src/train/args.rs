//! Arguments of `whet train`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::training::RunRequest;
use whetstone_train::inputs::Files;

use super::help::{DPO_HELP, GRPO_HELP, PPO_HELP, PRM_HELP, RM_HELP, SFT_HELP};
use crate::cli::ConfigArgs;

/// `whet train …`.
#[derive(Debug, Subcommand)]
pub enum TrainCommand {
    /// Fine-tune the student on teacher traces, or on rows of conversations (SFT)
    ///
    /// Trains on the passing traces of a teacher, with cross-entropy on thinking and code; prompts are
    /// masked. With `--rows` it trains on every reply of conversations, as they stand in the file. The LoRA adapter, or with `--set training.train=full` the whole model, is written to
    /// `runs/NAME/outputs/final_model`.
    #[command(after_long_help = SFT_HELP)]
    Sft(SftArgs),

    /// Train the student on tasks with PPO: a critic, and rewards of the judge or a reward model
    ///
    /// The policy begins with the adapter that `--from` names, which is also the reference of the KL
    /// divergence, or with a new adapter. The critic is an adapter of its own with a value head, or a value
    /// head on the policy (`ppo.critic`).
    #[command(after_long_help = PPO_HELP)]
    Ppo(PpoArgs),

    /// Train the student on tasks with GRPO, rewarded by the judge's verdicts
    ///
    /// Each step samples a group of completions for each of a few tasks, judges every program in the
    /// sandbox while others are still being sampled, and combines three losses: GRPO on the rewards,
    /// SFT on the teacher's traces of the same tasks, and SFT on the student's own best passing
    /// rollouts. Their weights are `dual_source.*`. The reference policy of the KL divergence is the
    /// student without its adapter.
    #[command(after_long_help = GRPO_HELP)]
    Grpo(GrpoArgs),

    /// Train a reward model on preference pairs
    ///
    /// Gives the student a score head, and trains it with a LoRA adapter so that the chosen reply of a pair
    /// scores higher than the rejected one (Bradley-Terry). Some pairs are held out: on them accuracy,
    /// calibration and the part of length in the scores are measured, and the scale of the scores is
    /// set. `runs/NAME/outputs/final_model` is a PEFT adapter for sequence classification, with
    /// `reward_model.json` beside it.
    #[command(after_long_help = RM_HELP)]
    Rm(RmArgs),

    /// Train the student on preference pairs, with DPO, IPO or SimPO
    ///
    /// Makes the chosen reply of a pair more likely than the rejected one, measured against the reference: the
    /// student without its adapter, or with the adapter that `--from` names. No reward model and no
    /// sampling takes part. Some pairs are held out, and the part of them that the policy orders as labelled
    /// is measured.
    #[command(after_long_help = DPO_HELP)]
    Dpo(DpoArgs),

    /// Train a process reward model on the transitions of scored episodes
    ///
    /// Gives the student a score head, and trains it with a LoRA adapter to say how likely a transition
    /// (state, action, next state) is to be progress, by the label that its environment recorded (binary
    /// cross-entropy). Tasks are held out as a whole: on their transitions the AUC and the calibration are
    /// measured. `runs/NAME/outputs/final_model` is a PEFT adapter for sequence classification, with
    /// `process_model.json` beside it.
    #[command(after_long_help = PRM_HELP)]
    Prm(PrmArgs),
}

/// Arguments of every kind of training.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The run's name: a directory in `run.dir`
    #[arg(long, value_name = "NAME")]
    pub run: String,

    /// Resume the run from its last checkpoint, with its original settings and input files
    #[arg(long)]
    pub resume: bool,

    /// Start from a checkpoint of another run, with the settings of this one
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub from: Option<PathBuf>,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one step, which is run and discarded.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Print one JSON document at the end
    #[arg(long)]
    pub json: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl RunArgs {
    /// The run, and how it begins.
    pub(crate) fn request(&self) -> RunRequest {
        RunRequest {
            name: self.run.clone(),
            resume: self.resume,
            from: self.from.clone(),
            dry_run: self.dry_run,
            device: self.device,
            threads: self.threads.map(usize::from),
            sources: self.config.sources(),
        }
    }
}

/// `whet train grpo`.
#[derive(Debug, Args)]
pub struct GrpoArgs {
    /// Tasks to solve, one JSON object per line [default: `data/train.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// The teacher's traces of these tasks; not read if `dual_source.teacher_sft_weight` is 0 [default:
    /// `data/teacher_traces.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub traces: Option<PathBuf>,

    /// Train on a file of scored rollouts instead of sampling, as written by `whet score` or another run
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
    /// Before the first step, and then every `held_out.every_steps` steps, some of them are sampled and
    /// judged; `held_out/pass_rate` is recorded with the step. An alarm fires if it falls while rewards
    /// rise.
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,

    /// Pay by the setting `reward.model` even if its training found that reward model no better than chance; same as
    /// `--set reward.accept_weak_model=true`
    #[arg(long)]
    pub accept_weak_reward_model: bool,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The setting that `--accept-weak-reward-model` stands for.
fn accept_weak(is_given: bool) -> Option<String> {
    is_given.then(|| "reward.accept_weak_model=true".to_owned())
}

impl GrpoArgs {
    /// The run, with the flag among its settings.
    pub(super) fn request(&self) -> RunRequest {
        let mut request = self.run.request();
        request.sources.set.extend(accept_weak(self.accept_weak_reward_model));
        request
    }

    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        Files {
            tasks: self.tasks.clone(),
            held_out: self.held_out.clone(),
            traces: self.traces.clone(),
            rollouts: self.rollouts.clone(),
            ..Files::default()
        }
    }
}

/// `whet train ppo`.
#[derive(Debug, Args)]
pub struct PpoArgs {
    /// Tasks to solve, one JSON object per line [default: `data/train.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,

    /// Held-out tasks, to measure the pass rate during training
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,

    /// A reward model, or the run of `whet train rm` that made it; same as `--set reward.model=DIR`
    ///
    /// Rewards are then a mean of the judge's and the reward model's, by `reward.composite_weight` and
    /// `reward.model_weight`.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub reward_model: Option<PathBuf>,

    /// Pay by the reward model even if its training found it no better than chance; same as
    /// `--set reward.accept_weak_model=true`
    #[arg(long)]
    pub accept_weak_reward_model: bool,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

impl PpoArgs {
    /// The run, with the reward model among its settings.
    pub(super) fn request(&self) -> RunRequest {
        let mut request = self.run.request();
        let model = self.reward_model.as_ref().map(|dir| dir.display().to_string());
        request.sources.set.extend(model.map(|dir| format!("reward.model={dir}")));
        request.sources.set.extend(accept_weak(self.accept_weak_reward_model));
        request
    }

    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        Files { tasks: self.tasks.clone(), held_out: self.held_out.clone(), ..Files::default() }
    }
}

/// `whet train sft`.
#[derive(Debug, Args)]
pub struct SftArgs {
    /// Conversations to learn instead of traces, one JSON object per line with `instruction`, `input`, `output`
    #[arg(long, value_name = "FILE", conflicts_with = "traces")]
    pub rows: Option<PathBuf>,

    /// The teacher's traces, one JSON object per line [default: `data/teacher_traces.jsonl`, or with
    /// `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub traces: Option<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

impl SftArgs {
    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        Files { traces: self.traces.clone(), rows: self.rows.clone(), ..Files::default() }
    }
}

/// `whet train prm`.
#[derive(Debug, Args)]
pub struct PrmArgs {
    /// Scored episodes with transitions, one JSON object per line; with `--resume` the run's
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub rollouts: Vec<PathBuf>,

    /// Scored episodes of other tasks to measure by [default: the tasks of `prm.held_out_fraction` of the
    /// transitions]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub held_out: Vec<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

impl PrmArgs {
    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        let (episodes, held_out_episodes) = (self.rollouts.clone(), self.held_out.clone());
        Files { episodes, held_out_episodes, ..Files::default() }
    }
}

/// `whet train rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Preference pairs, one JSON object per line [default: `data/pairs.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// Preference pairs to measure by, of other tasks or prompts [default: `rm.held_out_fraction` of the pairs]
    #[arg(long, value_name = "FILE")]
    pub held_out_pairs: Option<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

impl RmArgs {
    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        let (pairs, held_out_pairs) = (self.pairs.clone(), self.held_out_pairs.clone());
        Files { pairs, held_out_pairs, ..Files::default() }
    }
}

/// `whet train dpo`.
#[derive(Debug, Args)]
pub struct DpoArgs {
    /// Preference pairs, one JSON object per line [default: `data/pairs.jsonl`, or with `--resume` the run's]
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// Preference pairs to measure by, of other tasks or prompts [default: `dpo.held_out_fraction` of the pairs]
    #[arg(long, value_name = "FILE")]
    pub held_out_pairs: Option<PathBuf>,

    /// Arguments of every kind of training.
    #[command(flatten)]
    pub run: RunArgs,
}

impl DpoArgs {
    /// The files that are given.
    pub(super) fn files(&self) -> Files {
        let (pairs, held_out_pairs) = (self.pairs.clone(), self.held_out_pairs.clone());
        Files { pairs, held_out_pairs, ..Files::default() }
    }
}
