//! The bits of three tiny models, pinned: log-probabilities, entropies, every gradient, and sampled
//! tokens with their log-probabilities.
//!
//! A change of how the engine is put together may not move one of them. Sums have one order on every
//! processor (`docs/adr/0014-same-bits.md`), so one number is pinned for all of them. If a change is
//! meant to move bits, run this test and put in what it prints. `golden.rs` says whether numbers are
//! right; this file only says whether they are the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::path::{Path, PathBuf};

use whetstone_kernels::sample::{Request, Rule, Sampled, sample};
use whetstone_kernels::{Device, MatrixMut};
use whetstone_model::decoder::{
    DecodeStep, Decoder, Forward, Gradients, Keep, LoadOptions, Prefill, Sequence, Signal,
    WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::{Config, Weights};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// What of a model is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trained {
    Whole,
    Adapter,
}

fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(family)
}

fn model(family: &str, trained: Trained) -> Decoder {
    let dir = folder(family);
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 128 };
    let device = Device::cpu(2).unwrap();
    let mut decoder = Decoder::load(&device, &config, &weights, options).unwrap();
    match trained {
        Trained::Whole => decoder.train_base(true),
        Trained::Adapter => drop(decoder.load_adapter(&dir.join("adapter")).unwrap()),
    }
    decoder
}

/// FNV-1a over the bytes of the numbers' bits.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bits(&mut self, bits: u32) {
        for byte in bits.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn numbers(&mut self, numbers: &[f32]) {
        for number in numbers {
            self.bits(number.to_bits());
        }
    }
}

/// Log-probabilities, entropies and gradients of three sequences, with and without a signal for
/// entropies, which take different ways back.
fn trained_bits(family: &str, trained: Trained, keep: Keep) -> u64 {
    let decoder = model(family, trained);
    let golden = Safetensors::open_file(&folder(family).join("golden.safetensors")).unwrap();
    let get = |name: &str| {
        let mut out = vec![0.0; golden.tensor(name).unwrap().numbers()];
        golden.read(name, &mut out).unwrap();
        out
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "token ids")]
    let tokens = [0, 1, 2]
        .map(|at| get(&format!("tokens.{at}")).iter().map(|&id| id as u32).collect::<Vec<u32>>());
    let sequences: Vec<Sequence<'_>> = tokens
        .iter()
        .zip([1, 5, 22])
        .map(|(tokens, first)| Sequence { tokens, asked: first..tokens.len() })
        .collect();
    let batch = decoder.batch(&sequences).unwrap();
    let (dlogp, dentropy) = (get("dlogp"), get("dentropy"));
    let mut hash = Hash::new();
    for dentropy in [None, Some(dentropy.as_slice())] {
        let forward = Forward {
            keep: Some(keep),
            temperature: 0.8,
            entropies: dentropy.is_some(),
            ..Forward::default()
        };
        let (scored, trail) = decoder.forward(&batch, forward);
        hash.numbers(&scored.logp);
        hash.numbers(&scored.entropy);
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let signal = Signal { dlogp: &dlogp, dentropy, dvalue: None };
        decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
        for id in decoder.parameters().trained() {
            hash.numbers(&decoder.device().read(gradients.get(id).unwrap()));
        }
    }
    hash.0
}

/// Fifty tokens for each of four prompts, side by side.
fn sampled_bits(family: &str) -> u64 {
    let decoder = model(family, Trained::Adapter);
    let (device, vocab) = (decoder.device(), decoder.config().vocab);
    let mut cache = decoder.cache(32);
    let pages: Vec<Vec<u32>> = (0..4).map(|row| (row * 8..row * 8 + 8).collect()).collect();
    let prompts: Vec<Vec<u32>> =
        (0..4).map(|row| (0..5 + row * 7).map(|at| (at * 7 + row + 3) % 60).collect()).collect();
    let all: Vec<Prefill<'_>> =
        prompts.iter().zip(&pages).map(|(tokens, pages)| Prefill { tokens, pages }).collect();
    let mut logits = decoder.prefill(&mut cache, &all);
    let rule = Rule { temperature: 0.9, top_p: 0.95, ..Rule::default() };
    let (mut hash, mut step) = (Hash::new(), DecodeStep::default());
    let mut sampled: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for position in 0..50 {
        let request = |row: usize| Request {
            rule,
            seed: 7,
            sequence: row as u64,
            position,
            prompt: &prompts[row],
            sampled: &sampled[row],
        };
        let requests: Vec<Request<'_>> = (0..4).map(request).collect();
        let (mut tokens, mut logps) = (device.take(4), device.take(4));
        let rows = MatrixMut::new(logits.view_mut(), 4, vocab);
        let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
        sample(device, chosen, rows, &requests);
        let (tokens, logps) = (device.read(tokens.view()), device.read(logps.view()));
        hash.numbers(&logps);
        step.clear();
        for (row, &token) in tokens.iter().enumerate() {
            hash.bits(token);
            step.add(token, prompts[row].len() + sampled[row].len(), &pages[row]);
            sampled[row].push(token);
        }
        logits = decoder.step(&mut cache, &step);
    }
    hash.0
}

#[test]
fn log_probabilities_entropies_and_gradients_have_the_pinned_bits() {
    let pinned: [[u64; 2]; 3] = [
        [0x5d70_0af7_cd44_66c3, 0xc29c_cd48_85d7_c73e],
        [0xde14_9641_5051_a5fd, 0xa981_bb7e_b8f0_57cb],
        [0x847b_ccd3_9e48_fc3c, 0xea2d_733a_cda8_a83d],
    ];
    for keep in [Keep::Most, Keep::Input] {
        let all = FAMILIES.map(|family| {
            [Trained::Whole, Trained::Adapter].map(|trained| trained_bits(family, trained, keep))
        });
        assert_eq!(all, pinned, "{keep:?}: {all:#018x?}");
    }
}

#[test]
fn sampled_tokens_and_their_log_probabilities_have_the_pinned_bits() {
    let pinned = [0xaa50_9834_d9e3_cabb, 0xc78c_c521_7067_45b8, 0xe868_a6ae_bf47_7cc9];
    let all = FAMILIES.map(sampled_bits);
    assert_eq!(all, pinned, "{all:#018x?}");
}
