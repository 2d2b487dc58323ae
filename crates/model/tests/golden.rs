//! The same numbers as PyTorch: log-probabilities, entropies and every gradient of three tiny models.
//!
//! Made by `xtask/goldens/models.py`, whose head says how.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]
#![expect(clippy::print_stdout, reason = "how near the numbers are is worth seeing")]

use std::path::{Path, PathBuf};

use whetstone_kernels::Device;
use whetstone_model::decoder::{
    Adapters, DecodeStep, Decoder, Forward, Gradients, Keep, LoadOptions, Prefill, Sequence,
    Signal, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::{Config, Weights};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];
const FIRST_ASKED: [usize; 3] = [1, 5, 22];

fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(family)
}

struct Golden {
    file: Safetensors,
}

impl Golden {
    fn open(family: &str) -> Self {
        let path = folder(family).join("golden.safetensors");
        Self { file: Safetensors::open_file(&path).unwrap() }
    }

    fn get(&self, name: &str) -> Vec<f32> {
        let mut out = vec![0.0; self.file.tensor(name).unwrap().numbers()];
        self.file.read(name, &mut out).unwrap();
        out
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "token ids")]
    fn tokens(&self) -> [Vec<u32>; 3] {
        [0, 1, 2].map(|at| self.get(&format!("tokens.{at}")).iter().map(|&id| id as u32).collect())
    }
}

fn model(family: &str, threads: usize) -> Decoder {
    let dir = folder(family);
    let device = Device::cpu(threads).unwrap();
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 128 };
    Decoder::load(&device, &config, &weights, options).unwrap()
}

/// The largest difference, in units of the largest number.
fn difference(ours: &[f32], theirs: &[f32]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let size = theirs.iter().fold(1e-6f64, |size, x| size.max(f64::from(x.abs())));
    let pairs = ours.iter().zip(theirs);
    pairs.fold(0.0, |worst, (a, b)| f64::max(worst, f64::from((a - b).abs()) / size))
}

/// Runs the golden sequences both ways.
fn run(decoder: &Decoder, golden: &Golden, keep: Keep) -> (Vec<f32>, Vec<f32>, Gradients) {
    let tokens = golden.tokens();
    let sequences: Vec<Sequence<'_>> = tokens
        .iter()
        .zip(FIRST_ASKED)
        .map(|(tokens, first)| Sequence { tokens, asked: first..tokens.len() })
        .collect();
    let batch = decoder.batch(&sequences).unwrap();
    let (scored, trail) =
        decoder.forward(&batch, Forward { keep: Some(keep), ..Forward::default() });
    let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
    let (dlogp, dentropy) = (golden.get("dlogp"), golden.get("dentropy"));
    let signal = Signal { dlogp: &dlogp, dentropy: Some(&dentropy), dvalue: None };
    decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
    (scored.logp, scored.entropy, gradients)
}

fn check(family: &str, prefix: &str, decoder: &Decoder) {
    let golden = Golden::open(family);
    for keep in [Keep::Most, Keep::Input] {
        let (logp, entropy, gradients) = run(decoder, &golden, keep);
        let mut worst = difference(&logp, &golden.get(&format!("{prefix}.logp")));
        worst = worst.max(difference(&entropy, &golden.get(&format!("{prefix}.entropy"))));
        let mut seen = 0;
        for id in decoder.parameters().ids() {
            let name = &decoder.parameters().get(id).name;
            let Some(ours) = gradients.get(id) else { continue };
            let theirs = golden.get(&format!("{prefix}.{name}"));
            let difference = difference(&decoder.device().read(ours), &theirs);
            assert!(difference < 1e-4, "{family} {name} differs by {difference:.1e}");
            worst = worst.max(difference);
            seen += 1;
        }
        assert!(worst < 1e-4, "{family} {prefix} differs by {worst:.1e}");
        let there = golden.file.names().iter().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(seen, there - 2, "every gradient was compared");
        println!(
            "{family} {prefix} {keep:?}: {seen} gradients, worst relative difference {worst:.1e}"
        );
    }
}

#[test]
fn a_whole_model_has_the_log_probabilities_entropies_and_gradients_of_transformers() {
    for family in FAMILIES {
        let mut decoder = model(family, 2);
        decoder.train_base(true);
        check(family, "full", &decoder);
    }
}

