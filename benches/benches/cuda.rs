//! The GPU, measured: starting cold and warm, copies, products and their order, and every kernel
//! against its floor (its bytes at the measured copy rate).
//!
//! Writes one JSON object to standard output; without a GPU it says so and ends with 2. Sizes are
//! those of a Qwen3-1.7B at 8 x 1024 tokens. A kernel is timed over many launches between two waits,
//! over buffers that together are larger than the cache.

#![expect(clippy::cast_precision_loss, reason = "sizes become rates")]
#![expect(clippy::many_single_char_names, reason = "matrices have the letters of the field")]

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use whetstone_kernels::adamw::{AdamState, AdamW, step};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::rms_norm::{self, Gradient, Heads, Norm};
use whetstone_kernels::rope::{Angles, RopeTable, Rotate, turn};
use whetstone_kernels::{
    Activation, Buffer, Cuda, Device, DeviceError, Matrix, MatrixMut, WriteMode, add, embedding,
    swiglu,
};

const TOKENS: usize = 8192;
const WIDTH: usize = 2048;
const FFN: usize = 6144;

/// Rows, columns and inner side of products: the four of a layer in training, decoding with 64 rows,
/// and a large square.
const PRODUCTS: [(u32, u32, u32); 8] = [
    (8192, 4096, 2048),
    (8192, 2048, 2048),
    (8192, 12288, 2048),
    (8192, 2048, 6144),
    (64, 4096, 2048),
    (64, 12288, 2048),
    (64, 2048, 6144),
    (8192, 8192, 8192),
];

fn main() -> ExitCode {
    let (said, code) = match measured() {
        Ok(json) => (writeln!(io::stdout(), "{json}"), ExitCode::SUCCESS),
        Err(error) => (writeln!(io::stderr(), "error: {error}"), ExitCode::from(2)),
    };
    if said.is_ok() { code } else { ExitCode::from(3) }
}

fn measured() -> Result<String, DeviceError> {
    let begin = Instant::now();
    let cuda = Cuda::open(0)?;
    let opened = begin.elapsed().as_secs_f64();
    let info = cuda.info().clone();
    let device = Device::Cuda(cuda.clone());
    let copy_rate = copy_rate(&device)?;
    let mut json = String::from("{\n");
    let (cached, all) = info.cached_programs;
    let took = (info.took.0.as_secs_f64(), info.took.1.as_secs_f64());
    line(&mut json, "device", &format!("\"{}\"", info.properties.name));
    line(&mut json, "driver_cuda", &format!("\"{}\"", info.driver));
    line(&mut json, "nvrtc", &format!("\"{}\"", info.compiler.0));
    line(&mut json, "free_gib", &gib(cuda.free_bytes()?));
    line(&mut json, "open_s", &format!("{opened:.3}"));
    line(&mut json, "start_s", &format!("{:.3}", took.0));
    line(&mut json, "programs_s", &format!("{:.3}", took.1));
    line(&mut json, "programs_cached", &format!("[{cached}, {all}]"));
    line(&mut json, "copy_tb_per_s", &format!("{copy_rate:.3}"));
    line(&mut json, "launch_us", &format!("{:.2}", launch_us(&device)?));
    line(&mut json, "upload_gb_per_s", &format!("{:.2}", upload_rate(&device)?));
    let kernels = kernels(&device, copy_rate)?;
    line(&mut json, "kernels", &format!("[\n{}\n  ]", kernels.join(",\n")));
    let products = products(&device, &cuda)?;
    let _ = write!(json, "  \"products\": [\n{}\n  ]\n}}", products.join(",\n"));
    Ok(json)
}

fn line(json: &mut String, name: &str, value: &str) {
    let _ = writeln!(json, "  \"{name}\": {value},");
}

fn gib(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

/// Seconds of one call: the median of five rounds of `repeats` calls each.
fn seconds(
    device: &Device,
    repeats: usize,
    mut call: impl FnMut(usize),
) -> Result<f64, DeviceError> {
    for at in 0..3 {
        call(at);
    }
    device.check()?;
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        for at in 0..repeats {
            call(at);
        }
        device.check()?;
        rounds.push(begin.elapsed().as_secs_f64() / repeats as f64);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[2])
}

/// Bytes read and written by a copy, in TB a second.
fn copy_rate(device: &Device) -> Result<f64, DeviceError> {
    let count = 1usize << 30;
    let from = noise(device, count);
    let mut to = device.take::<Activation>(count);
    let time = seconds(device, 10, |_| device.copy(&mut to.view_mut(), from.view()))?;
    Ok((4 * count) as f64 / time / 1e12)
}

