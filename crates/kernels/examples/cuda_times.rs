//! Times of attention, norms, the head, sampling and added products on a GPU, as one JSON object in the file that the first
//! argument names.
//!
//! Sizes are those of a Qwen3-1.7B: 16 heads of 128 over 8; 8 x 1024 tokens in training, 64 and 256
//! rows of 192 tokens in decoding. Ends with 2 if there is no GPU, and 3 if the
//! file cannot be written.

#![expect(clippy::cast_precision_loss, reason = "sizes become rates")]

use std::process::ExitCode;
use std::time::Instant;

use whetstone_kernels::attention::{self, Saved, Shape};
use whetstone_kernels::head::{self, Input, Output, Signal};
use whetstone_kernels::linear::Weight;
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::paged::{Attend, Cache, PAGE, Stored, Tables, attend};
use whetstone_kernels::rms_norm::{self, Gradient, Heads, Norm};
use whetstone_kernels::rope::{Angles, RopeTable, Rotate, turn};
use whetstone_kernels::sample::{Request, Rule, Sampled, sample};
use whetstone_kernels::{Activation, Buffer, Device, DeviceError, Matrix, MatrixMut, WriteMode};

fn main() -> ExitCode {
    let (report, code) = match measured() {
        Ok(lines) => (format!("{{\n{}\n}}\n", lines.join(",\n")), 0),
        Err(error) => (format!("error: {error}\n"), 2),
    };
    let Some(path) = std::env::args_os().nth(1) else { return ExitCode::from(3) };
    ExitCode::from(if std::fs::write(path, report).is_ok() { code } else { 3 })
}

fn measured() -> Result<Vec<String>, DeviceError> {
    let device = Device::cuda(0)?;
    let mut lines = Vec::new();
    for (size, heads) in [(128, 16), (64, 32)] {
        for (sequences, length) in [(8, 1024), (4, 2048), (1, 8192)] {
            let shape = Shape { heads, kv_heads: 8, size, scale: 0.1 };
            lines.push(forward(&device, &shape, sequences, length)?);
            lines.push(backward(&device, &shape, sequences, length)?);
        }
        for rows in [64, 256] {
            let shape = Shape { heads, kv_heads: 8, size, scale: 0.1 };
            lines.push(paged(&device, shape, rows, 192)?);
        }
    }
    lines.extend(norms(&device)?);
    lines.extend(head(&device)?);
    for rows in [64, 256] {
        lines.extend(sampling(&device, rows)?);
    }
    for shape in [
        [8192, 4096, 2048],
        [8192, 2048, 2048],
        [8192, 12288, 2048],
        [8192, 2048, 6144],
        [64, 4096, 2048],
        [64, 12288, 2048],
        [64, 2048, 6144],
    ] {
        lines.push(product(&device, shape)?);
    }
    Ok(lines)
}

/// Seconds of one call: the median of five rounds.
fn seconds(
    device: &Device,
    repeats: usize,
    mut call: impl FnMut(usize),
) -> Result<f64, DeviceError> {
    (0..3).for_each(&mut call);
    device.check()?;
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        (0..repeats).for_each(&mut call);
        device.check()?;
        rounds.push(begin.elapsed().as_secs_f64() / repeats as f64);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[2])
}

/// Numbers that differ, made on the host for a block and copied.
fn noise(device: &Device, count: usize) -> Buffer {
    let number = |at: u32| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
    let block: Vec<f32> = (0..1u32 << 16).map(number).collect();
    let from = device.upload::<Activation>(&block);
    let mut to = device.take::<Activation>(count);
    for begin in (0..count).step_by(block.len()) {
        let end = count.min(begin + block.len());
        device.copy(&mut to.view_mut().part(begin..end), from.view().part(0..end - begin));
    }
    to
}

