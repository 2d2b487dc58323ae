//! A process reward model: a score head and an adapter that say how likely a transition of an episode is to
//! be progress.
//!
//! ```text
//! episodes ─► transitions, labelled ─► logits behind the last tokens ─► binary cross-entropy ─► update
//!                                                └─► held-out transitions ─► AUC, calibration
//! ```
//!
//! It is a reward model ([`crate::reward_model`]) with another loss and other data, and is kept as one: an
//! adapter of type `SEQ_CLS`, with what was measured beside it in `process_model.json` ([`ProcessFacts`]).
//! [`ProcessModel`] scores with the result.

mod episodes;
mod facts;
mod held_out;
mod pass;
mod scorer;
#[cfg(test)]
mod testing;
mod transition;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use whetstone_algo::binary::{Figures, loss};
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::Gradients;

use crate::alarms::no_suspects;
use crate::error::TrainError;
use crate::optimizer::Optimizer;
use crate::order::Endless;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::reward_model::{Base, ScorerKind};
use crate::session::{Progress, Session, restore};
use crate::student::{FactsFile, Student};
use crate::update::{self, UpdateSettings};
use crate::watch::{Ended, Phase, StepReport, Watch};

pub use self::episodes::{
    EpisodeSplit, Episodes, LabelCounts, LabelledEpisode, hold_out, read_episodes, shared_task,
};
pub use self::facts::{ProcessFacts, ReliabilityBin, SplitLabels, TransitionFigures};
pub use self::held_out::score_transitions;
use self::pass::{StepScores, TransitionPass};
pub use self::scorer::{ProcessModel, ScoringBase};
pub use self::transition::{TokenTransition, TokenTransitions, render, token_transitions};

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "prm";

/// The training of a process reward model, new or resumed.
pub struct Prm<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The transitions to learn from.
    pub transitions: &'a [TokenTransition],
    /// The transitions to measure by.
    pub held_out: &'a [TokenTransition],
    /// The labels of both, beside the ends of their episodes.
    pub labels: SplitLabels,
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

/// Trains a student with a score head on transitions.
///
/// # Errors
///
/// If there are no transitions, a value is not finite, or something cannot be written; what was written before
/// stays.
pub fn prm(
    student: &mut Student,
    session: &mut Session,
    prm: &Prm<'_>,
) -> Result<Ended, TrainError> {
    let result = prm.watch.dog.during(|| steps(student, session, prm));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, prm: &Prm<'_>) -> Result<Ended, TrainError> {
    let (mut training, mut progress) = Training::begin(student, prm)?;
    let measured_transitions = held_out::chosen(prm.held_out, prm.config);
    let steps = training.plan.steps;
    while progress.step < steps {
        if prm.watch.stopped() {
            session.checkpoint(student, &training.optimizer, &progress)?;
            return Ok(Ended::Stopped(progress.step));
        }
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let transitions = training.next(&progress);
        let mut values = training
            .step(student, &progress, &transitions)
            .map_err(|err| session.with_batch(err, step, || saved(&transitions)))?;
        progress.step = step;
        progress.position += training.plan.items_per_step;
        progress.follow(&training.optimizer);
        if held_out::is_due(prm.config, step, steps) {
            let is_last = step == steps;
            let all: Vec<&TokenTransition> = prm.held_out.iter().collect();
            let measured = if is_last { &all } else { &measured_transitions };
            let since = Instant::now();
            let figures = held_out::measure(&student.decoder, measured, prm.config, prm.watch)
                .map_err(|err| session.with_batch(err, step, || saved(measured)))?;
            held_out::put(&figures, &mut values);
            values.insert(metric::TIME_HELD_OUT_S.name.to_owned(), since.elapsed().as_secs_f64());
            if is_last {
                let text = facts(student, prm, &figures)?.to_json().into_bytes();
                student.facts = Some(FactsFile { kind: ScorerKind::Process, text });
            }
        }
        let took = began.elapsed();
        values.insert(metric::TIME_STEP_S.name.to_owned(), took.as_secs_f64());
        let report = StepReport { step, steps, took, values, warnings: Vec::new(), again: false };
        session.step(report, &no_suspects, prm.watch)?;
        if session.is_due(step, steps) {
            prm.watch.phase(Phase::Saving);
            session.checkpoint(student, &training.optimizer, &progress)?;
        }
    }
    prm.watch.phase(Phase::Saving);
    session.final_model(student, &training.optimizer, &progress)?;
    Ok(Ended::Done)
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told
/// to stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, prm: &Prm<'_>) -> Result<Option<Probe>, TrainError> {
    let (mut training, progress) = Training::begin(student, prm)?;
    if prm.watch.stopped() {
        return Ok(None);
    }
    let began = Instant::now();
    let transitions = training.next(&progress);
    training.step(student, &progress, &transitions)?;
    let step = began.elapsed();
    let measured = held_out::chosen(prm.held_out, prm.config);
    held_out::measure(&student.decoder, &measured, prm.config, prm.watch)?;
    let steps = training.plan.steps;
    let due = |step: &u64| held_out::is_due(prm.config, *step, steps);
    Ok(Some(Probe {
        step,
        parts: Vec::new(),
        steps: steps.saturating_sub(progress.step),
        held_out: Some(began.elapsed().saturating_sub(step)),
        measurements: (progress.step + 1..=steps).filter(due).count() as u64,
        warnings: Vec::new(),
    }))
}

