//! What a plan says of sampling, beside what the device holds afterwards.

use std::ops::ControlFlow;

use whetstone_core::Seed;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule};
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::Decoder;
use whetstone_model::memory::{Purpose, Target, Work, plan};
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family};

use crate::support::words;

const VOCAB: u32 = 4096;

/// Some five million numbers.
fn config() -> Config {
    Config {
        family: Family::Qwen3,
        vocab: VOCAB as usize,
        width: 256,
        layers: 6,
        heads: 4,
        kv_heads: 2,
        head_dim: 64,
        ffn: 768,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: true,
        positions: 512,
        bos: None,
        eos: vec![0],
        pad: None,
        dtype: Dtype::F32,
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn sampling_holds_what_was_planned() {
    let (config, tokenizer) = (config(), words(VOCAB));
    for (batch, samples, length) in [(8u32, 1, 256u32), (1, 8, 256), (1, 1, 512), (16, 1, 64)] {
        let decoder = Decoder::new(&Device::cpu(2).unwrap(), &config, 1, length as usize);
        let prompt = |at: u32| Prompt {
            tokens: (0..length - 32).map(|token| (token * 7 + at) % VOCAB).collect(),
            messages: [].into(),
            samples,
            first_sample: 0,
            rule: Rule::default(),
            seed: Seed::new(at.into()),
            // Sequences end one by one.
            max_tokens: 32 - at as usize,
            stop: Vec::new(),
        };
        let prompts: Vec<Prompt> = (0..batch).map(prompt).collect();
        let mut local = Local::new(&decoder, &tokenizer, Limits::default());
        local.generate(&prompts, &mut |_| ControlFlow::Continue(())).unwrap();
        let (batch, length) = (batch as usize * samples, length as usize);
        let work = Work { batch, length, eight_bit: false, target: Target::Cpu };
        let mut said = plan(&config, work, Purpose::Inference);
        // Keys and values of every sequence, and the page that its prompt leaves half empty; the
        // pool rounds up by an eighth at most.
        let cache = (batch * (length / 16 + 1) * decoder.page_bytes()) as u64;
        assert!((cache..=cache * 9 / 8).contains(&said.cache), "{said:?}, pages take {cache}");
        if samples > 1 {
            // Samples of one prompt share its pages; the plan is for prompts of their own.
            let pages = length / 16 + samples * 3;
            said.cache = (pages * decoder.page_bytes()) as u64;
        }
        let held = decoder.device().held_bytes();
        let off = said.total() as f64 / held as f64 - 1.0;
        println!("{batch} of {length}: {said:?}, held {held}, {:.1} %", off * 100.0);
        assert!(off.abs() < 0.15, "{said:?} says {}, the device holds {held}", said.total());
    }
}
