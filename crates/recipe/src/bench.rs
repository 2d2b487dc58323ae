//! Throughput of a model on this machine, in training and sampling, and the share of the device's peak
//! that both reach.
//!
//! Sequences are sampled to a fixed number of tokens: the tokens with which a model ends its reply end none, since
//! the rate would else depend on what it says.

use whetstone_core::config::{Config, DeviceChoice, LoraConfig};
use whetstone_infer::{SampledModel, SamplingJob};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_model::{Config as ModelConfig, Pretrained};
use whetstone_train::measure::report::{BenchReport, Measured, Sizes, Weights};
use whetstone_train::measure::{Decoding, Training, decode, rates, training_step};

use crate::device;
use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;

/// What is measured; a size that is absent is that of the device.
#[derive(Debug, Clone)]
pub struct BenchRequest {
    /// The model.
    pub model: String,
    /// The device.
    pub device: DeviceChoice,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
    /// Rank of the adapter that is trained.
    pub rank: u32,
    /// Sequences of a training step.
    pub batch: Option<usize>,
    /// Tokens of each of them.
    pub length: Option<usize>,
    /// Sequences that are sampled side by side.
    pub sequences: Option<usize>,
    /// New tokens of each of them.
    pub new: Option<usize>,
    /// Bytes of the KV cache, at most; planned from the memory of the device if absent.
    pub cache_bytes: Option<usize>,
}

/// Measures a model.
///
/// # Errors
///
/// If the model cannot be read, or the device fails.
pub fn run(request: &BenchRequest, observer: &dyn Observer) -> Result<BenchReport, Failure> {
    let config = Config::default();
    let model = find(&request.model, &Around::of(&config, observer))?.open()?;
    let device = device::choose(request.device, request.threads, observer)?;
    Ok(measure(request, &model, &device, observer)?)
}

fn measure(
    request: &BenchRequest,
    model: &Pretrained,
    device: &Device,
    observer: &dyn Observer,
) -> Result<BenchReport, ModelFailure> {
    let is_cpu = matches!(device, Device::Cpu(_));
    let sizes = sizes(request, is_cpu, model.config.positions);
    observer.note(&"measuring the device");
    let rates = rates(device)?;
    observer.note(&format_args!("loading {}", request.model));
    let mut decoder = load(request.rank, device, model, sizes)?;
    observer.note(&format_args!("training {} × {} tokens", sizes.batch, sizes.length));
    let Sizes { batch: sequences, length, .. } = sizes;
    let steps = if is_cpu { 2 } else { 8 };
    let training = Training { sequences, length, keep: Keep::Most, steps };
    let times = training_step(device, &mut decoder, training)?;
    let held = device.held_bytes();
    device.trim();
    observer.note(&format_args!("sampling {} sequences", sizes.sequences));
    let Sizes { sequences, prompt, new, .. } = sizes;
    let sampled = SampledModel { config: &model.config, device, eight_bit: false };
    let planned = sampled.limits(SamplingJob { sequences, tokens: prompt + new });
    let cache_bytes = request.cache_bytes.unwrap_or(planned.cache_bytes);
    let decoding = Decoding { sequences, prompt, new, cache_bytes };
    let decoded = decode(&decoder, &model.tokenizer, decoding)
        .map_err(|source| ModelFailure::Generate { place: "the prompts".to_owned(), source })?;
    let measured = Measured {
        sizes,
        rates,
        times,
        decoded: &decoded,
        weights: Weights::of(&model.config),
        number_bytes: if is_cpu { 4 } else { 2 },
        held: held.max(device.held_bytes()),
    };
    Ok(measured.report(request.model.clone(), device::name(device).to_owned()))
}

/// The sizes of the measurement, after defaults.
fn sizes(request: &BenchRequest, is_cpu: bool, positions: usize) -> Sizes {
    let or = |asked: Option<usize>, gpu: usize, cpu: usize| {
        asked.unwrap_or(if is_cpu { cpu } else { gpu })
    };
    let prompt = 64.min(positions / 2).max(1);
    Sizes {
        batch: or(request.batch, 8, 4),
        length: or(request.length, 1024, 128).min(positions).max(2),
        sequences: or(request.sequences, 64, 16),
        prompt,
        new: or(request.new, 256, 32).min(positions.saturating_sub(prompt)).max(1),
    }
}

fn load(
    rank: u32,
    device: &Device,
    model: &Pretrained,
    sizes: Sizes,
) -> Result<Decoder, ModelFailure> {
    let positions = sizes.length.max(sizes.prompt + sizes.new);
    let options = LoadOptions { weights: WeightFormat::Frozen, positions };
    let endless = ModelConfig { eos: Vec::new(), ..model.config.clone() };
    let mut decoder = Decoder::load(device, &endless, model.weights.as_ref(), options)?;
    let alpha = 2.0 * f64::from(rank);
    decoder.add_adapter(&LoraConfig { rank, alpha, ..LoraConfig::default() }, 1);
    device.check()?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_devices_and_fit_into_the_model() {
        let mut request = BenchRequest {
            model: "m".to_owned(),
            device: DeviceChoice::Cpu,
            threads: None,
            rank: 64,
            batch: None,
            length: None,
            sequences: None,
            new: None,
            cache_bytes: None,
        };
        let gpu = Sizes { batch: 8, length: 1024, sequences: 64, prompt: 64, new: 256 };
        assert_eq!(sizes(&request, false, 4096), gpu);
        let tiny = Sizes { batch: 4, length: 100, sequences: 16, prompt: 50, new: 32 };
        assert_eq!(sizes(&request, true, 100), tiny);
        (request.new, request.batch) = (Some(9), Some(3));
        let asked = sizes(&request, true, 4096);
        assert_eq!((asked.new, asked.batch), (9, 3));
    }
}
