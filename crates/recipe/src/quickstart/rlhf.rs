//! The quickstart of RLHF: SFT, a reward model and PPO as stages, and PPO compared with SFT.
//!
//! The stages are those of `configs/recipes/rlhf.toml`, which ships in the binary: `whet run` with that file
//! does the same without the comparison.

use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_config::{Sources, StageFile};
use whetstone_core::Seed;
use whetstone_core::metric;
use whetstone_eval::{Comparison, Results};
use whetstone_record::atomic;
use whetstone_record::event::Event;
use whetstone_record::overview::each_event;
use whetstone_record::run_dir::RunDir;
use whetstone_record::stages::{STAGES_DIR, StageRecord, stage_dir};

use crate::failure::Failure;
use crate::number;
use crate::observer::Observer;
use crate::stages::plan::scope;
use crate::stages::{self, StagesOutcome, StagesPlan, StagesRequest, StopFlags};
use crate::training::RunRequest;

/// The name of the run, unless another is given.
pub const NAME: &str = "rlhf";
const RECIPE: &str = include_str!("../../../../configs/recipes/rlhf.toml");
/// The seed of the tasks in the recipe; one of the run's own takes its place.
const TASK_SEED: &str = "seed = 1042";
/// The stages that are compared, and the one whose KL is measured.
const BEFORE: &str = "sft-eval";
const AFTER: &str = "ppo-eval";
const PPO: &str = "ppo";
/// The report in its run.
const FILE: &str = "rlhf.json";

/// What came of it.
#[derive(Debug)]
pub enum RlhfOutcome {
    /// The plan, where only that was wanted.
    Planned(Box<StagesPlan>),
    /// It was stopped; the command that resumes it.
    Stopped(String),
    /// It is done.
    Done(Box<RlhfReport>),
}

/// PPO beside SFT.
#[derive(Debug, Serialize)]
pub struct RlhfReport {
    /// The version of this document.
    pub v: u64,
    /// The seed of everything.
    pub seed: u64,
    /// The run's directory.
    pub run: String,
    /// PPO against SFT on held-out tasks, paired by task.
    pub comparison: Comparison,
    /// The mean KL divergence of an update, and the largest of a step.
    pub kl: UpdateKl,
    /// The stages with their figures.
    pub stages: Vec<StageRecord>,
    /// Seconds of all stages.
    pub seconds: f64,
    /// The page over all stages.
    pub page: Option<String>,
}

/// The KL divergence between the policy before and after the updates of a step, in nats per token.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct UpdateKl {
    /// Over all steps.
    pub mean: f64,
    /// The largest of a step.
    pub max: f64,
    /// Steps.
    pub steps: u64,
}

/// Runs the stages and compares the two models.
///
/// # Errors
///
/// If settings cannot be used, or a stage fails.
pub fn run(
    request: &RunRequest,
    flags: StopFlags<'_>,
    observer: &dyn Observer,
) -> Result<RlhfOutcome, Failure> {
    if !request.sources.files.is_empty() {
        return Err(Failure::Usage {
            problem: "`--recipe rlhf` has its own file of stages, and takes no `--config`",
            hint: "change keys with `--set`, or copy configs/recipes/rlhf.toml and start it with `whet run`",
        });
    }
    let (seed, runs) = base(&request.sources)?;
    let stages = StagesRequest {
        file: file(seed)?,
        name: Some(request.name.clone()),
        resume: request.resume,
        from: None,
        until: None,
        dry_run: request.dry_run,
        device: request.device,
        threads: request.threads,
        set: request.sources.set.clone(),
    };
    let end = match stages::run(&stages, flags, observer)? {
        StagesOutcome::Planned(plan) => return Ok(RlhfOutcome::Planned(plan)),
        StagesOutcome::Ran(end) if !end.done => {
            let name = if request.name == NAME {
                String::new()
            } else {
                format!(" --run {}", request.name)
            };
            return Ok(RlhfOutcome::Stopped(format!(
                "whet quickstart --recipe rlhf{name} --resume"
            )));
        }
        StagesOutcome::Ran(end) => end,
    };
    let dir = runs.join(&request.name);
    let results = |stage: &str| Results::read(&stage_dir(&dir, stage));
    let report = RlhfReport {
        v: 1,
        seed,
        run: end.run,
        comparison: Comparison::new(&results(BEFORE)?, &results(AFTER)?, &[])?,
        kl: kl(&dir.join(STAGES_DIR))?,
        seconds: end.stages.iter().map(|stage| stage.seconds).sum(),
        stages: end.stages,
        page: end.page,
    };
    let mut text = serde_json::to_vec_pretty(&report)
        .map_err(|err| Failure::io("cannot write the report as JSON".to_owned(), err.into()))?;
    text.push(b'\n');
    atomic::replace(&dir.join(FILE), &text)?;
    Ok(RlhfOutcome::Done(Box::new(report)))
}

/// The seed and the folder of runs that the settings name.
fn base(sources: &Sources) -> Result<(u64, PathBuf), Failure> {
    let recipe = recipe()?;
    let set = scope::of_all(&sources.set, &recipe);
    let sources = Sources { layers: vec![recipe.settings()], set, ..Sources::default() };
    let config = sources.load(&[]).map_err(Failure::Config)?.config;
    Ok((config.seed, config.run.dir.into()))
}

fn recipe() -> Result<StageFile, Failure> {
    let path = Path::new("configs/recipes/rlhf.toml").to_owned();
    StageFile::parse(path, RECIPE.to_owned()).map_err(Failure::Config)
}

/// The recipe with tasks of the run's seed: others than `whet data prepare` makes of it, which the student
/// may have seen.
fn file(seed: u64) -> Result<StageFile, Failure> {
    // TOML has no integers above 2^63.
    let own = Seed::new(seed).derive("quickstart", 0).get() >> 1;
    let path = Path::new("configs/recipes/rlhf.toml").to_owned();
    let text = RECIPE.replace(TASK_SEED, &format!("seed = {own}"));
    StageFile::parse(path, text).map_err(Failure::Config)
}

/// The KL of PPO's updates.
fn kl(stages: &Path) -> Result<UpdateKl, Failure> {
    let view = RunDir::open_read_only(stages, PPO)?;
    let mut values: Vec<f64> = Vec::new();
    each_event(&view, |event| {
        if let Event::Metrics { values: measured, .. } = event.event {
            values.extend(measured.get(metric::PPO_KL_DIVERGENCE.name));
        }
    })
    .map_err(whetstone_train::TrainError::from)?;
    let steps = values.len() as u64;
    let mean = values.iter().sum::<f64>() / number(steps.max(1));
    Ok(UpdateKl { mean, max: values.iter().copied().fold(0.0, f64::max), steps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::plan::Plan;

    #[test]
    fn the_recipe_has_the_stages_that_are_compared_and_tasks_of_the_seed() {
        let [one, other] = [42, 7].map(|seed| file(seed).unwrap());
        assert_ne!(one.text, other.text, "the seed of the tasks is the run's own");
        let plan = Plan::new(one, &[]).unwrap();
        for name in [BEFORE, AFTER, PPO] {
            assert!(plan.find(name).is_ok(), "{name}");
        }
    }
}
