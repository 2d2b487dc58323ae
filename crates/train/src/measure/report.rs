//! Times of training and sampling as rates, and as shares of what the device does at best.

use serde::Serialize;
use whetstone_model::Config;

use super::{Decoded, Rates, StepTimes};

/// The sizes of the measurement, after defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Sequences of a training step.
    pub batch: usize,
    /// Tokens of each.
    pub length: usize,
    /// Sequences that are sampled together.
    pub sequences: usize,
    /// Tokens of a prompt.
    pub prompt: usize,
    /// Tokens that are sampled.
    pub new: usize,
}

/// Number of weights in matrix products, and KV cache bytes per token.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// Numbers of the weights.
    pub numbers: usize,
    /// Numbers of keys and values of a token.
    pub cache_numbers: usize,
}

impl Weights {
    /// Of a model.
    pub fn of(shape: &Config) -> Self {
        let heads = (2 * shape.heads + 2 * shape.kv_heads) * shape.head_dim * shape.width;
        let layer = heads + 3 * shape.width * shape.ffn;
        Self {
            numbers: shape.layers * layer + shape.vocab * shape.width,
            cache_numbers: 2 * shape.layers * shape.kv_heads * shape.head_dim,
        }
    }
}

/// What `whet bench` measured.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// The model, as it was named.
    pub model: String,
    /// The name of the device.
    pub device: String,
    /// What was measured.
    pub sizes: Sizes,
    /// Gigabytes a second of a large copy.
    pub copy_gb_per_s: f64,
    /// TFLOP/s of a large product.
    pub product_tflop_per_s: f64,
    /// A step of training.
    pub training: TrainingReport,
    /// A step of sampling.
    pub sampling: SamplingReport,
    /// Gibibytes of buffers at most.
    pub held_gib: f64,
}

/// A step of training.
#[derive(Debug, Serialize)]
pub struct TrainingReport {
    /// Milliseconds of a step.
    pub step_ms: f64,
    /// Milliseconds of the forward pass.
    pub forward_ms: f64,
    /// Milliseconds of the backward pass.
    pub backward_ms: f64,
    /// Milliseconds of the update.
    pub update_ms: f64,
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// TFLOP/s of the products of the weights.
    pub tflop_per_s: f64,
    /// Share of the throughput of a large matrix product.
    pub share_of_product: f64,
}

/// A step of sampling.
#[derive(Debug, Serialize)]
pub struct SamplingReport {
    /// Milliseconds of a step.
    pub step_ms: f64,
    /// Milliseconds of the prefill.
    pub prefill_ms: f64,
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// Gigabytes a second that are read.
    pub gb_per_s: f64,
    /// Share of the bandwidth of a copy.
    pub share_of_copy: f64,
    /// Sequences of the fullest step: fewer than were asked for if the KV cache had no room for all.
    pub rows: usize,
    /// Tokens that were sampled: of each sequence as many as were asked for.
    pub sampled_tokens: usize,
    /// Tokens of a sequence before the first step and after the last.
    pub context_tokens: [usize; 2],
}

/// Everything that was measured.
pub struct Measured<'a> {
    /// What was measured.
    pub sizes: Sizes,
    /// What the device does at best.
    pub rates: Rates,
    /// Times of a training step.
    pub times: StepTimes,
    /// What was sampled.
    pub decoded: &'a Decoded,
    /// Numbers of the model.
    pub weights: Weights,
    /// Bytes of a number.
    pub number_bytes: usize,
    /// Bytes of buffers at most.
    pub held: usize,
}

impl Measured<'_> {
    /// The rates, and their shares of what the device does at best.
    #[expect(clippy::cast_precision_loss, reason = "counts become rates")]
    pub fn report(&self, model: String, device: String) -> BenchReport {
        let Self { sizes, rates, times, decoded, weights, number_bytes, held } = self;
        let tokens = (sizes.batch * sizes.length) as f64;
        let flop = 4.0 * weights.numbers as f64 * tokens;
        let context = sizes.prompt + sizes.new / 2;
        let cached = sizes.sequences * context * weights.cache_numbers;
        let bytes = ((weights.numbers + cached) * number_bytes) as f64;
        let (training_rate, sampling_rate) = (flop / times.step, bytes / decoded.step());
        BenchReport {
            model,
            device,
            sizes: *sizes,
            copy_gb_per_s: rates.copy_bytes / 1e9,
            product_tflop_per_s: rates.product_flop / 1e12,
            training: TrainingReport {
                step_ms: 1e3 * times.step,
                forward_ms: 1e3 * times.forward,
                backward_ms: 1e3 * times.backward,
                update_ms: 1e3 * times.update,
                tokens_per_s: tokens / times.step,
                tflop_per_s: training_rate / 1e12,
                share_of_product: training_rate / rates.product_flop,
            },
            sampling: SamplingReport {
                step_ms: 1e3 * decoded.step(),
                prefill_ms: 1e3 * decoded.usage.prefill_time.as_secs_f64(),
                tokens_per_s: decoded.tokens_per_second(),
                gb_per_s: sampling_rate / 1e9,
                share_of_copy: sampling_rate / rates.copy_bytes,
                rows: decoded.usage.widest,
                sampled_tokens: decoded.usage.sampled,
                context_tokens: [sizes.prompt, sizes.prompt + sizes.new],
            },
            held_gib: *held as f64 / f64::from(1 << 30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_the_device_does() {
        let sizes = Sizes { batch: 1, length: 10, sequences: 2, prompt: 3, new: 2 };
        let times = StepTimes { step: 2.0, ..StepTimes::default() };
        let usage = whetstone_infer::Usage {
            sampled: 4,
            steps: 1,
            decode_time: std::time::Duration::from_secs(4),
            ..Default::default()
        };
        let decoded = Decoded { prompts: Vec::new(), drawn: Vec::new(), usage };
        let measured = Measured {
            sizes,
            rates: Rates { copy_bytes: 100.0, product_flop: 1000.0 },
            times,
            decoded: &decoded,
            weights: Weights { numbers: 20, cache_numbers: 5 },
            number_bytes: 2,
            held: 1 << 30,
        };
        let report = measured.report("m".to_owned(), "d".to_owned());
        // 4 · 20 · 10 operations in two seconds; 2 · (20 + 2 · 4 · 5) bytes in four.
        assert!((report.training.share_of_product - 0.4).abs() < 1e-12);
        assert!((report.sampling.share_of_copy - 0.3).abs() < 1e-12);
        assert!((report.training.tokens_per_s - 5.0).abs() < 1e-12);
        assert!((report.sampling.tokens_per_s - 1.0).abs() < 1e-12);
    }
}
