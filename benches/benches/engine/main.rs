//! The engine beside PyTorch, in one run: a training step, a low-rank step and decoding; and what
//! decoding and memory cost.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench engine                                  # ours alone
//! cargo bench -p whetstone-benches --bench engine -- --python v/bin/python --peer ref_torch.py
//! cargo bench -p whetstone-benches --bench engine -- … --json                      # for baselines/
//! cargo bench -p whetstone-benches --bench engine -- --only linear
//! cargo bench -p whetstone-benches --bench engine -- --only memory-lora --model SmolLM2.gguf
//! ```
//!
//! Configuration A: vocabulary 4096, width 256, 6 layers, 4 heads of 64 over 2, 768 between; every
//! weight is trained on 16 sequences of 256 tokens. S: the shape of SmolLM2-135M, rank 64 on seven
//! projections, 4 sequences of 256. Decoding: A, 32 sequences, prompts of 16 tokens, 128 new ones.
//! Each measurement is a process of its own, ours and the peer's in turns, and counts the median of
//! its steps; of several rounds the fastest counts, for both. Memory is the process's peak.
//! `gemm_gflops` is a product of 1024-wide matrices in our kernel: what the machine gives at best.
//! `linear` draws eight samples of one prompt of 512 tokens, with more and more new tokens each.
//! `memory-sample`, `memory-lora` and `memory-full` take the model of `--model` and compare the peak
//! with what was planned.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::cast_precision_loss, reason = "counts become rates")]

mod decode;
mod memory;
mod shapes;
mod train;

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Map, Value, json};
use whetstone_core::config::LoraConfig;
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, WriteMode};

use shapes::{rounded, shape_a, shape_s};

const ROUNDS: usize = 3;
const WARM: usize = 2;
const STEPS: usize = 5;

/// What is measured, with the peer's arguments for the same.
const MEASURED: [(&str, &[&str]); 3] = [
    ("train", &["--config", "A", "--mode", "full", "--what", "train", "--dtype", "f32"]),
    ("lora", &["--config", "S", "--mode", "lora", "--what", "train", "--dtype", "f32"]),
    ("decode", &["--config", "A", "--mode", "full", "--what", "decode", "--dtype", "f32"]),
];

/// What only we do, and what needs a model.
const ALONE: [&str; 1] = ["linear"];
const OF_A_MODEL: [&str; 3] = ["memory-sample", "memory-lora", "memory-full"];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let model = value("--model");
    if let Some(what) = value("--child") {
        let threads = value("--threads").ok_or("how many threads?")?.parse()?;
        println!("{}", child(&what, threads, model.as_deref())?);
        return Ok(());
    }
    let peer = value("--python").zip(value("--peer"));
    let only = value("--only");
    let wanted = |what: &str| only.as_ref().is_none_or(|only| only == what);
    let as_json = args.iter().any(|arg| arg == "--json");
    let mut all = Map::new();
    let mut report = |name: String, one: Value| {
        if !as_json {
            println!("{name:<10} {one}");
        }
        all.insert(name, one);
    };
    for (what, arguments) in MEASURED.into_iter().filter(|(what, _)| wanted(what)) {
        for threads in [1, 2] {
            report(format!("{what}_{threads}"), compare(what, arguments, threads, peer.as_ref())?);
        }
    }
    let of_a_model = OF_A_MODEL.into_iter().filter(|_| model.is_some());
    for what in ALONE.into_iter().chain(of_a_model).filter(|what| wanted(what)) {
        report(what.to_owned(), run_ours(what, 2, model.as_deref())?);
    }
    if all.is_empty() {
        return Err("nothing of that name is measured, or it needs --model".into());
    }
    if as_json {
        println!("{:#}", Value::from(all));
    }
    Ok(())
}

