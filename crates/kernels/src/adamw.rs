//! `AdamW`: Adam with the decay of weights apart from the gradient.
//!
//! Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, in the order of PyTorch:
//!
//! ```text
//! w ← w · (1 - lr · decay)
//! m ← m + (1 - β1) · (g - m)        v ← β2 · v + (1 - β2) · g²
//! w ← w - lr / (1 - β1^t) · m / (√v / √(1 - β2^t) + ε)
//! ```

use crate::buffer::{View, ViewMut};
use crate::cpu;
use crate::device::Device;

/// What does not change from step to step, and what does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// The learning rate of this step.
    pub lr: f64,
    /// How slowly the mean follows.
    pub beta1: f64,
    /// How slowly the mean of squares follows.
    pub beta2: f64,
    /// Keeps a quotient finite.
    pub epsilon: f64,
    /// How much of a weight goes away at a step, in units of `lr`.
    pub decay: f64,
    /// Which step this is, from 1.
    pub step: u64,
    /// What gradients are multiplied by first: one number for the mean and for clipping.
    pub gradient_scale: f64,
}

/// A weight and its two means.
#[derive(Debug)]
pub struct State<'a> {
    /// The weight.
    pub weight: ViewMut<'a>,
    /// The mean of gradients.
    pub mean: ViewMut<'a>,
    /// The mean of their squares.
    pub square: ViewMut<'a>,
}

/// One step of one weight.
///
/// # Panics
///
/// If the views are not equally long, or the step is 0.
pub fn step(device: &Device, mut state: State<'_>, gradient: View<'_>, rule: &AdamW) {
    let length = gradient.len();
    assert!(
        state.weight.len() == length && state.mean.len() == length && state.square.len() == length,
        "a weight, its gradient and its means"
    );
    assert!(rule.step > 0, "steps are counted from 1");
    let Device::Cpu(cpu) = device;
    cpu::adamw::step(&cpu.threads, &mut state, gradient.host(), rule);
}
