//! The student trained on preference pairs directly: DPO, IPO and SimPO.
//!
//! ```text
//! pairs ─► reference ─► micro-batches ─► log-probabilities of both replies ─► loss ─► gradient ─► update
//!                                                        └─► held-out pairs ─► accuracy of implicit rewards
//! ```
//!
//! The loss of a step is divided by its pairs, whatever the micro-batch. Formulas are in `whetstone_algo::preference`;
//! pairs as tokens, and which are held out, are those of a reward model ([`crate::reward_model`]).

mod held_out;
mod pass;
mod reference;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use whetstone_algo::preference::{PairLogps, PreferenceSettings, ReplyLogps, loss};
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
use crate::reward_model::held_out::{is_due, measured_places};
use crate::reward_model::pass::PairPass;
use crate::reward_model::{TokenPair, saved};
use crate::session::{Session, restore};
use crate::student::Student;
use crate::update::{self, UpdateSettings, Updated};
use crate::watch::{Ended, Phase, StepReport, Watch};

use self::pass::{PairTokens, StepLosses};
use self::reference::{List, Reference};

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "dpo";

/// The training of a policy on preference pairs, new or resumed.
pub struct Dpo<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The pairs to learn from.
    pub pairs: &'a [TokenPair],
    /// The pairs to measure by.
    pub held_out: &'a [TokenPair],
    /// The adapter that the training begins with, of another training.
    pub initial: Option<&'a Path>,
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

/// Trains a student on pairs.
///
/// # Errors
///
/// If there are no pairs, a value is not finite, or something cannot be written; what was written before stays.
pub fn dpo(
    student: &mut Student,
    session: &mut Session,
    dpo: &Dpo<'_>,
) -> Result<Ended, TrainError> {
    let result = dpo.watch.dog.during(|| steps(student, session, dpo));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, dpo: &Dpo<'_>) -> Result<Ended, TrainError> {
    let plan = Plan::dpo(dpo.config, dpo.pairs.len())?;
    let (mut trainer, mut progress) = Trainer::open(student, dpo)?;
    let mut order = order(dpo);
    while progress.step < plan.steps {
        if dpo.watch.stopped() {
            session.checkpoint(student, &trainer.optimizer, &progress)?;
            return Ok(Ended::Stopped(progress.step));
        }
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let positions = progress.position..progress.position + plan.items_per_step;
        let places: Vec<usize> = positions.clone().map(|at| order.at(at)).collect();
        let lr = plan.schedule.rate(progress.step)?;
        let learnt = trainer.step(student, dpo, StepPairs { step, places: &places, lr });
        let learnt = learnt
            .map_err(|err| session.with_batch(err, step, || saved(&at(dpo.pairs, &places))))?;
        progress.step = step;
        progress.position = positions.end;
        progress.follow(&trainer.optimizer);
        let mut values = values(&at(dpo.pairs, &places), &learnt);
        values.insert(metric::DPO_LR.name.to_owned(), lr);
        if is_due(dpo.config.dpo.eval_steps, step, plan.steps) {
            let measured = measured(dpo, step == plan.steps);
            let since = Instant::now();
            let figures = held_out::measure(student, &mut trainer.reference, dpo, &measured)
                .map_err(|err| {
                    session.with_batch(err, step, || saved(&at(dpo.held_out, &measured)))
                })?;
            held_out::put(&figures, &mut values);
            let seconds = since.elapsed().as_secs_f64();
            values.insert(metric::TIME_HELD_OUT_S.name.to_owned(), seconds);
        }
        let took = began.elapsed();
        values.insert(metric::TIME_STEP_S.name.to_owned(), took.as_secs_f64());
        let (steps, warnings) = (plan.steps, Vec::new());
        let report = StepReport { step, steps, took, values, warnings, again: false };
        session.step(report, &no_suspects, dpo.watch)?;
        if session.is_due(step, plan.steps) {
            dpo.watch.phase(Phase::Saving);
            session.checkpoint(student, &trainer.optimizer, &progress)?;
        }
    }
    dpo.watch.phase(Phase::Saving);
    session.final_model(student, &trainer.optimizer, &progress)?;
    Ok(Ended::Done)
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told to stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, dpo: &Dpo<'_>) -> Result<Option<Probe>, TrainError> {
    let plan = Plan::dpo(dpo.config, dpo.pairs.len())?;
    let (mut trainer, progress) = Trainer::open(student, dpo)?;
    let mut order = order(dpo);
    if dpo.watch.stopped() {
        return Ok(None);
    }
    let began = Instant::now();
    let positions = progress.position..progress.position + plan.items_per_step;
    let places: Vec<usize> = positions.map(|at| order.at(at)).collect();
    let lr = plan.schedule.rate(progress.step)?;
    trainer.step(student, dpo, StepPairs { step: progress.step + 1, places: &places, lr })?;
    let step = began.elapsed();
    held_out::measure(student, &mut trainer.reference, dpo, &measured(dpo, false))?;
    let due = |step: &u64| is_due(dpo.config.dpo.eval_steps, *step, plan.steps);
    Ok(Some(Probe {
        step,
        parts: Vec::new(),
        steps: plan.steps.saturating_sub(progress.step),
        held_out: Some(began.elapsed().saturating_sub(step)),
        measurements: (progress.step + 1..=plan.steps).filter(due).count() as u64,
        warnings: Vec::new(),
    }))
}

/// What a training holds beside its student.
struct Trainer {
    optimizer: Optimizer,
    gradients: Gradients,
    reference: Reference,
    /// Bytes that the longest batch left the device with.
    most_bytes: usize,
}

