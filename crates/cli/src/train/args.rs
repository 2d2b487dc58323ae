//! Arguments and help of `whet train`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::training::RunRequest;
use whetstone_train::inputs::Files;

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

const RM_HELP: &str = "\
Examples:
  whet train rm --pairs data/pairs.jsonl --run rm-1 --set student.model_name=models/student
  whet train rm --pairs data/pairs.jsonl --held-out-pairs data/pairs.val.jsonl --run rm-1
  whet train rm --run rm-1 --dry-run           print the plan, its memory and an estimated time
  whet train rm --run rm-1 --resume            resume after an interruption, a crash or a kill -9
  whet train rm --run rm-2 --from runs/sft-1   begin with the adapter of a fine-tuned student
  whet model score runs/rm-1 --pairs data/others.jsonl   measure it on other pairs

A line of the file has a `prompt` (messages), a `chosen` and a `rejected` reply; `whet data pairs` makes
one. Pairs with a sequence longer than `training.max_length` are left out and counted. Settings begin with
`rm.`, those of micro-batches, schedule and checkpoints with `training.`, those of the adapter with `lora.`.

At the end it prints what was measured on all held-out pairs, with 95 % intervals: the part in the right
order, the lead of the chosen reply, the calibration error and the Brier score of sigmoid(chosen -
rejected), and how much scores follow length. The alarms `rm_length_bias` and `rm_at_chance` ring during
training; `docs/guides/reward-models.md` explains all of it.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

const DPO_HELP: &str = "\
Examples:
  whet train dpo --pairs data/pairs.jsonl --run dpo-1 --set student.model_name=models/student
  whet train dpo --pairs data/pairs.jsonl --held-out-pairs data/pairs.val.jsonl --run dpo-1
  whet train dpo --run dpo-1 --from runs/sft-1   begin with a fine-tuned student, which is the reference
  whet train dpo --run ipo-1 --set dpo.loss=ipo
  whet train dpo --run simpo-1 --set dpo.loss=simpo --set dpo.beta=2 --set dpo.simpo_gamma=1
  whet train dpo --run dpo-1 --dry-run           print the plan, its memory and an estimated time
  whet train dpo --run dpo-1 --resume            resume after an interruption, a crash or a kill -9

A line of the file has a `prompt` (messages), a `chosen` and a `rejected` reply; `whet data pairs` makes one
from judged replies or from a file of another form. Pairs with a sequence longer than `training.max_length`
are left out and counted. Settings begin with `dpo.`, those of micro-batches, schedule and checkpoints with
`training.`, those of the adapter with `lora.`.

The alarm `chosen_logp_falls` rings where the policy makes chosen replies less likely too; `docs/guides/dpo.md`
explains the settings and the metrics.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

const PRM_HELP: &str = "\
Examples:
  whet train prm --run prm-1 --rollouts runs/grpo-1/rollouts/rollouts.jsonl
  whet train prm --run prm-1 --rollouts train.jsonl --held-out unseen_families.jsonl
  whet train prm --run prm-1 --rollouts train.jsonl --dry-run   print the plan and an estimated time
  whet train prm --run prm-1 --resume          resume after an interruption, a crash or a kill -9
  whet model score runs/prm-1 --transitions others.jsonl        measure it on other episodes
  whet train grpo --run grpo-2 --set reward.process=runs/prm-1  pay episodes for their process
  whet train grpo --run grpo-3 --set reward.process=runs/prm-1 --set grpo.advantage_by=step

Every line with a task (`prompt_id` or `task_id`) and transitions in its `validation` is an episode: rollouts
of a GRPO run, samples of an evaluation, episodes of a teacher. Settings begin with `prm.`, those of
micro-batches, schedule and checkpoints with `training.`, those of the adapter with `lora.`.

Before the first step it prints the share of positive labels, and the share of labels that the end of their
episode contradicts. At the end it prints what was measured on all held-out transitions, with 95 % intervals:
the AUC, the calibration error and the Brier score, and the share of progress at each probability.
`docs/guides/process-rewards.md` explains all of it.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

const PPO_HELP: &str = "\
Examples:
  whet train ppo --run ppo-1 --from runs/sft-1 --reward-model runs/rm-1 --held-out data/dev.jsonl
  whet train ppo --run ppo-1 --from runs/sft-1          paid by the judge alone
  whet train ppo --run ppo-1 --from ./sft_model --reward-model ./rm_model --set reward.composite_weight=0
  whet train ppo --run ppo-1 --dry-run                  print the plan, its memory and an estimated time
  whet train ppo --run ppo-1 --resume                   resume after an interruption, a crash or a kill -9

A step samples `ppo.batch_size` completions and goes `ppo.ppo_epochs` times over them in mini-batches. A
mini-batch whose policy is further than `ppo.target_kl` from the one that sampled ends the step. The run
ends with one of these reasons, which are in the events and in the report:

  KL divergence too large         updates stay above ppo.target_kl, although mini-batches are left out
  Reward improvement too small    the last 20 mean rewards are on average less than ppo.min_improvement
                                  above the 20 before, by two standard errors; off by default
  Maximum epochs reached          ppo.max_epochs passes over the tasks

Policy, critic, reference and reward model are adapters on one base, which is in memory once. Every
completion, with its tokens, log-probabilities, values and returns, goes to
`runs/NAME/rollouts/rollouts.jsonl`. `docs/guides/ppo.md` explains the settings.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

const GRPO_HELP: &str = "\
Examples:
  whet train grpo --tasks data/train.jsonl --run grpo-1 --set student.model_name=models/student
  whet train grpo --run grpo-1 --dry-run       print the plan, its memory and an estimated time
  whet train grpo --run grpo-1 --held-out data/dev.jsonl   measure held-out tasks during training
  whet train grpo --run grpo-1 --resume        resume after an interruption, a crash or a kill -9
  whet train grpo --run replay --rollouts rollouts.scored.jsonl --set dual_source.teacher_sft_weight=0
  whet train grpo --run grpo-2 --from runs/grpo-1/outputs/checkpoint-50 --set training.learning_rate=1e-5
  whet train grpo --run plain --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0

Before the first step it prints the number of steps and the memory they need, and sends the longest
possible batch through the model once. Every rollout, with its tokens, verdict, reward and advantage, goes
to `runs/NAME/rollouts/rollouts.jsonl`; the metrics of every step go to `runs/NAME/events.jsonl`.

Alarms warn of common problems; `docs/guides/alarms.md` lists them. They never stop a run, and are also
in the events, in `whet report` and in `whet runs`.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

const SFT_HELP: &str = "\
Examples:
  whet train sft --traces data/teacher_traces.jsonl --run sft-1 --set student.model_name=models/student
  whet train sft --rows data/sft_rows.jsonl --run sft-1      rows of `whet teach --rows`, or alpaca files
  whet train sft --run sft-1 --dry-run         print the plan, its memory and an estimated time
  whet train sft --run sft-1 --resume          resume after an interruption, a crash or a kill -9

A line of rows has `instruction`, `input` and `output`: the student is asked `instruction`, a line break and
`input`, and learns `output` and the end of the message. With `history`, pairs of a message and its
reply before the last turn, it learns those replies too; `docs/guides/teacher.md` has the rules. Rows with more
than `training.max_length` tokens are left out and counted.

A run's directory holds its settings, its events, its checkpoints and the final model. A resumed run ends
with the same bytes as an uninterrupted one. `whet config reference` lists every
setting; those of the optimizer begin with `training.`, those of the adapter with `lora.`.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

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
