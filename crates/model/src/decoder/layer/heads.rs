//! The layout of query and key heads in packed rows, and the gains of their norms.

use whetstone_kernels::attention::Shape;
use whetstone_kernels::rms_norm::Heads;

use crate::decoder::parameters::ParameterId;

/// Gains for the heads of queries and of keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QkNorm {
    pub(crate) q: ParameterId,
    pub(crate) k: ParameterId,
}

/// Adjacent heads in packed rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadRange {
    first: usize,
    count: usize,
}

impl HeadRange {
    /// Those of queries and keys, which are rotated.
    pub(super) fn rotated(shape: &Shape) -> Self {
        Self { first: 0, count: shape.heads + shape.kv_heads }
    }
}

/// Heads of packed rows: their offset and their layout.
pub(super) fn heads_of(
    tokens: usize,
    stride: usize,
    range: HeadRange,
    shape: &Shape,
) -> (usize, Heads) {
    let heads = Heads { rows: tokens, heads: range.count, size: shape.size, stride };
    (range.first * shape.size, heads)
}

/// The gains of queries and of keys, with their heads.
pub(super) fn both_norms(gains: QkNorm, shape: &Shape) -> [(ParameterId, HeadRange); 2] {
    let of_queries = HeadRange { first: 0, count: shape.heads };
    let of_keys = HeadRange { first: shape.heads, count: shape.kv_heads };
    [(gains.q, of_queries), (gains.k, of_keys)]
}
