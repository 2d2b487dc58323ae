//! A step of training: forward, backward, norm of the gradients, `AdamW`.

use std::time::Instant;

use whetstone_kernels::{Device, DeviceError};
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, Sequence, Signal};

use super::{median, tokens};
use crate::optimizer::{Optimizer, Rule};

/// Steps before the first that counts.
const WARM: usize = 3;

/// A step to measure.
#[derive(Debug, Clone, Copy)]
pub struct Training {
    /// Sequences of a step.
    pub sequences: usize,
    /// Tokens of each.
    pub length: usize,
    /// What is kept of the way forward.
    pub keep: Keep,
    /// Steps that count, once as a whole and once in parts.
    pub steps: usize,
}

/// Seconds of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepTimes {
    /// The first step, which looks for algorithms.
    pub first: f64,
    /// The middle one of those that count.
    pub step: f64,
    /// Forward, when each part is waited for.
    pub forward: f64,
    /// Backward.
    pub backward: f64,
    /// The norm of the gradients and the update.
    pub update: f64,
}

/// Trains what is trainable of a decoder on noise.
///
/// # Errors
///
/// If the device fails.
///
/// # Panics
///
/// If the decoder has not so many positions.
pub fn training_step(
    device: &Device,
    decoder: &mut Decoder,
    training: Training,
) -> Result<StepTimes, DeviceError> {
    let Training { sequences, length, keep, steps } = training;
    let mut trainer = Trainer {
        gradients: Gradients::new(device, decoder.parameters()),
        optimizer: Optimizer::new(device, decoder.parameters()),
        decoder,
        keep,
    };
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let mut first = 0.0;
    for step in 0..WARM + 2 * steps {
        let wait = if step >= WARM + steps { Wait::AfterEachPart } else { Wait::AtTheEnd };
        let all = tokens(sequences * length, trainer.decoder.config().vocab, step);
        let rows: Vec<Sequence<'_>> =
            all.chunks(length).map(|tokens| Sequence { tokens, asked: 1..tokens.len() }).collect();
        let times = trainer.step(device, &rows, wait)?;
        match (step, wait) {
            (0, _) => first = times.step,
            (_, Wait::AfterEachPart) => parts.push(times),
            (WARM.., Wait::AtTheEnd) => whole.push(times.step),
            _ => {}
        }
    }
    let of = |which: fn(&StepTimes) -> f64| median(parts.iter().map(which).collect());
    Ok(StepTimes {
        first,
        step: median(whole),
        forward: of(|times| times.forward),
        backward: of(|times| times.backward),
        update: of(|times| times.update),
    })
}

/// When the device is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    AtTheEnd,
    AfterEachPart,
}

struct Trainer<'a> {
    decoder: &'a mut Decoder,
    gradients: Gradients,
    optimizer: Optimizer,
    keep: Keep,
}

impl Trainer<'_> {
    /// One step on rows, and its times.
    fn step(
        &mut self,
        device: &Device,
        rows: &[Sequence<'_>],
        wait: Wait,
    ) -> Result<StepTimes, DeviceError> {
        let Self { decoder, gradients, optimizer, keep } = self;
        device.check()?;
        let (mut times, begin) = (StepTimes::default(), Instant::now());
        gradients.clear(device);
        let batch = decoder.batch(rows).expect("tokens of the vocabulary that fit");
        let forward = Forward { keep: Some(*keep), ..Forward::default() };
        let (scored, tape) = decoder.forward(&batch, forward);
        times.forward = begin.elapsed().as_secs_f64();
        let dlogp = vec![1e-4; scored.logp.len()];
        let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
        decoder.backward(&batch, tape.expect("something was kept"), signal, gradients);
        if wait == Wait::AfterEachPart {
            device.check()?;
        }
        times.backward = begin.elapsed().as_secs_f64() - times.forward;
        // Read by the host in training too.
        let _ = gradients.sum_of_squares(device);
        let betas = (0.9, 0.999);
        let rule = Rule { lr: 1e-5, betas, decay: 0.01, scale: 1.0, apart_scale: 1.0 };
        optimizer.update(device, decoder.parameters_mut(), gradients, rule);
        device.check()?;
        times.step = begin.elapsed().as_secs_f64();
        times.update = times.step - times.forward - times.backward;
        Ok(times)
    }
}
