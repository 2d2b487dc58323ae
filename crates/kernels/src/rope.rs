//! Rotary positions: the two halves of a head are turned as pairs of coordinates.
//!
//! Su et al., "`RoFormer`", 2021, in the layout of Llama's published weights: place `i` of a head is
//! paired with place `i + d/2`, and the angle of pair `i` at position `p` is `p · f_i`. Turning back
//! is the gradient.

use crate::buffer::{Buffer, View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::rms_norm::Heads;

/// Cosines and sines for every position, `d/2` of each.
#[derive(Debug)]
pub struct RopeTable {
    cos: Buffer<f32>,
    sin: Buffer<f32>,
    half: usize,
}

/// The direction of the rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotate {
    /// As a token is placed.
    Forward,
    /// As its gradient comes back.
    Inverse,
}

impl RopeTable {
    /// Tables for positions below `positions`. `factor` scales both, as `YaRN` wants it. An angle is
    /// rounded to f32, as the libraries that trained the models do, before its sine is taken.
    #[expect(clippy::cast_possible_truncation, reason = "computed in f64, kept in f32")]
    pub fn new(device: &Device, frequencies: &[f32], factor: f32, positions: usize) -> Self {
        let table = |of: fn(f64) -> f64| {
            let rows = (0..positions).flat_map(|position| {
                let angle = move |f: &f32| f64::from(position as f32 * f);
                frequencies.iter().map(move |f| (of(angle(f)) * f64::from(factor)) as f32)
            });
            device.upload(&rows.collect::<Vec<_>>())
        };
        Self { cos: table(f64::cos), sin: table(f64::sin), half: frequencies.len() }
    }

    /// Cosines and sines.
    pub(crate) fn tables(&self) -> (View<'_, f32>, View<'_, f32>) {
        (self.cos.view(), self.sin.view())
    }

    /// Number of positions in the tables.
    pub fn positions(&self) -> usize {
        self.cos.len() / self.half.max(1)
    }
}

/// The angles by which rows are turned.
#[derive(Debug, Clone, Copy)]
pub struct Angles<'a> {
    /// Cosines and sines of every position.
    pub table: &'a RopeTable,
    /// The position of each row.
    pub positions: View<'a, u32>,
    /// The direction of the rotation.
    pub direction: Rotate,
}

/// Turns the heads in place.
///
/// # Panics
///
/// If the shapes do not fit, or a position has no table.
pub fn turn(device: &Device, x: &mut ViewMut<'_>, shape: Heads, angles: Angles<'_>) {
    shape.check(x.len());
    let Angles { table, positions, .. } = angles;
    assert!(shape.size == 2 * table.half && positions.len() == shape.rows, "heads to turn");
    match device {
        Device::Cpu(cpu) => cpu::rope::turn(&cpu.threads, x.host(), shape, angles),
        Device::Cuda(cuda) => cuda::elementwise::turn(cuda, x, shape, angles),
    }
}
