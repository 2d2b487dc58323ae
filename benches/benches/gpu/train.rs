//! A step of training an adapter.

use std::error::Error;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Forward, Gradients, Sequence, Signal};
use whetstone_train::optimizer::{Optimizer, Rule};

use crate::{Batch, Model, gib, median, ms, tokens};

const LENGTH: usize = 1024;
const WARM: usize = 3;
const STEPS: usize = 8;

/// Seconds of the parts of a step.
#[derive(Debug, Default, Clone, Copy)]
struct Parts {
    forward: f64,
    backward: f64,
    update: f64,
}

/// Milliseconds of a step, of its parts when each is waited for, and memory.
pub(crate) fn step(
    device: &Device,
    model: &mut Model,
    batch: Batch,
) -> Result<Value, Box<dyn Error>> {
    let Model { decoder, load_s, weight_bytes } = model;
    let Batch { sequences: count, keep } = batch;
    let mut gradients = Gradients::new(device, decoder.parameters());
    let mut optimizer = Optimizer::new(device, decoder.parameters());
    let (mut times, mut parts) = (Vec::new(), Vec::new());
    let mut first = 0.0;
    for step in 0..WARM + 2 * STEPS {
        let apart = step >= WARM + STEPS;
        let wait = || if apart { device.check() } else { Ok(()) };
        let all = tokens(count * (LENGTH + 1), decoder.config().vocab, step);
        let sequences: Vec<Sequence<'_>> = all
            .chunks(LENGTH + 1)
            .map(|tokens| Sequence { tokens: &tokens[..LENGTH], asked: 1..LENGTH })
            .collect();
        device.check()?;
        let (mut part, begin) = (Parts::default(), Instant::now());
        gradients.clear(device);
        let batch = decoder.batch(&sequences)?;
        let forward = Forward { keep: Some(keep), ..Forward::default() };
        let (scored, trail) = decoder.forward(&batch, forward);
        part.forward = begin.elapsed().as_secs_f64();
        let dlogp = vec![1e-4; scored.logp.len()];
        let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
        let trail = trail.ok_or("nothing was kept")?;
        decoder.backward(&batch, trail, (signal, &mut gradients));
        wait()?;
        part.backward = begin.elapsed().as_secs_f64() - part.forward;
        let bad = gradients.first_not_finite(device);
        let norm = gradients.sum_of_squares(device).sqrt();
        if bad.is_some() || !norm.is_finite() {
            return Err("a gradient is not finite".into());
        }
        let rule = Rule { lr: 1e-5, betas: (0.9, 0.999), decay: 0.01, scale: 1.0 };
        optimizer.update(device, (decoder.parameters_mut(), &gradients), rule);
        device.check()?;
        let whole = begin.elapsed().as_secs_f64();
        part.update = whole - part.forward - part.backward;
        match step {
            0 => first = whole,
            _ if apart => parts.push(part),
            _ if step >= WARM => times.push(whole),
            _ => {}
        }
    }
    let of =
        |which: fn(&Parts) -> f64| ms(median(&mut parts.iter().map(which).collect::<Vec<_>>()));
    let seconds = median(&mut times);
    Ok(json!({
        "load_s": load_s,
        "first_step_ms": ms(first),
        "step_ms": ms(seconds),
        "forward_ms": of(|part| part.forward),
        "backward_ms": of(|part| part.backward),
        "update_ms": of(|part| part.update),
        "tokens_per_s": ((count * LENGTH) as f64 / seconds).round(),
        "weights_gib": gib(*weight_bytes),
        "held_gib": gib(device.held_bytes()),
    }))
}
