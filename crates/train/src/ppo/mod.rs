//! PPO with a critic: completions, values, advantages of tokens, and several updates of mini-batches.
//!
//! ```text
//! tasks ─► completions, judged meanwhile ─► reward model ─► values, reference ─► GAE
//!       ─► mini-batches: policy + value_loss_coef · value - entropy_coef · entropy ─► update
//! ```
//!
//! A step samples `ppo.batch_size` completions and goes `ppo.ppo_epochs` times over them, an update for each
//! mini-batch. As soon as a mini-batch shows that the policy is further than `ppo.target_kl` from the one that
//! sampled, the rest of the step is left out. Whether the run ends is checked after each step ([`stops`]).

mod experience;
#[cfg(test)]
mod experience_tests;
#[cfg(test)]
mod gradient_tests;
mod learn;
mod metrics;
mod models;
mod progress;
pub mod stops;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use whetstone_algo::ppo::KlController;
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;

pub use self::progress::{PpoProgress, STAGE};

use self::experience::Experiences;
use self::learn::{Learner, Work};
use self::metrics::{LearnMeasured, Measured};
use self::models::Models;
use self::stops::{EPOCHS_DONE, KL_TOO_LARGE, REWARD_STALLED, StepFigures};
use crate::error::TrainError;
use crate::example::Example;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::rollouts::record::{Estimates, Rollouts};
use crate::rollouts::suspects::suspects;
use crate::rollouts::tasks::{NextStep, StepRollouts, TaskWithTraces, Tasks};
use crate::rollouts::{Collection, held_out};
use crate::session::{Progress, Session, restore};
use crate::student::Student;
use crate::watch::{Ended, Phase, StepReport, Warning, Watch};

/// A training with PPO, new or resumed.
#[derive(Clone, Copy)]
pub struct Ppo<'a> {
    /// The settings.
    pub config: &'a Config,
    /// Tasks to learn from.
    pub tasks: &'a [Task],
    /// Tasks that are not learnt from, to measure by; there may be none.
    pub held_out: &'a [Task],
    /// The environment that judges replies.
    pub environment: &'a dyn Environment,
    /// Threads that judge.
    pub judges: usize,
    /// Limits of sampling.
    pub limits: Limits,
    /// The adapter that the policy begins with, which is then the reference; none if it is a new one.
    pub initial: Option<&'a Path>,
    /// The directory of a reward model.
    pub reward_model: Option<&'a Path>,
    /// The directory of a process reward model, which pays for transitions.
    pub process_model: Option<&'a Path>,
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

impl<'a> Ppo<'a> {
    /// How it gets its rollouts.
    fn collection(&self) -> Collection<'a> {
        let Self { config, held_out, environment, judges, limits, watch, .. } = *self;
        let sampling = config.ppo_sampling();
        Collection { config, sampling, held_out, environment, judges, limits, watch }
    }

    fn with_traces(&self) -> Vec<TaskWithTraces<'a>> {
        self.tasks.iter().map(|task| TaskWithTraces { task, rows: &[] }).collect()
    }
}