fn forward(
    device: &Device,
    shape: &Shape,
    sequences: usize,
    length: usize,
) -> Result<String, DeviceError> {
    let rows = sequences * length;
    let qkv = noise(device, rows * shape.packed_width());
    let mut out = device.take::<Activation>(rows * shape.width());
    let mut lse = device.take::<f32>(rows * shape.heads);
    let offsets: Vec<usize> = (0..=sequences).map(|at| at * length).collect();
    let time = seconds(device, 30, |_| {
        let to = MatrixMut::new(out.view_mut(), rows, shape.width());
        let from = Matrix::new(qkv.view(), rows, shape.packed_width());
        let output = attention::Output { out: to, lse: lse.view_mut() };
        let packed = attention::Sequences { shape, offsets: &offsets };
        attention::forward(device, output, from, packed);
    })?;
    let pairs = sequences as f64 * length as f64 * (length as f64 + 1.0) / 2.0;
    let flop = 4.0 * pairs * shape.width() as f64;
    Ok(format!(
        "  \"forward, {} heads of {}, {sequences} x {length}\": {{ \"us\": {:.1}, \"tflop_per_s\": {:.0} }}",
        shape.heads,
        shape.size,
        time * 1e6,
        flop / time / 1e12
    ))
}

fn backward(
    device: &Device,
    shape: &Shape,
    sequences: usize,
    length: usize,
) -> Result<String, DeviceError> {
    let rows = sequences * length;
    let qkv = noise(device, rows * shape.packed_width());
    let dout = noise(device, rows * shape.width());
    let mut out = device.take::<Activation>(rows * shape.width());
    let mut lse = device.take::<f32>(rows * shape.heads);
    let mut dqkv = device.take::<Activation>(rows * shape.packed_width());
    let offsets: Vec<usize> = (0..=sequences).map(|at| at * length).collect();
    let to = MatrixMut::new(out.view_mut(), rows, shape.width());
    let from = Matrix::new(qkv.view(), rows, shape.packed_width());
    let output = attention::Output { out: to, lse: lse.view_mut() };
    let packed = attention::Sequences { shape, offsets: &offsets };
    attention::forward(device, output, from, packed);
    let time = seconds(device, 20, |_| {
        let saved = Saved {
            packed: from.into(),
            out: Matrix::new(out.view(), rows, shape.width()),
            dout: Matrix::new(dout.view(), rows, shape.width()),
            lse: lse.view(),
        };
        let to = MatrixMut::new(dqkv.view_mut(), rows, shape.packed_width());
        attention::backward(device, to, saved, packed);
    })?;
    let pairs = sequences as f64 * length as f64 * (length as f64 + 1.0) / 2.0;
    let flop = 10.0 * pairs * shape.width() as f64;
    Ok(format!(
        "  \"backward, {} heads of {}, {sequences} x {length}\": {{ \"us\": {:.1}, \"tflop_per_s\": {:.0} }}",
        shape.heads,
        shape.size,
        time * 1e6,
        flop / time / 1e12
    ))
}

