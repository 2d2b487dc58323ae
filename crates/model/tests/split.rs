//! How the sequences of a step are divided into batches changes no bit of its gradients.
//!
//! Every kind of training, on models of every family with numbers in every tensor: whole models with
//! a head of their own or the embedding's, adapters, and heads for values; with what layers keep and
//! without, on one thread and on two.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::ops::Range;
use std::path::Path;

use proptest::prelude::*;
use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_kernels::philox::uniform;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::{
    BatchError, Decoder, Forward, Gradients, Keep, LoadOptions, Sequence, Signal, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family};

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trained {
    Whole,
    Critic,
    Adapter,
    Reward,
}

/// One sequence: how long it is, and what is asked for.
#[derive(Debug, Clone)]
struct One {
    length: usize,
    asked: Range<usize>,
}

#[derive(Debug, Clone)]
struct Case {
    config: Config,
    trained: Trained,
    sequences: Vec<One>,
    /// Whether there is a signal for entropies, and whether it was announced.
    entropies: (bool, bool),
    seed: u64,
}

/// What tiny models differ in.
#[derive(Clone, Copy)]
struct Tiny {
    family: Family,
    tied_head: bool,
    heads: usize,
    kv_heads: usize,
    width: usize,
    layers: usize,
    ffn: usize,
    vocab: usize,
}

fn tiny(of: Tiny) -> Config {
    let Tiny { family, tied_head, heads, kv_heads, width, layers, ffn, vocab } = of;
    Config {
        family,
        vocab,
        width,
        layers,
        heads,
        kv_heads,
        head_dim: 10,
        ffn,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head,
        qkv_bias: family == Family::Qwen2,
        qk_norm: family == Family::Qwen3,
        positions: 2048,
        bos: None,
        eos: vec![0],
        pad: None,
        dtype: Dtype::F32,
    }
}

fn config() -> impl Strategy<Value = Config> {
    let family = prop::sample::select(vec![Family::Llama, Family::Qwen2, Family::Qwen3]);
    let heads = prop::sample::select(vec![(2, 1), (4, 2), (3, 3)]);
    let sizes = (prop::sample::select(vec![20, 36]), 1..3_usize, 30..70_usize, 40..600_usize);
    ((family, any::<bool>()), heads, sizes).prop_map(|(kind, heads, sizes)| {
        let ((family, tied_head), (heads, kv_heads)) = (kind, heads);
        let (width, layers, ffn, vocab) = sizes;
        tiny(Tiny { family, tied_head, heads, kv_heads, width, layers, ffn, vocab })
    })
}

/// Up to three blocks of what norms sum at a time; nothing, some or all of it is asked for.
fn sequence() -> impl Strategy<Value = One> {
    (1..150_usize).prop_flat_map(|length| {
        (1..=length + 1, 1..=length + 1)
            .prop_map(move |(one, other)| One { length, asked: one.min(other)..one.max(other) })
    })
}

fn case() -> impl Strategy<Value = Case> {
    let kinds = vec![Trained::Whole, Trained::Critic, Trained::Adapter, Trained::Reward];
    let sequences = prop::collection::vec(sequence(), 2..9);
    let entropies = (any::<bool>(), any::<bool>());
    (config(), prop::sample::select(kinds), sequences, entropies, any::<u64>()).prop_map(
        |(config, trained, sequences, entropies, seed)| Case {
            config,
            trained,
            sequences,
            entropies,
            seed,
        },
    )
}

/// Numbers between -1 and 1, the same for the same stream.
#[expect(clippy::cast_possible_truncation, reason = "numbers of f32")]
fn numbers(seed: u64, stream: u64, count: usize) -> Vec<f32> {
    let at = |position| (uniform(seed, stream, position) * 2.0 - 1.0) as f32;
    (0..count as u64).map(at).collect()
}

impl Case {
    /// Every tensor has numbers of its own: zeros would leave gradients out.
    fn decoder(&self, threads: usize) -> Decoder {
        let mut decoder =
            Decoder::new(&Device::cpu(threads).unwrap(), &self.config, self.seed, 2048);
        self.add_trained(&mut decoder);
        let device = decoder.device().clone();
        let ids: Vec<_> = decoder.parameters().ids().collect();
        for (stream, id) in (0..).zip(ids) {
            let gain = decoder.parameters().get(id).name.contains("norm");
            let count = decoder.parameters().get(id).numbers();
            let values = numbers(self.seed, stream, count).into_iter();
            let values: Vec<f32> =
                values.map(|x| if gain { 1.0 + 0.3 * x } else { 0.3 * x }).collect();
            let from = device.upload(&values);
            device.copy(&mut decoder.parameters_mut().values_mut(id), from.view());
        }
        decoder
    }

    fn add_trained(&self, decoder: &mut Decoder) {
        let lora = LoraConfig { rank: 4, ..LoraConfig::default() };
        decoder.train_base(matches!(self.trained, Trained::Whole | Trained::Critic));
        match self.trained {
            Trained::Whole => {}
            Trained::Critic => decoder.add_value_head(),
            Trained::Adapter => decoder.add_adapter(&lora, self.seed),
            Trained::Reward => {
                decoder.add_adapter(&lora, self.seed);
                decoder.add_score_head();
            }
        }
    }

    fn tokens(&self, sequence: usize) -> Vec<u32> {
        let id = |at: usize| u32::try_from((sequence * 31 + at * at * 7) % self.config.vocab);
        (0..self.sequences[sequence].length).map(|at| id(at).unwrap()).collect()
    }

