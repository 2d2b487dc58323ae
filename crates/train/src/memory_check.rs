//! A memory check: the longest micro-batch goes forward and backward before the first step, so that a
//! training which runs out of memory does so at once.
//!
//! Where the device has no memory of its own, what the micro-batch takes is compared with what the machine has left
//! before: a kernel without memory does not refuse, it kills a process.

use whetstone_algo::Signals;
use whetstone_kernels::{Device, host_memory};
use whetstone_model::Config;
use whetstone_model::decoder::{Decoder, Gradients, Keep};
use whetstone_model::memory::{self, Plan, Purpose, Target, Work};

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
    let tokens = longest.iter().map(|example| example.tokens.len()).sum();
    check_host_room(pass.decoder, pass.forward.keep, tokens)?;
    pass.learn(&longest, gradients, |_, scores| {
        Ok(Signals::of_logp(vec![0.0; scores.logp.len()]))
    })?;
    let device = pass.decoder.device();
    device.check()?;
    Ok(device.held_bytes())
}

/// Refuses a micro-batch of so many tokens on a CPU whose machine has less memory left than its activations take.
///
/// # Errors
///
/// If it has less; the error says what takes most.
pub(crate) fn check_host_room(
    decoder: &Decoder,
    keep: Option<Keep>,
    tokens: usize,
) -> Result<(), TrainError> {
    let (Device::Cpu(_), Some(keep)) = (decoder.device(), keep) else { return Ok(()) };
    let needed = activations(decoder.config(), keep, tokens);
    host_memory::available_bytes().map_or(Ok(()), |available| refuse(&needed, available))
}

/// What a micro-batch takes beside weights, gradients and means, which are in memory already.
fn activations(config: &Config, keep: Keep, tokens: usize) -> Plan {
    let work = Work { batch: 1, length: tokens, eight_bit: false, target: Target::Cpu };
    let Plan { kept, temporary, logits, .. } = memory::plan(config, work, Purpose::Full(keep));
    Plan { kept, temporary, logits, ..Plan::default() }
}

fn refuse(needed: &Plan, available: u64) -> Result<(), TrainError> {
    if needed.total() <= available {
        return Ok(());
    }
    Err(TrainError::no_room(needed, needed.total(), available))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_micro_batch_that_is_larger_than_the_memory_that_is_left_is_refused_with_what_takes_most() {
        let needed = Plan { kept: 3 << 30, temporary: 1 << 30, ..Plan::default() };
        assert!(refuse(&needed, 4 << 30).is_ok());
        let problem = refuse(&needed, (4 << 30) - (1 << 20)).unwrap_err().to_string();
        let expected = "this needs about 4096 MiB on the device, which has 4095 MiB free: 3072 MiB are what layers \
                        keep for the backward pass";
        assert_eq!(problem, expected);
    }
}
