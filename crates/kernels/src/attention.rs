//! Causal attention over packed sequences, with fewer heads of keys and values than of queries.
//!
//! A token's row is its query heads, then its key heads, then its value heads. Sequences are
//! contiguous; none attends to another. For query `i` of a head and keys `j ≤ i`:
//!
//! ```text
//! s_j = scale · q_i·k_j      p_j = e^(s_j - lse_i)      o_i = Σ p_j v_j
//! ```
//!
//! Only `lse` is kept for the backward pass (Dao et al., "`FlashAttention`", 2022): `dp_j = do_i·v_j`,
//! `ds_j = scale · p_j (dp_j - do_i·o_i)`, `dq_i = Σ ds_j k_j`, `dk_j = Σ ds_j q_i`,
//! `dv_j = Σ p_j do_i`.

use crate::buffer::{Buffer, View, ViewMut};
use crate::copy::copy_matrix;
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};
use crate::offsets::{self, Offsets};

/// The heads and the scale of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and of values; a divisor of `heads`.
    pub kv_heads: usize,
    /// Numbers in a head.
    pub size: usize,
    /// `1/√size`, as a rule.
    pub scale: f32,
}

impl Shape {
    /// Numbers in a row of queries, or of what comes out.
    pub const fn width(&self) -> usize {
        self.heads * self.size
    }

    /// Numbers in a row of queries, keys and values.
    pub const fn packed_width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.size
    }

    /// Query heads that share a head of keys.
    pub(crate) const fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    pub(crate) fn check(&self) {
        assert!(
            self.kv_heads > 0 && self.heads.is_multiple_of(self.kv_heads) && self.size > 0,
            "{self:?}"
        );
    }
}

/// The heads, and the sequence offsets.
#[derive(Debug, Clone, Copy)]
pub struct Sequences<'a> {
    /// Heads of a row.
    pub shape: &'a Shape,
    /// Sequence offsets among the rows.
    pub offsets: Offsets<'a>,
}

/// Queries, keys and values.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a> {
    /// Rows of queries, keys and values; values may be missing if they lie elsewhere.
    pub qkv: Matrix<'a>,
    /// Rows of queries, keys and values of which only the values are read.
    pub values: Option<Matrix<'a>>,
}

impl<'a> From<Matrix<'a>> for Packed<'a> {
    fn from(qkv: Matrix<'a>) -> Self {
        Self { qkv, values: None }
    }
}

impl<'a> Packed<'a> {
    fn check(&self, shape: &Shape) {
        let Self { qkv, values } = self;
        let all = shape.packed_width();
        let least = values.map_or(all, |_| all - shape.kv_heads * shape.size);
        assert!((least..=all).contains(&qkv.cols) && qkv.col_stride == 1, "queries and keys");
        let whole = |v: Matrix<'_>| (v.rows, v.cols, v.col_stride) == (qkv.rows, all, 1);
        assert!(values.is_none_or(whole), "a row with values for each token");
    }

    /// The rows that have the values.
    pub(crate) fn rows_of_values(&self) -> Matrix<'a> {
        self.values.unwrap_or(self.qkv)
    }

    /// All of them in one buffer, if values lie elsewhere.
    fn together(&self, device: &Device, shape: &Shape) -> Option<Buffer> {
        let (all, values) = (shape.packed_width(), self.values?);
        let first = all - shape.kv_heads * shape.size;
        let mut buffer: Buffer = device.take(self.qkv.rows * all);
        let mut to = MatrixMut::new(buffer.view_mut(), self.qkv.rows, all);
        copy_matrix(device, to.columns(0..first), self.qkv.columns(0..first));
        copy_matrix(device, to.columns(first..all), values.columns(first..all));
        Some(buffer)
    }
}

/// The results of [`forward`].
#[derive(Debug)]
pub struct Output<'a> {
    /// `o`, a row for each token.
    pub out: MatrixMut<'a>,
    /// `lse` of each token and query head, for [`backward`].
    pub lse: ViewMut<'a, f32>,
}

/// `o`, and `lse` for each token and query head.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn forward<'a>(
    device: &Device,
    output: Output<'_>,
    packed: impl Into<Packed<'a>>,
    sequences: Sequences<'_>,
) {
    let packed = packed.into();
    let qkv = packed.qkv;
    let (Output { out, lse }, Sequences { shape, offsets }) = (&output, sequences);
    shape.check();
    offsets::check(offsets, qkv.rows);
    packed.check(shape);
    assert!(out.rows == qkv.rows && out.cols == shape.width(), "a row for each token");
    assert_eq!(lse.len(), qkv.rows * shape.heads, "one for each token and head");
    match device {
        Device::Cpu(cpu) => {
            let together = packed.together(device, shape);
            let qkv = together
                .as_ref()
                .map_or(qkv, |all| Matrix::new(all.view(), qkv.rows, shape.packed_width()));
            cpu::attention::forward(&cpu.threads, output, qkv, sequences);
        }
        Device::Cuda(cuda) => cuda::attention::forward(cuda, output, packed, sequences),
    }
}

/// The forward outputs and their gradients.
#[derive(Debug, Clone, Copy)]
pub struct Saved<'a> {
    /// Queries, keys and values.
    pub packed: Packed<'a>,
    /// The forward output.
    pub out: Matrix<'a>,
    /// The gradient of what came out.
    pub dout: Matrix<'a>,
    /// From [`forward`].
    pub lse: View<'a, f32>,
}

/// The gradients of queries, keys and values.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn backward(
    device: &Device,
    mut dqkv: MatrixMut<'_>,
    saved: Saved<'_>,
    sequences: Sequences<'_>,
) {
    let Sequences { shape, offsets } = sequences;
    shape.check();
    let Saved { packed, out, dout, lse } = saved;
    let qkv = packed.qkv;
    offsets::check(offsets, qkv.rows);
    packed.check(shape);
    assert_eq!(dqkv.cols, shape.packed_width(), "queries, keys, values");
    assert!(out.cols == shape.width() && dout.cols == out.cols, "a row for each token");
    assert!([out.rows, dout.rows, dqkv.rows] == [qkv.rows; 3], "a row for each token");
    assert!([out, dout].iter().all(|m| m.col_stride == 1), "matrices by rows");
    assert_eq!(lse.len(), qkv.rows * shape.heads, "one for each token and head");
    match device {
        Device::Cpu(cpu) => {
            let together = packed.together(device, shape);
            let qkv = together
                .as_ref()
                .map_or(qkv, |all| Matrix::new(all.view(), qkv.rows, shape.packed_width()));
            let saved = Saved { packed: qkv.into(), ..saved };
            cpu::attention::backward(&cpu.threads, &mut dqkv, saved, sequences);
        }
        Device::Cuda(cuda) => {
            cuda::attention_backward::backward(cuda, &mut dqkv, saved, sequences);
        }
    }
}
