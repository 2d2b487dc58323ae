//! What is sampled on a GPU is what training computes there, bit for bit.
//!
//! On a machine without a GPU each test says SKIPPED and why. `$WHET_TESTDATA` is where the golden
//! folders are, for a machine that has the test and no sources.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]

mod support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use support::talk::{Answers, Script, Talk, Waves};
use support::words;
use whetstone_core::Seed;
use whetstone_core::config::LoraConfig;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, SampledCompletion};
use whetstone_kernels::sample::Request;
use whetstone_kernels::{Device, DeviceError};
use whetstone_model::Config;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::{
    DecodeStep, Decoder, Forward, LoadOptions, PAGE, Prefill, Sequence, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;

fn device() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(missing @ (DeviceError::NoDriver | DeviceError::NoDevice { .. })) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

fn folder(family: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden");
    std::env::var_os("WHET_TESTDATA").map_or_else(own, PathBuf::from).join(family)
}

fn golden(device: &Device, family: &str) -> Decoder {
    let dir = folder(family);
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Frozen, positions: 128 };
    let mut decoder = Decoder::load(device, &config, &weights, options).unwrap();
    decoder.load_adapter(&dir.join("adapter")).unwrap();
    decoder
}

/// A random model with an adapter, of heads that have kernels of their own.
fn random(device: &Device, size: usize) -> Decoder {
    let llama = Config::from_dir(&folder("llama")).unwrap();
    let config = Config {
        vocab: 1305,
        width: 192,
        layers: 4,
        heads: 6,
        kv_heads: 2,
        head_dim: size,
        ffn: 512,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        qk_norm: size == 128,
        positions: 512,
        ..llama
    };
    let mut decoder = Decoder::new(device, &config, 3, 512);
    decoder.freeze_base();
    decoder.add_adapter(&LoraConfig { rank: 16, alpha: 32.0, ..LoraConfig::default() }, 4);
    let ids: Vec<_> = decoder.adapter_parameters().collect();
    for id in ids {
        // As if trained: both halves have numbers.
        let parameters = decoder.parameters_mut();
        let count = parameters.get(id).numbers();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let numbers: Vec<f32> =
            (0..count).map(|n| ((n * 37 % 101) as f32 / 101.0 - 0.5) * 0.06).collect();
        let from = device.upload::<f32>(&numbers);
        device.copy(&mut parameters.values_mut(id), from.view());
        parameters.refresh(device, id);
    }
    decoder
}

/// Prompts around the ends of pages, several samples of each.
fn prompts(decoder: &Decoder, rule: Rule, samples: usize) -> Vec<Prompt> {
    let vocab = u32::try_from(decoder.config().vocab).unwrap();
    let lengths = [1, 2, 15, 16, 17, 31, 33, 47, 63, 64, 65, 90];
    let of = |(seed, length): (u32, u32)| Prompt {
        tokens: (0..length).map(|at| (at * 7 + 3 + seed) % vocab).collect(),
        messages: [].into(),
        samples,
        first_sample: 0,
        rule,
        seed: Seed::new(seed.into()),
        max_tokens: decoder.positions(),
        stop: Vec::new(),
    };
    (0..).zip(lengths).map(of).collect()
}

fn all(decoder: &Decoder, prompts: &[Prompt], limits: Limits) -> Vec<SampledCompletion> {
    let tokenizer = words(u32::try_from(decoder.config().vocab).unwrap());
    let mut drawn = Vec::new();
    let mut keep = |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    Local::new(decoder, &tokenizer, limits).generate(prompts, &mut keep).unwrap();
    drawn.sort_by_key(|one| (one.prompt, one.sample));
    drawn
}

