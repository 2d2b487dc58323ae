//! Rows that a step learns from beside its rollouts: the teacher's, and the student's own best.

use crate::example::Example;

/// Rows to learn from in a step, beside its rollouts.
#[derive(Clone, Copy)]
pub(super) struct SftRows<'r> {
    pub(super) of: SftSource,
    pub(super) step: u64,
    pub(super) rows: &'r [Example],
    pub(super) weight: f64,
}

/// Whose rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum SftSource {
    Teacher,
    SelfSft,
}
