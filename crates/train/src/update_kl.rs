//! How far the updates of a step moved the policy from the one that sampled.

use whetstone_algo::{Mean, kl};
use whetstone_core::config::KlEstimator;
use whetstone_model::decoder::Adapters;

use crate::error::TrainError;
use crate::example::Example;
use crate::pass::Pass;

/// A sequence with its log-probabilities before the updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredBefore<'a> {
    pub(crate) example: &'a Example,
    pub(crate) logp: &'a [f64],
}

/// A few sequences with their log-probabilities before the updates of a step and after them.
pub(crate) struct MovedPolicy<'b> {
    few: Vec<ScoredBefore<'b>>,
    now: Vec<Vec<f64>>,
}

impl<'b> MovedPolicy<'b> {
    /// Scores at most `most` sequences, evenly spread.
    pub(crate) fn score(
        pass: Pass<'_>,
        before: &[ScoredBefore<'b>],
        most: usize,
    ) -> Result<Self, TrainError> {
        let few: Vec<ScoredBefore<'b>> =
            spread_indices(before.len(), most).map(|at| before[at]).collect();
        let examples: Vec<&Example> = few.iter().map(|one| one.example).collect();
        let now = if few.is_empty() { Vec::new() } else { pass.score(&examples, Adapters::On)? };
        Ok(Self { few, now })
    }

    /// KL(old ‖ new) in nats a token, by k3 on the trained tokens.
    pub(crate) fn update_kl(&self) -> Mean {
        let mut mean = Mean::default();
        for (ScoredBefore { example, logp }, now) in self.few.iter().zip(&self.now) {
            for (old, now) in example.of_trained(logp).into_iter().zip(example.of_trained(now)) {
                mean.add(kl::estimate(KlEstimator::K3, old, now).value);
            }
        }
        mean
    }

    /// KL(new ‖ reference) in nats a token, by an estimator on the trained tokens. The reference is the
    /// decoder without its adapter.
    pub(crate) fn reference_kl(
        &self,
        pass: Pass<'_>,
        estimator: KlEstimator,
    ) -> Result<Mean, TrainError> {
        let mut mean = Mean::default();
        let examples: Vec<&Example> = self.few.iter().map(|one| one.example).collect();
        if examples.is_empty() {
            return Ok(mean);
        }
        let reference = pass.score(&examples, Adapters::Off)?;
        for ((example, now), reference) in examples.into_iter().zip(&self.now).zip(&reference) {
            let both = example.of_trained(now).into_iter().zip(example.of_trained(reference));
            for (now, reference) in both {
                mean.add(kl::estimate(estimator, now, reference).value);
            }
        }
        Ok(mean)
    }
}

/// How far the updates of a step moved the policy, on at most `most` sequences.
pub(crate) fn update_kl(
    pass: Pass<'_>,
    before: &[ScoredBefore<'_>],
    most: usize,
) -> Result<Mean, TrainError> {
    Ok(MovedPolicy::score(pass, before, most)?.update_kl())
}

/// Places of at most `most` of `count` things, evenly spread.
fn spread_indices(count: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(count.div_ceil(most.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_spread_over_all() {
        let places = |count, most| spread_indices(count, most).collect::<Vec<_>>();
        assert_eq!(places(3, 8), [0, 1, 2]);
        assert_eq!(places(16, 8), [0, 2, 4, 6, 8, 10, 12, 14]);
        assert_eq!(places(17, 8), [0, 3, 6, 9, 12, 15]);
        assert!(places(0, 8).is_empty());
    }
}
