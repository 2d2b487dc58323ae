//! Times of attention and of added products on a GPU, as one JSON object in the file that the first
//! argument names.
//!
//! Sizes are those of a Qwen3-1.7B: 16 heads of 128 over 8; 8 x 1024 tokens in training, 64 and 256
//! rows of 192 tokens in decoding. Ends with 2 if there is no GPU, and 3 if the
//! file cannot be written.

#![expect(clippy::cast_precision_loss, reason = "sizes become rates")]

use std::process::ExitCode;
use std::time::Instant;

use whetstone_kernels::attention::{self, Shape};
use whetstone_kernels::matmul::matmul;
use whetstone_kernels::paged::{Cache, PAGE, Tables, attend};
use whetstone_kernels::{Activation, Before, Buffer, Device, DeviceError, Matrix, MatrixMut};

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
            lines.push(forward(&device, &shape, (sequences, length))?);
        }
        for rows in [64, 256] {
            let shape = Shape { heads, kv_heads: 8, size, scale: 0.1 };
            lines.push(paged(&device, shape, (rows, 192))?);
        }
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
    (sequences, length): (usize, usize),
) -> Result<String, DeviceError> {
    let rows = sequences * length;
    let qkv = noise(device, rows * shape.packed_width());
    let mut out = device.take::<Activation>(rows * shape.width());
    let mut lse = device.take::<f32>(rows * shape.heads);
    let offsets: Vec<usize> = (0..=sequences).map(|at| at * length).collect();
    let time = seconds(device, 30, |_| {
        let to = MatrixMut::new(out.view_mut(), rows, shape.width());
        let from = Matrix::new(qkv.view(), rows, shape.packed_width());
        attention::forward(device, (to, &mut lse.view_mut()), from, (shape, &offsets));
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

fn paged(
    device: &Device,
    shape: Shape,
    (rows, length): (usize, usize),
) -> Result<String, DeviceError> {
    let (each, layers) = (length / PAGE, 28);
    let cache = Cache::new(device, (layers, rows * each), shape);
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
        let tables = Tables { pages: pages.view(), starts: starts.view(), lengths: lengths.view() };
        attend(device, to, (&cache, at % layers), (from, tables));
    })?;
    let bytes = (rows * length * Cache::token_width(&shape) * 2) as f64;
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
    let mut timed = |before| {
        seconds(device, repeats, |_| {
            let to = MatrixMut::new(y.view_mut(), rows, cols);
            let x = Matrix::new(x.view(), rows, inner);
            let w = Matrix::new(w.view(), cols, inner).turned();
            matmul(device, to, before, (1.0, x, w));
        })
    };
    let (plain, added) = (timed(Before::Gone)?, timed(Before::Kept)?);
    Ok(format!(
        "  \"product {rows} x {cols} x {inner}\": {{ \"us\": {:.1}, \"added_us\": {:.1} }}",
        plain * 1e6,
        added * 1e6
    ))
}
