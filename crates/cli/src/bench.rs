//! `whet bench`: throughput of a model on this machine, in training and sampling, and the share of
//! the device's peak that both reach.

use clap::Args;
use whetstone_core::config::DeviceChoice;
use whetstone_recipe::bench::{self, BenchRequest};
use whetstone_recipe::text::counted;
use whetstone_train::measure::report::BenchReport;

use crate::exit::Exit;
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

    /// Gibibytes of keys and values at most; what does not fit waits [default: what the memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cache_gb: Option<u32>,

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
model's own weights: forward and the gradient of their input. Each sequence is sampled to the same number of
new tokens: a token that ends a reply does not end it here. The bytes of a sampling step are its weights
and the keys and values that it looks at, each read once. Shares are of what a large product and a copy
reach on the same device, a moment before.";

fn size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=65_536)
}

impl BenchArgs {
    fn request(&self) -> BenchRequest {
        let size = |asked: Option<u32>| asked.map(|asked| asked as usize);
        BenchRequest {
            model: self.model.clone(),
            device: self.device,
            threads: self.threads.map(usize::from),
            rank: self.rank,
            batch: size(self.batch),
            length: size(self.length),
            sequences: size(self.sequences),
            new: size(self.new),
            cache_bytes: self.cache_gb.map(|gib| (gib as usize) << 30),
        }
    }
}

/// Measures, and prints one table.
pub(crate) fn run(args: &BenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    let report = bench::run(&args.request(), &printer)?;
    if args.json {
        printer.json(&report)?;
    } else {
        table(&report).iter().try_for_each(|line| printer.data(line))?;
    }
    Ok(Exit::Done)
}

fn table(report: &BenchReport) -> Vec<String> {
    let BenchReport { sizes, training, sampling, .. } = report;
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
            &format!("sampling, {} rows", sampling.rows),
            format!("{:.0} tokens/s, {:.2} ms a step", sampling.tokens_per_s, sampling.step_ms),
        ),
        row(
            "  contexts",
            format!(
                "from {} to {} tokens, {} sampled of each of {}",
                sampling.context_tokens[0],
                sampling.context_tokens[1],
                sizes.new,
                counted(sizes.sequences, "sequence")
            ),
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
