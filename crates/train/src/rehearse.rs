//! The longest batch first: what does not fit into memory is known before the first step.

use whetstone_core::config::Config;
use whetstone_model::decoder::{Forward, Gradients};

use crate::error::TrainError;
use crate::example::{Example, order};
use crate::pass::Pass;
use crate::student::{Student, keep};
use crate::watch::{Phase, Watch};

/// Sends the longest micro-batch forward and back, with a signal of zeros. Nothing changes; returns the
/// bytes that the device then holds.
pub(crate) fn rehearse(
    student: &Student,
    config: &Config,
    (examples, gradients): (&[Example], &mut Gradients),
    watch: Watch<'_>,
) -> Result<usize, TrainError> {
    let micro_batch = config.training.per_device_train_batch_size as usize;
    let longest: Vec<&Example> =
        order(examples).into_iter().take(micro_batch).map(|at| &examples[at]).collect();
    let pass = Pass {
        decoder: &student.decoder,
        micro_batch,
        forward: Forward { keep: Some(keep(config)), ..Forward::default() },
        most_bytes: usize::MAX,
        step: 0,
        watch: (watch, Phase::Rehearsing),
    };
    pass.learn(&longest, gradients, |_, seen| Ok(vec![0.0; seen.logp.len()]))?;
    student.decoder.device().check()?;
    Ok(student.decoder.device().held_bytes())
}
