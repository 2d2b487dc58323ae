//! From a gradient to new weights: clipped, and only if every number is one.

use whetstone_core::config::TrainingConfig;
use whetstone_kernels::norm::sum_of_squares;
use whetstone_model::decoder::{Decoder, Gradients};

use crate::error::TrainError;
use crate::optimizer::{Optimizer, Rule, clip_scale, trained};

/// What an update was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Updated {
    /// The norm of the gradient before it was clipped.
    pub(crate) norm: f64,
}

/// The global norm of a gradient.
pub(crate) fn norm(decoder: &Decoder, gradients: &Gradients) -> f64 {
    let parameters = decoder.parameters();
    let squares = trained(parameters).filter_map(|id| gradients.get(id));
    squares.map(|view| sum_of_squares(decoder.device(), view)).sum::<f64>().sqrt()
}

/// Changes the weights, unless a gradient is infinite or none: then nothing is touched and the error
/// says which.
pub(crate) fn apply(
    decoder: &mut Decoder,
    (optimizer, gradients): (&mut Optimizer, &Gradients),
    (lr, training): (f64, &TrainingConfig),
) -> Result<Updated, TrainError> {
    let norm = norm(decoder, gradients);
    if !norm.is_finite() {
        let what = format!("the gradient of {} is not finite", first_bad(decoder, gradients));
        return Err(TrainError::NoNumber(what));
    }
    let device = decoder.device().clone();
    let rule = Rule {
        lr,
        betas: (training.adam_beta1, training.adam_beta2),
        decay: training.weight_decay,
        scale: clip_scale(norm, training.max_grad_norm),
    };
    optimizer.update(&device, (decoder.parameters_mut(), gradients), rule);
    Ok(Updated { norm })
}

fn first_bad(decoder: &Decoder, gradients: &Gradients) -> String {
    let parameters = decoder.parameters();
    let bad = |view| !sum_of_squares(decoder.device(), view).is_finite();
    let mut ids = trained(parameters);
    let first = ids.find(|&id| gradients.get(id).is_some_and(bad));
    first.map_or_else(|| "all".to_owned(), |id| format!("`{}`", parameters.get(id).name))
}
