//! The engine beside PyTorch, in one run: a training step, a low-rank step and decoding.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench engine                                  # ours alone
//! cargo bench -p whetstone-benches --bench engine -- --python v/bin/python --peer ref_torch.py
//! cargo bench -p whetstone-benches --bench engine -- … --json                      # for baselines/
//! ```
//!
//! Configuration A: vocabulary 4096, width 256, 6 layers, 4 heads of 64 over 2, 768 between; every
//! weight is trained on 16 sequences of 256 tokens. S: the shape of SmolLM2-135M, rank 64 on seven
//! projections, 4 sequences of 256. Decoding: A, 32 sequences, prompts of 16 tokens, 128 new ones.
//! Each measurement is a process of its own, ours and the peer's in turns, and counts the median of
//! its steps; of several rounds the fastest counts, for both. Memory is the process's peak.
//! `gemm_gflops` is a product of 1024-wide matrices in our kernel: what the machine gives at best.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::cast_precision_loss, reason = "counts become rates")]

use std::error::Error;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Map, Value, json};
use whetstone_core::Seed;
use whetstone_core::config::LoraConfig;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule};
use whetstone_kernels::adamw::{self, AdamW, State};
use whetstone_kernels::matmul::matmul;
use whetstone_kernels::{Before, Buffer, Device, Matrix, MatrixMut};
use whetstone_model::Tokenizer;
use whetstone_model::config::{Config, Family, Rope, Scaling};
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, Sequence, Signal};
use whetstone_model::weights::Dtype;

const ROUNDS: usize = 3;
const WARM: usize = 2;
const STEPS: usize = 5;

