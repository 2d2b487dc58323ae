//! A reward model: a score head and an adapter, trained on preference pairs.
//!
//! ```text
//! pairs ─► micro-batches ─► scores behind the last tokens ─► Bradley-Terry ─► gradient ─► update
//!                                                └─► held-out pairs ─► accuracy, calibration, length bias
//! ```
//!
//! At the end all held-out pairs are scored: their mean and standard deviation are the scale of the
//! scores, and what was measured stands beside the adapter in `reward_model.json` ([`Facts`]).
//! [`RewardModel`] scores with the result.

pub(crate) mod adapter;
pub(crate) mod error;
pub(crate) mod facts;
pub(crate) mod held_out;
pub(crate) mod kind;
mod pair;
pub(crate) mod pass;
mod scorer;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use whetstone_algo::bradley_terry::{PairSettings, loss};
use whetstone_algo::pairwise::Figures;
use whetstone_core::config::{Config, Trained};
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::Gradients;

use crate::alarms::no_suspects;
use crate::error::TrainError;
use crate::order::Endless;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::session::{Session, restore};
use crate::student::{FactsFile, Student};
use crate::update::{self, UpdateSettings};
use crate::watch::{Ended, Phase, StepReport, Watch};

pub use self::error::{RewardModelError, ScoreError};
pub use self::facts::{Base, Estimate, Facts, Length, PairFigures, Part, Reliability};
pub use self::held_out::score_pairs;
pub use self::kind::ScorerKind;
pub use self::pair::{Split, TokenPair, TokenPairs, hold_out, shared, token_pairs};
use self::pass::{PairPass, StepScores};
pub use self::scorer::{RewardModel, TokenReply};

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "rm";

/// The training of a reward model, new or resumed.
pub struct Rm<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The pairs to learn from.
    pub pairs: &'a [TokenPair],
    /// The pairs to measure by.
    pub held_out: &'a [TokenPair],
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

impl Student {
    /// Gives the student a score head of zeros, unless its adapter brought one.
    ///
    /// # Errors
    ///
    /// If all weights are trained: a score head is kept with an adapter.
    pub fn add_score_head(&mut self, config: &Config) -> Result<(), TrainError> {
        if config.training.train == Trained::Full {
            return Err(TrainError::Settings(
                "a score head is kept with an adapter: leave `training.train` at `lora`".to_owned(),
            ));
        }
        if !self.decoder.has_score_head() {
            self.decoder.add_score_head();
        }
        Ok(())
    }
}

