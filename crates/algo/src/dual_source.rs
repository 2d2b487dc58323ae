//! Three losses at once: rollouts, the teacher's traces, and the student's own best.
//!
//! ```text
//! L = 1.0 · GRPO + 0.3 · teacher SFT + 0.2 · self SFT
//! ```
//!
//! The weights are those of `[dual_source]`. Each loss has been divided by the denominator of its
//! own source, never by that of all: with a common one, long traces of a teacher would drown the
//! rollouts, and how much a source counts would change with how much of it there is. A source that
//! is empty in a step adds nothing and leaves the others as they are.
//!
//! Not here: gradient norms of sources and their angles, which need gradients and not signals.

use whetstone_core::config::DualSourceConfig;

use crate::error::setting;
use crate::{AlgoError, Denominator, Normaliser, Objective, Totals};

/// One of each source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sources<T> {
    /// Of judged rollouts.
    pub grpo: T,
    /// Of the teacher's traces.
    pub teacher_sft: T,
    /// Of the student's own best passing rollouts.
    pub self_sft: T,
}

/// The loss of a batch from all sources.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Composed {
    /// The weighted sum.
    pub loss: f64,
    /// The loss of each source, without its weight.
    pub losses: Sources<f64>,
    /// The signal for each source's tokens, with its weight.
    pub dlogp: Sources<Vec<f64>>,
}

impl<T> Sources<T> {
    /// The same of each.
    pub fn map<U>(self, mut each: impl FnMut(T) -> U) -> Sources<U> {
        Sources {
            grpo: each(self.grpo),
            teacher_sft: each(self.teacher_sft),
            self_sft: each(self.self_sft),
        }
    }
}

impl Sources<Totals> {
    /// The denominator of each source, from its own totals of the step.
    pub fn denominators(self, normalisers: Sources<Normaliser>) -> Sources<Denominator> {
        let of = |normaliser, step| Denominator { normaliser, step };
        Sources {
            grpo: of(normalisers.grpo, self.grpo),
            teacher_sft: of(normalisers.teacher_sft, self.teacher_sft),
            self_sft: of(normalisers.self_sft, self.self_sft),
        }
    }
}

/// The weighted sum of three losses.
///
/// # Errors
///
/// If a weight is negative or no number.
pub fn compose(
    parts: Sources<Objective>,
    weights: DualSourceConfig,
) -> Result<Composed, AlgoError> {
    let checked = |what, weight: f64| setting(what, weight, (weight >= 0.0, "0 or more"));
    checked("the weight of GRPO", weights.grpo_weight)?;
    checked("the weight of teacher SFT", weights.teacher_sft_weight)?;
    checked("the weight of self SFT", weights.self_sft_weight)?;
    let losses = Sources {
        grpo: parts.grpo.loss,
        teacher_sft: parts.teacher_sft.loss,
        self_sft: parts.self_sft.loss,
    };
    let grpo = parts.grpo.scaled(weights.grpo_weight);
    let teacher_sft = parts.teacher_sft.scaled(weights.teacher_sft_weight);
    let self_sft = parts.self_sft.scaled(weights.self_sft_weight);
    let loss = grpo.loss + teacher_sft.loss + self_sft.loss;
    let dlogp = Sources { grpo, teacher_sft, self_sft }.map(|part| part.dlogp);
    Ok(Composed { loss, losses, dlogp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross_entropy::{self, Labelled};
    use crate::testing::{assert_all_near, assert_near, assert_slopes};

    fn parts() -> Sources<Objective> {
        Sources {
            grpo: Objective { loss: -2.0, dlogp: vec![1.0, -1.0] },
            teacher_sft: Objective { loss: 4.0, dlogp: vec![-0.5] },
            self_sft: Objective { loss: 5.0, dlogp: vec![-0.25, 0.0, -0.5] },
        }
    }

    /// -2 · 1.0 + 4 · 0.3 + 5 · 0.2 = 0.2.
    #[test]
    fn the_default_weights_worked_by_hand() {
        let found = compose(parts(), DualSourceConfig::default()).unwrap();
        assert_near(found.loss, 0.2);
        assert_eq!(found.losses, Sources { grpo: -2.0, teacher_sft: 4.0, self_sft: 5.0 });
        assert_all_near(&found.dlogp.grpo, &[1.0, -1.0]);
        assert_all_near(&found.dlogp.teacher_sft, &[-0.15]);
        assert_all_near(&found.dlogp.self_sft, &[-0.05, 0.0, -0.1]);
    }

    #[test]
    fn an_empty_source_leaves_the_others_alone() {
        let weights = DualSourceConfig::default();
        let whole = compose(parts(), weights).unwrap();
        let without = Sources { self_sft: Objective::default(), ..parts() };
        let found = compose(without, weights).unwrap();
        assert_near(found.loss, whole.loss - 1.0);
        assert_eq!(found.dlogp.grpo, whole.dlogp.grpo);
        assert_eq!(found.dlogp.teacher_sft, whole.dlogp.teacher_sft);
        assert_eq!(found.dlogp.self_sft, Vec::<f64>::new());
    }

    /// Two tokens of the teacher and one of the student's own: -0.3 / 2 each, and -0.2 / 1.
    #[test]
    fn each_source_is_divided_by_its_own_count_and_the_signals_are_slopes() {
        let totals = |tokens| Totals { tokens, sequences: 1 };
        let step = Sources { grpo: totals(7), teacher_sft: totals(2), self_sft: totals(1) };
        let long = Normaliser::ConstantLength(4.try_into().unwrap());
        let normalisers = Sources { grpo: long, ..Sources::default() };
        let denominators = step.denominators(normalisers);
        assert_eq!(denominators.grpo, Denominator { normaliser: long, step: totals(7) });
        let at = |logp: &[f64]| {
            let of = |trained, logp, denominator| {
                cross_entropy::loss(&[Labelled { trained, logp }], denominator).unwrap().objective
            };
            let parts = Sources {
                grpo: Objective::default(),
                teacher_sft: of(&[true, true], &logp[..2], denominators.teacher_sft),
                self_sft: of(&[true], &logp[2..], denominators.self_sft),
            };
            compose(parts, DualSourceConfig::default()).unwrap()
        };
        let logp = [-1.0, -2.0, -0.5];
        let found = at(&logp).dlogp;
        let signals = [found.teacher_sft, found.self_sft].concat();
        assert_all_near(&signals, &[-0.15, -0.15, -0.2]);
        assert_slopes(&signals, &logp, |logp| at(logp).loss);
    }

    #[test]
    fn weights_are_numbers_from_0_on() {
        let good = DualSourceConfig::default();
        let zeros = DualSourceConfig {
            grpo_weight: 0.0,
            teacher_sft_weight: 0.0,
            self_sft_weight: 0.0,
            ..DualSourceConfig::default()
        };
        assert_near(compose(parts(), zeros).unwrap().loss, 0.0);
        for (wrong, what) in [
            (DualSourceConfig { grpo_weight: -1.0, ..good }, "the weight of GRPO is -1"),
            (
                DualSourceConfig { teacher_sft_weight: f64::NAN, ..good },
                "the weight of teacher SFT is NaN",
            ),
            (DualSourceConfig { self_sft_weight: -0.5, ..good }, "the weight of self SFT is -0.5"),
        ] {
            let found = compose(parts(), wrong).unwrap_err().to_string();
            assert_eq!(found, format!("{what}; it must be 0 or more"));
        }
    }
}
