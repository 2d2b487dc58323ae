//! GRPO with more sources beside judged rollouts: the teacher's traces, the student's own best, and distillation.
//!
//! ```text
//! tasks ─► rollouts, judged meanwhile ─► advantages ─► signals of four sources ─► gradient ─► update
//! ```
//!
//! A step samples a group for each of its tasks and makes one update of them, or one of each of
//! `grpo.mini_batches` in each of `grpo.num_iterations` passes. Rollouts of dead groups have an advantage of
//! 0: they count in the normaliser and keep their divergence from the reference, unless
//! `grpo.dead_groups` leaves them out. With one update a step, the probability ratio is exactly 1: the
//! policy is the one that sampled.
//!
//! Rollouts may come from a file instead ([`Source::Recorded`]). Then the ratio is that to the policy that
//! sampled, by its recorded log-probabilities; or, with `grpo.importance_cap`, to the student before its
//! first update, and a token is weighted by how much likelier that student is to say it than its sampler.

mod auxiliary;
mod batch;
mod best;
pub(crate) mod budget;
mod distill;
mod first_steps;
mod learn;
mod learn_metrics;
mod metrics;
mod paying;
mod probe;
mod replay;
mod source;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use whetstone_core::config::{Config, KlIn};
use whetstone_core::metric;
use whetstone_core::task::Task;
use whetstone_env::environment::Environment;
use whetstone_infer::Limits;

use self::batch::Batch;
use self::first_steps::{FinishedStep, FirstSteps};
use self::learn::{Learner, Work};
use self::metrics::{Measured, ReplayMeasured};
use self::paying::PayingModels;
use self::replay::DoneStep;
use self::source::RolloutStream;
use crate::error::TrainError;
use crate::example::Example;
use crate::rollouts::record::{Estimates, Rollouts};
use crate::rollouts::suspects::suspects;
use crate::rollouts::tasks::{NextStep, StepRollouts};
use crate::rollouts::{Collection, held_out};
use crate::session::{Progress, Session, restore};
use crate::student::Student;
use crate::successes::Successes;
use crate::teacher::TokenTeacher;
use crate::watch::{Ended, Phase, StepReport, Watch};

pub use self::probe::probe;
pub use self::source::Source;

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "grpo";

/// A GRPO training, new or resumed.
pub struct Grpo<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The source of rollouts, with the teacher's traces as rows.
    pub source: Source<'a>,
    /// Tasks that are not learnt from, to measure by; there may be none.
    pub held_out: &'a [Task],
    /// The environment that judges replies.
    pub environment: &'a dyn Environment,
    /// Threads that judge.
    pub judges: usize,
    /// Limits of sampling.
    pub limits: Limits,
    /// The directory of a reward model that pays beside the judge.
    pub reward_model: Option<&'a Path>,
    /// The directory of a process reward model, which pays for transitions.
    pub process_model: Option<&'a Path>,
    /// The teacher of on-policy distillation, where that has a weight.
    pub teacher: Option<&'a dyn TokenTeacher>,
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

impl<'a> Grpo<'a> {
    /// How it gets its rollouts.
    pub(crate) fn collection(&self) -> Collection<'a> {
        let Self { config, held_out, environment, judges, limits, watch, .. } = *self;
        let sampling = config.grpo_sampling();
        Collection { config, sampling, held_out, environment, judges, limits, watch }
    }

    /// Whether an episode may have more than one turn.
    fn has_turns(&self) -> bool {
        match self.source {
            Source::Tasks(tasks) => {
                tasks.iter().any(|task| self.environment.max_turns(task.task) > 1)
            }
            Source::Recorded(recorded) => recorded.has_turns(),
        }
    }
}

/// Trains a student on tasks.
///
/// # Errors
///
/// If there are no tasks, a value is NaN or infinite, no group has had a gradient for
/// `grpo.patience_steps` steps, or something cannot be written; what was written before stays.
pub fn grpo(
    student: &mut Student,
    session: &mut Session,
    grpo: &Grpo<'_>,
) -> Result<Ended, TrainError> {
    let result = grpo.watch.dog.during(|| steps(student, session, grpo));
    session.closed(result)
}