#[test]
fn an_adapter_of_peft_has_the_log_probabilities_entropies_and_gradients_of_peft() {
    for family in FAMILIES {
        let mut decoder = model(family, 2);
        decoder.load_adapter(&folder(family).join("adapter")).unwrap();
        check(family, "lora", &decoder);
    }
}

#[test]
fn with_the_adapter_off_a_model_is_its_own_reference_bit_for_bit() {
    for family in FAMILIES {
        let golden = Golden::open(family);
        let plain = model(family, 1);
        let mut adapted = model(family, 1);
        adapted.load_adapter(&folder(family).join("adapter")).unwrap();
        let tokens = golden.tokens();
        let score = |decoder: &Decoder, adapters| {
            let sequence = Sequence { tokens: &tokens[1], asked: 1..tokens[1].len() };
            let batch = decoder.batch(&[sequence]).unwrap();
            decoder.forward(&batch, Forward { adapters, ..Forward::default() }).0
        };
        assert_eq!(score(&adapted, Adapters::Off), score(&plain, Adapters::On));
        assert_ne!(score(&adapted, Adapters::On), score(&plain, Adapters::On));
    }
}

#[test]
fn one_thread_and_three_give_the_same_bits() {
    for family in FAMILIES {
        let golden = Golden::open(family);
        let bits = |threads| {
            let mut decoder = model(family, threads);
            decoder.train_base(true);
            let (logp, entropy, gradients) = run(&decoder, &golden, Keep::Most);
            let ids = decoder.parameters().ids();
            let all =
                ids.filter_map(|id| gradients.get(id)).map(|view| decoder.device().read(view));
            let all: Vec<f32> = all.flatten().chain(logp).chain(entropy).collect();
            all.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(1), bits(3), "{family}");
    }
}

#[test]
fn a_prompt_at_once_and_token_by_token_have_the_logits_of_transformers() {
    for family in FAMILIES {
        let golden = Golden::open(family);
        let decoder = model(family, 2);
        let tokens = &golden.tokens()[2];
        let theirs = golden.get("logits");
        let vocab = decoder.config().vocab;
        let mut cache = decoder.cache(4);
        let pages = [2, 0];
        let at_once = decoder.prefill(&mut cache, &[Prefill { tokens, pages: &pages }]);
        let last = &theirs[(tokens.len() - 1) * vocab..];
        let mut worst = difference(&decoder.device().read(at_once.view()), last);
        let pages = [3, 1];
        for (position, (&token, theirs)) in tokens.iter().zip(theirs.chunks(vocab)).enumerate() {
            let mut step = DecodeStep::default();
            step.add(token, position, &pages);
            let logits = decoder.step(&mut cache, &step);
            worst = worst.max(difference(&decoder.device().read(logits.view()), theirs));
        }
        assert!(worst < 1e-4, "{family} differs by {worst:.1e}");
        println!("{family}: logits differ by at most {worst:.1e}");
    }
}

/// The same bits of logits, and of what later tokens see in the pages.
#[test]
fn prompts_go_through_together_as_they_do_alone() {
    for family in FAMILIES {
        let (tokens, decoder) = (Golden::open(family).tokens(), model(family, 2));
        let held = [0, 1, 2].map(|at| (0..8).map(|page| page * 3 + at).collect::<Vec<u32>>());
        let prompts: Vec<Prefill<'_>> =
            tokens.iter().zip(&held).map(|(tokens, pages)| Prefill { tokens, pages }).collect();
        let bits = |batches: &[&[Prefill<'_>]]| {
            let (mut cache, mut step) = (decoder.cache(24), DecodeStep::default());
            let mut all = Vec::new();
            for batch in batches {
                all.extend(decoder.device().read(decoder.prefill(&mut cache, batch).view()));
            }
            for Prefill { tokens, pages } in &prompts {
                step.add(5, tokens.len(), pages);
            }
            all.extend(decoder.device().read(decoder.step(&mut cache, &step).view()));
            all.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let together = bits(&[&prompts]);
        assert_eq!(together.len(), 6 * decoder.config().vocab);
        let alone: Vec<&[Prefill<'_>]> = prompts.chunks(1).collect();
        assert_eq!(together, bits(&alone), "{family}");
    }
}
