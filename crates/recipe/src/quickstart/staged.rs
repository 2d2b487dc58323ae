//! A quickstart in stages: a recipe that ships in the binary runs as `whet run` would run it, and its last model is
//! compared with an earlier one on the same held-out tasks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_config::{Sources, StageFile};
use whetstone_core::Seed;
use whetstone_eval::episodes::REWARD;
use whetstone_eval::{BetterTemperature, Comparison, Estimate, EvalError, Results};
use whetstone_record::atomic;
use whetstone_record::stages::{STAGES_DIR, StageRecord, stage_dir};

use super::update_kl::{UpdateKl, update_kl};
use crate::evaluation::Policy;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::shell::quoted;
use crate::stages::plan::scope;
use crate::stages::{self, StagesOutcome, StagesPlan, StagesRequest, StopFlags};
use crate::training::RunRequest;

/// The seed of the tasks in a recipe; one of the run's own takes its place.
const TASK_SEED: &str = "seed = 1042";

/// A recipe in stages that ships in the binary.
#[derive(Debug, Clone, Copy)]
pub struct StagedRecipe {
    /// Its name: that of its run unless another is given, and of its file in `configs/recipes`.
    pub name: &'static str,
    pub(super) text: &'static str,
    /// The evaluation of the earlier model.
    pub(super) before: &'static str,
    /// The evaluation of the later model.
    pub(super) after: &'static str,
    /// The PPO stage whose updates are measured.
    pub(super) kl_of: Option<&'static str>,
    /// The evaluations of policies, measured on the same tasks as the models.
    pub(super) policies: &'static [PolicyStage],
}

/// The evaluation of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct PolicyStage {
    pub(super) stage: &'static str,
    pub(super) policy: Policy,
}

/// What came of it.
#[derive(Debug)]
pub enum StagedOutcome {
    /// The plan, where only that was wanted.
    Planned(Box<StagesPlan>),
    /// It was stopped; the command that resumes it.
    Stopped(String),
    /// It is done.
    Done(Box<StagedReport>),
}

/// The later model beside the earlier one.
#[derive(Debug, Serialize)]
pub struct StagedReport {
    /// The version of this document.
    pub v: u64,
    /// The seed of everything.
    pub seed: u64,
    /// The run's directory.
    pub run: String,
    /// The later model against the earlier one on held-out tasks, paired by task.
    pub comparison: Comparison,
    /// Policies on the same tasks, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<&'static str, PolicyFigures>,
    /// The gain in mean reward over the better of the earlier model and the trivial policy, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The KL divergence of the updates of PPO, where the recipe has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl: Option<UpdateKl>,
    /// The stages with their figures.
    pub stages: Vec<StageRecord>,
    /// Seconds of all stages.
    pub seconds: f64,
    /// The page over all stages.
    pub page: Option<String>,
}

/// A policy on the tasks that the models were measured on.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PolicyFigures {
    /// The share of tasks that it solves.
    pub solved: Estimate,
    /// The mean reward.
    pub reward: Estimate,
}

/// A gain in mean reward, each side at its better temperature.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Claim {
    /// What it is over: `model`, the earlier one, or the `trivial` policy, whichever earns more.
    pub over: &'static str,
    /// The later model against that.
    pub gain: BetterTemperature,
}

impl Claim {
    /// The gain of `after` over the better of an earlier model and a policy; `None` without rewards.
    fn new(before: &Results, policy: &Results, after: &Results) -> Option<Self> {
        let after = after.rewards();
        let over = |over, side: &Results| {
            let gain = BetterTemperature::of_each(&side.rewards(), &after)?;
            Some(Self { over, gain })
        };
        let (model, trivial) = (over("model", before)?, over(Policy::Trivial.name(), policy)?);
        let is_trivial = trivial.gain.gain.before.value > model.gain.gain.before.value;
        Some(if is_trivial { trivial } else { model })
    }
}

impl StagedRecipe {
    /// Runs the stages and compares the two models.
    ///
    /// # Errors
    ///
    /// If settings cannot be used, or a stage fails.
    pub fn run(
        &self,
        request: &RunRequest,
        flags: StopFlags<'_>,
        observer: &dyn Observer,
    ) -> Result<StagedOutcome, Failure> {
        self.refuse_files(&request.sources)?;
        let (seed, runs) = self.base(&request.sources)?;
        let stages = StagesRequest {
            file: self.file(seed)?,
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
            StagesOutcome::Planned(plan) => return Ok(StagedOutcome::Planned(plan)),
            StagesOutcome::Ran(end) if !end.done => {
                return Ok(StagedOutcome::Stopped(self.resume_command(request)));
            }
            StagesOutcome::Ran(end) => end,
        };
        let dir = runs.join(&request.name);
        let results = |stage: &str| Results::read(&stage_dir(&dir, stage));
        let (before, after) = (results(self.before)?, results(self.after)?);
        let policies = self.policies.iter().map(|of| Ok((of.policy, results(of.stage)?)));
        let policies = policies.collect::<Result<Vec<(Policy, Results)>, EvalError>>()?;
        let trivial = policies.iter().find(|(policy, _)| *policy == Policy::Trivial);
        let claim = trivial.and_then(|(_, trivial)| Claim::new(&before, trivial, &after));
        let kl = self.kl_of.map(|stage| update_kl(&dir.join(STAGES_DIR), stage)).transpose()?;
        let report = StagedReport {
            v: 1,
            seed,
            run: end.run,
            comparison: Comparison::new(&before, &after, &[])?,
            policies: policies
                .iter()
                .filter_map(|(policy, found)| Some((policy.name(), figures(found)?)))
                .collect(),
            claim,
            kl,
            seconds: end.stages.iter().map(|stage| stage.seconds).sum(),
            stages: end.stages,
            page: end.page,
        };
        report.write(&dir.join(format!("{}.json", self.name)))?;
        Ok(StagedOutcome::Done(Box::new(report)))
    }