/// Trains a student on tasks.
///
/// # Errors
///
/// If there are no tasks, a model cannot be used, a value is NaN or infinite, or something cannot be
/// written; what was written before stays.
pub fn ppo(
    student: &mut Student,
    session: &mut Session,
    ppo: &Ppo<'_>,
) -> Result<Ended, TrainError> {
    let result = ppo.watch.dog.during(|| steps(student, session, ppo));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, ppo: &Ppo<'_>) -> Result<Ended, TrainError> {
    let config = ppo.config;
    let all = ppo.with_traces();
    let (mut training, mut progress) = Training::begin(student, ppo, &all)?;
    let steps = training.plan.steps;
    let mut rules = progress.ppo.take().unwrap_or_else(|| PpoProgress::new(&config.ppo));
    if let Some(reason) = rules.ended() {
        return Ok(Ended::Because { step: progress.step, reason });
    }
    let mut rollouts = Rollouts::open(session, student)?;
    let mut constant = ConstantRewards::default();
    while progress.step < steps {
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let mut measured = Measured { kl_coef: rules.kl_coef, ..Measured::default() };
        measured.collected.held_out = held_out::measure(student, ppo.collection(), &mut progress)?;
        let Some(batch) = training.experience(student, &progress, &mut measured)? else {
            progress.ppo = Some(rules);
            session.checkpoint(student, training.learner.optimizer(), &progress)?;
            return Ok(Ended::Stopped(progress.step));
        };
        let Batch { step_rollouts, experiences } = &batch;
        let (advantages, tokens) = experiences.by_rollout(step_rollouts);
        let estimates = Estimates { advantages: &advantages, tokens: &tokens };
        rollouts.record(step, ppo.collection(), step_rollouts, estimates)?;
        measured.learnt = training
            .learn(student, step, experiences)
            .map_err(|err| session.with_batch(err, step, || experiences.saved()))?;
        adapt(&mut rules, config, experiences);
        training.tasks.count(config, step_rollouts, &mut progress);
        progress.step = step;
        progress.follow(training.learner.optimizer());
        let took = began.elapsed();
        let mut values = measured.values(step_rollouts, experiences, took)?;
        let figures = StepFigures {
            kl: measured.learnt.kl,
            reward: values.get(metric::PPO_MEAN_REWARD.name).copied(),
            is_last: step == steps,
        };
        let check = stops::check(&config.ppo, &mut rules, figures);
        session.stop_check(step, check.stops, check.reason)?;
        if check.stops {
            held_out::measure_last(student, ppo.collection(), &progress, &mut values)?;
        }
        let warnings = constant.see(step, &values).into_iter().collect();
        let report = StepReport { step, steps, took, values, warnings, again: false };
        session.step(report, &|term| suspects(step_rollouts, term), ppo.watch)?;
        rules.ended = check.stops.then(|| check.reason.to_owned());
        progress.ppo = Some(rules.clone());
        if check.stops {
            ppo.watch.phase(Phase::Saving);
            session.final_model(student, training.learner.optimizer(), &progress)?;
            return Ok(Ended::Because { step, reason: check.reason });
        }
        if session.is_due(step, steps) {
            ppo.watch.phase(Phase::Saving);
            session.checkpoint(student, training.learner.optimizer(), &progress)?;
        }
    }
    Ok(Ended::Because { step: progress.step, reason: EPOCHS_DONE })
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told to
/// stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, ppo: &Ppo<'_>) -> Result<Option<Probe>, TrainError> {
    ppo.watch.dog.during(|| {
        let all = ppo.with_traces();
        let (mut training, mut progress) = Training::begin(student, ppo, &all)?;
        let mut measured = Measured { kl_coef: ppo.config.ppo.kl_coef, ..Measured::default() };
        measured.collected.held_out = held_out::measure(student, ppo.collection(), &mut progress)?;
        let (began, step) = (Instant::now(), progress.step + 1);
        let Some(batch) = training.experience(student, &progress, &mut measured)? else {
            return Ok(None);
        };
        measured.learnt = training.learn(student, step, &batch.experiences)?;
        let parts = [
            ("sampling and judging", batch.step_rollouts.sampling),
            ("critic, reference, reward model", measured.scoring),
            ("learning", measured.learnt.took),
        ];
        let steps = training.plan.steps;
        Ok(Some(Probe {
            step: began.elapsed(),
            parts: parts.into_iter().filter(|(_, took)| !took.is_zero()).collect(),
            steps: steps.saturating_sub(progress.step),
            held_out: measured.collected.held_out.map(|held_out| held_out.took),
            measurements: held_out::measurements_left(ppo.collection(), step..=steps),
            warnings: Vec::new(),
        }))
    })
}

/// A training under way.
struct Training<'a, 't> {
    ppo: &'a Ppo<'a>,
    plan: Plan,
    models: Models,
    tasks: Tasks<'t>,
    learner: Learner<'a>,
}

/// The completions of a step, and what is learnt from them.
struct Batch {
    step_rollouts: StepRollouts,
    experiences: Experiences,
}