fn steps(
    student: &mut Student,
    session: &mut Session,
    grpo: &Grpo<'_>,
) -> Result<Ended, TrainError> {
    let plan = grpo.source.plan(grpo.config)?;
    student.check_grpo_room(grpo.config, grpo.limits)?;
    let (optimizer, mut progress) = restore(student, STAGE, grpo.checkpoint)?;
    let models = PayingModels::open(student, grpo)?;
    let mut stream = RolloutStream::new(grpo.config, grpo.source);
    let mut rollouts = Rollouts::open(session, student)?;
    let mut first_steps = FirstSteps::default();
    let mut learner = Learner::new(student, grpo, optimizer)?;
    learner.check_memory(student, &longest(student, grpo))?;
    distill::check_memory(grpo, &longest(student, grpo))?;
    while progress.step < plan.steps {
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let mut measured = Measured::default();
        measured.collected.held_out = held_out::measure(student, grpo.collection(), step)?;
        let next =
            NextStep { student, collection: grpo.collection(), plan: &plan, progress: &progress };
        let Some(mut step_rollouts) = stream.next(next, &learner)? else {
            session.checkpoint(student, learner.optimizer(), &progress)?;
            return Ok(Ended::Stopped(progress.step));
        };
        models.pay(student, grpo.config, &mut step_rollouts, &mut measured)?;
        let sampled =
            Sampled { step, step_rollouts: &step_rollouts, successes: &progress.successes };
        let Some(mut batch) = batch_of(student, grpo, sampled, &mut measured)? else {
            session.checkpoint(student, learner.optimizer(), &progress)?;
            return Ok(Ended::Stopped(progress.step));
        };
        let reference = learner.reference(student, step, &batch, &mut measured)?;
        if let (KlIn::Reward, Some(reference)) = (grpo.config.grpo.kl_in, &reference) {
            let charged = batch.charge(grpo.config, &step_rollouts, reference);
            charged.map_err(|err| session.with_batch(err, step, || batch.saved()))?;
        }
        let estimates = Estimates { advantages: &batch.advantages, tokens: &[] };
        rollouts.record(step, grpo.collection(), &step_rollouts, estimates)?;
        let reference = reference.as_ref();
        let old = match grpo.source {
            Source::Tasks(_) => None,
            Source::Recorded(_) => Some(learner.sampling_policy(student, step, &batch, reference)?),
        };
        let work = Work { step, batch: &batch, reference, old: old.as_ref() };
        measured.learnt = learner
            .learn(student, &plan, work)
            .map_err(|err| session.with_batch(err, step, || batch.saved()))?;
        stream.count(grpo.config, &step_rollouts, &mut progress);
        let done = DoneStep { step, step_rollouts: &step_rollouts };
        replay::remember(student, grpo.config, done, &mut progress.successes);
        progress.step = step;
        progress.updates = learner.optimizer().updates();
        let took = began.elapsed();
        let values = measured.values(&batch, &step_rollouts, took);
        let stalled = stalled(grpo.config, &progress, &values);
        let finished =
            FinishedStep { step, steps: plan.steps, step_rollouts: &step_rollouts, batch: &batch };
        let mut warnings = first_steps.see(grpo.config, finished);
        warnings.extend(measured.teacher.and_then(|teacher| teacher.warning));
        let report = StepReport { step, steps: plan.steps, took, values, warnings, again: false };
        session.step(report, &|term| suspects(&step_rollouts, term), grpo.watch)?;
        if session.is_due(step, plan.steps) || stalled.is_some() {
            grpo.watch.phase(Phase::Saving);
            if stalled.is_some() {
                progress.reset_patience();
            }
            session.checkpoint(student, learner.optimizer(), &progress)?;
        }
        if let Some(err) = stalled {
            return Err(err);
        }
    }
    grpo.watch.phase(Phase::Saving);
    session.final_model(student, learner.optimizer(), &progress)?;
    Ok(Ended::Done)
}

/// The rollouts of a step, and the successes of the steps before.
#[derive(Clone, Copy)]
struct Sampled<'a> {
    step: u64,
    step_rollouts: &'a StepRollouts,
    successes: &'a Successes,
}

/// The batch of a step's rollouts, with what the teacher of distillation says of them and with replayed successes;
/// `None` if it was told to stop meanwhile. Self-SFT rows have no thinking if the settings leave it out.
fn batch_of(
    student: &Student,
    grpo: &Grpo<'_>,
    sampled: Sampled<'_>,
    measured: &mut Measured,
) -> Result<Option<Batch>, TrainError> {
    let Sampled { step, step_rollouts, successes } = sampled;
    let config = grpo.config;
    let Some(scored) = distill::score(grpo, step, step_rollouts)? else { return Ok(None) };
    measured.teacher = scored.measured;
    let mut batch = Batch::new(config, step_rollouts)?;
    batch.distill = scored.sequences;
    if !config.training.include_thinking {
        let top_k = config.dual_source.self_sft_top_k as usize;
        let best = best::best(&step_rollouts.groups, top_k);
        batch.self_sft = best.flat_map(|rollout| best::rows(student, config, rollout)).collect();
    }
    let replayed = replay::replayed(config, successes, step_rollouts);
    if config.dual_source.replay > 0 {
        measured.replay = Some(ReplayMeasured { rows: replayed.len(), tasks: successes.tasks() });
    }
    batch.self_sft.extend(replayed);
    Ok(Some(batch))
}

/// The error of a training that is stalled: no group with a gradient, or no test passed, for
/// `grpo.patience_steps` steps.
fn stalled(
    config: &Config,
    progress: &Progress,
    values: &BTreeMap<String, f64>,
) -> Option<TrainError> {
    let patience = u64::from(config.grpo.patience_steps);
    let mean = values.get(metric::GRPO_MEAN_REWARD.name).copied().unwrap_or(0.0);
    match (progress.dead_steps, progress.unsolved_steps) {
        // A teacher teaches where rewards do not differ, too.
        _ if patience == 0 || distill::is_on(config) => None,
        (steps, _) if steps >= patience => Some(TrainError::AllEqual { steps, mean }),
        (_, steps) if steps >= patience => Some(TrainError::NoneSolved { steps, mean }),
        _ => None,
    }
}

/// As many sequences as go through at a time, each as long as any can be.
fn longest(student: &Student, grpo: &Grpo<'_>) -> Vec<Example> {
    let length = grpo.config.training.max_length as usize;
    // Of an episode with several turns, all from the first completion on is scored.
    let completion = if grpo.has_turns() {
        length - 1
    } else {
        (grpo.config.grpo.max_completion_length as usize).min(length - 1)
    };
    let token = student.model.tokenizer.eos().unwrap_or(0);
    let longest = Example::new(&vec![token; length - completion], &vec![token; completion]);
    vec![longest; grpo.config.training.per_device_train_batch_size as usize]
}
