//! Held-out pairs scored: what the reward model is worth where it has not learnt.

use std::collections::BTreeMap;

use whetstone_algo::pairwise::{Figures, ScoredPair, figures};
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::seed::Seed;
use whetstone_model::decoder::Decoder;

use super::pair::TokenPair;
use super::pass::scores;
use crate::error::TrainError;
use crate::order::shuffled;
use crate::watch::{Part, Phase, Watch};

/// The figures of pairs.
///
/// # Errors
///
/// If a score is not finite, or the device fails.
pub(super) fn measure(
    decoder: &Decoder,
    pairs: &[&TokenPair],
    config: &Config,
    watch: Watch<'_>,
) -> Result<Figures, TrainError> {
    let micro_batch = config.training.per_device_train_batch_size as usize;
    let scored = score_pairs(decoder, pairs, micro_batch, |part| watch.part(Phase::HeldOut, part))?;
    Ok(figures(&scored)?)
}

/// Pairs with the scores of their replies, as the score head gives them, `micro_batch` pairs at a time. The
/// decoder's active adapter is a reward model. `progress` is told how many replies are done.
///
/// # Errors
///
/// If a score is not finite, or the device fails.
pub fn score_pairs(
    decoder: &Decoder,
    pairs: &[&TokenPair],
    micro_batch: usize,
    progress: impl FnMut(Part),
) -> Result<Vec<ScoredPair>, TrainError> {
    let sequences: Vec<&[u32]> =
        pairs.iter().flat_map(|pair| [pair.chosen.as_slice(), &pair.rejected]).collect();
    let scores = scores(decoder, &sequences, 2 * micro_batch, progress)?;
    if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
        let (pair, score) = (at / 2, scores[at]);
        return Err(TrainError::NoNumber(format!("a score of held-out pair {pair} is {score}")));
    }
    let scored = |(pair, scores): (&&TokenPair, &[f64])| ScoredPair {
        chosen: scores[0],
        rejected: scores[1],
        chosen_tokens: (pair.chosen.len() - pair.prompt_tokens) as u64,
        rejected_tokens: (pair.rejected.len() - pair.prompt_tokens) as u64,
        prompt: pair.prompt,
    };
    Ok(pairs.iter().zip(scores.chunks_exact(2)).map(scored).collect())
}

/// The pairs of a measurement during training: the same ones each time.
pub(super) fn chosen<'p>(pairs: &'p [TokenPair], config: &Config) -> Vec<&'p TokenPair> {
    let places = measured_places(config.seed, pairs.len(), config.rm.eval_pairs);
    places.into_iter().map(|at| &pairs[at]).collect()
}

/// The places of the pairs of a measurement during training, at most `limit` of `count`.
pub(crate) fn measured_places(seed: u64, count: usize, limit: u32) -> Vec<usize> {
    let mut order = shuffled(Seed::new(seed).derive("measured pairs", 0), 0, count);
    order.truncate(limit as usize);
    order.sort_unstable();
    order
}

/// Whether a step is followed by a measurement, of which there is one `every` so many steps.
pub(crate) fn is_due(every: u32, step: u64, steps: u64) -> bool {
    step == steps || (every > 0 && step.is_multiple_of(u64::from(every)))
}

/// Adds the figures to a step's metrics.
#[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
pub(super) fn put(figures: &Figures, values: &mut BTreeMap<String, f64>) {
    let length = figures.length;
    let mut all = vec![
        (metric::RM_HELD_OUT_ACCURACY, figures.accuracy.value),
        (metric::RM_HELD_OUT_ACCURACY_LOW, figures.accuracy.low),
        (metric::RM_HELD_OUT_ACCURACY_HIGH, figures.accuracy.high),
        (metric::RM_HELD_OUT_MARGIN, figures.margin.value),
        (metric::RM_HELD_OUT_CALIBRATION_ERROR, figures.calibration_error.value),
        (metric::RM_HELD_OUT_BRIER, figures.brier.value),
        (metric::RM_HELD_OUT_PAIRS, figures.pairs as f64),
        (metric::RM_LENGTH_CORRELATION, length.correlation),
        (metric::RM_LABEL_LENGTH_CORRELATION, length.label_correlation),
        (metric::RM_CHOSEN_SHORTER_PAIRS, length.shorter.pairs as f64),
    ];
    for (metric, half) in [
        (metric::RM_ACCURACY_CHOSEN_LONGER, length.longer),
        (metric::RM_ACCURACY_CHOSEN_SHORTER, length.shorter),
    ] {
        if half.pairs > 0 {
            all.push((metric, half.accuracy));
        }
    }
    values.extend(all.into_iter().map(|(metric, value)| (metric.name.to_owned(), value)));
}