/// Ours and the peer's in turns; the fastest round of each.
fn compare(
    what: &str,
    arguments: &[&str],
    threads: usize,
    peer: Option<&(String, String)>,
) -> Result<Value, Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(run_ours(what, threads, None)?);
        if let Some((python, script)) = peer {
            theirs.push(run_peer(python, script, arguments, threads)?);
        }
    }
    let fastest = |of: Vec<Value>| of.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (ours, theirs) = (fastest(ours).ok_or("no round")?, fastest(theirs));
    Ok(match theirs {
        None => ours,
        Some(theirs) => json!({
            "speed_ratio": rounded(rate(&ours) / rate(&theirs)),
            "memory_ratio": rounded(number(&ours, "peak_mib") / number(&theirs, "peak_mib")),
            "ours": ours,
            "pytorch": theirs,
        }),
    })
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or(f64::NAN)
}

fn rate(of: &Value) -> f64 {
    number(of, "tokens_per_s")
}

fn run_ours(what: &str, threads: usize, model: Option<&str>) -> Result<Value, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--child", what, "--threads", &threads.to_string()]);
    command.args(model.map(|model| ["--model", model]).into_iter().flatten());
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The peer's line is `RESULT … tok/s=N … peak_GiB=X`.
fn run_peer(
    python: &str,
    script: &str,
    arguments: &[&str],
    threads: usize,
) -> Result<Value, Box<dyn Error>> {
    let wrapper = concat!(env!("CARGO_MANIFEST_DIR"), "/engine/peer.py");
    let mut command = Command::new(python);
    command.args([wrapper, script]).args(arguments).args(["--threads", &threads.to_string()]);
    let output = command.env("OMP_NUM_THREADS", threads.to_string()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rfind(|line| line.starts_with("RESULT"));
    let last = last.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let after = |name: &str| -> Option<f64> {
        let rest = &last[last.find(name)? + name.len()..];
        rest.split_whitespace().next()?.parse().ok()
    };
    let rate = after("tok/s=").ok_or("no rate")?;
    let peak = after("peak_GiB=").map(|gib| (gib * 1024.0).round());
    Ok(json!({"tokens_per_s": rate, "peak_mib": peak}))
}

fn child(what: &str, threads: usize, model: Option<&str>) -> Result<Value, Box<dyn Error>> {
    let device = Device::cpu(threads)?;
    let lora = LoraConfig::default();
    let mut measured = match (what, model) {
        ("train", _) => {
            train::train(&device, &shape_a(), train::BatchShape { batch: 16, length: 256 }, None)
        }
        ("lora", _) => train::train(
            &device,
            &shape_s(),
            train::BatchShape { batch: 4, length: 256 },
            Some(&lora),
        ),
        ("decode", _) => decode::decode(&device)?,
        ("linear", _) => decode::linear(&device)?,
        (_, Some(model)) => return memory::measure(&device, what, model.as_ref()),
        _ => return Err("train, lora, decode or linear".into()),
    };
    measured["peak_mib"] = json!(peak_mib()?.round());
    measured["gemm_gflops"] = json!(rounded(gemm_peak(&device)));
    Ok(measured)
}

/// The most memory that this process ever had.
fn peak_mib() -> Result<f64, Box<dyn Error>> {
    // `ru_maxrss` is in KiB.
    Ok(getrusage(UsageWho::RUSAGE_SELF)?.max_rss() as f64 / 1024.0)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn gemm_peak(device: &Device) -> f64 {
    let side = 1024;
    let zeros = || device.zeros::<Activation>(side * side);
    let (a, b) = (zeros(), zeros());
    let mut to = device.take::<Activation>(side * side);
    let mut times: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            let to = MatrixMut::new(to.view_mut(), side, side);
            let (a, b) = (Matrix::new(a.view(), side, side), Matrix::new(b.view(), side, side));
            matmul(device, to, WriteMode::Overwrite, ScaledProduct { scale: 1.0, a, b });
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    2.0 * (side as f64).powi(3) / times[0] / 1e9
}
