//! From a gradient to new weights: clipped, and only if every number is one.

use whetstone_core::config::TrainingConfig;
use whetstone_model::decoder::{Decoder, Gradients};

use crate::error::TrainError;
use crate::optimizer::{Optimizer, Rule, clip_scale};

/// What an update was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Updated {
    /// The norm of the gradient before it was clipped.
    pub(crate) norm: f64,
}

/// Changes the weights, unless a gradient is infinite or none: then nothing is touched and the error
/// says which.
pub(crate) fn apply(
    decoder: &mut Decoder,
    (optimizer, gradients): (&mut Optimizer, &Gradients),
    (lr, training): (f64, &TrainingConfig),
) -> Result<Updated, TrainError> {
    let device = decoder.device().clone();
    if let Some(id) = gradients.first_not_finite(&device) {
        let name = &decoder.parameters().get(id).name;
        return Err(TrainError::NoNumber(format!("the gradient of `{name}` is not finite")));
    }
    let norm = gradients.sum_of_squares(&device).sqrt();
    let rule = Rule {
        lr,
        betas: (training.adam_beta1, training.adam_beta2),
        decay: training.weight_decay,
        scale: clip_scale(norm, training.max_grad_norm),
    };
    optimizer.update(&device, (decoder.parameters_mut(), gradients), rule);
    Ok(Updated { norm })
}
