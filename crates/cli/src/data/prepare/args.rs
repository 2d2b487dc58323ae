//! Arguments and help of `whet data prepare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_core::Seed;
use whetstone_core::config::Config;
use whetstone_data::prepare::{DEFAULT_DEV_FRACTION, DEFAULT_NGRAM, Split};
use whetstone_data::source::{Difficulty, MbppVariant};
use whetstone_recipe::datasets::SourcesNamed;
use whetstone_recipe::preparing::{self, PrepareRequest};

use super::solver_args::SolverArgs;
use crate::cli::ConfigArgs;

/// `whet data prepare`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct PrepareArgs {
    /// MBPP: `mbpp.jsonl`, `sanitized-mbpp.json` or both, the hub's parquet, a folder of them, or its
    /// name on the hub
    #[arg(long, value_name = "PATH|NAME", num_args = 1..)]
    pub mbpp: Vec<PathBuf>,

    /// Statement and tests of the 427 tasks of MBPP that were sanitized, if both files are given
    #[arg(long, value_enum, default_value_t = MbppVariantArg::Sanitized, value_name = "WHICH")]
    pub mbpp_variant: MbppVariantArg,

    /// APPS: the hub's jsonl or parquet, the folder of problems that its authors publish, or its name
    /// on the hub
    #[arg(long, value_name = "PATH|NAME")]
    pub apps: Option<PathBuf>,

    /// Use only these difficulties of APPS
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LEVEL,…",
        conflicts_with = "skip_apps"
    )]
    pub apps_difficulty: Vec<DifficultyArg>,

    /// Leave out APPS, if no source is named
    #[arg(long, conflicts_with = "apps")]
    pub skip_apps: bool,

    /// HumanEval: `HumanEval.jsonl.gz`, or the hub's parquet
    #[arg(long, value_name = "PATH")]
    pub humaneval: Option<PathBuf>,

    /// `LeetCodeDataset` (newfacade/LeetCodeDataset): its jsonl, also with .gz, or the hub's parquet
    #[arg(long, value_name = "PATH")]
    pub leetcode: Option<PathBuf>,

    /// Tasks, one JSON object per line; files of known data sets are recognised by their columns
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub tasks: Vec<PathBuf>,

    /// Generate this many small Python tasks, without a download
    #[arg(long, value_name = "N")]
    pub embedded: Option<usize>,

    /// Generate embedded tasks of these families only; an unknown name lists them all [default: those that the embedded
    /// student knows if `student.model_name` is `embedded`, else all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "embedded")]
    pub families: Vec<String>,

    /// Generated infeasible models to repair.
    #[command(flatten)]
    pub solver: SolverArgs,

    /// Drop tasks that are contaminated with these benchmarks
    ///
    /// Files are recognised by their columns, like `--tasks`. A task is dropped if its statement
    /// shares an n-gram of words with a statement of the benchmark, or if its statement or solution
    /// duplicates one of the benchmark. Each is listed in the report with the words in common.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub decontaminate: Vec<PathBuf>,

    /// Length of a word n-gram that marks a task as contaminated
    #[arg(long, value_name = "WORDS", default_value_t = DEFAULT_NGRAM, value_parser = ngram)]
    pub ngram: usize,

    /// Maximal number of tasks per source, chosen by the seed
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Train/validation split of data sets
    #[arg(long, value_enum, default_value_t = SplitArg::Official, value_name = "HOW")]
    pub split: SplitArg,

    /// Validation fraction of each source without a published split
    #[arg(long, value_name = "PART", default_value_t = 0.2, value_parser = fraction)]
    pub val_fraction: f64,

    /// Development fraction: this part of the other tasks goes to `dev.jsonl`, for `--held-out` while training; 0
    /// makes no such part
    ///
    /// MBPP has a published one, its tasks 511 to 600. Generated tasks have none.
    #[arg(long, value_name = "PART", default_value_t = DEFAULT_DEV_FRACTION, value_parser = dev_fraction)]
    pub dev_fraction: f64,

    /// Seed of the split; takes precedence over the config
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,

    /// The folder for `train.jsonl`, `dev.jsonl`, `val.jsonl` and `prepare.json`
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub out: PathBuf,

    /// Exit with 1 if any row or file was bad; duplicates and the like are not bad
    #[arg(long)]
    pub strict: bool,

    /// Sources of settings.
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print the report as one JSON document instead of the summary
    #[arg(long)]
    pub json: bool,
}

impl PrepareArgs {
    /// Whether models to repair are wanted.
    pub(super) fn is_solver(&self) -> bool {
        self.solver.is_named()
    }

    /// The tasks to prepare.
    pub(super) fn request(&self, seed: Seed, config: &Config) -> PrepareRequest {
        PrepareRequest {
            named: self.named(),
            embedded: self.embedded,
            families: preparing::families(&self.families, config),
            solver: self.solver.request(),
            models: self.solver.models_request(),
            decontaminate: self.decontaminate.clone(),
            ngram: self.ngram,
            limit: self.limit,
            mbpp: self.mbpp_variant.into(),
            split: self.split.into(),
            val_fraction: self.val_fraction,
            dev_fraction: self.dev_fraction,
            seed,
            out: self.out.clone(),
        }
    }