/// What is measured, with the peer's arguments for the same.
const MEASURED: [(&str, &[&str]); 3] = [
    ("train", &["--config", "A", "--mode", "full", "--what", "train", "--dtype", "f32"]),
    ("lora", &["--config", "S", "--mode", "lora", "--what", "train", "--dtype", "f32"]),
    ("decode", &["--config", "A", "--mode", "full", "--what", "decode", "--dtype", "f32"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    if let Some(what) = value("--child") {
        let threads = value("--threads").ok_or("how many threads?")?.parse()?;
        println!("{}", child(&what, threads)?);
        return Ok(());
    }
    let peer = value("--python").zip(value("--peer"));
    let only = value("--only");
    let mut all = Map::new();
    for (what, arguments) in MEASURED {
        for threads in [1, 2] {
            if only.as_ref().is_none_or(|only| only == what) {
                let name = format!("{what}_{threads}");
                let one = compare(what, arguments, threads, peer.as_ref())?;
                if !args.iter().any(|arg| arg == "--json") {
                    println!("{name:<10} {one}");
                }
                all.insert(name, one);
            }
        }
    }
    if args.iter().any(|arg| arg == "--json") {
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
        ours.push(run_ours(what, threads)?);
        if let Some((python, script)) = peer {
            theirs.push(run_peer((python, script), arguments, threads)?);
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

fn rounded(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

fn run_ours(what: &str, threads: usize) -> Result<Value, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--child", what, "--threads", &threads.to_string()]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The peer's line is `RESULT … tok/s=N … peak_GiB=X`.
fn run_peer(
    (python, script): (&str, &str),
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

fn child(what: &str, threads: usize) -> Result<Value, Box<dyn Error>> {
    let device = Device::cpu(threads)?;
    let mut measured = match what {
        "train" => train(&device, &shape_a(), (16, 256), None),
        "lora" => train(&device, &shape_s(), (4, 256), Some(&LoraConfig::default())),
        "decode" => decode(&device)?,
        _ => return Err("train, lora or decode".into()),
    };
    // `ru_maxrss` is in KiB.
    measured["peak_mib"] = json!(getrusage(UsageWho::RUSAGE_SELF)?.max_rss() / 1024);
    measured["gemm_gflops"] = json!(rounded(gemm_peak(&device)));
    Ok(measured)
}

fn shape_a() -> Config {
    Config {
        family: Family::Qwen3,
        vocab: 4096,
        width: 256,
        layers: 6,
        heads: 4,
        kv_heads: 2,
        head_dim: 64,
        ffn: 768,
        rms_eps: 1e-6,
        rope: Rope { theta: 1e6, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: true,
        positions: 1024,
        bos: None,
        eos: Vec::new(),
        pad: None,
        dtype: Dtype::F32,
    }
}

fn shape_s() -> Config {
    Config { vocab: 49152, width: 576, layers: 30, heads: 9, kv_heads: 3, ffn: 1536, ..shape_a() }
}

/// Multiplications and additions of one token, forward and backward: two for each weight that it
/// meets, twice that on the way back, or once if weights are not trained; logits twice forward.
fn work_per_token(config: &Config, length: usize, lora: Option<&LoraConfig>) -> f64 {
    let (d, q, kv, f) = (config.width, config.query_width(), config.kv_width(), config.ffn);
    let sides = [(d, q), (d, kv), (d, kv), (q, d), (d, f), (d, f), (f, d)];
    let layer: usize = sides.iter().map(|(a, b)| a * b).sum();
    let (weights, head) = (config.layers * layer, config.vocab * d);
    // Each query meets half of the sequence on average, twice forward and five times back.
    let attention = config.layers * q * length / 2 * 7;
    let trained = if lora.is_some() { 4 } else { 6 };
    let narrow: usize = sides.iter().map(|(a, b)| a + b).sum();
    let narrow = lora.map_or(0, |lora| 6 * config.layers * narrow * lora.rank as usize);
    (trained * weights + (trained + 2) * head + 2 * attention + narrow) as f64
}

fn train(
    device: &Device,
    config: &Config,
    (batch, length): (usize, usize),
    lora: Option<&LoraConfig>,
) -> Value {
    let mut decoder = Decoder::new(device, config, (0, length + 1));
    match lora {
        Some(lora) => decoder.add_adapter(lora, 0),
        None => decoder.train_base(true),
    }
    let ids: Vec<_> = decoder.parameters().ids().collect();
    let trained: Vec<_> =
        ids.into_iter().filter(|&id| decoder.parameters().get(id).trained).collect();
    let zeros = |id| device.zeros(decoder.parameters().get(id).numbers());
    let mut means: Vec<(Buffer, Buffer)> =
        trained.iter().map(|&id| (zeros(id), zeros(id))).collect();
    let mut gradients = Gradients::new(device, decoder.parameters());
    let mut times = Vec::new();
    for step in 0..WARM + STEPS {
        let tokens = tokens(batch * (length + 1), config.vocab, step);
        let sequences: Vec<Sequence<'_>> = tokens
            .chunks(length + 1)
            .map(|tokens| Sequence { tokens, asked: 1..tokens.len() })
            .collect();
        let signal: Vec<f32> = (0..batch * length)
            .map(|at| ((at * 37 % 101) as f32 / 50.0 - 1.0) / (batch * length) as f32)
            .collect();
        let start = Instant::now();
        let packed = decoder.batch(&sequences).expect("tokens of the model");
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, trail) = decoder.forward(&packed, forward);
        let signal = Signal { dlogp: &signal, dentropy: None, dvalue: None };
        decoder.backward(&packed, trail.expect("kept"), (signal, &mut gradients));
        let rule = AdamW {
            lr: 1e-4,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            decay: 0.01,
            step: step as u64 + 1,
            gradient_scale: 1.0,
        };
        for (&id, (mean, square)) in trained.iter().zip(&mut means) {
            let state = State {
                weight: decoder.parameters_mut().values_mut(id),
                mean: mean.view_mut(),
                square: square.view_mut(),
            };
            adamw::step(device, state, gradients.get(id).expect("trained"), &rule);
        }
        gradients.clear(device);
        times.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(&mut times[WARM..]);
    let count = (batch * length) as f64;
    let work = work_per_token(config, length, lora) * count;
    json!({
        "ms_per_step": rounded(seconds * 1e3),
        "tokens_per_s": (count / seconds).round(),
        "gflops": rounded(work / seconds / 1e9),
    })
}

fn decode(device: &Device) -> Result<Value, Box<dyn Error>> {
    let config = shape_a();
    let decoder = Decoder::new(device, &config, (0, 256));
    let words: Vec<String> = (0..config.vocab).map(|id| format!("\"w{id}\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"w0"}}}}"#,
        words.join(",")
    );
    let tokenizer = Tokenizer::from_json(&json, "made here".as_ref())?;
    let rule = Rule { temperature: 0.0, ..Rule::default() };
    let prompts: Vec<Prompt> = (0..32)
        .map(|index| Prompt {
            tokens: tokens(16, config.vocab, index),
            samples: 1,
            rule,
            seed: Seed::new(index as u64),
            max_tokens: 128,
            stop: Vec::new(),
        })
        .collect();
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let mut times = Vec::new();
    for _ in 0..WARM + STEPS {
        let start = Instant::now();
        local.generate(&prompts, &mut |_| ControlFlow::Continue(()))?;
        times.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(&mut times[WARM..]);
    Ok(json!({
        "ms_per_step": rounded(seconds / 128.0 * 1e3),
        "tokens_per_s": (32.0 * 128.0 / seconds).round(),
    }))
}

fn gemm_peak(device: &Device) -> f64 {
    let side = 1024;
    let (a, b) = (device.zeros(side * side), device.zeros(side * side));
    let mut to = device.take(side * side);
    let mut times: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            let to = MatrixMut::new(to.view_mut(), side, side);
            let (a, b) = (Matrix::new(a.view(), side, side), Matrix::new(b.view(), side, side));
            matmul(device, to, Before::Gone, (1.0, a, b));
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    2.0 * (side as f64).powi(3) / times[0] / 1e9
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn tokens(count: usize, vocab: usize, step: usize) -> Vec<u32> {
    let mut x = step as u64 + 1;
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from((x >> 33) % vocab as u64).unwrap_or(0)
        })
        .collect()
}
