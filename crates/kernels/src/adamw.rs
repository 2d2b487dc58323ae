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
use crate::cuda;
use crate::device::Device;
use crate::matmul::Matrix;

/// The hyperparameters of AdamW, and the present step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// The learning rate of this step.
    pub lr: f64,
    /// Decay rate of the first-moment estimate.
    pub beta1: f64,
    /// Decay rate of the second-moment estimate.
    pub beta2: f64,
    /// Keeps a quotient finite.
    pub epsilon: f64,
    /// Decoupled weight decay, in units of `lr`.
    pub decay: f64,
    /// The step, from 1.
    pub step: u64,
    /// Multiplies gradients first: the mean over the batch and gradient clipping in one factor.
    pub gradient_scale: f64,
}

/// The factors of a step, computed in f64 and used in f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factors {
    /// `1 - lr · decay`.
    pub(crate) kept: f32,
    /// `1 - β1`.
    pub(crate) toward: f32,
    /// `β2`.
    pub(crate) beta2: f32,
    /// `1 - β2`.
    pub(crate) fresh: f32,
    /// `lr / (1 - β1^t)`.
    pub(crate) rate: f32,
    /// `√(1 - β2^t)`.
    pub(crate) root: f32,
    /// `ε`.
    pub(crate) epsilon: f32,
    /// Of the gradient.
    pub(crate) scale: f32,
}

impl Factors {
    #[expect(clippy::cast_possible_truncation, reason = "computed in f64, used in f32")]
    fn new(rule: &AdamW) -> Self {
        let steps = i32::try_from(rule.step).unwrap_or(i32::MAX);
        Self {
            kept: (1.0 - rule.lr * rule.decay) as f32,
            toward: (1.0 - rule.beta1) as f32,
            beta2: rule.beta2 as f32,
            fresh: (1.0 - rule.beta2) as f32,
            rate: (rule.lr / (1.0 - rule.beta1.powi(steps))) as f32,
            root: (1.0 - rule.beta2.powi(steps)).sqrt() as f32,
            epsilon: rule.epsilon as f32,
            scale: rule.gradient_scale as f32,
        }
    }
}

/// A weight and its two means.
#[derive(Debug)]
pub struct AdamState<'a> {
    /// The weight.
    pub weight: ViewMut<'a, f32>,
    /// The mean of gradients.
    pub mean: ViewMut<'a, f32>,
    /// The mean of their squares.
    pub square: ViewMut<'a, f32>,
}

/// The copy of a weight that products use, if there is one: it is written with the weight.
#[derive(Debug)]
pub struct Copied<'a>(pub(crate) Matrix<'a>);

/// A weight that makes a step.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// It and its means.
    pub state: AdamState<'a>,
    /// Its gradient.
    pub gradient: View<'a, f32>,
    /// Its copy, if it has one.
    pub copy: Option<Copied<'a>>,
    /// Whether some of it goes away.
    pub is_decayed: bool,
}

/// One step of one weight.
///
/// # Panics
///
/// If the views are not equally long, or the step is 0.
pub fn step(device: &Device, state: AdamState<'_>, gradient: View<'_, f32>, rule: &AdamW) {
    step_all(device, &mut [Tensor { state, gradient, copy: None, is_decayed: true }], rule);
}

/// One step of all of them; on CUDA in one launch.
///
/// # Panics
///
/// If a tensor's views are not equally long, or the step is 0.
pub fn step_all(device: &Device, tensors: &mut [Tensor<'_>], rule: &AdamW) {
    for Tensor { state, gradient, copy, .. } in &*tensors {
        let length = gradient.len();
        let equal = [&state.weight, &state.mean, &state.square].iter().all(|x| x.len() == length);
        assert!(equal, "a weight, its gradient and its means");
        let fits = copy.as_ref().is_none_or(|copy| copy.0.rows * copy.0.cols == length);
        assert!(fits, "a copy of each number");
    }
    assert!(rule.step > 0, "steps are counted from 1");
    let factors = Factors::new(rule);
    match device {
        Device::Cpu(cpu) => {
            for Tensor { state, gradient, is_decayed, .. } in tensors {
                let kept = if *is_decayed { factors.kept } else { 1.0 };
                let factors = Factors { kept, ..factors };
                cpu::adamw::step(&cpu.threads, state, gradient.host(), &factors);
            }
        }
        Device::Cuda(cuda) => cuda::tensors::adamw(cuda, tensors, &factors),
    }
}
