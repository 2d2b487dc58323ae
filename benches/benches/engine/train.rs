//! A step of training: forward, backward and `AdamW`.

use std::time::Instant;

use serde_json::{Value, json};
use whetstone_core::config::LoraConfig;
use whetstone_kernels::adamw::{self, AdamState, AdamW};
use whetstone_kernels::{Buffer, Device};
use whetstone_model::config::Config;
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, ParameterId, Sequence, Signal};

use crate::shapes::{median, rounded, tokens};
use crate::{STEPS, WARM};

/// Sequences of a step, and the tokens that each is asked about.
#[derive(Clone, Copy)]
pub(crate) struct BatchShape {
    pub(crate) batch: usize,
    pub(crate) length: usize,
}

/// A model and all that its training holds.
pub(crate) struct Training {
    decoder: Decoder,
    trained: Vec<ParameterId>,
    means: Vec<(Buffer<f32>, Buffer<f32>)>,
    gradients: Gradients,
    steps: usize,
}

impl Training {
    /// Trains an adapter, or every weight.
    pub(crate) fn new(mut decoder: Decoder, lora: Option<&LoraConfig>) -> Self {
        match lora {
            Some(lora) => decoder.add_adapter(lora, 0),
            None => decoder.train_base(true),
        }
        let (device, parameters) = (decoder.device(), decoder.parameters());
        let trained: Vec<_> = parameters.ids().filter(|&id| parameters.get(id).trained).collect();
        let zeros = |id| device.zeros(parameters.get(id).numbers());
        let means = trained.iter().map(|&id| (zeros(id), zeros(id))).collect();
        let gradients = Gradients::new(device, parameters);
        Self { trained, means, gradients, decoder, steps: 0 }
    }

    /// Seconds of one step on this many sequences with this many predicted tokens each.
    pub(crate) fn step(&mut self, shape: BatchShape) -> f64 {
        let BatchShape { batch, length } = shape;
        let tokens = tokens(batch * (length + 1), self.decoder.config().vocab, self.steps);
        let sequences: Vec<Sequence<'_>> = tokens
            .chunks(length + 1)
            .map(|tokens| Sequence { tokens, asked: 1..tokens.len() })
            .collect();
        let signal: Vec<f32> = (0..batch * length)
            .map(|at| ((at * 37 % 101) as f32 / 50.0 - 1.0) / (batch * length) as f32)
            .collect();
        let start = Instant::now();
        let packed = self.decoder.batch(&sequences).expect("tokens of the model");
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, trail) = self.decoder.forward(&packed, forward);
        let signal = Signal { dlogp: &signal, dentropy: None, dvalue: None };
        self.decoder.backward(&packed, trail.expect("kept"), signal, &mut self.gradients);
        self.steps += 1;
        self.update();
        start.elapsed().as_secs_f64()
    }

    fn update(&mut self) {
        let device = self.decoder.device().clone();
        let rule = AdamW {
            lr: 1e-4,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            decay: 0.01,
            step: self.steps as u64,
            gradient_scale: 1.0,
        };
        for (&id, (mean, square)) in self.trained.iter().zip(&mut self.means) {
            let state = AdamState {
                weight: self.decoder.parameters_mut().values_mut(id),
                mean: mean.view_mut(),
                square: square.view_mut(),
            };
            adamw::step(&device, state, self.gradients.get(id).expect("trained"), &rule);
        }
        self.gradients.clear(&device);
    }
}

/// Steps of a new model.
pub(crate) fn train(
    device: &Device,
    config: &Config,
    shape: BatchShape,
    lora: Option<&LoraConfig>,
) -> Value {
    let BatchShape { batch, length } = shape;
    let mut training = Training::new(Decoder::new(device, config, 0, length + 1), lora);
    let mut times: Vec<f64> = (0..WARM + STEPS).map(|_| training.step(shape)).collect();
    let seconds = median(&mut times[WARM..]);
    let count = (batch * length) as f64;
    let work = work_per_token(config, length, lora) * count;
    json!({
        "ms_per_step": rounded(seconds * 1e3),
        "tokens_per_s": (count / seconds).round(),
        "gflops": rounded(work / seconds / 1e9),
    })
}

/// Multiplications and additions of one token, forward and backward: two for each weight that it
/// meets, twice that in the backward pass, or once if weights are not trained; logits of a trained head
/// twice forward.
fn work_per_token(config: &Config, length: usize, lora: Option<&LoraConfig>) -> f64 {
    let (d, q, kv, f) = (config.width, config.query_width(), config.kv_width(), config.ffn);
    let sides = [(d, q), (d, kv), (d, kv), (q, d), (d, f), (d, f), (f, d)];
    let layer: usize = sides.iter().map(|(a, b)| a * b).sum();
    let (weights, head) = (config.layers * layer, config.vocab * d);
    // Each query meets half of the sequence on average, twice forward and five times back.
    let attention = config.layers * q * length / 2 * 7;
    let (trained, logits) = if lora.is_some() { (4, 4) } else { (6, 8) };
    let narrow: usize = sides.iter().map(|(a, b)| a + b).sum();
    let narrow = lora.map_or(0, |lora| 6 * config.layers * narrow * lora.rank as usize);
    (trained * weights + logits * head + 2 * attention + narrow) as f64
}
