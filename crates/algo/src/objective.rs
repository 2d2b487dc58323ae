//! A loss with its signal: what every function on log-probabilities comes down to.

use crate::AlgoError;
use crate::error::as_many;

/// A loss, and its derivative by the log-probability of every token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Objective {
    /// This batch's part of the loss of the step: parts of all micro-batches add up.
    pub loss: f64,
    /// `d loss / d logp`, for all tokens of all sequences in their order; 0 where not trained.
    pub dlogp: Vec<f64>,
}

impl Objective {
    /// Loss and signal, multiplied.
    #[must_use]
    pub fn scaled(mut self, weight: f64) -> Self {
        self.loss *= weight;
        for signal in &mut self.dlogp {
            *signal *= weight;
        }
        self
    }

    /// The sum of two losses on the same tokens.
    ///
    /// # Errors
    ///
    /// If they are not of equally many tokens.
    pub fn plus(mut self, other: &Self) -> Result<Self, AlgoError> {
        as_many("signals", other.dlogp.len(), self.dlogp.len())?;
        self.loss += other.loss;
        for (signal, other) in self.dlogp.iter_mut().zip(&other.dlogp) {
            *signal += other;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_add_and_scale_with_their_signals() {
        let one = Objective { loss: 1.0, dlogp: vec![0.5, 0.0, -2.0] };
        let other = Objective { loss: -3.0, dlogp: vec![1.0, 4.0, 0.25] };
        let sum = one.clone().plus(&other.scaled(2.0)).unwrap();
        assert_eq!(sum, Objective { loss: -5.0, dlogp: vec![2.5, 8.0, -1.5] });
        let error = one.plus(&Objective::default()).unwrap_err();
        assert_eq!(error, AlgoError::Lengths { what: "signals", found: 0, expected: 3 });
    }
}
