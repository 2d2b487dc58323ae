//! The backward pass of a norm whose gradient is added to a residual's.

use whetstone_kernels::Buffer;
use whetstone_kernels::rms_norm::{self, GradientBeside, Heads};

use super::{LayerGradients, NormInput, norm};
use crate::decoder::pass::Pass;

/// The sum of the gradient through a norm and `added`, the residual's gradient: rows as wide as the
/// norm's, possibly with a larger stride. It replaces the residual's gradient. The norm's output is recomputed for the
/// gradients of its readers.
pub(super) fn norm_backward_beside(
    pass: &Pass<'_>,
    input: NormInput<'_>,
    from: BackwardBeside<'_>,
    gradients: &mut LayerGradients<'_>,
) {
    let NormInput { x, gain } = input;
    let BackwardBeside { dy, added, normed } = from;
    let LayerGradients { dx, sums, .. } = gradients;
    let width = pass.sizes.width;
    let rows = Heads::rows(x.len() / width, width);
    let apart = |length: usize| Heads { stride: length / rows.rows.max(1), ..rows };
    let to = apart(dx.len());
    let gradient = GradientBeside {
        dx: rms_norm::Output { data: dx.view_mut(), shape: to },
        added: rms_norm::Input { data: added.view(), shape: apart(added.len()) },
        normed: Some(rms_norm::Output { shape: apart(normed.len()), data: normed.view_mut() }),
        dgain: sums.gain(gain),
    };
    let x = rms_norm::Input { data: x, shape: rows };
    let dy = rms_norm::Input { data: dy.view(), shape: rows };
    let saved = rms_norm::Saved { x, dy };
    rms_norm::backward_beside(pass.device, gradient, saved, norm(pass, gain));
}

/// The gradient through a norm, the one it is added to, and a buffer for the norm's output.
#[derive(Debug)]
pub(super) struct BackwardBeside<'a> {
    pub(super) dy: &'a Buffer,
    pub(super) added: &'a Buffer,
    pub(super) normed: &'a mut Buffer,
}
