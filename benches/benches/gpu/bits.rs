//! Whether what was sampled is what is trained: the bits of every log-probability.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_core::completion::SampledTokens;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, SampledCompletion};
use whetstone_kernels::Device;
use whetstone_model::Tokenizer;
use whetstone_model::config::Config;
use whetstone_model::decoder::{Decoder, Forward, LoadOptions, Sequence, WeightFormat};
use whetstone_model::safetensors::Safetensors;

use crate::decode::words;
use crate::{Subject, lora, qwen3_1_7b, smollm2_135m};

/// Sequences side by side: samples of prompts of different lengths.
const SEQUENCES: usize = 300;
const SAMPLES: usize = 6;

/// Prompts that are sampled again by themselves.
const ALONE: usize = 5;

/// The least tokens that are compared over all models.
const LEAST: usize = 100_000;

/// Models whose files are there, in the folder of test data.
const FAMILIES: [&str; 4] = ["llama", "qwen2", "qwen3", "smollm2"];

/// Tokens that a batch of training has at most.
const BATCH_TOKENS: usize = 8192;

/// Tokens that were compared, and those with other bits.
#[derive(Debug, Clone, Copy, Default)]
struct Compared {
    tokens: usize,
    differ: usize,
}

/// All models, one after another; an error if a bit differs.
pub(crate) fn bits(device: &Device) -> Result<Value, Box<dyn Error>> {
    let (mut rows, mut tokens, mut differ) = (Vec::new(), 0, 0);
    for family in FAMILIES {
        let folder = folder(family);
        if !folder.join("config.json").exists() {
            rows.push(json!({ "model": family, "left_out": "its files are not there" }));
            continue;
        }
        rows.push(row(family, &loaded(device, &folder)?, &mut tokens, &mut differ)?);
    }
    let shapes = [("SmolLM2-135M's shape", smollm2_135m()), ("Qwen3-1.7B's shape", qwen3_1_7b())];
    for (name, shape) in shapes {
        let model = Subject { shape, lora: lora() }.model(device)?;
        rows.push(row(name, &model.decoder, &mut tokens, &mut differ)?);
        drop(model);
        device.trim();
    }
    if differ > 0 || tokens < LEAST {
        return Err(format!("{differ} of {tokens} tokens have other bits: {rows:?}").into());
    }
    Ok(json!({ "other_bits_than_training": format!("{differ} of {tokens}"), "models": rows }))
}

fn row(
    name: &str,
    decoder: &Decoder,
    tokens: &mut usize,
    differ: &mut usize,
) -> Result<Value, Box<dyn Error>> {
    let tokenizer = words(decoder.config().vocab)?;
    let prompts = prompts(decoder);
    let drawn = sampled(decoder, &tokenizer, &prompts)?;
    let trained = against_training(decoder, &prompts, &drawn)?;
    let alone = alone(decoder, &tokenizer, &prompts, &drawn)?;
    decoder.device().check()?;
    *tokens += trained.tokens;
    *differ += trained.differ + alone.differ;
    Ok(json!({
        "model": name,
        "sampled_together": drawn.len(),
        "other_bits_in_training": format!("{} of {}", trained.differ, trained.tokens),
        "other_bits_alone": format!("{} of {}", alone.differ, alone.tokens),
    }))
}

fn folder(family: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/model/tests/golden");
    std::env::var_os("WHET_TESTDATA").map_or_else(own, PathBuf::from).join(family)
}

/// With its adapter, if it has one.
fn loaded(device: &Device, folder: &Path) -> Result<Decoder, Box<dyn Error>> {
    let config = Config::from_dir(folder)?;
    let weights = Safetensors::open_dir(folder)?;
    let positions = config.positions.min(512);
    let options = LoadOptions { weights: WeightFormat::Frozen, positions };
    let mut decoder = Decoder::load(device, &config, &weights, options)?;
    let adapter = folder.join("adapter");
    if adapter.exists() {
        decoder.load_adapter(&adapter)?;
    }
    Ok(decoder)
}

/// Around the ends of pages and of tiles of keys.
fn prompts(decoder: &Decoder) -> Vec<Prompt> {
    let (vocabulary, positions) = (decoder.config().vocab, decoder.positions());
    let most = positions / 2;
    let of = |index: usize| Prompt {
        messages: [].into(),
        tokens: (0..=index * 13 % most)
            .map(|at| u32::try_from((at * 7 + index * 31 + 3) % vocabulary).unwrap_or(0))
            .collect(),
        samples: SAMPLES,
        first_sample: 0,
        rule: Rule {
            temperature: if index.is_multiple_of(3) { 0.8 } else { 1.0 },
            ..Rule::default()
        },
        seed: Seed::new(index as u64),
        max_tokens: 160,
        stop: Vec::new(),
    };
    (0..SEQUENCES / SAMPLES).map(of).collect()
}

