//! Supervised fine-tuning (SFT) of the student on teacher traces.
//!
//! ```text
//! rows ─► micro-batches ─► log-probabilities ─► cross-entropy ─► gradient ─► update
//! ```

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use whetstone_algo::Mean;
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::Gradients;

use crate::alarms::no_suspects;
use crate::error::TrainError;
use crate::example::Example;
use crate::memory_check::memory_check;
use crate::order::Endless;
use crate::pass::Pass;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::rollouts::values::flag;
use crate::session::{Session, restore};
use crate::sft_gradient::sft_gradient;
use crate::student::Student;
use crate::update::{self, UpdateSettings};
use crate::watch::{Ended, Phase, StepReport, Watch};

/// The name of this training in events and checkpoints.
pub const STAGE: &str = "sft";

/// A supervised fine-tuning run, new or resumed.
pub struct Sft<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The rows to train on.
    pub rows: &'a [Example],
    /// The checkpoint to resume from.
    pub checkpoint: Option<&'a std::path::Path>,
    /// Receives progress, and tells when to stop.
    pub watch: Watch<'a>,
}

/// Trains a student on rows.
///
/// # Errors
///
/// If there are no rows, a value is not finite, or something cannot be written; what was written before
/// stays.
pub fn sft(
    student: &mut Student,
    session: &mut Session,
    sft: &Sft<'_>,
) -> Result<Ended, TrainError> {
    let result = sft.watch.dog.during(|| steps(student, session, sft));
    session.closed(result)
}

fn steps(student: &mut Student, session: &mut Session, sft: &Sft<'_>) -> Result<Ended, TrainError> {
    let plan = Plan::sft(sft.config, sft.rows.len())?;
    student.check_sft_room(sft.config)?;
    let (mut optimizer, mut progress) = restore(student, STAGE, sft.checkpoint)?;
    let mut order = Endless::new(Seed::new(sft.config.seed).derive("sft rows", 0), sft.rows.len());
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let pass = Pass::new(&student.decoder, sft.config, sft.watch, Phase::MemoryCheck);
    let most_bytes = memory_check(pass, sft.rows, &mut gradients)?;
    while progress.step < plan.steps {
        if sft.watch.stopped() {
            session.checkpoint(student, &optimizer, &progress)?;
            return Ok(Ended::Stopped(progress.step));
        }
        let (began, step) = (Instant::now(), progress.step + 1);
        session.check_there()?;
        let positions = progress.position..progress.position + plan.items_per_step;
        let rows: Vec<&Example> = positions.clone().map(|at| &sft.rows[order.at(at)]).collect();
        let lr = plan.schedule.rate(progress.step)?;
        let settings = UpdateSettings { lr, training: &sft.config.training };
        let step_rows = StepRows { step, rows: &rows, most_bytes };
        let learnt = learn(student, sft, step_rows, &mut gradients).and_then(|learnt| {
            let decoder = &mut student.decoder;
            Ok((learnt, update::apply(decoder, &mut optimizer, &gradients, settings)?))
        });
        let ((surprise, tokens), updated) =
            learnt.map_err(|err| session.with_batch(err, step, || saved(&rows)))?;
        progress.step = step;
        progress.position = positions.end;
        progress.follow(&optimizer);
        let took = began.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "counts of a step")]
        let values = BTreeMap::from([
            (metric::SFT_LOSS.name.to_owned(), surprise.get().unwrap_or(f64::NAN)),
            (metric::SFT_GRAD_NORM.name.to_owned(), updated.norm),
            (metric::SFT_LR.name.to_owned(), lr),
            (metric::TRAIN_CLIPPED_UPDATES.name.to_owned(), flag(updated.is_clipped)),
            (metric::SFT_TOKENS.name.to_owned(), tokens as f64),
            (metric::SFT_TRAINED_TOKENS.name.to_owned(), surprise.count() as f64),
            (metric::TIME_STEP_S.name.to_owned(), took.as_secs_f64()),
        ]);
        let (steps, warnings) = (plan.steps, Vec::new());
        let report = StepReport { step, steps, took, values, warnings, again: false };
        session.step(report, &no_suspects, sft.watch)?;
        if session.is_due(step, plan.steps) {
            sft.watch.phase(Phase::Saving);
            session.checkpoint(student, &optimizer, &progress)?;
        }
    }
    sft.watch.phase(Phase::Saving);
    session.final_model(student, &optimizer, &progress)?;
    Ok(Ended::Done)
}

/// Takes the next step of a training and keeps nothing but the student in memory; `None` if it was told to
/// stop.
///
/// # Errors
///
/// What the training itself would end with in that step.
pub fn probe(student: &mut Student, sft: &Sft<'_>) -> Result<Option<Probe>, TrainError> {
    let plan = Plan::sft(sft.config, sft.rows.len())?;
    student.check_sft_room(sft.config)?;
    let (mut optimizer, progress) = restore(student, STAGE, sft.checkpoint)?;
    let mut order = Endless::new(Seed::new(sft.config.seed).derive("sft rows", 0), sft.rows.len());
    let mut gradients = Gradients::new(student.decoder.device(), student.decoder.parameters());
    let pass = Pass::new(&student.decoder, sft.config, sft.watch, Phase::MemoryCheck);
    let most_bytes = memory_check(pass, sft.rows, &mut gradients)?;
    if sft.watch.stopped() {
        return Ok(None);
    }
    let began = Instant::now();
    let positions = progress.position..progress.position + plan.items_per_step;
    let rows: Vec<&Example> = positions.map(|at| &sft.rows[order.at(at)]).collect();
    let step_rows = StepRows { step: progress.step + 1, rows: &rows, most_bytes };
    learn(student, sft, step_rows, &mut gradients)?;
    let lr = plan.schedule.rate(progress.step)?;
    let settings = UpdateSettings { lr, training: &sft.config.training };
    update::apply(&mut student.decoder, &mut optimizer, &gradients, settings)?;
    Ok(Some(Probe {
        step: began.elapsed(),
        parts: Vec::new(),
        steps: plan.steps.saturating_sub(progress.step),
        held_out: None,
        measurements: 0,
        warnings: Vec::new(),
    }))
}

/// The rows of a step.
#[derive(Clone, Copy)]
struct StepRows<'r> {
    step: u64,
    rows: &'r [&'r Example],
    /// Bytes that the longest batch left the device with.
    most_bytes: usize,
}

/// The gradient of the cross-entropy; returns the surprise and how many tokens went through.
fn learn(
    student: &Student,
    sft: &Sft<'_>,
    step_rows: StepRows<'_>,
    gradients: &mut Gradients,
) -> Result<(Mean, usize), TrainError> {
    let StepRows { step, rows, most_bytes } = step_rows;
    gradients.clear(student.decoder.device());
    let pass = Pass::new(&student.decoder, sft.config, sft.watch, Phase::Learning);
    let surprise = sft_gradient(Pass { most_bytes, step, ..pass }, rows, 1.0, gradients)?;
    Ok((surprise, rows.iter().map(|row| row.tokens.len()).sum()))
}

/// A batch that could not be learnt from.
#[derive(Serialize)]
struct SavedRows<'a> {
    rows: Vec<(&'a [u32], usize)>,
}

fn saved<'a>(rows: &[&'a Example]) -> SavedRows<'a> {
    SavedRows { rows: rows.iter().map(|row| (row.tokens.as_slice(), row.first)).collect() }
}