    /// The sources that are named.
    fn named(&self) -> SourcesNamed {
        SourcesNamed {
            mbpp: self.mbpp.clone(),
            apps: self.apps.clone(),
            humaneval: self.humaneval.clone(),
            leetcode: self.leetcode.clone(),
            tasks: self.tasks.clone(),
            difficulties: self.apps_difficulty.iter().map(|level| (*level).into()).collect(),
            skip_apps: self.skip_apps,
            embedded: self.embedded.is_some() || self.solver.is_named(),
        }
    }
}

/// Statement and tests of a task that both publications of MBPP have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MbppVariantArg {
    /// As first published, with the challenge tests.
    First,
    /// As revised by hand: published figures on sanitized MBPP, and those of `EvalPlus`, have these.
    Sanitized,
}

impl From<MbppVariantArg> for MbppVariant {
    fn from(variant: MbppVariantArg) -> Self {
        match variant {
            MbppVariantArg::First => Self::First,
            MbppVariantArg::Sanitized => Self::Sanitized,
        }
    }
}

/// Train/validation split of data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SplitArg {
    /// As published: MBPP tasks 11 to 510 are for validation and 511 to 600 for development, as in its paper; others by
    /// the seed.
    Official,
    /// By the seed: figures are not comparable with published ones.
    Seed,
}

impl From<SplitArg> for Split {
    fn from(split: SplitArg) -> Self {
        match split {
            SplitArg::Official => Self::Official,
            SplitArg::Seed => Self::Seed,
        }
    }
}

/// The difficulty of a problem according to APPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DifficultyArg {
    /// Solved in minutes.
    Introductory,
    /// As asked in an interview.
    Interview,
    /// As in a contest.
    Competition,
}

impl From<DifficultyArg> for Difficulty {
    fn from(difficulty: DifficultyArg) -> Self {
        match difficulty {
            DifficultyArg::Introductory => Self::Introductory,
            DifficultyArg::Interview => Self::Interview,
            DifficultyArg::Competition => Self::Competition,
        }
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    let fraction: f64 = text.parse().map_err(|_| "expected a number such as 0.2".to_owned())?;
    if fraction > 0.0 && fraction < 1.0 {
        Ok(fraction)
    } else {
        Err("expected a number between 0 and 1".to_owned())
    }
}

fn dev_fraction(text: &str) -> Result<f64, String> {
    if text.parse() == Ok(0.0) { Ok(0.0) } else { fraction(text) }
}

fn ngram(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(words @ 3..=1000) => Ok(words),
        _ => Err("expected a number of words from 3 to 1000".to_owned()),
    }
}

const AFTER_HELP: &str = "\
Only the sources that are named are read; with none named, MBPP and APPS, from the hub
(google-research-datasets/mbpp and codeparrot/apps, its training split). Downloads stay in the hub's
own cache; HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE have their usual meaning.
Files may be .jsonl, .json or .parquet, each also with .gz; for a folder, the files in it are read.

Dropped rows, counted in the summary and in DIR/prepare.json:
  bad           not JSON, a column missing, no tests, tests too large, a duplicate id, a truncated file
                or other columns: listed with file, row and reason; these alone count for --strict
  left out      a difficulty of APPS that was not requested; the other variant of a task of MBPP; a
                model that is feasible, too large for an episode, or on which the solver has no
                certified verdict: each file with its reason
  contaminated  overlaps with a benchmark of --decontaminate
  duplicates    the same statement or solution as another task's, ignoring case, layout and comments,
                or nearly the same: 80 % of the 3-grams of words of a statement, 85 % of the 5-grams
                of tokens of a solution. The first one is kept, in the order MBPP, APPS,
                HumanEval, LeetCode, tasks, embedded, and in each by id
  over limit    past --limit
Duplicates are dropped before the split and over all sources at once, so the three parts share none.

dev.jsonl is for `whet train --held-out` and for everything that is chosen; val.jsonl is for the final figure
alone. With --split seed --dev-fraction 0, each source is split 80/20 and nothing else.
The same inputs and seed give the same bytes.

Examples:
  whet data prepare --mbpp mbpp.jsonl --apps apps/ --apps-difficulty introductory,interview
  whet data prepare --mbpp mbpp.jsonl sanitized-mbpp.json
  whet data prepare --mbpp mbpp.jsonl --decontaminate HumanEval.jsonl.gz --strict
  whet data prepare --leetcode LeetCodeDataset-v0.3.1-train.jsonl.gz --out data/leetcode
  whet data prepare --solver 4000 --out data/solver
  whet data prepare --solver-models plans/ old.lp --out data/plans
  whet data prepare --tasks mine.jsonl theirs.parquet --val-fraction 0.1 --out data/mixed

Exit codes: 0 prepared, 1 prepared but something was bad under --strict, 2 wrong usage, config or
input, 3 something broke.";
