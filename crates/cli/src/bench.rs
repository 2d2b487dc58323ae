//! `whet bench`: throughput of a model on this machine, in training and sampling, and the share of
//! the device's peak that both reach.

use clap::Args;
use whetstone_core::config::{Config, DeviceChoice, LoraConfig};
use whetstone_infer::GenerateError;
use whetstone_kernels::Device;
use whetstone_model::Pretrained;
use whetstone_model::decoder::{Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_train::measure::report::{Measured, Report, Sizes, Weights};
use whetstone_train::measure::{Decoding, Training, decode, rates, training_step};

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
    /// The model: a directory, a .gguf file, an adapter, a run, a name on the hub, or `embedded`
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
fn sizes_of(args: &BenchArgs, is_cpu: bool, positions: usize) -> Sizes {
    let or = |asked: Option<u32>, gpu: usize, cpu: usize| {
        asked.map_or(if is_cpu { cpu } else { gpu }, |asked| asked as usize)
    };
    let prompt = 64.min(positions / 2).max(1);
    Sizes {
        batch: or(args.batch, 8, 4),
        length: or(args.length, 1024, 128).min(positions).max(2),
        sequences: or(args.sequences, 64, 16),
        prompt,
        new: or(args.new, 256, 32).min(positions.saturating_sub(prompt)).max(1),
    }
}

/// Measures, and prints one table.
pub(crate) fn run(args: &BenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    let around = Around::of(&Config::default(), printer);
    let found = find::find(&args.model, &around)?;
    let model = open(&found.model).map_err(Failure::Model)?;
    let device = device::choose(args.device, args.threads.map(usize::from), printer)
        .map_err(Failure::Model)?;
    let is_cpu = matches!(device, Device::Cpu(_));
    let sizes = sizes_of(args, is_cpu, model.config.positions);
    printer.note("measuring the device");
    let rates = rates(&device).map_err(of_device)?;
    printer.note(format_args!("loading {}", args.model));
    let mut decoder = load(args, &device, &model, sizes).map_err(Failure::Model)?;
    printer.note(format_args!("training {} × {} tokens", sizes.batch, sizes.length));
    let Sizes { batch: sequences, length, .. } = sizes;
    let steps = if is_cpu { 2 } else { 8 };
    let training = Training { sequences, length, keep: Keep::Most, steps };
    let times = training_step(&device, &mut decoder, training).map_err(of_device)?;
    let held = device.held_bytes();
    device.trim();
    printer.note(format_args!("sampling {} sequences", sizes.sequences));
    let Sizes { sequences, prompt, new, .. } = sizes;
    let decoding = Decoding { sequences, prompt, new, cache_bytes: (args.cache_gb as usize) << 30 };
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
        assert_eq!(sizes_of(&args(&[]), false, 4096), gpu);
        let tiny = Sizes { batch: 4, length: 100, sequences: 16, prompt: 50, new: 32 };
        assert_eq!(sizes_of(&args(&[]), true, 100), tiny);
        let asked = sizes_of(&args(&["--new", "9", "--batch", "3"]), true, 4096);
        assert_eq!((asked.new, asked.batch), (9, 3));
    }
}
