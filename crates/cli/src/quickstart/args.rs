//! Arguments and help of `whet quickstart`.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::quickstart::staged::StagedRecipe;
use whetstone_recipe::quickstart::{NAME, rlhf, solver};
use whetstone_recipe::training::RunRequest;

use crate::cli::ConfigArgs;

/// `whet quickstart`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct QuickstartArgs {
    /// What is trained: `grpo`, or the stages of `rlhf` or `solver`
    #[arg(long, value_enum, default_value_t = Recipe::Grpo, value_name = "NAME")]
    pub recipe: Recipe,

    /// The run's name: a directory in `run.dir` [default: `quickstart`, or the recipe's]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,

    /// Random seed; same as `--set seed=N`
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Resume the run after an interruption, a crash or a `kill -9`, with its original settings
    #[arg(long)]
    pub resume: bool,

    /// Print what would be read, done and written, the memory and an estimated time; write nothing
    ///
    /// The time comes from a probe: one step and some traces, which are run and discarded.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,

    /// Device: `cpu`, `cuda:N`, or `auto`; same as `--set run.device=DEVICE`
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Print one JSON document at the end instead of the summary
    #[arg(long)]
    pub json: bool,

    /// Sources of settings, over those of the quickstart.
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl QuickstartArgs {
    /// The run, and how it begins.
    pub(super) fn request(&self) -> RunRequest {
        let mut sources = self.config.sources();
        sources.set.extend(self.seed.map(|seed| format!("seed={seed}")));
        RunRequest {
            name: self.run.clone().unwrap_or_else(|| self.recipe.run().to_owned()),
            resume: self.resume,
            from: None,
            dry_run: self.dry_run,
            device: self.device,
            threads: self.threads.map(usize::from),
            sources,
        }
    }
}

/// What a quickstart trains with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Recipe {
    /// GRPO on judged rollouts, with pass@k before and after
    Grpo,
    /// SFT, a reward model on preference pairs, PPO; PPO compared with SFT
    Rlhf,
    /// A new model, SFT on an expert's repairs of infeasible models, GRPO over episodes; GRPO compared with SFT
    Solver,
}

impl Recipe {
    /// Its stages, if it has any.
    pub(super) fn staged(self) -> Option<&'static StagedRecipe> {
        match self {
            Self::Grpo => None,
            Self::Rlhf => Some(&rlhf::RECIPE),
            Self::Solver => Some(&solver::RECIPE),
        }
    }

    fn run(self) -> &'static str {
        self.staged().map_or(NAME, |recipe| recipe.name)
    }
}

const AFTER_HELP: &str = "\
The phases, in a directory of their own:
  1. student   unpacks the embedded student; `--set student.model_name=DIR` uses another model
  2. tasks     generates small Python functions, for training and for evaluation, without a shape in both
  3. traces    judges the reference solution of each task; these are the teacher's traces
  4. before    measures pass@k on the held-out tasks: at temperature 1, at 0.6, and greedily
  5. training  GRPO on judged rollouts, with SFT on the teacher's traces and on the student's own best
  6. after     measures pass@k on the same tasks with the same sampling seeds

The gain that the summary claims is that of pass@1 at the better temperature of each side, for this seed.

With `--recipe rlhf` the stages are those of configs/recipes/rlhf.toml: tasks, traces, SFT, an evaluation, samples,
preference pairs, a reward model, PPO, and an evaluation. With `--recipe solver` they are those of
configs/recipes/solver.toml: infeasible optimization models, an expert's repairs, a new model, SFT, an evaluation,
GRPO over episodes, and an evaluation on families that were not trained on, also of the trivial policy and the expert.
`whet run` starts your own version of such a
file. A run in stages is resumed with the flags that it was begun with; `--set STAGE:KEY=VALUE` sets a key of one stage.

The same seed gives the same figures, on any number of threads. After Ctrl-C, `--resume` resumes the run and
skips completed phases. Every setting of training can be changed with `--set`; the resolved settings are in
`runs/NAME/config.toml`.

Examples:
  whet quickstart
  whet quickstart --dry-run                    print the plan, its memory and an estimated time
  whet quickstart --resume                     resume after an interruption
  whet quickstart --recipe rlhf                SFT, a reward model and PPO; PPO compared with SFT
  whet quickstart --recipe solver              repair infeasible models; GRPO compared with SFT
  whet quickstart --run seed-7 --seed 7        another seed
  whet quickstart --recipe solver --run longer --set grpo:training.max_steps=80
  whet quickstart --run longer --set training.max_steps=120
  whet quickstart --run plain --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0
  whet quickstart --run hard --set quickstart.held_out_tasks=400 --set eval.num_samples=16

Exit codes: 0 done, 2 wrong usage or config, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";
