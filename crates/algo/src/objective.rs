//! A loss with its signals: the interface between every loss and the model.

use crate::AlgoError;
use crate::error::as_many;

/// A loss, and its derivatives by the model's outputs for every token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Objective {
    /// This batch's part of the loss of the step: parts of all micro-batches add up.
    pub loss: f64,
    /// Its derivatives.
    pub signals: Signals,
}

/// Derivatives of a loss, for all tokens of all sequences in their order; 0 where a token is not
/// trained. A part that is `None` is 0 everywhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals {
    /// `d loss / d logp`.
    pub dlogp: Vec<f64>,
    /// `d loss / d entropy`.
    pub dentropy: Option<Vec<f64>>,
    /// `d loss / d value`.
    pub dvalue: Option<Vec<f64>>,
}

impl Objective {
    /// Loss and signals, multiplied.
    #[must_use]
    pub fn scaled(mut self, weight: f64) -> Self {
        let Signals { dlogp, dentropy, dvalue } = &mut self.signals;
        self.loss *= weight;
        for signals in [Some(dlogp), dentropy.as_mut(), dvalue.as_mut()].into_iter().flatten() {
            for signal in signals {
                *signal *= weight;
            }
        }
        self
    }

    /// The sum of two losses on the same tokens.
    ///
    /// # Errors
    ///
    /// If they are not of equally many tokens.
    pub fn plus(mut self, other: &Self) -> Result<Self, AlgoError> {
        let (own, other_signals) = (&mut self.signals, &other.signals);
        add("dlogp", &mut own.dlogp, &other_signals.dlogp)?;
        add_some("dentropy", &mut own.dentropy, other_signals.dentropy.as_deref())?;
        add_some("dvalue", &mut own.dvalue, other_signals.dvalue.as_deref())?;
        self.loss += other.loss;
        Ok(self)
    }
}

impl Signals {
    /// A signal by log-probabilities alone.
    pub fn of_logp(dlogp: Vec<f64>) -> Self {
        Self { dlogp, ..Self::default() }
    }
}

fn add(what: &'static str, signals: &mut [f64], other: &[f64]) -> Result<(), AlgoError> {
    as_many(what, other.len(), signals.len())?;
    for (signal, other) in signals.iter_mut().zip(other) {
        *signal += other;
    }
    Ok(())
}

fn add_some(
    what: &'static str,
    signals: &mut Option<Vec<f64>>,
    other: Option<&[f64]>,
) -> Result<(), AlgoError> {
    match (signals.as_mut(), other) {
        (_, None) => Ok(()),
        (Some(signals), Some(other)) => add(what, signals, other),
        (None, Some(other)) => {
            *signals = Some(other.to_vec());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(loss: f64, dlogp: &[f64]) -> Objective {
        Objective { loss, signals: Signals::of_logp(dlogp.to_vec()) }
    }

    #[test]
    fn losses_add_and_scale_with_their_signals() {
        let one = objective(1.0, &[0.5, 0.0, -2.0]);
        let other = objective(-3.0, &[1.0, 4.0, 0.25]);
        let sum = one.clone().plus(&other.scaled(2.0)).unwrap();
        assert_eq!(sum, objective(-5.0, &[2.5, 8.0, -1.5]));
        let error = one.plus(&Objective::default()).unwrap_err();
        assert_eq!(error, AlgoError::Lengths { what: "dlogp", found: 0, expected: 3 });
    }

    #[test]
    fn a_missing_part_counts_as_zeros() {
        let with = |dentropy: Option<&[f64]>, dvalue: Option<&[f64]>| Objective {
            loss: 1.0,
            signals: Signals {
                dlogp: vec![1.0, 2.0],
                dentropy: dentropy.map(<[f64]>::to_vec),
                dvalue: dvalue.map(<[f64]>::to_vec),
            },
        };
        let entropy = with(Some(&[0.5, -1.0]), None);
        let both = entropy.clone().plus(&with(None, Some(&[3.0, 4.0]))).unwrap().scaled(2.0);
        assert_eq!(both.signals.dlogp, [4.0, 8.0]);
        assert_eq!(both.signals.dentropy.as_deref(), Some(&[1.0, -2.0][..]));
        assert_eq!(both.signals.dvalue.as_deref(), Some(&[6.0, 8.0][..]));
        let twice = entropy.clone().plus(&entropy).unwrap().signals.dentropy;
        assert_eq!(twice.as_deref(), Some(&[1.0, -2.0][..]));
        let error = entropy.plus(&with(Some(&[0.5]), None)).unwrap_err();
        assert_eq!(error, AlgoError::Lengths { what: "dentropy", found: 1, expected: 2 });
    }
}