/// A training under way.
struct Training<'a> {
    prm: &'a Prm<'a>,
    plan: Plan,
    optimizer: Optimizer,
    order: Endless,
    gradients: Gradients,
    /// Bytes that the longest batch left the device with.
    most_bytes: usize,
}

impl<'a> Training<'a> {
    /// Restores what a checkpoint has, and sends the longest batch through the model once.
    fn begin(student: &mut Student, prm: &'a Prm<'a>) -> Result<(Self, Progress), TrainError> {
        let plan = Plan::prm(prm.config, prm.transitions.len())?;
        check(student, prm)?;
        let (optimizer, progress) = restore(student, STAGE, prm.checkpoint)?;
        let seed = Seed::new(prm.config.seed).derive("transitions", 0);
        let order = Endless::new(seed, prm.transitions.len());
        let decoder = &student.decoder;
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let pass = TransitionPass::new(decoder, prm.config, prm.watch, Phase::MemoryCheck);
        let most_bytes = pass.memory_check(prm.transitions, &mut gradients)?;
        Ok((Self { prm, plan, optimizer, order, gradients, most_bytes }, progress))
    }

    /// The transitions of the next step.
    fn next(&mut self, progress: &Progress) -> Vec<&'a TokenTransition> {
        let positions = progress.position..progress.position + self.plan.items_per_step;
        positions.map(|at| &self.prm.transitions[self.order.at(at)]).collect()
    }

    /// Learns from the transitions of a step; returns its metrics.
    fn step(
        &mut self,
        student: &mut Student,
        progress: &Progress,
        transitions: &[&TokenTransition],
    ) -> Result<BTreeMap<String, f64>, TrainError> {
        let config = self.prm.config;
        let lr = self.plan.schedule.rate(progress.step)?;
        let scores = self.learn(student, progress.step + 1, transitions)?;
        let settings = UpdateSettings { lr, training: &config.training };
        let updated =
            update::apply(&mut student.decoder, &mut self.optimizer, &self.gradients, settings)?;
        let mut values = values(transitions, scores);
        values.insert(metric::PRM_GRAD_NORM.name.to_owned(), updated.norm);
        values.insert(metric::PRM_LR.name.to_owned(), lr);
        Ok(values)
    }

    /// The gradient of the loss of a step's transitions.
    fn learn(
        &mut self,
        student: &Student,
        step: u64,
        transitions: &[&TokenTransition],
    ) -> Result<StepScores, TrainError> {
        self.gradients.clear(student.decoder.device());
        let Prm { config, watch, .. } = *self.prm;
        let pass = TransitionPass::new(&student.decoder, config, watch, Phase::Learning);
        let pass = TransitionPass { most_bytes: self.most_bytes, step, ..pass };
        let count = transitions.len() as u64;
        pass.learn(transitions, &mut self.gradients, |example| loss(example, count))
    }
}

/// Refuses what cannot be trained, before anything expensive begins.
fn check(student: &Student, prm: &Prm<'_>) -> Result<(), TrainError> {
    if prm.held_out.is_empty() {
        return Err(TrainError::Settings(
            "no held-out transition is left to measure by: name episodes with `--held-out`"
                .to_owned(),
        ));
    }
    prm.labels.train.check()?;
    if !student.decoder.has_score_head() {
        return Err(TrainError::Settings("the student has no score head".to_owned()));
    }
    student.check_prm_room(prm.config)
}

/// The metrics of a step's transitions.
#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
fn values(transitions: &[&TokenTransition], scores: StepScores) -> BTreeMap<String, f64> {
    let tokens: usize = transitions.iter().map(|one| one.tokens.len()).sum();
    let values = [
        (metric::PRM_LOSS, scores.loss),
        (metric::PRM_ACCURACY, scores.hits.get().unwrap_or(f64::NAN)),
        (metric::PRM_POSITIVES, scores.positives.get().unwrap_or(f64::NAN)),
        (metric::PRM_PROBABILITY_MEAN, scores.probability.get().unwrap_or(f64::NAN)),
        (metric::PRM_TRANSITIONS, transitions.len() as f64),
        (metric::PRM_TOKENS, tokens as f64),
    ];
    values.map(|(metric, value)| (metric.name.to_owned(), value)).into()
}

/// What stands beside the final model.
fn facts(student: &Student, prm: &Prm<'_>, figures: &Figures) -> Result<ProcessFacts, TrainError> {
    let base = Base::of(&student.model, student.base_name()).map_err(TrainError::Weights)?;
    let max_length = prm.config.training.max_length as usize;
    Ok(ProcessFacts::new(base, max_length, prm.labels, figures))
}

/// A batch that could not be learnt from.
#[derive(Serialize)]
struct SavedTransitions<'a> {
    transitions: Vec<SavedTransition<'a>>,
}

#[derive(Serialize)]
struct SavedTransition<'a> {
    tokens: &'a [u32],
    label: bool,
}

fn saved<'a>(transitions: &[&'a TokenTransition]) -> SavedTransitions<'a> {
    let of = |one: &&'a TokenTransition| SavedTransition { tokens: &one.tokens, label: one.label };
    SavedTransitions { transitions: transitions.iter().map(of).collect() }
}
