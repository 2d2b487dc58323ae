//! What is measured: configurations, and tokens that are the same in every run.

use whetstone_model::config::{Config, Family, Rope, Scaling};
use whetstone_model::weights::Dtype;

pub(crate) fn shape_a() -> Config {
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

pub(crate) fn shape_s() -> Config {
    Config { vocab: 49152, width: 576, layers: 30, heads: 9, kv_heads: 3, ffn: 1536, ..shape_a() }
}

pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub(crate) fn tokens(count: usize, vocab: usize, step: usize) -> Vec<u32> {
    let mut x = step as u64 + 1;
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from((x >> 33) % vocab as u64).unwrap_or(0)
        })
        .collect()
}

pub(crate) fn rounded(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}
