//! Arguments and help of `whet run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use whetstone_config::StageFile;
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::failure::Failure;
use whetstone_recipe::stages::StagesRequest;

/// `whet run`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_long_help = AFTER_HELP)]
pub struct StagesArgs {
    /// The stage file: TOML with settings and `[[stage]]`s
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The run's name: a directory in `run.dir` [default: `name` in the file, or else the file's name]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,

    /// Resume the run; an error if there is none. Without it, a run that is there is resumed too
    #[arg(long)]
    pub resume: bool,

    /// Start again from this stage: what it and the stages that depend on it made is removed
    #[arg(long, value_name = "STAGE")]
    pub from: Option<String>,

    /// Stop after this stage
    #[arg(long, value_name = "STAGE")]
    pub until: Option<String>,

    /// Print the plan of every stage: what it reads, does and writes, its memory and its time; write nothing
    ///
    /// Each stage is tried out as its own command does with `--dry-run`. Where an input is not made yet, a
    /// few generated tasks or the base model stand for it, and the plan says so.
    #[arg(long)]
    pub dry_run: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Set one key for all stages, or for one; takes precedence over the file
    ///
    /// For example `--set seed=7`, or `--set grpo:training.learning_rate=1e-5` for the stage `grpo`. A key without a
    /// section is an option of the stage: `--set eval:max_tasks=50`.
    #[arg(long = "set", value_name = "[STAGE:]KEY=VALUE")]
    pub set: Vec<String>,

    /// Let a reward model pay even if its training found it no better than chance; same as
    /// `--set reward.accept_weak_model=true`
    #[arg(long)]
    pub accept_weak_reward_model: bool,

    /// Print one JSON document at the end instead of the table
    #[arg(long)]
    pub json: bool,
}

impl StagesArgs {
    /// The stages to run.
    pub(super) fn request(&self) -> Result<StagesRequest, Failure> {
        let accepted =
            self.accept_weak_reward_model.then(|| "reward.accept_weak_model=true".to_owned());
        Ok(StagesRequest {
            file: StageFile::read(&self.file).map_err(Failure::Config)?,
            name: self.run.clone(),
            resume: self.resume,
            from: self.from.clone(),
            until: self.until.clone(),
            dry_run: self.dry_run,
            device: self.device,
            threads: self.threads.map(usize::from),
            set: self.set.iter().cloned().chain(accepted).collect(),
        })
    }
}

const AFTER_HELP: &str = "\
A stage file, for example rl.toml:

  name = \"rl\"                                  # the run: runs/rl
  [student]                                    # settings of all stages, as in any config file
  model_name = \"embedded\"

  [[stage]]
  kind = \"data\"
  embedded = 500                               # options are named like the flags of the command
  [[stage]]
  kind = \"teach\"
  teacher = \"embedded\"
  [[stage]]
  kind = \"sft\"
  set = { \"training.max_steps\" = 20 }          # settings of this stage alone
  [[stage]]
  kind = \"grpo\"
  set = { \"training.max_steps\" = 20, \"dual_source.teacher_sft_weight\" = 0.0 }
  [[stage]]
  kind = \"eval\"

Kinds of stages, what each takes from the stages before it, and what it makes:
  data      -> tasks, held_out                 whet data prepare
  validate  tasks -> tasks                     whet data validate
  teach     tasks -> traces                    whet teach
  sft       traces, model? -> model            whet train sft
  sample    tasks, model? -> rollouts          whet eval, on tasks to learn from
  score     rollouts, tasks -> rollouts        whet score
  pairs     rollouts or traces, tasks? -> pairs, held_out_pairs      whet data pairs
  rm        pairs, held_out_pairs?, model? -> reward_model           whet train rm
  dpo       pairs, held_out_pairs?, model? -> model                  whet train dpo
  grpo      tasks, traces?, held_out?, model? -> model, rollouts     whet train grpo
  ppo       tasks, reward_model?, held_out?, model? -> model, rollouts   whet train ppo
  eval      held_out, model?                   whet eval

An input is that of the nearest stage before that makes it; `input = { model = \"sft\" }` names another stage,
`input = { model = \"./sft_model\" }` a path. `after = \"sft\"` puts a stage behind another one than that above
it: so a file has branches. `name` is the kind unless it is given; two stages of a kind need names.

runs/NAME/stages/STAGE has the files of a stage, of a training its run; runs/NAME/stages.json has every
stage with its state, inputs, outputs and main figures; runs/NAME/report.html is the page over all of them.
A file or an input that changed after a stage began is refused with the stage to start again from.

Examples:
  whet run rl.toml --dry-run                   print plan, files, memory and time of every stage
  whet run rl.toml                             run it; after a stop or a kill, the same command resumes
  whet run rl.toml --until sft                 stop after a stage
  whet run rl.toml --from grpo --set grpo:training.learning_rate=1e-5
  whet report rl                               write the page again

Exit codes: 0 done, 2 wrong usage, file or config, 3 something broke, 130 stopped by Ctrl-C: the same command resumes.";