/// Tokens that were compared, and those whose log-probability has other bits in training.
fn compare(decoder: &Decoder, rule: Rule, samples: usize) -> [usize; 2] {
    let prompts = prompts(decoder, rule, samples);
    let drawn = all(decoder, &prompts, Limits { sequences: 256, ..Limits::default() });
    let whole: Vec<Vec<u32>> = drawn
        .iter()
        .map(|one| {
            let sampled = one.completion.tokens.as_ref().unwrap();
            [&prompts[one.prompt].tokens, sampled.ids()].concat()
        })
        .collect();
    let asked = drawn.iter().zip(&whole).map(|(one, whole)| {
        let begin = prompts[one.prompt].tokens.len();
        Sequence { tokens: whole, asked: begin..whole.len() }
    });
    let asked: Vec<Sequence<'_>> = asked.collect();
    let sampled: Vec<f32> = drawn
        .iter()
        .flat_map(|one| one.completion.tokens.as_ref().unwrap().logps().to_vec())
        .collect();
    let mut trained = Vec::new();
    for some in asked.chunks(16) {
        let batch = decoder.batch(some).unwrap();
        let temperature = if rule.temperature > 0.0 { rule.temperature } else { 1.0 };
        let forward = Forward { temperature, ..Forward::default() };
        trained.extend(decoder.forward(&batch, forward).0.logp);
    }
    decoder.device().check().unwrap();
    assert_eq!(sampled.len(), trained.len());
    // A sampled log-probability is at most 0; training says what rounding gives.
    let differs = sampled.iter().zip(&trained).filter(|(a, b)| a.to_bits() != b.min(0.0).to_bits());
    [sampled.len(), differs.count()]
}

#[test]
fn log_probabilities_of_sampling_are_the_bits_of_training() {
    let Some(device) = device() else { return };
    let rules = [
        Rule::default(),
        Rule { temperature: 0.7, ..Rule::default() },
        Rule { temperature: 1.3, top_p: 0.9, ..Rule::default() },
        Rule { top_k: 20, min_p: 0.02, repetition_penalty: 1.2, ..Rule::default() },
        Rule { temperature: 0.0, ..Rule::default() },
    ];
    let mut problems = Vec::new();
    let mut compared = 0;
    let families = ["llama", "qwen2", "qwen3"].map(|family| (family, golden(&device, family)));
    let shapes = [("heads of 64", 64), ("heads of 128", 128)];
    let shapes = shapes.map(|(name, size)| (name, random(&device, size)));
    for (name, decoder) in families.iter().chain(&shapes) {
        for rule in rules {
            let [tokens, differ] = compare(decoder, rule, 8);
            println!("{name} {rule:?}: {differ} of {tokens}");
            compared += tokens;
            if differ > 0 {
                problems.push(format!("{name} {rule:?}: {differ} of {tokens} have other bits"));
            }
        }
    }
    println!("{compared} sampled tokens were compared");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_request_alone_and_among_others_gives_the_same_tokens_and_bits() {
    let Some(device) = device() else { return };
    let decoder = random(&device, 64);
    let prompts = prompts(&decoder, Rule::default(), 3);
    let together = all(&decoder, &prompts, Limits::default());
    let few = all(&decoder, &prompts, Limits { sequences: 5, ..Limits::default() });
    assert!(few == together, "fewer at a time give other samples");
    let again = all(&decoder, &prompts, Limits::default());
    assert!(again == together, "a second run gives other samples");
    for (at, prompt) in prompts.iter().enumerate().step_by(5) {
        let alone = all(&decoder, std::slice::from_ref(prompt), Limits::default());
        let among = together.iter().filter(|one| one.prompt == at);
        for (alone, among) in alone.iter().zip(among) {
            assert!(alone.completion == among.completion, "prompt {at} alone");
        }
    }
}

/// One sample of each prompt, step by step and without anything that is captured or runs ahead.
fn plainly(decoder: &Decoder, prompts: &[Prompt]) -> Vec<(Vec<u32>, Vec<u32>)> {
    let device = decoder.device();
    let pages = decoder.positions().div_ceil(PAGE);
    let mut cache = decoder.cache(pages * prompts.len());
    let own = |at: usize| -> Vec<u32> {
        (at * pages..(at + 1) * pages).map(|page| u32::try_from(page).unwrap()).collect()
    };
    let lists: Vec<Vec<u32>> = (0..prompts.len()).map(own).collect();
    let request = |prompt: &'_ Prompt, position: usize| Request {
        rule: prompt.rule,
        seed: prompt.seed.get(),
        sequence: 0,
        position: position as u64,
        prompt: &[],
        sampled: &[],
    };
    let mut all: Vec<(Vec<u32>, Vec<u32>)> = vec![Default::default(); prompts.len()];
    let filled = |at: usize| &lists[at][..prompts[at].tokens.len().div_ceil(PAGE)];
    let begun: Vec<Prefill<'_>> = prompts
        .iter()
        .enumerate()
        .map(|(at, prompt)| Prefill { tokens: &prompt.tokens, pages: filled(at) })
        .collect();
    let mut logits = decoder.prefill(&mut cache, &begun);
    let mut active: Vec<usize> = (0..prompts.len()).collect();
    loop {
        let requests: Vec<Request<'_>> =
            active.iter().map(|&at| request(&prompts[at], all[at].0.len())).collect();
        let (tokens, logps) = decoder.choose(&mut logits, &requests).wait();
        device.check().unwrap();
        for ((&at, token), logp) in active.iter().zip(tokens).zip(logps) {
            all[at].0.push(token);
            all[at].1.push(logp.min(0.0).to_bits());
        }
        active.retain(|&at| {
            let (prompt, ids) = (&prompts[at], &all[at].0);
            let ended = decoder.config().eos.contains(ids.last().unwrap());
            !ended && ids.len() < prompt.max_tokens.min(decoder.positions() - prompt.tokens.len())
        });
        if active.is_empty() {
            return all;
        }
        let mut step = DecodeStep::default();
        for &at in &active {
            let position = prompts[at].tokens.len() + all[at].0.len() - 1;
            step.add(*all[at].0.last().unwrap(), position, &lists[at]);
        }
        logits = decoder.step(&mut cache, &step);
    }
}