/// Trains a student with a score head on pairs.
///
/// # Errors
///
/// If there are no pairs, a value is not finite, the scores do not vary, or something cannot be
/// written; what was written before stays.
pub fn rm(student: &mut Student, session: &mut Session, rm: &Rm<'_>) -> Result<Ended, TrainError> {
    let result = rm.watch.dog.during(|| steps(student, session, rm));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, rm: &Rm<'_>) -> Result<Ended, TrainError> {
    let plan = Plan::rm(rm.config, rm.pairs.len())?;
    check(student, rm)?;
    let (mut optimizer, mut progress) = restore(student, STAGE, rm.checkpoint)?;
    let mut order = order(rm);
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let pass = PairPass::new(&student.decoder, rm.config, rm.watch, Phase::MemoryCheck);
    let most_bytes = pass.memory_check(rm.pairs, &mut gradients)?;
    let measured_pairs = held_out::chosen(rm.held_out, rm.config);
    while progress.step < plan.steps {
        if rm.watch.stopped() {
            session.checkpoint(student, &optimizer, &progress)?;
            return Ok(Ended::Stopped(progress.step));
        }
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let positions = progress.position..progress.position + plan.items_per_step;
        let pairs: Vec<&TokenPair> = positions.clone().map(|at| &rm.pairs[order.at(at)]).collect();
        let lr = plan.schedule.rate(progress.step)?;
        let settings = UpdateSettings { lr, training: &rm.config.training };
        let step_pairs = StepPairs { step, pairs: &pairs, most_bytes };
        let learnt = learn(student, rm, step_pairs, &mut gradients).and_then(|learnt| {
            let decoder = &mut student.decoder;
            Ok((learnt, update::apply(decoder, &mut optimizer, &gradients, settings)?))
        });
        let (scores, updated) =
            learnt.map_err(|err| session.with_batch(err, step, || saved(&pairs)))?;
        progress.step = step;
        progress.position = positions.end;
        progress.follow(&optimizer);
        let mut values = values(&pairs, scores);
        values.insert(metric::RM_GRAD_NORM.name.to_owned(), updated.norm);
        values.insert(metric::RM_LR.name.to_owned(), lr);
        if held_out::is_due(rm.config.rm.eval_steps, step, plan.steps) {
            let is_last = step == plan.steps;
            let all: Vec<&TokenPair> = rm.held_out.iter().collect();
            let measured = if is_last { &all } else { &measured_pairs };
            let since = Instant::now();
            let figures = held_out::measure(&student.decoder, measured, rm.config, rm.watch)
                .map_err(|err| session.with_batch(err, step, || saved(measured)))?;
            held_out::put(&figures, &mut values);
            let seconds = since.elapsed().as_secs_f64();
            values.insert(metric::TIME_HELD_OUT_S.name.to_owned(), seconds);
            if is_last {
                let text = facts(student, rm, &figures)?.to_json().into_bytes();
                student.facts = Some(FactsFile { kind: ScorerKind::Reward, text });
            }
        }
        let took = began.elapsed();
        values.insert(metric::TIME_STEP_S.name.to_owned(), took.as_secs_f64());
        let (steps, warnings) = (plan.steps, Vec::new());
        let report = StepReport { step, steps, took, values, warnings, again: false };
        session.step(report, &no_suspects, rm.watch)?;
        if session.is_due(step, plan.steps) {
            rm.watch.phase(Phase::Saving);
            session.checkpoint(student, &optimizer, &progress)?;
        }
    }
    rm.watch.phase(Phase::Saving);
    session.final_model(student, &optimizer, &progress)?;
    Ok(Ended::Done)
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told
/// to stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, rm: &Rm<'_>) -> Result<Option<Probe>, TrainError> {
    let plan = Plan::rm(rm.config, rm.pairs.len())?;
    check(student, rm)?;
    let (mut optimizer, progress) = restore(student, STAGE, rm.checkpoint)?;
    let mut order = order(rm);
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let pass = PairPass::new(&student.decoder, rm.config, rm.watch, Phase::MemoryCheck);
    let most_bytes = pass.memory_check(rm.pairs, &mut gradients)?;
    if rm.watch.stopped() {
        return Ok(None);
    }
    let began = Instant::now();
    let positions = progress.position..progress.position + plan.items_per_step;
    let pairs: Vec<&TokenPair> = positions.map(|at| &rm.pairs[order.at(at)]).collect();
    let step_pairs = StepPairs { step: progress.step + 1, pairs: &pairs, most_bytes };
    learn(student, rm, step_pairs, &mut gradients)?;
    let lr = plan.schedule.rate(progress.step)?;
    let settings = UpdateSettings { lr, training: &rm.config.training };
    update::apply(&mut student.decoder, &mut optimizer, &gradients, settings)?;
    let step = began.elapsed();
    let measured = held_out::chosen(rm.held_out, rm.config);
    held_out::measure(&student.decoder, &measured, rm.config, rm.watch)?;
    let steps = plan.steps.saturating_sub(progress.step);
    let due = |step: &u64| held_out::is_due(rm.config.rm.eval_steps, *step, plan.steps);
    Ok(Some(Probe {
        step,
        parts: Vec::new(),
        steps,
        held_out: Some(began.elapsed().saturating_sub(step)),
        measurements: (progress.step + 1..=plan.steps).filter(due).count() as u64,
        warnings: Vec::new(),
    }))
}

