//! One figure of two evaluations of the same tasks.

use serde::Serialize;
use whetstone_rollout::measure::Tally;

use crate::error::EvalError;
use crate::estimate::{Difference, Estimate, compare, pass_at_k};

/// One figure on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// The first.
    pub before: Estimate,
    /// The second.
    pub after: Estimate,
    /// Second minus first.
    pub difference: Difference,
}

impl Compared {
    /// pass@k of both.
    pub(crate) fn of([before, after]: [&[Tally]; 2], k: u64) -> Result<Self, EvalError> {
        let difference = compare(before, after, k)?;
        Ok(Self { before: pass_at_k(before, k)?, after: pass_at_k(after, k)?, difference })
    }
}
