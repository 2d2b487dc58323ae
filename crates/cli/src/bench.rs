//! `whet bench`: throughput of a model on this machine, in training and sampling, and the share of
//! the device's peak that both reach.

use clap::Args;
use serde::Serialize;
use whetstone_core::config::{Config, DeviceChoice, LoraConfig};
use whetstone_infer::GenerateError;
use whetstone_kernels::Device;
use whetstone_model::Pretrained;
use whetstone_model::config::Config as Shape;
use whetstone_model::decoder::{Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_train::measure::{
    Decoded, Decoding, Rates, StepTimes, Training, decode, rates, training_step,
};

use crate::device;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::model::find::{self, Around};
use crate::model::{ModelFailure, open};
use crate::printer::Printer;

/// `whet bench`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct BenchArgs {
    /// The model: a directory, a .gguf file, an adapter or a run that training left, a name of the
    /// hub, or `embedded`
    #[arg(value_name = "MODEL", default_value = "embedded")]
    pub model: String,

    /// Device: `cpu`, `cuda:N`, or `auto`
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Auto)]
    pub device: DeviceChoice,

    /// CPU threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Rank of the adapter that is trained
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub rank: u32,

    /// Sequences of a training step [default: 8 on a GPU, 4 on the CPU]
    #[arg(long, value_name = "N", value_parser = size())]
    pub batch: Option<u32>,

    /// Tokens of each of them [default: 1024 on a GPU, 128 on the CPU, or the model's context
    /// length]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub length: Option<u32>,

    /// Sequences that are sampled side by side [default: 64 on a GPU, 16 on the CPU]
    #[arg(long, value_name = "N", value_parser = size())]
    pub sequences: Option<u32>,

    /// New tokens of each of them, after a prompt of 64 tokens or half of the model's context
    /// length [default: 256 on a GPU, 32 on the CPU]
    #[arg(long, value_name = "N", value_parser = size())]
    pub new: Option<u32>,

    /// Gibibytes of keys and values at most; what does not fit waits
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cache_gb: u32,

    /// Print one JSON document instead
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  whet bench                                    the student that ships with whet, on what is there
  whet bench Qwen/Qwen3-1.7B --device cuda:0    a model on a GPU
  whet bench models/student --sequences 256 --json

An adapter is trained on noise and thrown away; the model is not changed. TFLOP/s count the products of the
model's own weights: forward and the gradient of their input. The bytes of a sampling step are its weights
and the keys and values that it looks at, each read once. Shares are of what a large product and a copy
reach on the same device, a moment before.";

fn size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=65_536)
}

/// The sizes of the measurement, after defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Sizes {
    batch: usize,
    length: usize,
    sequences: usize,
    prompt: usize,
    new: usize,
}

impl Sizes {
    fn of(args: &BenchArgs, is_cpu: bool, positions: usize) -> Self {
        let or = |asked: Option<u32>, gpu: usize, cpu: usize| {
            asked.map_or(if is_cpu { cpu } else { gpu }, |asked| asked as usize)
        };
        let prompt = 64.min(positions / 2).max(1);
        Self {
            batch: or(args.batch, 8, 4),
            length: or(args.length, 1024, 128).min(positions).max(2),
            sequences: or(args.sequences, 64, 16),
            prompt,
            new: or(args.new, 256, 32).min(positions.saturating_sub(prompt)).max(1),
        }
    }
}

/// Number of weights in matrix products, and KV cache bytes per token.
#[derive(Debug, Clone, Copy)]
struct Weights {
    numbers: usize,
    cache_numbers: usize,
}

