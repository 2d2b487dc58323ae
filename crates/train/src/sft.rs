//! Supervised fine-tuning: the student learns to say what the traces say.
//!
//! ```text
//! rows ─► micro-batches ─► log-probabilities ─► cross-entropy ─► gradient ─► update
//! ```

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use whetstone_algo::Mean;
use whetstone_core::config::Config;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::{Forward, Gradients};

use crate::alarms::nobody;
use crate::error::TrainError;
use crate::example::Example;
use crate::imitate::imitate;
use crate::order::Endless;
use crate::pass::Pass;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::rehearse::rehearse;
use crate::session::{Session, restore};
use crate::student::{Student, keep};
use crate::update;
use crate::watch::{Ended, Phase, StepReport, Watch};

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "sft";

/// What is needed to begin or to go on.
pub struct Sft<'a> {
    /// The settings.
    pub config: &'a Config,
    /// What is learnt from.
    pub rows: &'a [Example],
    /// The checkpoint to go on from.
    pub checkpoint: Option<&'a std::path::Path>,
    /// Whoever looks on.
    pub watch: Watch<'a>,
}

/// Trains a student on rows.
///
/// # Errors
///
/// If there are no rows, a number is none, or something cannot be written; what was written before
/// stays.
pub fn sft(
    student: &mut Student,
    session: &mut Session,
    it: &Sft<'_>,
) -> Result<Ended, TrainError> {
    let result = it.watch.dog.during(|| steps(student, session, it));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, it: &Sft<'_>) -> Result<Ended, TrainError> {
    let plan = Plan::sft(it.config, it.rows.len())?;
    student.check_sft_room(it.config)?;
    let (mut optimizer, mut progress) = restore(student, STAGE, it.checkpoint)?;
    let mut order = Endless::new(Seed::new(it.config.seed).derive("sft rows", 0), it.rows.len());
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let most = rehearse(student, it.config, (it.rows, &mut gradients), it.watch)?;
    while progress.step < plan.steps {
        if it.watch.stopped() {
            session.checkpoint(student, (&optimizer, &progress))?;
            return Ok(Ended::Stopped(progress.step));
        }
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let positions = progress.position..progress.position + plan.items_per_step;
        let rows: Vec<&Example> =
            positions.clone().map(|at| &it.rows[order.at(at, |_| ())]).collect();
        let lr = plan.schedule.rate(progress.step)?;
        let rule = (lr, &it.config.training);
        let learnt = learn(student, it, (step, &rows), (&mut gradients, most)).and_then(|learnt| {
            let updated = update::apply(&mut student.decoder, (&mut optimizer, &gradients), rule)?;
            Ok((learnt, updated))
        });
        let ((surprise, tokens), updated) =
            learnt.map_err(|err| session.with_batch(err, step, || kept(&rows)))?;
        progress.step = step;
        progress.position = positions.end;
        progress.updates = optimizer.updates();
        let took = began.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "counts of a step")]
        let values = BTreeMap::from([
            ("sft/loss".to_owned(), surprise.get().unwrap_or(f64::NAN)),
            ("sft/grad_norm".to_owned(), updated.norm),
            ("sft/lr".to_owned(), lr),
            ("sft/tokens".to_owned(), tokens as f64),
            ("sft/trained_tokens".to_owned(), surprise.count() as f64),
            ("time/step_s".to_owned(), took.as_secs_f64()),
        ]);
        let (steps, warnings) = (plan.steps, Vec::new());
        let report = StepReport { step, steps, took, values, warnings, again: false };
        session.step(report, &nobody, it.watch)?;
        if session.is_due(step, plan.steps) {
            it.watch.phase(Phase::Saving);
            session.checkpoint(student, (&optimizer, &progress))?;
        }
    }
    it.watch.phase(Phase::Saving);
    session.final_model(student, (&optimizer, &progress))?;
    Ok(Ended::Done)
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told to
/// stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, training: &Sft<'_>) -> Result<Option<Probe>, TrainError> {
    let plan = Plan::sft(training.config, training.rows.len())?;
    student.check_sft_room(training.config)?;
    let (mut optimizer, progress) = restore(student, STAGE, training.checkpoint)?;
    let mut order =
        Endless::new(Seed::new(training.config.seed).derive("sft rows", 0), training.rows.len());
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let most = rehearse(student, training.config, (training.rows, &mut gradients), training.watch)?;
    if training.watch.stopped() {
        return Ok(None);
    }
    let began = Instant::now();
    let positions = progress.position..progress.position + plan.items_per_step;
    let rows: Vec<&Example> = positions.map(|at| &training.rows[order.at(at, |_| ())]).collect();
    learn(student, training, (progress.step + 1, &rows), (&mut gradients, most))?;
    let rule = (plan.schedule.rate(progress.step)?, &training.config.training);
    update::apply(&mut student.decoder, (&mut optimizer, &gradients), rule)?;
    Ok(Some(Probe {
        step: began.elapsed(),
        parts: Vec::new(),
        steps: plan.steps.saturating_sub(progress.step),
        held_out: None,
        measurements: 0,
        warnings: Vec::new(),
    }))
}

/// The gradient of the cross-entropy; returns the surprise and how many tokens went through.
fn learn(
    student: &Student,
    it: &Sft<'_>,
    (step, rows): (u64, &[&Example]),
    (gradients, most_bytes): (&mut Gradients, usize),
) -> Result<(Mean, usize), TrainError> {
    gradients.clear(student.decoder.device());
    let pass = Pass {
        decoder: &student.decoder,
        micro_batch: it.config.training.per_device_train_batch_size as usize,
        forward: Forward { keep: Some(keep(it.config)), ..Forward::default() },
        most_bytes,
        step,
        watch: (it.watch, Phase::Learning),
    };
    let surprise = imitate(pass, rows, (1.0, gradients))?;
    Ok((surprise, rows.iter().map(|row| row.tokens.len()).sum()))
}

/// A batch that could not be learnt from.
#[derive(Serialize)]
struct Kept<'a> {
    rows: Vec<(&'a [u32], usize)>,
}

fn kept<'a>(rows: &[&'a Example]) -> Kept<'a> {
    Kept { rows: rows.iter().map(|row| (row.tokens.as_slice(), row.first)).collect() }
}
