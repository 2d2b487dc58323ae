//! The teacher-forced SFT loss: the cross-entropy on rows, of a teacher or of the student's own best
//! rollouts (self-SFT).

use whetstone_algo::cross_entropy::{self, Labelled};
use whetstone_algo::{Denominator, Mean, Normaliser, Totals};
use whetstone_model::decoder::Gradients;

use crate::error::TrainError;
use crate::example::Example;
use crate::pass::Pass;

/// Adds the gradient of the cross-entropy on rows; returns the mean surprise of a token.
pub(crate) fn sft_gradient(
    pass: Pass<'_>,
    rows: &[&Example],
    weight: f64,
    gradients: &mut Gradients,
) -> Result<Mean, TrainError> {
    let masks: Vec<Vec<bool>> = rows.iter().map(|row| row.mask()).collect();
    let step = Totals::count(masks.iter().map(Vec::as_slice));
    let denominator = Denominator { normaliser: Normaliser::TOKEN_MEAN, step };
    let mut surprise = Mean::default();
    pass.learn(rows, gradients, |place, scores| {
        let labelled = Labelled { trained: &masks[place], logp: &scores.logp };
        let loss = cross_entropy::loss(&[labelled], denominator)?;
        surprise.merge(loss.surprise);
        Ok(loss.objective.scaled(weight).signals)
    })?;
    Ok(surprise)
}
