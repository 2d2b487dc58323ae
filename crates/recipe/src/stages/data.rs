//! `data`: data sets, or generated tasks, into tasks to learn from and tasks to measure by.

use std::path::PathBuf;

use serde::Deserialize;
use whetstone_core::Seed;
use whetstone_data::prepare::{DEFAULT_NGRAM, PrepareSummary, Split, TRAIN, VAL};
use whetstone_data::solver::{ModelOptions, SolverOptions};
use whetstone_data::source::{Difficulty, MbppVariant};

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::What;
use crate::datasets::SourcesNamed;
use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::number;
use crate::preparing::{self, PrepareRequest, is_download};
use crate::solver_tasks::{ModelsRequest, SolverRequest};
use crate::text::many;

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "data",
    command: "whet data prepare",
    takes: |_| Vec::new(),
    makes: &[(What::Tasks, TRAIN), (What::HeldOut, VAL)],
    check: |entry, _| options::<DataOptions>(entry),
    run,
    sections: &[],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet data prepare`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DataOptions {
    mbpp: Option<PathBuf>,
    mbpp_variant: MbppVariant,
    apps: Option<PathBuf>,
    apps_difficulty: Vec<DifficultyOption>,
    skip_apps: bool,
    humaneval: Option<PathBuf>,
    leetcode: Option<PathBuf>,
    tasks: Vec<PathBuf>,
    embedded: Option<usize>,
    solver: Option<usize>,
    solver_options: SolverOptions,
    solver_models: Vec<PathBuf>,
    model_options: ModelOptions,
    families: Vec<String>,
    decontaminate: Vec<PathBuf>,
    limit: Option<usize>,
    split: SplitOption,
    val_fraction: Option<f64>,
    seed: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SplitOption {
    #[default]
    Official,
    Seed,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DifficultyOption {
    Introductory,
    Interview,
    Competition,
}

impl From<DifficultyOption> for Difficulty {
    fn from(difficulty: DifficultyOption) -> Self {
        match difficulty {
            DifficultyOption::Introductory => Self::Introductory,
            DifficultyOption::Interview => Self::Interview,
            DifficultyOption::Competition => Self::Competition,
        }
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let request = request(job, job.dir())?;
    if job.dry_run {
        let mut plan = DryRun::of(KIND.command);
        for source in preparing::sources(&request) {
            plan.reads(source);
        }
        if is_download(&request.named) {
            plan.note("a data set is downloaded, unless it is in the hub's cache");
        }
        plan.writes(format!("{}: {TRAIN}, {VAL}, prepare.json", request.out.display()));
        return Ok(Outcome::plan(plan));
    }
    let report = preparing::run(&request, job.observer)?;
    let (train, val) = (report.train.tasks, report.val.tasks);
    job.observer.note(&format_args!("{}, {} held out", many(train, "task"), many(val, "task")));
    Ok(Outcome::Done(Some(vec![
        figure("tasks", number(train)),
        figure("held-out tasks", number(val)),
    ])))
}

/// Prepares the tasks of a plan into a folder that is thrown away; `None` if that needs a download.
pub(super) fn rehearse(job: &Job<'_>, out: PathBuf) -> Result<Option<PrepareSummary>, Failure> {
    let request = request(job, out)?;
    if is_download(&request.named) {
        return Ok(None);
    }
    preparing::run(&request, job.observer).map(Some)
}

fn request(job: &Job<'_>, out: PathBuf) -> Result<PrepareRequest, Failure> {
    let options: DataOptions = job.options()?;
    let val_fraction = options.val_fraction.unwrap_or(0.2);
    if !(val_fraction > 0.0 && val_fraction < 1.0) {
        let problem =
            format!("`val_fraction` is {val_fraction}, expected a number between 0 and 1");
        return Err(Failure::Config(vec![job.entry.problem(problem, None)]));
    }
    Ok(PrepareRequest {
        named: SourcesNamed {
            mbpp: options.mbpp.into_iter().collect(),
            apps: options.apps,
            humaneval: options.humaneval,
            leetcode: options.leetcode,
            tasks: options.tasks,
            difficulties: options.apps_difficulty.into_iter().map(Into::into).collect(),
            skip_apps: options.skip_apps,
            embedded: options.embedded.is_some()
                || options.solver.is_some()
                || !options.solver_models.is_empty(),
        },
        embedded: options.embedded,
        families: preparing::families(&options.families, job.config),
        solver: options
            .solver
            .map(|count| SolverRequest { count, options: options.solver_options }),
        models: Some(options.solver_models)
            .filter(|paths| !paths.is_empty())
            .map(|paths| ModelsRequest { paths, options: options.model_options }),
        decontaminate: options.decontaminate,
        ngram: DEFAULT_NGRAM,
        limit: options.limit,
        mbpp: options.mbpp_variant,
        split: match options.split {
            SplitOption::Official => Split::Official,
            SplitOption::Seed => Split::Seed,
        },
        val_fraction,
        dev_fraction: 0.0,
        seed: Seed::new(options.seed.unwrap_or(job.config.seed)),
        out,
    })
}
