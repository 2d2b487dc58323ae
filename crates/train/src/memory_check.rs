//! A memory check: the longest micro-batch goes forward and backward before the first step, so that a
//! training which runs out of memory does so at once.

use whetstone_algo::Signals;
use whetstone_model::decoder::Gradients;

use crate::error::TrainError;
use crate::example::{Example, order};
use crate::pass::Pass;

/// Sends the longest micro-batch forward and back, with a signal of zeros. Nothing changes; returns the
/// bytes that the device then holds.
pub(crate) fn memory_check(
    pass: Pass<'_>,
    examples: &[Example],
    gradients: &mut Gradients,
) -> Result<usize, TrainError> {
    let longest: Vec<&Example> =
        order(examples).into_iter().take(pass.micro_batch).map(|at| &examples[at]).collect();
    pass.learn(&longest, gradients, |_, scores| {
        Ok(Signals::of_logp(vec![0.0; scores.logp.len()]))
    })?;
    let device = pass.decoder.device();
    device.check()?;
    Ok(device.held_bytes())
}