fn launch_us(device: &Device) -> Result<f64, DeviceError> {
    let mut x = device.upload::<f32>(&[1.0; 8]);
    let y = device.upload::<f32>(&[1.0; 8]);
    let time = seconds(device, 1000, |_| add::scaled(device, &mut x.view_mut(), 0.0, y.view()))?;
    Ok(time * 1e6)
}

fn upload_rate(device: &Device) -> Result<f64, DeviceError> {
    let numbers = vec![1.5f32; 1 << 26];
    let time = seconds(device, 1, |_| drop(device.upload::<f32>(&numbers)))?;
    Ok((numbers.len() * 4) as f64 / time / 1e9)
}

/// Random numbers, made on the host for a block and copied.
fn noise(device: &Device, count: usize) -> Buffer {
    let block: Vec<f32> = (0..1u32 << 16)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e7 - 0.8)
        .collect();
    let from = device.upload::<Activation>(&block);
    let mut to = device.take::<Activation>(count);
    for begin in (0..count).step_by(block.len()) {
        let end = count.min(begin + block.len());
        device.copy(&mut to.view_mut().part(begin..end), from.view().part(0..end - begin));
    }
    to
}

struct Timed {
    name: &'static str,
    bytes: usize,
    seconds: f64,
}

/// Each kernel with the bytes that it must move.
fn kernels(device: &Device, copy_rate: f64) -> Result<Vec<String>, DeviceError> {
    let (x, ffn) = (TOKENS * WIDTH * 2, TOKENS * FFN * 2);
    let [a, b, mut c] = [(); 3].map(|()| noise(device, 4 * TOKENS * FFN));
    let mut d = noise(device, 4 * TOKENS * FFN);
    let part = |at: usize, size: usize| at % 4 * TOKENS * FFN..at % 4 * TOKENS * FFN + size;
    let gain = noise(device, WIDTH);
    let norm = Norm { gain: gain.view(), epsilon: 1e-6 };
    let rows = Heads::rows(TOKENS, WIDTH);
    let heads = Heads { rows: TOKENS, heads: 24, size: 128, stride: 4096 };
    let frequencies: Vec<f32> = (0..64).map(|at| 1.0 / (at + 1) as f32).collect();
    let turns = RopeTable::new(device, &frequencies, 1.0, 1024);
    let list = |of: fn(u32) -> u32| (0..8192u32).map(of).collect::<Vec<_>>();
    let positions = device.upload::<u32>(&list(|at| at % 1024));
    let ids = device.upload::<u32>(&list(|at| at * 7919 % 20_000));
    let (wide, narrow) = (TOKENS * FFN, TOKENS * WIDTH);
    let mut all = Vec::new();
    let mut push = |name, bytes, seconds| all.push(Timed { name, bytes, seconds });
    let time = seconds(device, 50, |at| {
        let mut view = c.view_mut();
        let output = rms_norm::Output { data: view.part(part(at, narrow)), shape: rows };
        let input = rms_norm::Input { data: a.view().part(part(at, narrow)), shape: rows };
        rms_norm::forward(device, output, input, norm);
    })?;
    push("rms_norm forward", 2 * x, time);
    let time = seconds(device, 50, |at| {
        let mut view = c.view_mut();
        let dx = view.part(part(at, narrow));
        let gradient = Gradient { dx, mode: WriteMode::Accumulate, dgain: None };
        let x = rms_norm::Input { data: a.view().part(part(at, narrow)), shape: rows };
        let dy = rms_norm::Input { data: b.view().part(part(at, narrow)), shape: rows };
        rms_norm::backward(device, gradient, rms_norm::Saved { x, dy }, norm);
    })?;
    push("rms_norm backward, added", 4 * x, time);
    let time = seconds(device, 50, |at| {
        let (gate, up) = (a.view().part(part(at, wide)), b.view().part(part(at, wide)));
        swiglu::forward(device, &mut c.view_mut().part(part(at, wide)), gate, up);
    })?;
    push("swiglu forward", 3 * ffn, time);
    let mut e = noise(device, 4 * TOKENS * FFN);
    let time = seconds(device, 50, |at| {
        let (mut gate, mut up) = (d.view_mut(), e.view_mut());
        let (gate, up) = (&mut gate.part(part(at, wide)), &mut up.part(part(at, wide)));
        swiglu::backward(device, &mut c.view_mut().part(part(at, wide)), gate, up);
    })?;
    push("swiglu backward", 6 * ffn, time);
    let time = seconds(device, 50, |at| {
        let mut view = c.view_mut();
        let mut view = view.part(part(at, TOKENS * 4096));
        let angles =
            Angles { table: &turns, positions: positions.view(), direction: Rotate::Forward };
        turn(device, &mut view, heads, angles);
    })?;
    push("rope, 24 heads of 128", TOKENS * 24 * 128 * 4, time);
    let time = seconds(device, 50, |at| {
        let table = a.view().part(0..20_000 * WIDTH);
        embedding::gather(device, &mut c.view_mut().part(part(at, narrow)), table, ids.view());
    })?;
    push("gather", 2 * x, time);
    let time = seconds(device, 50, |at| {
        let from = b.view().part(part(at, narrow));
        add::add(device, &mut c.view_mut().part(part(at, narrow)), from);
    })?;
    push("add", 3 * x, time);
    drop((c, d, e));
    push_adamw(device, &mut all)?;
    Ok(all.iter().map(|timed| told(timed, copy_rate)).collect())
}