impl Weights {
    fn of(shape: &Shape) -> Self {
        let heads = (2 * shape.heads + 2 * shape.kv_heads) * shape.head_dim * shape.width;
        let layer = heads + 3 * shape.width * shape.ffn;
        Self {
            numbers: shape.layers * layer + shape.vocab * shape.width,
            cache_numbers: 2 * shape.layers * shape.kv_heads * shape.head_dim,
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    model: String,
    device: String,
    sizes: Sizes,
    copy_gb_per_s: f64,
    product_tflop_per_s: f64,
    training: TrainingReport,
    sampling: SamplingReport,
    held_gib: f64,
}

#[derive(Debug, Serialize)]
struct TrainingReport {
    step_ms: f64,
    forward_ms: f64,
    backward_ms: f64,
    update_ms: f64,
    tokens_per_s: f64,
    tflop_per_s: f64,
    /// Share of the throughput of a large matrix product.
    share_of_product: f64,
}

#[derive(Debug, Serialize)]
struct SamplingReport {
    step_ms: f64,
    prefill_ms: f64,
    tokens_per_s: f64,
    gb_per_s: f64,
    /// Share of the bandwidth of a copy.
    share_of_copy: f64,
}

/// Measures, and prints one table.
pub(crate) fn run(args: &BenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    let around = Around::of(&Config::default(), printer);
    let found = find::find(&args.model, &around)?;
    let model = open(&found.model).map_err(Failure::Model)?;
    let device = device::choose(args.device, args.threads.map(usize::from), printer)
        .map_err(Failure::Model)?;
    let is_cpu = matches!(device, Device::Cpu(_));
    let sizes = Sizes::of(args, is_cpu, model.config.positions);
    printer.note("measuring the device");
    let rates = rates(&device).map_err(of_device)?;
    printer.note(format_args!("loading {}", args.model));
    let mut decoder = load(args, &device, &model, sizes).map_err(Failure::Model)?;
    printer.note(format_args!("training {} × {} tokens", sizes.batch, sizes.length));
    let training = Training {
        sequences: sizes.batch,
        length: sizes.length,
        keep: Keep::Most,
        steps: if is_cpu { 2 } else { 8 },
    };
    let times = training_step(&device, &mut decoder, training).map_err(of_device)?;
    let held = device.held_bytes();
    device.trim();
    printer.note(format_args!("sampling {} sequences", sizes.sequences));
    let decoding = Decoding {
        sequences: sizes.sequences,
        prompt: sizes.prompt,
        new: sizes.new,
        cache_bytes: (args.cache_gb as usize) << 30,
    };
    let decoded = decode(&decoder, &model.tokenizer, decoding).map_err(of_generation)?;
    let measured = Measured {
        sizes,
        rates,
        times,
        decoded: &decoded,
        weights: Weights::of(&model.config),
        number_bytes: if is_cpu { 4 } else { 2 },
        held: held.max(device.held_bytes()),
    };
    let report = measured.report(args.model.clone(), device::name(&device).to_owned());
    if args.json {
        printer.json(&report)?;
    } else {
        table(&report).iter().try_for_each(|line| printer.data(line))?;
    }
    Ok(Exit::Done)
}

fn of_device(source: whetstone_kernels::DeviceError) -> Failure {
    Failure::Model(ModelFailure::Device(source))
}

fn of_generation(source: GenerateError) -> Failure {
    Failure::Model(ModelFailure::Generate { place: "the prompts".to_owned(), source })
}

fn load(
    args: &BenchArgs,
    device: &Device,
    model: &Pretrained,
    sizes: Sizes,
) -> Result<Decoder, ModelFailure> {
    let positions = sizes.length.max(sizes.prompt + sizes.new);
    let options = LoadOptions { weights: WeightFormat::Frozen, positions };
    let mut decoder = Decoder::load(device, &model.config, model.weights.as_ref(), options)?;
    let alpha = 2.0 * f64::from(args.rank);
    decoder.add_adapter(&LoraConfig { rank: args.rank, alpha, ..LoraConfig::default() }, 1);
    device.check()?;
    Ok(decoder)
}

/// Everything that was measured.
struct Measured<'a> {
    sizes: Sizes,
    rates: Rates,
    times: StepTimes,
    decoded: &'a Decoded,
    weights: Weights,
    number_bytes: usize,
    held: usize,
}

impl Measured<'_> {
    #[expect(clippy::cast_precision_loss, reason = "counts become rates")]
    fn report(&self, model: String, device: String) -> Report {
        let Self { sizes, rates, times, decoded, weights, number_bytes, held } = self;
        let tokens = (sizes.batch * sizes.length) as f64;
        let flop = 4.0 * weights.numbers as f64 * tokens;
        let context = sizes.prompt + sizes.new / 2;
        let cached = sizes.sequences * context * weights.cache_numbers;
        let bytes = ((weights.numbers + cached) * number_bytes) as f64;
        let (training_rate, sampling_rate) = (flop / times.step, bytes / decoded.step());
        Report {
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
            },
            held_gib: *held as f64 / f64::from(1 << 30),
        }
    }
}

fn table(report: &Report) -> Vec<String> {
    let Report { sizes, training, sampling, .. } = report;
    let row = |name: &str, value: String| format!("{name:<34} {value}");
    vec![
        row("model", report.model.clone()),
        row("device", report.device.clone()),
        row("copies", format!("{:.1} GB/s", report.copy_gb_per_s)),
        row("a large product", format!("{:.3} TFLOP/s", report.product_tflop_per_s)),
        row(
            &format!("training, {} × {} tokens", sizes.batch, sizes.length),
            format!("{:.0} tokens/s, {:.1} ms a step", training.tokens_per_s, training.step_ms),
        ),
        row(
            "  forward, backward, update",
            format!(
                "{:.1}, {:.1}, {:.1} ms",
                training.forward_ms, training.backward_ms, training.update_ms
            ),
        ),
        row(
            "  products",
            format!(
                "{:.3} TFLOP/s, {:.0} % of a large one",
                training.tflop_per_s,
                100.0 * training.share_of_product
            ),
        ),
        row(
            &format!("sampling, {} sequences", sizes.sequences),
            format!("{:.0} tokens/s, {:.2} ms a step", sampling.tokens_per_s, sampling.step_ms),
        ),
        row(
            "  bytes",
            format!(
                "{:.1} GB/s, {:.0} % of copies",
                sampling.gb_per_s,
                100.0 * sampling.share_of_copy
            ),
        ),
        row("memory of buffers at most", format!("{:.2} GiB", report.held_gib)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> BenchArgs {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: BenchArgs,
        }
        <Line as clap::Parser>::parse_from([&["bench"], words].concat()).args
    }

    #[test]
    fn sizes_are_the_devices_and_fit_into_the_model() {
        let gpu = Sizes { batch: 8, length: 1024, sequences: 64, prompt: 64, new: 256 };
        assert_eq!(Sizes::of(&args(&[]), false, 4096), gpu);
        let tiny = Sizes { batch: 4, length: 100, sequences: 16, prompt: 50, new: 32 };
        assert_eq!(Sizes::of(&args(&[]), true, 100), tiny);
        let asked = Sizes::of(&args(&["--new", "9", "--batch", "3"]), true, 4096);
        assert_eq!((asked.new, asked.batch), (9, 3));
    }

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
