//! Whole models on a GPU: a step of training and decoding, at the shapes of Qwen3-1.7B and Qwen3-8B with
//! random weights.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench gpu                  # all of it
//! cargo bench -p whetstone-benches --bench gpu -- lora decode   # some of it
//! cargo bench -p whetstone-benches --bench gpu -- decode 256    # at 256 sequences alone
//! ```
//!
//! `lora` and `lora-recompute`: rank 64 on seven projections, 8 sequences of 1024 tokens, forward,
//! backward, norm and `AdamW`; the median of its steps, with what each part takes when it is waited
//! for. `decode`: an adapter with trained values, prompts of 64 tokens, 256 new ones with the
//! log-probability of each, at 64, 256 and 1,024 sequences. `lora-8b`: rank 16 on the projections of
//! attention, 4 sequences of 1024; `decode-8b`: at 64 sequences. `bits`: over 100,000 tokens of the golden
//! models, of SmolLM2 where its files are among the test data, and of random models with trained adapters,
//! sampled 300 sequences side by side: bits that differ in training, and for a prompt by itself. Memory is
//! what buffers hold. Writes one JSON object; without a GPU, or if a bit differs, it says so and ends with 2.

#![expect(clippy::cast_precision_loss, reason = "counts become rates")]

mod bits;
mod decode;
mod train;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Map, Value, json};
use whetstone_core::config::{LoraConfig, Module};
use whetstone_kernels::Device;
use whetstone_model::config::{Config, Family, Rope, Scaling};
use whetstone_model::decoder::{Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_model::weights::Dtype;

fn main() -> ExitCode {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (said, code) = match measured(&wanted) {
        Ok(found) => (writeln!(io::stdout(), "{found:#}"), ExitCode::SUCCESS),
        Err(error) => (writeln!(io::stderr(), "error: {error}"), ExitCode::from(2)),
    };
    if said.is_ok() { code } else { ExitCode::from(3) }
}

fn measured(wanted: &[String]) -> Result<Value, Box<dyn Error>> {
    let device = Device::cuda(0)?;
    let asked = |what: &str| wanted.is_empty() || wanted.iter().any(|word| word == what);
    let mut counts: Vec<usize> = wanted.iter().filter_map(|word| word.parse().ok()).collect();
    if counts.is_empty() {
        counts = vec![64, 256, 1024];
    }
    let mut all = Map::new();
    if let Device::Cuda(cuda) = &device {
        all.insert("device".to_owned(), json!(cuda.info().properties.name));
    }
    if asked("bits") {
        all.insert("bits".to_owned(), bits::bits(&device)?);
        device.trim();
    }
    let small = Subject { shape: qwen3_1_7b(), lora: lora() };
    if ["lora", "lora-recompute", "decode"].iter().any(|what| asked(what)) {
        let mut model = small.model(&device)?;
        for (what, keep) in [("lora", Keep::Most), ("lora-recompute", Keep::Input)] {
            if asked(what) {
                all.insert(
                    what.to_owned(),
                    train::step(&device, &mut model, Batch { sequences: 8, keep })?,
                );
                device.trim();
            }
        }
        if asked("decode") {
            all.insert("decode".to_owned(), decode::decode(&device, &model, &counts)?);
        }
    }
    device.trim();
    if asked("lora-8b") || asked("decode-8b") {
        let target_modules = vec![Module::QProj, Module::KProj, Module::VProj, Module::OProj];
        let lora = LoraConfig { rank: 16, alpha: 32.0, target_modules };
        let mut model = Subject { shape: qwen3_8b(), lora }.model(&device)?;
        if asked("lora-8b") {
            let batch = Batch { sequences: 4, keep: Keep::Most };
            all.insert("lora-8b".to_owned(), train::step(&device, &mut model, batch)?);
            device.trim();
        }
        if asked("decode-8b") {
            all.insert("decode-8b".to_owned(), decode::decode(&device, &model, &[64])?);
        }
    }
    Ok(Value::from(all))
}

/// Sequences of a step, and what is kept of the forward pass.
#[derive(Debug, Clone, Copy)]
struct Batch {
    sequences: usize,
    keep: Keep,
}

/// A model and what it took to load.
struct Model {
    decoder: Decoder,
    load_s: f64,
    weight_bytes: usize,
}

/// What is measured.
struct Subject {
    shape: Config,
    lora: LoraConfig,
}

/// Positions that every measurement finds room in.
const POSITIONS: usize = 1025;

fn lora() -> LoraConfig {
    LoraConfig { rank: 64, alpha: 128.0, ..LoraConfig::default() }
}

fn smollm2_135m() -> Config {
    Config {
        family: Family::Llama,
        vocab: 49_152,
        width: 576,
        layers: 30,
        heads: 9,
        kv_heads: 3,
        head_dim: 64,
        ffn: 1536,
        rms_eps: 1e-5,
        rope: Rope { theta: 1e5, scaling: Scaling::None },
        qk_norm: false,
        ..qwen3_1_7b()
    }
}

fn qwen3_8b() -> Config {
    Config { width: 4096, layers: 36, heads: 32, ffn: 12_288, tied_head: false, ..qwen3_1_7b() }
}

fn qwen3_1_7b() -> Config {
    Config {
        family: Family::Qwen3,
        vocab: 151_936,
        width: 2048,
        layers: 28,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        ffn: 6144,
        rms_eps: 1e-6,
        rope: Rope { theta: 1e6, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: true,
        positions: 4096,
        bos: None,
        eos: Vec::new(),
        pad: None,
        dtype: Dtype::Bf16,
    }
}

impl Subject {
    /// Numbers that are cheap to make, frozen, with an adapter that has numbers in both halves.
    fn model(&self, device: &Device) -> Result<Model, Box<dyn Error>> {
        let begin = Instant::now();
        let some: Vec<f32> = (0..1u32 << 20).map(number).collect();
        let options = LoadOptions { weights: WeightFormat::Frozen, positions: POSITIONS };
        let mut decoder = Decoder::made(device, &self.shape, options, |at, tensor| {
            let count: usize = tensor.shape.iter().product();
            match tensor.shape.len() {
                1 => vec![1.0; count],
                _ => repeated(&some, usize::try_from(at).unwrap_or(0) * 7919, count),
            }
        });
        decoder.add_adapter(&self.lora, 1);
        let ids: Vec<_> = decoder.adapter_parameters().collect();
        for id in ids {
            let parameters = decoder.parameters_mut();
            let numbers = repeated(&some, 0, parameters.get(id).numbers());
            let from = device.upload::<f32>(&numbers);
            device.copy(&mut parameters.values_mut(id), from.view());
            parameters.refresh(device, id);
        }
        device.check()?;
        let load_s = begin.elapsed().as_secs_f64();
        device.trim();
        Ok(Model { decoder, load_s, weight_bytes: device.held_bytes() })
    }
}

/// This many of these numbers, from an index on, with wrap-around.
fn repeated(some: &[f32], first: usize, count: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let from = (first + all.len()) % some.len();
        let end = some.len().min(from + count - all.len());
        all.extend_from_slice(&some[from..end]);
    }
    all
}

/// Spread over ±0.035, as new weights are.
fn number(at: u32) -> f32 {
    let bits = at.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519);
    ((bits >> 8) as f32 / (1 << 24) as f32 - 0.5) * 0.07
}

fn ms(seconds: f64) -> f64 {
    (seconds * 1e5).round() / 1e2
}

fn gib(bytes: usize) -> f64 {
    (bytes as f64 / f64::from(1 << 30) * 100.0).round() / 100.0
}