    /// The bits of all gradients of a step whose batches end at these sequences.
    fn bits(&self, decoder: &Decoder, keep: Keep, ends: &[usize]) -> Vec<Vec<u32>> {
        let device = decoder.device();
        let mut gradients = Gradients::new(device, decoder.parameters());
        let mut begin = 0;
        for &end in ends {
            self.one_batch(decoder, keep, begin..end, &mut gradients);
            begin = end;
        }
        assert_eq!(begin, self.sequences.len());
        let views = decoder.parameters().trained().map(|id| gradients.get(id).unwrap());
        views.map(|view| device.read(view).into_iter().map(f32::to_bits).collect()).collect()
    }

    fn one_batch(
        &self,
        decoder: &Decoder,
        keep: Keep,
        which: Range<usize>,
        gradients: &mut Gradients,
    ) {
        let tokens: Vec<Vec<u32>> = which.clone().map(|at| self.tokens(at)).collect();
        let of = |at: usize| Sequence {
            tokens: &tokens[at - which.start],
            asked: self.sequences[at].asked.clone(),
        };
        let batch = match decoder.batch(&which.clone().map(of).collect::<Vec<_>>()) {
            // Nothing that is asked for adds nothing.
            Err(BatchError::NothingAsked) => return,
            batch => batch.unwrap(),
        };
        let (said, announced) = self.entropies;
        let forward = Forward {
            keep: Some(keep),
            entropies: announced,
            temperature: 0.7,
            ..Forward::default()
        };
        let (scored, trail) = decoder.forward(&batch, forward);
        let signal = |stream: u64| -> Vec<f32> {
            let of = |at: usize| {
                numbers(self.seed ^ 1, stream * 100 + at as u64, self.sequences[at].asked.len())
            };
            which.clone().flat_map(of).collect()
        };
        let [dlogp, dentropy, dvalue] = [1, 2, 3].map(signal);
        let signal = Signal {
            dlogp: &dlogp,
            dentropy: said.then_some(&dentropy),
            dvalue: scored.value.is_some().then_some(&dvalue),
        };
        decoder.backward(&batch, trail.unwrap(), signal, gradients);
    }

    /// Batches of this many sequences.
    fn ends(&self, size: usize) -> Vec<usize> {
        let count = self.sequences.len();
        (0..count).step_by(size).map(|begin| count.min(begin + size)).collect()
    }

    /// Compares all ways with one batch on one thread.
    fn check(&self, decoders: &[Decoder], other: &[usize]) {
        let whole = self.bits(&decoders[0], Keep::Most, &[self.sequences.len()]);
        assert!(whole.iter().all(|tensor| tensor.iter().any(|&bits| bits != 0)), "{self:?}");
        let sizes = [1, 2, 3, 8].map(|size| self.ends(size));
        for (decoder, keep) in
            decoders.iter().flat_map(|decoder| [(decoder, Keep::Most), (decoder, Keep::Input)])
        {
            for ends in sizes.iter().map(Vec::as_slice).chain([other]) {
                let split = self.bits(decoder, keep, ends);
                for (at, (split, whole)) in split.iter().zip(&whole).enumerate() {
                    let id = decoder.parameters().trained().nth(at).unwrap();
                    let name = &decoder.parameters().get(id).name;
                    assert!(split == whole, "{name} of batches that end at {ends:?}, {keep:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn gradients_are_the_same_however_a_step_is_divided(case in case(), cut in 0..9_usize) {
        let count = case.sequences.len();
        // A first token sees itself alone: queries and keys would have no gradient.
        let seen = |sequence: &One| !sequence.asked.is_empty() && sequence.asked.end > 2;
        prop_assume!(case.sequences.iter().any(seen));
        case.check(&[case.decoder(1), case.decoder(2)], &[cut.min(count), count]);
    }
}

/// More tokens than a product sums at a time, and more places than the head takes at a time.
#[test]
fn long_sequences_are_no_exception() {
    for trained in [Trained::Critic, Trained::Reward] {
        let config = tiny(Tiny {
            family: Family::Qwen3,
            tied_head: true,
            heads: 4,
            kv_heads: 2,
            width: 20,
            layers: 1,
            ffn: 30,
            vocab: 600,
        });
        let one = |length: usize, asked| One { length, asked };
        let sequences = vec![one(40, 1..41), one(1300, 20..1300), one(3, 2..4), one(800, 1..801)];
        let case = Case { config, trained, sequences, entropies: (true, true), seed: 5 };
        case.check(&[case.decoder(2)], &[2, 4]);
    }
}

#[test]
fn nor_are_weights_of_bytes() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qwen3");
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Int8, positions: 128 };
    let decoder = |threads| {
        let device = Device::cpu(threads).unwrap();
        let mut decoder = Decoder::load(&device, &config, &weights, options).unwrap();
        decoder.load_adapter(&dir.join("adapter")).unwrap();
        decoder
    };
    let sequences = [5, 90, 30, 1, 100].map(|length| One { length, asked: 1..length + 1 });
    let (trained, config) = (Trained::Adapter, config.clone());
    let sequences = sequences.to_vec();
    let case = Case { config, trained, sequences, entropies: (false, false), seed: 7 };
    case.check(&[decoder(1), decoder(2)], &[4, 5]);
}