fn push_adamw(device: &Device, all: &mut Vec<Timed>) -> Result<(), DeviceError> {
    let count = 1usize << 28;
    let zeros = || device.zeros::<f32>(count);
    let (mut weight, mut mean, mut square, gradient) = (zeros(), zeros(), zeros(), zeros());
    let rule = AdamW {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.95,
        epsilon: 1e-8,
        decay: 0.1,
        step: 3,
        gradient_scale: 1.0,
    };
    let time = seconds(device, 5, |_| {
        let state = AdamState {
            weight: weight.view_mut(),
            mean: mean.view_mut(),
            square: square.view_mut(),
        };
        step(device, state, gradient.view(), &rule);
    })?;
    all.push(Timed { name: "adamw", bytes: count * 28, seconds: time });
    Ok(())
}

fn told(timed: &Timed, copy_rate: f64) -> String {
    let floor = timed.bytes as f64 / copy_rate / 1e12;
    format!(
        "    {{\"name\": \"{}\", \"mb\": {:.1}, \"us\": {:.1}, \"floor_us\": {:.1}, \"of_copy_rate\": {:.2}}}",
        timed.name,
        timed.bytes as f64 / 1e6,
        timed.seconds * 1e6,
        floor * 1e6,
        floor / timed.seconds
    )
}

fn products(device: &Device, cuda: &Cuda) -> Result<Vec<String>, DeviceError> {
    let mut all = Vec::new();
    for (rows, cols, inner) in PRODUCTS {
        let counted = [
            (1.0, WriteMode::Overwrite),
            (1.0, WriteMode::Accumulate),
            (0.7, WriteMode::Overwrite),
            (0.7, WriteMode::Accumulate),
        ]
        .map(|(scale, before)| cuda.candidates([rows, cols, inner], scale, before));
        let [plain, kept, scaled, both] = counted.map(|all| [all.named, all.in_order]);
        let begin = Instant::now();
        let order = cuda.accumulation_order(rows, cols, inner);
        let search = begin.elapsed().as_secs_f64();
        let (m, n, k) = (rows as usize, cols as usize, inner as usize);
        let (x, w) = (noise(device, m * k), noise(device, n * k));
        let mut y = device.take::<Activation>(m * n);
        let repeats = if m > 1000 { 20 } else { 200 };
        let time = seconds(device, repeats, |_| {
            let to = MatrixMut::new(y.view_mut(), m, n);
            let (x, w) = (Matrix::new(x.view(), m, k), Matrix::new(w.view(), n, k).transposed());
            matmul(device, to, WriteMode::Overwrite, ScaledProduct { scale: 1.0, a: x, b: w });
        })?;
        let flop = 2.0 * m as f64 * n as f64 * k as f64;
        all.push(format!(
            "    {{\"rows\": {rows}, \"cols\": {cols}, \"inner\": {inner}, \"order\": \"{order:?}\", \
             \"in_order\": {plain:?}, \"in_order_added\": {kept:?}, \"in_order_scaled\": {scaled:?}, \
             \"in_order_scaled_added\": {both:?}, \"search_s\": {search:.3}, \"us\": {:.1}, \
             \"tflop_per_s\": {:.1}}}",
            time * 1e6,
            flop / time / 1e12
        ));
    }
    device.check()?;
    Ok(all)
}
