//! Binary cross-entropy of a logit.
//!
//! With the logit `z` and the label `y`, which is 0 or 1:
//!
//! ```text
//! loss    softplus(z) - y z  =  -y ln σ(z) - (1 - y) ln(1 - σ(z))        softplus(x) = ln(1 + eˣ)
//! by z    σ(z) - y
//! ```
//!
//! divided by the examples of the step: the mean of `torch.nn.BCEWithLogitsLoss`. The first form neither
//! overflows nor takes the logarithm of a probability that was rounded to 0. There is no weight of positive
//! labels: it would move every probability away from the share of labels that it stands for.

use crate::bradley_terry::{sigmoid, softplus};
use crate::error::setting;
use crate::{AlgoError, number};

/// The part of an example in the loss of its step, and its derivative.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BinaryLoss {
    /// This example's part.
    pub loss: f64,
    /// By its logit.
    pub dlogit: f64,
}

/// An example of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinaryExample {
    /// The score that the sigmoid makes a probability of.
    pub logit: f64,
    /// The label.
    pub label: bool,
    /// Its place in the step, for messages.
    pub at: usize,
}

/// The loss of one of `step_examples` examples.
///
/// # Errors
///
/// If the logit is not finite, or the step has no examples.
///
/// # Example
///
/// ```
/// use whetstone_algo::binary::{BinaryExample, loss};
/// let found = loss(BinaryExample { logit: 0.0, label: true, at: 0 }, 1)?;
/// assert_eq!((found.loss, found.dlogit), (std::f64::consts::LN_2, -0.5));
/// # Ok::<(), whetstone_algo::AlgoError>(())
/// ```
pub fn loss(example: BinaryExample, step_examples: u64) -> Result<BinaryLoss, AlgoError> {
    let BinaryExample { logit, label, at } = example;
    let count = number(step_examples);
    setting("the number of examples of a step", count, step_examples > 0, "at least 1")?;
    if !logit.is_finite() {
        return Err(AlgoError::Entry { what: "the logit of example", at, value: logit });
    }
    // softplus(z) - z is softplus(-z), without the difference of two large numbers.
    let loss = softplus(if label { -logit } else { logit });
    let dlogit = if label { -sigmoid(-logit) } else { sigmoid(logit) };
    Ok(BinaryLoss { loss: loss / count, dlogit: dlogit / count })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{assert_near, assert_slopes};

    fn of(logit: f64, label: bool, step_examples: u64) -> BinaryLoss {
        loss(BinaryExample { logit, label, at: 0 }, step_examples).unwrap()
    }

    /// With odds of 3 to 1 the probability is 3/4: the loss of a right label is ln(4/3), of a wrong one ln 4.
    #[test]
    fn odds_of_three_to_one_worked_by_hand() {
        let logit = 3.0_f64.ln();
        for (logit, label, value, slope) in [
            (logit, true, (4.0_f64 / 3.0).ln(), -0.25),
            (logit, false, 4.0_f64.ln(), 0.75),
            (-logit, true, 4.0_f64.ln(), -0.75),
            (-logit, false, (4.0_f64 / 3.0).ln(), 0.25),
        ] {
            assert_near(of(logit, label, 1).loss, value);
            assert_near(of(logit, label, 1).dlogit, slope);
            assert_near(of(logit, label, 4).loss, value / 4.0);
            assert_near(of(logit, label, 4).dlogit, slope / 4.0);
        }
    }

    /// ```python
    /// import torch
    /// for z, y in [(1.5, 1.), (1.5, 0.), (-2.25, 1.), (-2.25, 0.), (0.125, 1.)]:
    ///     z = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    ///     loss = torch.nn.BCEWithLogitsLoss()(z, torch.tensor(y, dtype=torch.float64))
    ///     loss.backward(); print(loss.item(), z.grad.item())
    /// ```
    #[test]
    fn the_numbers_of_pytorch() {
        for (logit, label, value, slope) in [
            (1.5, true, 0.201_413_277_982_752_4, -0.182_425_523_806_356_35),
            (1.5, false, 1.701_413_277_982_752_4, 0.817_574_476_193_643_7),
            (-2.25, true, 2.350_206_558_916_747, -0.904_650_535_100_890_6),
            (-2.25, false, 0.100_206_558_916_747_21, 0.095_349_464_899_109_49),
            (0.125, true, 0.632_599_035_317_169_1, -0.468_790_626_626_243_7),
        ] {
            assert_near(of(logit, label, 1).loss, value);
            assert_near(of(logit, label, 1).dlogit, slope);
        }
    }

    #[test]
    fn logits_that_are_far_off_neither_overflow_nor_lose_the_loss() {
        let wrong = of(-1e4, true, 1);
        assert_near(wrong.loss, 1e4);
        assert_near(wrong.dlogit, -1.0);
        let right = of(40.0, true, 1);
        assert!((right.loss - (-40.0_f64).exp()).abs() < 1e-30, "{}", right.loss);
        assert!((right.dlogit + (-40.0_f64).exp()).abs() < 1e-30, "{}", right.dlogit);
    }

    #[test]
    fn a_logit_that_is_not_finite_is_named_with_its_example() {
        let err = loss(BinaryExample { logit: f64::NAN, label: true, at: 7 }, 1).unwrap_err();
        assert_eq!(err.to_string(), "the logit of example 7 is NaN; leave it out");
        assert!(loss(BinaryExample { logit: 0.0, label: true, at: 0 }, 0).is_err());
    }

    proptest! {
        #[test]
        fn the_loss_is_the_slow_one_and_its_signal_is_the_slope(
            logit in -8.0..8.0_f64, label: bool, step_examples in 1..9_u64,
        ) {
            let found = of(logit, label, step_examples);
            let probability = 1.0 / (1.0 + (-logit).exp());
            let slow = -(if label { probability } else { 1.0 - probability }).ln();
            let close = (found.loss - slow / number(step_examples)).abs() < 1e-9;
            prop_assert!(close, "{} is not {slow}", found.loss);
            assert_slopes(&[found.dlogit], &[logit], |x| of(x[0], label, step_examples).loss);
        }
    }
}