impl<'a, 't> Training<'a, 't> {
    /// Puts the models on the student's base, and restores what a checkpoint has.
    fn begin(
        student: &mut Student,
        ppo: &'a Ppo<'a>,
        all: &'t [TaskWithTraces<'t>],
    ) -> Result<(Self, Progress), TrainError> {
        let config = ppo.config;
        let plan = Plan::ppo(config, ppo.tasks.len())?;
        student.check_ppo_room(config, ppo.limits)?;
        let models = Models::open(student, ppo)?;
        let (optimizer, progress) = restore(student, STAGE, ppo.checkpoint)?;
        let tasks = Tasks::new(Seed::new(config.seed), config.ppo_sampling(), all);
        let mut learner = Learner::new(student, ppo, &models, optimizer)?;
        learner.check_memory(student, &longest(student, ppo))?;
        Ok((Self { ppo, plan, models, tasks, learner }, progress))
    }

    /// Samples the completions of a step, has them paid, and estimates their advantages; `None` if it was
    /// told to stop meanwhile.
    fn experience(
        &mut self,
        student: &mut Student,
        progress: &Progress,
        measured: &mut Measured,
    ) -> Result<Option<Batch>, TrainError> {
        let (ppo, config) = (self.ppo, self.ppo.config);
        let next = NextStep { student, collection: ppo.collection(), plan: &self.plan, progress };
        let Some(mut step_rollouts) = self.tasks.sample(next)? else {
            return Ok(None);
        };
        let began = Instant::now();
        if let Some(model) = &self.models.reward_model {
            measured.paid = Some(model.pay(student, config, &mut step_rollouts)?);
        }
        if let Some(model) = &self.models.process_model {
            measured.process = Some(model.pay(student, config, &mut step_rollouts)?);
        }
        let mut experiences = Experiences::new(&config.ppo, &step_rollouts);
        let work = Work { step: progress.step + 1, experiences: &experiences };
        let values = self.learner.values(student, &self.models, work)?;
        let reference = self.learner.reference(student, &self.models, work)?;
        experiences.estimate(&config.ppo, measured.kl_coef, values, reference.as_deref())?;
        measured.scoring = began.elapsed();
        Ok(Some(Batch { step_rollouts, experiences }))
    }

    fn learn(
        &mut self,
        student: &mut Student,
        step: u64,
        experiences: &Experiences,
    ) -> Result<LearnMeasured, TrainError> {
        let work = Work { step, experiences };
        self.learner.learn(student, &self.models, &self.plan, work)
    }
}

impl PpoProgress {
    /// Why the run ended, if it did.
    fn ended(&self) -> Option<&'static str> {
        let known = [KL_TOO_LARGE, REWARD_STALLED, EPOCHS_DONE];
        known.into_iter().find(|reason| self.ended.as_deref() == Some(*reason))
    }
}

/// Steps from the first on in which all rewards were equal.
#[derive(Debug, Default)]
struct ConstantRewards {
    steps: u64,
}

impl ConstantRewards {
    /// After so many, it is said.
    const STEPS: u64 = 3;

    fn see(&mut self, step: u64, values: &BTreeMap<String, f64>) -> Option<Warning> {
        let is_constant = |std: &f64| *std < 1e-9;
        if step == self.steps + 1
            && values.get(metric::PPO_REWARD_STD.name).is_some_and(is_constant)
        {
            self.steps = step;
        }
        let mean = values.get(metric::PPO_MEAN_REWARD.name).copied().unwrap_or_default();
        (step == Self::STEPS && self.steps == step).then(|| Warning {
            code: "constant_reward".to_owned(),
            message: format!(
                "all rewards of the first {step} steps are {mean:.3}: nothing can be learnt from rewards \
                 that never vary. Take easier or harder tasks, teach the student first with `whet train \
                 sft`, or pay for parts of a solution (`reward.composite`, `reward.tests`)"
            ),
        })
    }
}

/// Lets the coefficient of the divergence answer to a step.
fn adapt(rules: &mut PpoProgress, config: &Config, experiences: &Experiences) {
    let mut controller =
        KlController { coefficient: rules.kl_coef, ..KlController::new(&config.ppo) };
    if let Some(divergence) = experiences.reference_kl_sum.get() {
        controller.update(divergence, experiences.all.len());
    }
    rules.kl_coef = controller.coefficient;
}

/// As many sequences as go through at a time, each as long as any can be.
fn longest(student: &Student, ppo: &Ppo<'_>) -> Vec<Example> {
    let length = ppo.config.training.max_length as usize;
    let has_turns = ppo.tasks.iter().any(|task| ppo.environment.max_turns(task) > 1);
    // Of an episode with several turns, all from the first completion on is scored.
    let completion = match ppo.config.ppo.max_completion_length as usize {
        _ if has_turns => length - 1,
        limit => limit.min(length - 1),
    };
    let token = student.model.tokenizer.eos().unwrap_or(0);
    let longest = Example::new(&vec![token; length - completion], &vec![token; completion]);
    vec![longest; ppo.config.training.per_device_train_batch_size as usize]
}