/// A norm over 8192 rows of 2048, there and back, and 24 heads of 128 turned.
fn norms(device: &Device) -> Result<Vec<String>, DeviceError> {
    let (rows, width) = (8192, 2048);
    let shape = Heads::rows(rows, width);
    let (x, dy) = (noise(device, rows * width), noise(device, rows * width));
    let (mut y, gain) = (noise(device, rows * width), noise(device, width));
    let norm = || Norm { gain: gain.view(), epsilon: 1e-6 };
    let forward = seconds(device, 30, |_| {
        let output = rms_norm::Output { data: y.view_mut(), shape };
        let input = rms_norm::Input { data: x.view(), shape };
        rms_norm::forward(device, output, input, norm());
    })?;
    let backward = seconds(device, 30, |_| {
        let gradient = Gradient { dx: y.view_mut(), mode: WriteMode::Accumulate, dgain: None };
        let x = rms_norm::Input { data: x.view(), shape };
        let dy = rms_norm::Input { data: dy.view(), shape };
        rms_norm::backward(device, gradient, rms_norm::Saved { x, dy }, norm());
    })?;
    let heads = Heads { rows, heads: 24, size: 128, stride: 32 * 128 };
    let mut qkv = noise(device, rows * 32 * 128);
    let turns = RopeTable::new(device, &[0.5; 64], 1.0, 1024);
    let positions = device.upload::<u32>(&(0..8192).map(|row| row % 1024).collect::<Vec<_>>());
    let turned = seconds(device, 30, |_| {
        let direction = Rotate::Forward;
        let angles = Angles { table: &turns, positions: positions.view(), direction };
        turn(device, &mut qkv.view_mut(), heads, angles);
    })?;
    let times = [("norm", forward), ("norm backward, added", backward), ("rope", turned)];
    Ok(times
        .map(|(name, time)| format!("  \"{name}, 8192 rows\": {{ \"us\": {:.1} }}", time * 1e6))
        .to_vec())
}

/// The head of a Qwen3-1.7B over 1024 rows.
fn head(device: &Device) -> Result<Vec<String>, DeviceError> {
    let (rows, vocabulary, width) = (1024, 151_936, 2048);
    let (hidden, weight) = (noise(device, rows * width), noise(device, vocabulary * width));
    let list: Vec<u32> = (0..1024).map(|row| row * 131).collect();
    let (targets, ones) = (device.upload::<u32>(&list), device.upload::<f32>(&vec![1.0; rows]));
    let input = Input {
        hidden: Matrix::new(hidden.view(), rows, width),
        weight: Weight::new(weight.view(), vocabulary, width),
        targets: targets.view(),
        inverse_temperature: 0.01,
    };
    let mut known = [0; 3].map(|_| device.take::<f32>(rows));
    let mut slope = device.take::<Activation>(rows * width);
    let mut times = Vec::new();
    for wanted in [false, true] {
        times.push(seconds(device, 5, |_| {
            let [logp, entropy, lse] = &mut known;
            let to = MatrixMut::new(slope.view_mut(), rows, width);
            let output = Output {
                logp: logp.view_mut(),
                entropy: entropy.view_mut(),
                lse: lse.view_mut(),
                slope: wanted.then_some(to),
            };
            head::forward(device, output, input);
        })?);
    }
    let signal = Signal {
        lse: known[2].view(),
        entropy: known[1].view(),
        dlogp: ones.view(),
        dentropy: ones.view(),
    };
    times.push(seconds(device, 5, |_| {
        let to = MatrixMut::new(slope.view_mut(), rows, width);
        head::backward(device, to, input, signal);
    })?);
    let mut dweight = device.zeros::<f32>(vocabulary * width);
    times.push(seconds(device, 5, |_| {
        let to = MatrixMut::new(dweight.view_mut(), vocabulary, width);
        head::backward_weight(device, to, input, signal);
    })?);
    let names = ["forward", "forward with slopes", "backward", "backward of the weight"];
    let line = |(name, time): (&str, f64)| {
        format!("  \"head {name}, 1024 x 151936 x 2048\": {{ \"us\": {:.1} }}", time * 1e6)
    };
    Ok(names.into_iter().zip(times).map(line).collect())
}