fn sampled(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    prompts: &[Prompt],
) -> Result<Vec<SampledCompletion>, Box<dyn Error>> {
    let mut drawn = Vec::new();
    let limits = Limits { cache_bytes: 32 << 30, sequences: SEQUENCES };
    Local::new(decoder, tokenizer, limits).generate(prompts, &mut |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    })?;
    drawn.sort_by_key(|one| (one.prompt, one.sample));
    Ok(drawn)
}

/// The same tokens, their log-probabilities by training.
fn against_training(
    decoder: &Decoder,
    prompts: &[Prompt],
    drawn: &[SampledCompletion],
) -> Result<Compared, Box<dyn Error>> {
    let mut found = Compared::default();
    // A batch has one temperature.
    for cold in [true, false] {
        let mut batch: Vec<&SampledCompletion> = Vec::new();
        let mut tokens = 0;
        let own = drawn.iter().filter(|one| (prompts[one.prompt].rule.temperature < 1.0) == cold);
        for one in own.map(Some).chain([None]) {
            let length = one.map_or(0, |one| prompts[one.prompt].tokens.len() + logps(one).len());
            if one.is_none() || tokens + length > BATCH_TOKENS {
                let more = compared(decoder, prompts, &batch)?;
                found.tokens += more.tokens;
                found.differ += more.differ;
                batch.clear();
                tokens = 0;
            }
            tokens += length;
            batch.extend(one);
        }
    }
    Ok(found)
}

fn logps(one: &SampledCompletion) -> &[f32] {
    one.completion.tokens.as_ref().map_or(&[], |tokens| tokens.logps())
}

fn compared(
    decoder: &Decoder,
    prompts: &[Prompt],
    drawn: &[&SampledCompletion],
) -> Result<Compared, Box<dyn Error>> {
    let Some(first) = drawn.first() else { return Ok(Compared::default()) };
    let temperature = prompts[first.prompt].rule.temperature;
    let whole: Vec<Vec<u32>> = drawn
        .iter()
        .map(|one| {
            let ids = one.completion.tokens.as_ref().map_or(&[][..], |tokens| tokens.ids());
            [&prompts[one.prompt].tokens, ids].concat()
        })
        .collect();
    let asked: Vec<Sequence<'_>> = drawn
        .iter()
        .zip(&whole)
        .map(|(one, whole)| {
            let begin = prompts[one.prompt].tokens.len();
            Sequence { tokens: whole, asked: begin..whole.len() }
        })
        .collect();
    let batch = decoder.batch(&asked)?;
    let (scored, _) = decoder.forward(&batch, Forward { temperature, ..Forward::default() });
    let sampled: Vec<f32> = drawn.iter().flat_map(|one| logps(one)).copied().collect();
    if sampled.len() != scored.logp.len() {
        return Err("training answers for other tokens than were sampled".into());
    }
    // A sampled log-probability is at most 0; training says what rounding gives.
    let both = sampled.iter().zip(&scored.logp);
    let differ = both.filter(|(a, b)| a.to_bits() != b.min(0.0).to_bits()).count();
    Ok(Compared { tokens: sampled.len(), differ })
}

/// Some prompts by themselves, one sample of each: tokens and bits of the first among all others.
fn alone(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    prompts: &[Prompt],
    drawn: &[SampledCompletion],
) -> Result<Compared, Box<dyn Error>> {
    let mut found = Compared::default();
    for (at, prompt) in prompts.iter().enumerate().step_by(prompts.len() / ALONE) {
        let single = Prompt { samples: 1, ..prompt.clone() };
        let own = sampled(decoder, tokenizer, &[single])?;
        let among = drawn.iter().find(|one| one.prompt == at && one.sample == 0);
        let (Some(own), Some(among)) = (own.first(), among) else {
            return Err("a prompt was not sampled".into());
        };
        let [a, b] = [own, among].map(|one| one.completion.tokens.as_ref());
        let (Some(a), Some(b)) = (a, b) else { return Err("no tokens".into()) };
        let pairs = |tokens: &SampledTokens| -> Vec<(u32, u32)> {
            tokens.ids().iter().copied().zip(tokens.logps().iter().map(|x| x.to_bits())).collect()
        };
        let (a, b) = (pairs(a), pairs(b));
        let same = a.iter().zip(&b).filter(|(a, b)| a == b).count();
        found.tokens += a.len().max(b.len());
        found.differ += a.len().max(b.len()) - same;
    }
    Ok(found)
}
