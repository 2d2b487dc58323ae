//! Held-out pairs under the policy: how often the implicit reward of the chosen reply is the higher one.

use std::collections::BTreeMap;

use whetstone_algo::pairwise::{Figures, ScoredPair, figures};
use whetstone_algo::preference::implicit_rewards;
use whetstone_core::metric;
use whetstone_model::decoder::Adapters;

use super::pass::score;
use super::reference::{List, Reference};
use super::{Dpo, logps_of, settings};
use crate::error::TrainError;
use crate::reward_model::TokenPair;
use crate::reward_model::pass::PairPass;
use crate::student::Student;
use crate::watch::Phase;

/// The figures of the held-out pairs at some places.
///
/// # Errors
///
/// If a log-probability is not finite, or the device fails.
pub(super) fn measure(
    student: &mut Student,
    reference: &mut Reference,
    dpo: &Dpo<'_>,
    places: &[usize],
) -> Result<Figures, TrainError> {
    let pairs: Vec<&TokenPair> = places.iter().map(|&place| &dpo.held_out[place]).collect();
    let references = reference.sums(student, dpo, List::HeldOut, places)?;
    let pass = PairPass::of_replies(&student.decoder, dpo.config, dpo.watch, Phase::HeldOut);
    let policy = score(pass, &pairs, Adapters::On)?;
    let settings = settings(dpo.config, pairs.len());
    let mut scored = Vec::with_capacity(pairs.len());
    for (at, ((pair, logps), reference)) in pairs.iter().zip(&policy).zip(references).enumerate() {
        let [chosen, rejected] = implicit_rewards(logps_of(logps, reference), settings, at)?;
        let [chosen_tokens, rejected_tokens] = [logps[0].len() as u64, logps[1].len() as u64];
        let prompt = pair.prompt;
        scored.push(ScoredPair { chosen, rejected, chosen_tokens, rejected_tokens, prompt });
    }
    Ok(figures(&scored)?)
}

/// Adds the figures to a step's metrics.
#[expect(clippy::cast_precision_loss, reason = "a count of pairs")]
pub(super) fn put(figures: &Figures, values: &mut BTreeMap<String, f64>) {
    let all = [
        (metric::DPO_HELD_OUT_ACCURACY, figures.accuracy.value),
        (metric::DPO_HELD_OUT_ACCURACY_LOW, figures.accuracy.low),
        (metric::DPO_HELD_OUT_ACCURACY_HIGH, figures.accuracy.high),
        (metric::DPO_HELD_OUT_MARGIN, figures.margin.value),
        (metric::DPO_HELD_OUT_PAIRS, figures.pairs as f64),
    ];
    values.extend(all.map(|(metric, value)| (metric.name.to_owned(), value)));
}