#[test]
fn captured_steps_that_run_ahead_sample_the_bits_of_plain_ones() {
    let Some(device) = device() else { return };
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    device.on_note(move |note| kept.lock().unwrap().push(note.to_owned()));
    let rules = [Rule::default(), Rule { temperature: 0.8, top_p: 0.9, ..Rule::default() }];
    let shapes = [golden(&device, "qwen3"), random(&device, 64), random(&device, 128)];
    for (decoder, rule) in shapes.iter().flat_map(|decoder| rules.map(|rule| (decoder, rule))) {
        let prompts = prompts(decoder, rule, 1);
        let ahead = all(decoder, &prompts, Limits::default());
        let plain = plainly(decoder, &prompts);
        let mut compared = 0;
        for (one, (ids, logps)) in ahead.iter().zip(&plain) {
            let sampled = one.completion.tokens.as_ref().unwrap();
            assert_eq!(sampled.ids(), ids, "prompt {}", one.prompt);
            let bits: Vec<u32> = sampled.logps().iter().map(|logp| logp.to_bits()).collect();
            assert_eq!(&bits, logps, "prompt {}", one.prompt);
            compared += ids.len();
        }
        println!("{compared} tokens are the same with and without graphs");
    }
    let notes = notes.lock().unwrap();
    // A GPU that has not computed these products before says that it looks for their algorithms.
    let others: Vec<&String> =
        notes.iter().filter(|note| !note.starts_with("choosing algorithms")).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Here a row that looks at pages has every bit of a packed one, so whole prompts give the same bits too.
#[test]
fn turns_have_the_same_bits_with_kept_pages_without_them_and_as_whole_prompts() {
    let Some(device) = device() else { return };
    for size in [64, 128] {
        let decoder = random(&device, size);
        let vocab = u32::try_from(decoder.config().vocab).unwrap();
        let script = |seed: u64, length: u32, turns: &[usize], answer: usize| Script {
            seed,
            prompt: (0..length).map(|at| (at * 7 + 3) % vocab).collect(),
            samples: 3,
            rule: Rule::default(),
            turns: turns.to_vec(),
            answer,
            same: usize::MAX,
        };
        let scripts = [
            script(1, 21, &[1, 7, 20], 6),
            script(2, 32, &[16, 16, 16, 16], 16),
            script(3, 65, &[30, 3, 40], 100),
            Script { same: 40, ..script(4, 50, &[9, 9], 5) },
        ];
        let tokenizer = words(vocab);
        let play_with = |generator: &mut dyn Generator, answers: Answers| {
            let mut talk = Talk::new(vocab, &scripts, answers);
            let usage = generator.generate_turns(&mut talk).unwrap();
            (talk.completions, usage)
        };
        let play = |generator: &mut dyn Generator| play_with(generator, Answers::AtOnce);
        let local = |limits| Local::new(&decoder, &tokenizer, limits);
        let (kept, usage) = play(&mut local(Limits::default()));
        let scarce = Limits { cache_bytes: 26 * decoder.page_bytes(), ..Limits::default() };
        let (given_up, more) = play(&mut local(scarce));
        assert!(kept == given_up && more.prefilled > usage.prefilled, "{size}: {more:?}");
        let (late, _) = play_with(&mut local(Limits::default()), Answers::Late);
        assert!(kept == late, "{size}: answered in another order");
        let (whole, most) = play(&mut Waves(local(Limits::default())));
        assert!(kept == whole && most.prefilled >= more.prefilled, "{size}: {most:?}");
    }
}