/// Refuses what cannot be trained, before anything expensive begins.
fn check(student: &Student, rm: &Rm<'_>) -> Result<(), TrainError> {
    if rm.held_out.is_empty() {
        return Err(TrainError::Settings(
            "no held-out pair is left to measure by, and the scale of the scores is measured: raise \
             `training.max_length`, or name other pairs with `--held-out-pairs`"
                .to_owned(),
        ));
    }
    if !student.decoder.has_score_head() {
        return Err(TrainError::Settings("the student has no score head".to_owned()));
    }
    student.check_rm_room(rm.config)
}

fn order(rm: &Rm<'_>) -> Endless {
    Endless::new(Seed::new(rm.config.seed).derive("pairs", 0), rm.pairs.len())
}

/// The pairs of a step.
#[derive(Clone, Copy)]
struct StepPairs<'p> {
    step: u64,
    pairs: &'p [&'p TokenPair],
    /// Bytes that the longest batch left the device with.
    most_bytes: usize,
}

/// The gradient of the loss of a step's pairs.
fn learn(
    student: &Student,
    rm: &Rm<'_>,
    step_pairs: StepPairs<'_>,
    gradients: &mut Gradients,
) -> Result<StepScores, TrainError> {
    let StepPairs { step, pairs, most_bytes } = step_pairs;
    gradients.clear(student.decoder.device());
    let pass = PairPass::new(&student.decoder, rm.config, rm.watch, Phase::Learning);
    let settings = PairSettings {
        margin_scale: rm.config.rm.margin_scale,
        center: rm.config.rm.center_coefficient,
        step_pairs: pairs.len() as u64,
    };
    let pass = PairPass { most_bytes, step, ..pass };
    pass.learn(pairs, gradients, |place, scores| loss(scores, settings, place))
}

/// The metrics of a step's pairs.
#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
fn values(pairs: &[&TokenPair], scores: StepScores) -> BTreeMap<String, f64> {
    let tokens: usize = pairs.iter().map(|pair| pair.tokens()).sum();
    let values = [
        (metric::RM_LOSS, scores.loss),
        (metric::RM_ACCURACY, scores.hits.get().unwrap_or(f64::NAN)),
        (metric::RM_MARGIN, scores.lead.get().unwrap_or(f64::NAN)),
        (metric::RM_SCORE_MEAN, scores.score.get().unwrap_or(f64::NAN)),
        (metric::RM_PAIRS, pairs.len() as f64),
        (metric::RM_TOKENS, tokens as f64),
    ];
    values.map(|(metric, value)| (metric.name.to_owned(), value)).into()
}

/// What stands beside the final model.
fn facts(student: &Student, rm: &Rm<'_>, figures: &Figures) -> Result<Facts, TrainError> {
    if figures.score_std <= 0.0 {
        return Err(TrainError::SameScores { pairs: figures.pairs });
    }
    let base = Base::of(&student.model, student.base_name()).map_err(TrainError::Weights)?;
    Ok(Facts::new(base, rm.pairs.len() as u64, figures))
}

/// A batch that could not be learnt from.
#[derive(Serialize)]
pub(crate) struct SavedPairs<'a> {
    pairs: Vec<SavedPair<'a>>,
}

#[derive(Serialize)]
struct SavedPair<'a> {
    chosen: &'a [u32],
    rejected: &'a [u32],
    margin: f64,
}

pub(crate) fn saved<'a>(pairs: &[&'a TokenPair]) -> SavedPairs<'a> {
    let of = |pair: &&'a TokenPair| SavedPair {
        chosen: &pair.chosen,
        rejected: &pair.rejected,
        margin: pair.margin,
    };
    SavedPairs { pairs: pairs.iter().map(of).collect() }
}