    fn refuse_files(&self, sources: &Sources) -> Result<(), Failure> {
        if sources.files.is_empty() {
            return Ok(());
        }
        let (name, path) = (self.name, self.path());
        Err(Failure::Stages {
            problem: format!(
                "`--recipe {name}` has its own file of stages, and takes no `--config`"
            ),
            hint: format!(
                "change keys with `--set`, or copy {} and start it with `whet run`",
                path.display()
            ),
        })
    }

    /// The command that resumes a run: with its settings, which are compared with those that it was begun with.
    fn resume_command(&self, request: &RunRequest) -> String {
        let name = (request.name != self.name).then(|| format!(" --run {}", request.name));
        let set = request.sources.set.iter().map(|set| format!(" --set {}", quoted(set)));
        let set = set.collect::<Vec<_>>().concat();
        format!("whet quickstart --recipe {}{}{set} --resume", self.name, name.unwrap_or_default())
    }

    /// The seed and the folder of runs that the settings name.
    fn base(&self, sources: &Sources) -> Result<(u64, PathBuf), Failure> {
        let recipe = self.parse(self.text.to_owned())?;
        let set = scope::of_all(&sources.set, &recipe);
        let sources = Sources { layers: vec![recipe.settings()], set, ..Sources::default() };
        let config = sources.load(&[]).map_err(Failure::Config)?.config;
        Ok((config.seed, config.run.dir.into()))
    }

    /// The recipe with tasks of the run's seed: others than `whet data prepare` makes of it, which the student
    /// may have seen.
    pub(super) fn file(&self, seed: u64) -> Result<StageFile, Failure> {
        // TOML has no integers above 2^63.
        let own = Seed::new(seed).derive("quickstart", 0).get() >> 1;
        self.parse(self.text.replace(TASK_SEED, &format!("seed = {own}")))
    }

    fn parse(&self, text: String) -> Result<StageFile, Failure> {
        StageFile::parse(self.path(), text).map_err(Failure::Config)
    }

    fn path(&self) -> PathBuf {
        format!("configs/recipes/{}.toml", self.name).into()
    }
}

/// The figures of a policy; `None` of tasks that are no episodes.
fn figures(found: &Results) -> Option<PolicyFigures> {
    let reward = *found.episodes.as_ref()?.means.get(REWARD)?;
    Some(PolicyFigures { solved: *found.pass_at_k.get(&1)?, reward })
}

impl StagedReport {
    fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|err| Failure::io("cannot write the report as JSON".to_owned(), err.into()))?;
        text.push(b'\n');
        Ok(atomic::replace(path, &text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{rlhf, solver};
    use super::*;
    use crate::stages::plan::Plan;

    #[test]
    fn recipes_have_the_stages_that_are_compared_and_tasks_of_the_seed() {
        for recipe in [rlhf::RECIPE, solver::RECIPE] {
            let [one, other] = [42, 7].map(|seed| recipe.file(seed).unwrap());
            assert_ne!(one.text, other.text, "the seed of the tasks is the run's own");
            let plan = Plan::new(one, &[]).unwrap();
            let policies = recipe.policies.iter().map(|of| of.stage);
            let models = [recipe.before, recipe.after].into_iter().chain(recipe.kl_of);
            for name in models.chain(policies) {
                assert!(plan.find(name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn the_command_that_resumes_a_run_repeats_its_settings() {
        let set = vec!["sft:training.max_steps=1".to_owned(), "seed=7".to_owned()];
        let mut request = RunRequest {
            name: "solver".to_owned(),
            resume: false,
            from: None,
            dry_run: false,
            device: None,
            threads: None,
            sources: Sources { set, ..Sources::default() },
        };
        let expected =
            "whet quickstart --recipe solver --set sft:training.max_steps=1 --set seed=7 --resume";
        assert_eq!(solver::RECIPE.resume_command(&request), expected);
        request.name = "other".to_owned();
        request.sources.set.clear();
        let expected = "whet quickstart --recipe solver --run other --resume";
        assert_eq!(solver::RECIPE.resume_command(&request), expected);
        request.sources.files = vec![Path::new("mine.toml").to_owned()];
        let refused = solver::RECIPE.refuse_files(&request.sources).unwrap_err();
        assert!(refused.to_string().contains("`--recipe solver`"), "{refused}");
    }
}