/// The pairs of a step, and its learning rate.
#[derive(Clone, Copy)]
struct StepPairs<'p> {
    step: u64,
    places: &'p [usize],
    lr: f64,
}

/// What a step came to.
struct Learnt {
    losses: StepLosses,
    updated: Updated,
    /// The time that the reference took.
    reference: Duration,
}

impl Trainer {
    /// Refuses what cannot be trained, and opens what is needed, before the first step.
    fn open(
        student: &mut Student,
        dpo: &Dpo<'_>,
    ) -> Result<(Self, crate::session::Progress), TrainError> {
        if dpo.held_out.is_empty() {
            return Err(TrainError::Settings(
                "no held-out pair is left to measure by: raise `training.max_length`, or name other pairs with \
                 `--held-out-pairs`"
                    .to_owned(),
            ));
        }
        student.check_dpo_room(dpo.config)?;
        let (optimizer, progress) = restore(student, STAGE, dpo.checkpoint)?;
        let reference = Reference::open(student, dpo)?;
        let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
        let pass =
            PairPass::of_replies(&student.decoder, dpo.config, dpo.watch, Phase::MemoryCheck);
        let most_bytes = pass::memory_check(pass, dpo.pairs, &mut gradients)?;
        Ok((Self { optimizer, gradients, reference, most_bytes }, progress))
    }

    /// Learns from the pairs of a step and updates the student.
    fn step(
        &mut self,
        student: &mut Student,
        dpo: &Dpo<'_>,
        step_pairs: StepPairs<'_>,
    ) -> Result<Learnt, TrainError> {
        let StepPairs { step, places, lr } = step_pairs;
        let began = Instant::now();
        let references = self.reference.sums(student, dpo, List::Train, places)?;
        let reference = began.elapsed();
        self.gradients.clear(student.decoder.device());
        let pass = PairPass::of_replies(&student.decoder, dpo.config, dpo.watch, Phase::Learning);
        let pass = PairPass { most_bytes: self.most_bytes, step, ..pass };
        let settings = settings(dpo.config, places.len());
        let pairs = at(dpo.pairs, places);
        let losses = pass::learn(pass, &pairs, &mut self.gradients, |place, logps| {
            loss(logps_of(logps, references[place]), settings, place)
        })?;
        let update = UpdateSettings { lr, training: &dpo.config.training };
        let (decoder, optimizer) = (&mut student.decoder, &mut self.optimizer);
        let updated = update::apply(decoder, optimizer, &self.gradients, update)?;
        Ok(Learnt { losses, updated, reference })
    }
}

fn order(dpo: &Dpo<'_>) -> Endless {
    Endless::new(Seed::new(dpo.config.seed).derive("pairs", 0), dpo.pairs.len())
}

/// The pairs at some places.
fn at<'p>(pairs: &'p [TokenPair], places: &[usize]) -> Vec<&'p TokenPair> {
    places.iter().map(|&place| &pairs[place]).collect()
}

/// The places of the held-out pairs of a measurement: all of them after the last step.
fn measured(dpo: &Dpo<'_>, is_last: bool) -> Vec<usize> {
    let count = dpo.held_out.len();
    let limit = if is_last { u32::MAX } else { dpo.config.dpo.eval_pairs };
    measured_places(dpo.config.seed, count, limit)
}

/// The settings of the loss of a step with so many pairs.
fn settings(config: &Config, pairs: usize) -> PreferenceSettings {
    let dpo = &config.dpo;
    PreferenceSettings {
        loss: dpo.loss,
        beta: dpo.beta,
        label_smoothing: dpo.label_smoothing,
        simpo_gamma: dpo.simpo_gamma,
        sft_weight: dpo.sft_weight,
        step_pairs: pairs as u64,
    }
}

/// A pair as the loss takes it.
fn logps_of(policy: &PairTokens, reference: [f64; 2]) -> PairLogps<'_> {
    let [chosen, rejected] = policy;
    let reply = |policy, reference| ReplyLogps { policy, reference };
    PairLogps { chosen: reply(chosen, reference[0]), rejected: reply(rejected, reference[1]) }
}

/// The metrics of a step's pairs.
#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
fn values(pairs: &[&TokenPair], learnt: &Learnt) -> BTreeMap<String, f64> {
    let tokens: usize = pairs.iter().map(|pair| pair.tokens()).sum();
    let Learnt { losses, updated, reference } = learnt;
    let values = [
        (metric::DPO_LOSS, losses.loss),
        (metric::DPO_ACCURACY, losses.hits.get().unwrap_or(f64::NAN)),
        (metric::DPO_MARGIN, losses.margin.get().unwrap_or(f64::NAN)),
        (metric::DPO_CHOSEN_REWARD, losses.chosen_reward.get().unwrap_or(f64::NAN)),
        (metric::DPO_REJECTED_REWARD, losses.rejected_reward.get().unwrap_or(f64::NAN)),
        (metric::DPO_CHOSEN_LOGP, losses.chosen_logp.get().unwrap_or(f64::NAN)),
        (metric::DPO_REJECTED_LOGP, losses.rejected_logp.get().unwrap_or(f64::NAN)),
        (metric::DPO_GRAD_NORM, updated.norm),
        (metric::DPO_PAIRS, pairs.len() as f64),
        (metric::DPO_TOKENS, tokens as f64),
        (metric::TIME_REFERENCE_S, reference.as_secs_f64()),
    ];
    values.map(|(metric, value)| (metric.name.to_owned(), value)).into()
}
