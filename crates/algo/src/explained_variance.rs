//! Explained variance of a critic: the fraction of the returns' variance that its values predict.
//!
//! ```text
//! 1 - Var(returns - values) / Var(returns)
//! ```
//!
//! 1 is a perfect critic, 0 is as good as the mean of the returns, and negative values are worse than
//! that. A constant offset costs nothing. Returns without variance, by the same measure as rewards of
//! a group, have no explained variance.

use crate::advantage::is_constant;
use crate::error::{as_many, entries};
use crate::{AlgoError, number};

/// The explained variance of trained tokens; none if all returns are equal.
///
/// # Errors
///
/// If there is not one value for each return, or one of either is not finite.
///
/// # Example
///
/// ```
/// use whetstone_algo::explained_variance::explained_variance;
/// assert_eq!(explained_variance(&[0.0, 1.0], &[0.0, 2.0])?, Some(0.75));
/// assert_eq!(explained_variance(&[0.0, 1.0], &[2.0, 2.0])?, None);
/// # Ok::<(), whetstone_algo::AlgoError>(())
/// ```
pub fn explained_variance(values: &[f64], returns: &[f64]) -> Result<Option<f64>, AlgoError> {
    as_many("values", values.len(), returns.len())?;
    entries("value", values)?;
    entries("return", returns)?;
    if is_constant(returns) {
        return Ok(None);
    }
    let all = spread(returns.iter().copied());
    let left = spread(returns.iter().zip(values).map(|(target, value)| target - value));
    Ok(Some(1.0 - left / all))
}

/// The variance, times how many there are: of two equally long lists the ratio is the same.
fn spread(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let mean = numbers.clone().sum::<f64>() / number(numbers.clone().count() as u64);
    numbers.map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::assert_near;

    /// Returns 0, 2, 4: variance 8/3. Values 0, 2, 1 leave 0, 0, 3: variance 2, so 1/4 is known.
    #[test]
    fn worked_by_hand() {
        let returns = [0.0, 2.0, 4.0];
        let of = |values: &[f64]| explained_variance(values, &returns).unwrap().unwrap();
        assert_near(of(&[0.0, 2.0, 1.0]), 0.25);
        assert_near(of(&returns), 1.0);
        assert_near(of(&[9.0, 9.0, 9.0]), 0.0);
        // The wrong way round: 4, 2, 0 leaves -4, 0, 4, of variance 32/3.
        assert_near(of(&[4.0, 2.0, 0.0]), -3.0);
    }

    #[test]
    fn without_variance_there_is_no_figure() {
        for returns in [&[][..], &[3.0], &[3.0, 3.0, 3.0], &[0.1, 0.1, 0.1], &[0.1 + 0.2, 0.3]] {
            assert_eq!(explained_variance(&vec![1.0; returns.len()], returns), Ok(None));
        }
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        let refused = |values: &[f64], returns: &[f64]| {
            explained_variance(values, returns).unwrap_err().to_string()
        };
        assert_eq!(refused(&[0.0, f64::NAN], &[0.0, 1.0]), "value 1 is NaN; leave it out");
        assert_eq!(refused(&[0.0, 1.0], &[f64::INFINITY, 1.0]), "return 0 is inf; leave it out");
        assert!(refused(&[0.0], &[0.0, 1.0]).starts_with("there are 1 of values, but 2"));
    }

    proptest! {
        #[test]
        fn a_critic_that_is_off_by_a_constant_knows_everything(
            returns in prop::collection::vec(-5.0..5.0_f64, 2..9), off in -5.0..5.0_f64,
        ) {
            prop_assume!(returns.iter().any(|value| (value - returns[0]).abs() > 1e-3));
            let values: Vec<_> = returns.iter().map(|value| value + off).collect();
            let found = explained_variance(&values, &returns).unwrap().unwrap();
            prop_assert!((found - 1.0).abs() < 1e-9, "{found}");
        }
    }
}
