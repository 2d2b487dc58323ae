//! The bounds of a solve, and the ways in which one fails.
//!
//! Sizes and branch-and-bound nodes are deterministic: a model is within them on every machine or on none. The
//! time limit is the last resort against a simplex method that cycles, of which microlp cannot bound the pivots. It
//! decides between a verdict and none, never between two verdicts: whoever tries something else after a failure hands
//! [`SolverError::OutOfTime`] on. Either way the outcome is an error of the machinery, never a verdict on the model.

use std::time::Duration;

use crate::model::{Model, ModelError};

/// The bounds of a solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most rows of a model.
    pub max_rows: usize,
    /// The most variables of a model.
    pub max_variables: usize,
    /// The most coefficients of a model, over all rows.
    pub max_terms: usize,
    /// The most nodes of one branch-and-bound search.
    pub max_nodes: usize,
    /// The longest that one call of the simplex method may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_rows: 10_000,
            max_variables: 10_000,
            max_terms: 1_000_000,
            max_nodes: 20_000,
            time: Duration::from_secs(30),
        }
    }
}

/// No verdict: a solver that failed, a limit, or an answer without a valid certificate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolverError {
    /// The model is not well-formed.
    #[error("the model is not well-formed")]
    Model(#[from] ModelError),
    /// The model is larger than the limits allow.
    #[error("the model has {count} {what}, the limit is {limit}")]
    TooLarge {
        /// `rows`, `variables` or `coefficients`.
        what: &'static str,
        /// Their number.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The search did not end within its nodes: the same on every machine.
    #[error("no verdict within {limit} nodes")]
    OutOfNodes {
        /// The limit.
        limit: usize,
    },
    /// One call of the simplex method took too long on this machine.
    #[error("no verdict within {} ms", limit.as_millis())]
    OutOfTime {
        /// The limit.
        limit: Duration,
    },
    /// The simplex method gave up.
    #[error("the simplex method failed: {message}")]
    Simplex {
        /// Its message.
        message: String,
    },
    /// An answer of the simplex method could not be certified.
    #[error("no certificate for the answer `{verdict}`: {reason}")]
    NoCertificate {
        /// `infeasible`, `optimal` or `unbounded`.
        verdict: &'static str,
        /// The check that failed.
        reason: String,
    },
    /// An integer variable can only take values beyond those that the search covers.
    #[error("integer variable {variable} is bounded away from [-2147483648, 2147483647]")]
    IntegerRange {
        /// Its index.
        variable: usize,
    },
}

impl Limits {
    /// Refuses models that are not well-formed or too large.
    pub(crate) fn check(&self, model: &Model) -> Result<(), SolverError> {
        let terms = model.rows.iter().map(|row| row.terms.len()).sum();
        at_most("rows", model.rows.len(), self.max_rows)?;
        at_most("variables", model.variables.len(), self.max_variables)?;
        at_most("coefficients", terms, self.max_terms)?;
        Ok(model.check()?)
    }

    /// The error of a search that ran out of nodes.
    pub(crate) fn out_of_nodes(&self) -> SolverError {
        SolverError::OutOfNodes { limit: self.max_nodes }
    }

    /// The error of a call that ran out of time.
    pub(crate) fn out_of_time(&self) -> SolverError {
        SolverError::OutOfTime { limit: self.time }
    }
}

impl SolverError {
    /// Whether another machine, or this one at another time, might have had a verdict.
    pub(crate) fn is_out_of_time(&self) -> bool {
        matches!(self, Self::OutOfTime { .. })
    }
}

fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), SolverError> {
    if count > limit {
        return Err(SolverError::TooLarge { what, count, limit });
    }
    Ok(())
}
