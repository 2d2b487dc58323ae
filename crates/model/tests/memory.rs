//! What a plan says before, beside what the device holds after.

use std::path::Path;

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::{
    Decoder, Forward, Gradients, Keep, LoadOptions, Sequence, Signal, WeightFormat,
};
use whetstone_model::memory::{Plan, Purpose, Target, Work, plan};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family};

/// Some five million numbers; `odd` has heads that are wider than its hidden state, norms of heads
/// and sizes that the pool has to round up.
fn config(odd: bool) -> Config {
    Config {
        family: if odd { Family::Qwen3 } else { Family::Llama },
        vocab: if odd { 5003 } else { 4096 },
        width: if odd { 216 } else { 256 },
        layers: if odd { 5 } else { 6 },
        heads: 4,
        kv_heads: 2,
        head_dim: if odd { 72 } else { 64 },
        ffn: if odd { 600 } else { 768 },
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: !odd,
        qkv_bias: false,
        qk_norm: odd,
        positions: 512,
        bos: None,
        eos: vec![0],
        pad: None,
        dtype: Dtype::F32,
    }
}

/// Less than one buffer of hidden states: to leave one out is an error.
const EXACT: f64 = 0.003;

/// Bytes after one forward and backward, the optimizer's means aside.
fn trained(decoder: &Decoder, work: Work, keep: Keep) -> u64 {
    let device = decoder.device();
    device.trim();
    let mut gradients = Gradients::new(device, decoder.parameters());
    let tokens: Vec<u32> = (0..).map(|at| at * 13 % 64).take(work.length).collect();
    let sequence = Sequence { tokens: &tokens, asked: 1..work.length };
    let batch = decoder.batch(&vec![sequence; work.batch]).expect("a batch");
    let forward = Forward { keep: Some(keep), ..Forward::default() };
    let (scored, trail) = decoder.forward(&batch, forward);
    let dlogp = vec![1e-3; scored.logp.len()];
    let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
    decoder.backward(&batch, trail.expect("what was kept"), signal, &mut gradients);
    device.held_bytes() as u64
}

#[expect(clippy::print_stdout, reason = "the figures, shown with `--nocapture`")]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn check(what: &str, plan: Plan, held: u64, allowed: f64) {
    let said = plan.total() - plan.means;
    let off = said as f64 / held as f64 - 1.0;
    println!("{what}: said {said}, held {held}, off by {:.2} %", off * 100.0);
    assert!(off.abs() < allowed, "{what}: {plan:?} says {said}, the device holds {held}");
}

#[test]
fn training_holds_what_was_planned() {
    let lora = LoraConfig { rank: 8, ..LoraConfig::default() };
    for (odd, batch, length) in [(false, 4, 128), (true, 3, 100)] {
        let config = config(odd);
        let work = Work { batch, length, eight_bit: false, target: Target::Cpu };
        let mut decoder = Decoder::new(&Device::cpu(1).unwrap(), &config, 1, length);
        decoder.train_base(true);
        for keep in [Keep::Most, Keep::Input] {
            let said = plan(&config, work, Purpose::Full(keep));
            check(&format!("full, {keep:?}, {odd}"), said, trained(&decoder, work, keep), EXACT);
        }
        decoder.add_adapter(&lora, 2);
        for keep in [Keep::Most, Keep::Input] {
            let said = plan(&config, work, Purpose::Lora(&lora, keep));
            check(&format!("lora, {keep:?}, {odd}"), said, trained(&decoder, work, keep), EXACT);
        }
    }
}

#[test]
fn an_adapter_beside_weights_of_bytes_holds_what_was_planned() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qwen3");
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Int8, positions: 50 };
    let device = Device::cpu(1).unwrap();
    let mut decoder = Decoder::load(&device, &config, &weights, options).unwrap();
    let lora = LoraConfig { rank: 4, ..LoraConfig::default() };
    decoder.add_adapter(&lora, 2);
    let work = Work { batch: 3, length: 50, eight_bit: true, target: Target::Cpu };
    let said = plan(&config, work, Purpose::Lora(&lora, Keep::Most));
    // In a model this small other buffers have the sizes of unpacked weights.
    check("bytes", said, trained(&decoder, work, Keep::Most), 0.15);
}

#[test]
fn what_is_planned_for_training_grows_with_what_is_kept_and_trained() {
    let (config, lora) = (config(false), LoraConfig::default());
    let work = Work { batch: 4, length: 256, eight_bit: false, target: Target::Cpu };
    let of = |purpose| plan(&config, work, purpose);
    let (most, input) = (of(Purpose::Full(Keep::Most)), of(Purpose::Full(Keep::Input)));
    assert!(input.kept * 8 < most.kept && input.total() < most.total());
    assert_eq!(most.means, 2 * most.gradients);
    let adapter = of(Purpose::Lora(&lora, Keep::Most));
    assert!(adapter.gradients < most.gradients && adapter.weights > most.weights);
    let bytes = plan(&config, Work { eight_bit: true, ..work }, Purpose::Inference);
    assert!(bytes.weights * 2 < of(Purpose::Inference).weights);
}

#[test]
fn sizes_beyond_every_machine_are_counted_without_overflow() {
    let wide = Config { heads: 1024, kv_heads: 1024, head_dim: 1024, ..config(false) };
    let config = Config { layers: 1024, ffn: 1 << 20, vocab: 1 << 24, ..wide };
    let work = Work { batch: 4096, length: 1 << 27, eight_bit: false, target: Target::Cpu };
    for purpose in [Purpose::Inference, Purpose::Full(Keep::Most)] {
        assert!(plan(&config, work, purpose).total() > 1 << 62, "{purpose:?}");
    }
}