/// A token for each row, by several rules.
fn sampling(device: &Device, rows: usize) -> Result<Vec<String>, DeviceError> {
    let vocabulary = 151_936;
    let number = |at: u32| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 1_048_576.0 - 8.0;
    let row: Vec<f32> = (0..151_936).map(number).collect();
    let from = device.upload::<f32>(&row);
    let mut logits = device.take::<f32>(rows * vocabulary);
    for at in 0..rows {
        let to = at * vocabulary..(at + 1) * vocabulary;
        device.copy(&mut logits.view_mut().part(to), from.view());
    }
    let (mut tokens, mut logps) = (device.take::<u32>(rows), device.take::<f32>(rows));
    let plain = Rule::default();
    let rules = [
        ("plain", plain),
        ("top_k 50", Rule { top_k: 50, ..plain }),
        ("top_p 0.9", Rule { top_p: 0.9, ..plain }),
        ("penalties", Rule { repetition_penalty: 1.0001, ..plain }),
    ];
    let ids: Vec<u32> = (0..500).collect();
    let mut lines = Vec::new();
    for (name, rule) in rules {
        let time = seconds(device, 20, |position| {
            let of = |sequence: usize| Request {
                rule,
                seed: 1,
                sequence: sequence as u64,
                position: position as u64,
                prompt: &ids,
                sampled: &ids,
            };
            let requests: Vec<_> = (0..rows).map(of).collect();
            let to = MatrixMut::new(logits.view_mut(), rows, vocabulary);
            let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
            sample(device, chosen, to, &requests);
        })?;
        lines.push(format!("  \"sampling {name}, {rows} rows\": {{ \"us\": {:.1} }}", time * 1e6));
    }
    Ok(lines)
}

fn paged(device: &Device, shape: Shape, rows: usize, length: usize) -> Result<String, DeviceError> {
    let (each, layers) = (length / PAGE, 28);
    let cache = Cache::new(device, layers, rows * each, shape);
    let list = |count: usize, of: &dyn Fn(usize) -> usize| {
        device.upload(&(0..count).map(|at| u32::try_from(of(at)).unwrap_or(0)).collect::<Vec<_>>())
    };
    let pages = list(rows * each, &|at| at * 7919 % (rows * each));
    let (starts, lengths) = (list(rows, &|at| at * each), list(rows, &|_| length));
    let qkv = noise(device, rows * shape.packed_width());
    let mut out = device.take::<Activation>(rows * shape.width());
    let time = seconds(device, 280, |at| {
        let to = MatrixMut::new(out.view_mut(), rows, shape.width());
        let from = Matrix::new(qkv.view(), rows, shape.packed_width());
        let tables = Tables {
            pages: pages.view(),
            starts: starts.view(),
            lengths: lengths.view(),
            stored: Stored::Any,
        };
        attend(device, Attend { out: to, cache: &cache, layer: at % layers, qkv: from, tables });
    })?;
    let bytes = (rows * length * 4 * shape.kv_heads * shape.size) as f64;
    Ok(format!(
        "  \"paged, {} heads of {}, {rows} rows of {length}\": {{ \"us\": {:.1}, \"tb_per_s\": {:.2} }}",
        shape.heads,
        shape.size,
        time * 1e6,
        bytes / time / 1e12
    ))
}

fn product(device: &Device, [rows, cols, inner]: [usize; 3]) -> Result<String, DeviceError> {
    let (x, w) = (noise(device, rows * inner), noise(device, cols * inner));
    let mut y = noise(device, rows * cols);
    let repeats = if rows > 1000 { 20 } else { 200 };
    let mut multiply = |mode| {
        let to = MatrixMut::new(y.view_mut(), rows, cols);
        let x = Matrix::new(x.view(), rows, inner);
        let w = Matrix::new(w.view(), cols, inner).transposed();
        matmul(device, to, mode, ScaledProduct { scale: 1.0, a: x, b: w });
    };
    device.check()?;
    let begin = Instant::now();
    multiply(WriteMode::Overwrite);
    device.check()?;
    let search = begin.elapsed().as_secs_f64();
    let plain = seconds(device, repeats, |_| multiply(WriteMode::Overwrite))?;
    let added = seconds(device, repeats, |_| multiply(WriteMode::Accumulate))?;
    Ok(format!(
        "  \"product {rows} x {cols} x {inner}\": {{ \"us\": {:.1}, \"added_us\": {:.1}, \"search_ms\": {:.1} }}",
        plain * 1e6,
        added * 1e6,
        search * 1e3
    ))
}
