//! A step of training an adapter.

use std::error::Error;

use serde_json::{Value, json};
use whetstone_kernels::Device;
use whetstone_train::measure::{Training, training_step};

use crate::{Batch, Model, gib, ms};

const LENGTH: usize = 1024;
const STEPS: usize = 8;

/// Milliseconds of a step, of its parts when each is waited for, and memory.
pub(crate) fn step(
    device: &Device,
    model: &mut Model,
    batch: Batch,
) -> Result<Value, Box<dyn Error>> {
    let Model { decoder, load_s, weight_bytes } = model;
    let Batch { sequences, keep } = batch;
    let training = Training { sequences, length: LENGTH, keep, steps: STEPS };
    let times = training_step(device, decoder, training)?;
    Ok(json!({
        "load_s": load_s,
        "first_step_ms": ms(times.first),
        "step_ms": ms(times.step),
        "forward_ms": ms(times.forward),
        "backward_ms": ms(times.backward),
        "update_ms": ms(times.update),
        "tokens_per_s": ((sequences * LENGTH) as f64 / times.step).round(),
        "weights_gib": gib(*weight_bytes),
        "held_gib": gib(device.held_bytes()),
    }))
}
