//! Random models of the sizes that kernels are made for, beside the same models on the CPU.

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::{Decoder, Keep, Sequence};
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family};

use crate::support::{Back, Problems, Trained, apart, both_ways, device};

/// A Llama with three heads of 64 over one, tied.
pub(crate) fn heads_of_64() -> Config {
    Config {
        family: Family::Llama,
        vocab: 520,
        width: 192,
        layers: 3,
        heads: 3,
        kv_heads: 1,
        head_dim: 64,
        ffn: 512,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: false,
        positions: 512,
        bos: None,
        eos: vec![0],
        pad: None,
        dtype: Dtype::Bf16,
    }
}

/// A Qwen3 with four heads of 128 over two, whose vocabulary is no multiple of anything.
pub(crate) fn heads_of_128() -> Config {
    Config {
        family: Family::Qwen3,
        vocab: 1305,
        width: 256,
        heads: 4,
        kv_heads: 2,
        head_dim: 128,
        ffn: 600,
        tied_head: false,
        qk_norm: true,
        ..heads_of_64()
    }
}

/// A random model. An adapter has numbers in both halves, as one that was trained.
pub(crate) fn random(device: &Device, config: &Config, trained: Trained) -> Decoder {
    let mut decoder = Decoder::new(device, config, 11, config.positions);
    match trained {
        Trained::Whole => decoder.train_base(true),
        Trained::Adapter => {
            decoder.freeze_base();
            let lora = LoraConfig { rank: 16, alpha: 32.0, ..LoraConfig::default() };
            decoder.add_adapter(&lora, 5);
            fill_adapter(&mut decoder);
        }
    }
    decoder
}

/// New adapters have zeros in their second halves.
fn fill_adapter(decoder: &mut Decoder) {
    let device = decoder.device().clone();
    let ids: Vec<_> = decoder.adapter_parameters().collect();
    for (at, id) in ids.into_iter().enumerate() {
        let parameters = decoder.parameters_mut();
        if !parameters.get(id).name.contains("lora_B") {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let of = |n: usize| ((n * 29 + at * 7) % 61) as f32 / 61.0 - 0.5;
        let numbers: Vec<f32> = (0..parameters.get(id).numbers()).map(|n| of(n) * 0.04).collect();
        let from = device.upload::<f32>(&numbers);
        device.copy(&mut parameters.values_mut(id), from.view());
        parameters.refresh(&device, id);
    }
}

#[test]
fn a_gpu_computes_what_the_cpu_computes() {
    let Some(device) = device() else { return };
    let cpu = Device::cpu(8).unwrap();
    let mut problems = Problems::default();
    for (name, config) in [("64", heads_of_64()), ("128", heads_of_128())] {
        for trained in [Trained::Whole, Trained::Adapter] {
            let tokens: Vec<u32> = (0..300).map(|n| n * 131 % 500).collect();
            let sequences = [
                Sequence { tokens: &tokens[..200], asked: 1..200 },
                Sequence { tokens: &tokens[150..], asked: 20..151 },
            ];
            let dlogp: Vec<f32> = (0..330u16).map(|n| f32::from(n % 7) / 300.0 - 0.01).collect();
            let of = |device: &Device| {
                let decoder = random(device, &config, trained);
                let back = Back { dlogp: &dlogp, dentropy: None };
                both_ways(&decoder, &[&sequences], Keep::Most, back)
            };
            let (ours, theirs) = (of(device), of(&cpu));
            let what = format!("heads of {name} {trained:?}");
            problems.near(&format!("{what} logp"), apart(&ours.logp, &theirs.logp), 2e-2);
            problems.near(&format!("{what} entropy"), apart(&ours.entropy, &theirs.entropy), 2e-2);
            println!("{what} logp: {:.1e}", apart(&ours.logp, &theirs.logp));
            for ((tensor, ours), (_, theirs)) in ours.gradients.iter().zip(&theirs.gradients) {
                let off = apart(ours, theirs);
                println!("{what} {tensor}: {off:.1e}");
                problems.near(&format!("{what} {tensor}"), off, 6e-2);
            }
        }
    }
    problems.none();
}
