//! One step of GRPO of which nothing is kept.

use std::time::{Duration, Instant};

use whetstone_core::config::KlIn;

use super::distill::TeacherMeasured;
use super::first_steps::{FinishedStep, FirstSteps};
use super::learn::{Learner, Work};
use super::metrics::Measured;
use super::paying::PayingModels;
use super::source::{RolloutStream, Source};
use super::{Grpo, STAGE, Sampled, batch_of, distill, longest};
use crate::error::TrainError;
use crate::probe::Probe;
use crate::rollouts::held_out;
use crate::rollouts::tasks::NextStep;
use crate::session::restore;
use crate::student::Student;

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told to
/// stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, training: &Grpo<'_>) -> Result<Option<Probe>, TrainError> {
    training.watch.dog.during(|| step(student, training))
}

fn step(student: &mut Student, training: &Grpo<'_>) -> Result<Option<Probe>, TrainError> {
    let plan = training.source.plan(training.config)?;
    student.check_grpo_room(training.config, training.limits)?;
    let (optimizer, progress) = restore(student, STAGE, training.checkpoint)?;
    let models = PayingModels::open(student, training)?;
    let mut stream = RolloutStream::new(training.config, training.source);
    let mut learner = Learner::new(student, training, optimizer)?;
    learner.check_memory(student, &longest(student, training))?;
    distill::check_memory(training, &longest(student, training))?;
    let mut measured = Measured::default();
    let collection = training.collection();
    measured.collected.held_out = held_out::measure(student, collection, 1)?;
    let (began, step) = (Instant::now(), progress.step + 1);
    let next = NextStep { student, collection, plan: &plan, progress: &progress };
    let Some(mut step_rollouts) = stream.next(next, &learner)? else {
        return Ok(None);
    };
    models.pay(student, training.config, &mut step_rollouts, &mut measured)?;
    let sampled = Sampled { step, step_rollouts: &step_rollouts, successes: &progress.successes };
    let Some(mut batch) = batch_of(student, training, sampled, &mut measured)? else {
        return Ok(None);
    };
    let reference = learner.reference(student, step, &batch, &mut measured)?;
    if let (KlIn::Reward, Some(reference)) = (training.config.grpo.kl_in, &reference) {
        batch.charge(training.config, &step_rollouts, reference)?;
    }
    let reference = reference.as_ref();
    let old = match training.source {
        Source::Tasks(_) => None,
        Source::Recorded(_) => Some(learner.sampling_policy(student, step, &batch, reference)?),
    };
    let work = Work { step, batch: &batch, reference, old: old.as_ref() };
    measured.learnt = learner.learn(student, &plan, work)?;
    let finished =
        FinishedStep { step: 1, steps: u64::MAX, step_rollouts: &step_rollouts, batch: &batch };
    let parts = [
        ("sampling and judging", step_rollouts.sampling),
        ("teacher", measured.teacher.as_ref().map_or(Duration::ZERO, TeacherMeasured::took)),
        ("reference", measured.reference),
        ("learning", measured.learnt.took),
    ];
    Ok(Some(Probe {
        step: began.elapsed(),
        parts: parts.into_iter().filter(|(_, took)| !took.is_zero()).collect(),
        steps: plan.steps.saturating_sub(progress.step),
        held_out: measured.collected.held_out.map(|held_out| held_out.took),
        measurements: (step..=plan.steps).filter(|&step| held_out::is_due(collection, step)).count()
            as u64,
        warnings: FirstSteps::default().see(training.config, finished),
    }))
}
