//! Held-out transitions scored: what the process reward model is worth where it has not learnt.

use std::collections::BTreeMap;

use whetstone_algo::binary::{Figures, Labelled, figures};
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::Decoder;

use super::transition::TokenTransition;
use crate::error::TrainError;
use crate::order::shuffled;
use crate::reward_model::pass::scores;
use crate::watch::{Part, Phase, Watch};

/// The figures of transitions.
pub(super) fn measure(
    decoder: &Decoder,
    transitions: &[&TokenTransition],
    config: &Config,
    watch: Watch<'_>,
) -> Result<Figures, TrainError> {
    let micro_batch = config.training.per_device_train_batch_size as usize;
    let progress = |part| watch.part(Phase::HeldOut, part);
    let labelled = score_transitions(decoder, transitions, micro_batch, progress)?;
    Ok(figures(&labelled)?)
}

/// Transitions with their logits, `micro_batch` at a time. The decoder's active adapter is a process reward
/// model. `progress` is told how many are done.
///
/// # Errors
///
/// If a logit is not finite, or the device fails.
pub fn score_transitions(
    decoder: &Decoder,
    transitions: &[&TokenTransition],
    micro_batch: usize,
    progress: impl FnMut(Part),
) -> Result<Vec<Labelled>, TrainError> {
    let sequences: Vec<&[u32]> = transitions.iter().map(|one| one.tokens.as_slice()).collect();
    let logits = scores(decoder, &sequences, micro_batch, progress)?;
    if let Some(at) = logits.iter().position(|logit| !logit.is_finite()) {
        let value = logits[at];
        return Err(TrainError::NoNumber(format!(
            "the score of held-out transition {at} is {value}"
        )));
    }
    let labelled = |(one, logit): (&&TokenTransition, f64)| Labelled {
        logit,
        label: one.label,
        task: one.task,
    };
    Ok(transitions.iter().zip(logits).map(labelled).collect())
}

/// The transitions of a measurement during training: the same ones each time.
pub(super) fn chosen<'t>(
    transitions: &'t [TokenTransition],
    config: &Config,
) -> Vec<&'t TokenTransition> {
    let seed = Seed::new(config.seed).derive("measured transitions", 0);
    let mut order = shuffled(seed, 0, transitions.len());
    order.truncate(config.prm.eval_transitions as usize);
    order.sort_unstable();
    order.into_iter().map(|at| &transitions[at]).collect()
}

/// Whether a step is followed by a measurement.
pub(super) fn is_due(config: &Config, step: u64, steps: u64) -> bool {
    let every = u64::from(config.prm.eval_steps);
    step == steps || (every > 0 && step.is_multiple_of(every))
}

/// Adds the figures to a step's metrics.
#[expect(clippy::cast_precision_loss, reason = "counts of transitions")]
pub(super) fn put(figures: &Figures, values: &mut BTreeMap<String, f64>) {
    let mut all = vec![
        (metric::PRM_HELD_OUT_CALIBRATION_ERROR, figures.calibration_error.value),
        (metric::PRM_HELD_OUT_BRIER, figures.brier.value),
        (metric::PRM_HELD_OUT_TRANSITIONS, figures.examples as f64),
    ];
    if let Some(auc) = figures.auc {
        all.push((metric::PRM_HELD_OUT_AUC, auc.value));
        let ends =
            [(metric::PRM_HELD_OUT_AUC_LOW, auc.low), (metric::PRM_HELD_OUT_AUC_HIGH, auc.high)];
        all.extend(ends.into_iter().filter(|(_, end)| end.is_finite()));
    }
    values.extend(all.into_iter().map(|(metric, value)| (metric.name.to_owned(), value)));
}
