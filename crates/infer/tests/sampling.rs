//! What is sampled, on the tiny models whose numbers are PyTorch's.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use whetstone_core::Seed;
use whetstone_core::completion::Finish;
use whetstone_infer::{
    GenerateError, Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage,
};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, Forward, LoadOptions, Sequence, WeightFormat};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::{Config, Tokenizer};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];
const VOCAB: u32 = 64;
const END: u32 = 2;

fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden").join(family)
}

/// A model that was made for 128 positions, with its adapter.
fn model(family: &str, threads: usize) -> Decoder {
    let dir = folder(family);
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 128 };
    let device = Device::cpu(threads).unwrap();
    let mut decoder = Decoder::load(&device, &config, &weights, options).unwrap();
    decoder.load_adapter(&dir.join("adapter")).unwrap();
    decoder
}

/// Token `n` is the text `<n>`.
fn tokenizer() -> Tokenizer {
    let vocab: Vec<String> = (0..VOCAB).map(|id| format!("\"<{id}>\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"<0>"}},"decoder":{{"type":"Fuse"}}}}"#,
        vocab.join(",")
    );
    Tokenizer::from_json(&json, Path::new("made in a test")).unwrap()
}

fn prompt(length: u32, seed: u64) -> Prompt {
    Prompt {
        tokens: (0..length).map(|at| (at * 7 + 3 + u32::try_from(seed).unwrap()) % VOCAB).collect(),
        messages: [].into(),
        samples: 1,
        first_sample: 0,
        rule: Rule::default(),
        seed: Seed::new(seed),
        max_tokens: 40,
        stop: Vec::new(),
    }
}

fn all(decoder: &Decoder, prompts: &[Prompt], limits: Limits) -> (Vec<SampledCompletion>, Usage) {
    let tokenizer = tokenizer();
    let mut drawn = Vec::new();
    let mut keep = |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    let usage = Local::new(decoder, &tokenizer, limits).generate(prompts, &mut keep).unwrap();
    drawn.sort_by_key(|one| (one.prompt, one.sample));
    (drawn, usage)
}

fn ids(drawn: &SampledCompletion) -> &[u32] {
    drawn.completion.tokens.as_ref().unwrap().ids()
}

/// Prompts around the ends of pages, several samples of some.
fn many() -> Vec<Prompt> {
    let lengths = [1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100];
    let of =
        |(at, length): (u64, u32)| Prompt { samples: 1 + (at % 3) as usize, ..prompt(length, at) };
    (0..).zip(lengths).map(of).collect()
}

#[test]
fn log_probabilities_of_sampling_are_those_of_training() {
    for family in FAMILIES {
        let decoder = model(family, 2);
        for temperature in [1.0, 0.7] {
            let rule = Rule { temperature, ..Rule::default() };
            let prompts: Vec<Prompt> =
                many().into_iter().map(|prompt| Prompt { rule, ..prompt }).collect();
            let (drawn, _) = all(&decoder, &prompts, Limits::default());
            let mut worst = 0.0f32;
            for one in &drawn {
                let tokens = one.completion.tokens.as_ref().unwrap();
                let whole = [&prompts[one.prompt].tokens, tokens.ids()].concat();
                let begin = prompts[one.prompt].tokens.len();
                let sequence = Sequence { tokens: &whole, asked: begin..whole.len() };
                let batch = decoder.batch(&[sequence]).unwrap();
                let forward = Forward { temperature, ..Forward::default() };
                let (scored, _) = decoder.forward(&batch, forward);
                let pairs = scored.logp.iter().zip(tokens.logps());
                worst = pairs.fold(worst, |worst, (a, b)| worst.max((a - b).abs()));
            }
            assert!(worst < 1e-4, "{family} at {temperature}: {worst:.1e}");
            println!(
                "{family} at {temperature}: {} samples, at most {worst:.1e} apart",
                drawn.len()
            );
        }
    }
}

#[test]
fn a_request_alone_and_among_others_gives_the_same_tokens_and_bits() {
    let decoder = model("qwen3", 2);
    let prompts: Vec<Prompt> = (0..64u32).map(|seed| prompt(5 + seed % 40, seed.into())).collect();
    let (together, usage) = all(&decoder, &prompts, Limits::default());
    assert_eq!(usage.widest, 64);
    for (alone, together) in prompts.iter().zip(&together) {
        let (alone, _) = all(&decoder, std::slice::from_ref(alone), Limits::default());
        assert_eq!(alone[0].completion, together.completion);
    }
}

#[test]
fn threads_memory_and_width_change_nothing_that_is_sampled() {
    let reference = all(&model("llama", 1), &many(), Limits::default()).0;
    let decoder = model("llama", 3);
    let page = decoder.page_bytes();
    for limits in [
        Limits::default(),
        Limits { sequences: 3, ..Limits::default() },
        // Room for the longest prompt and one of its samples.
        Limits { cache_bytes: 9 * page, ..Limits::default() },
    ] {
        let (drawn, usage) = all(&decoder, &many(), limits);
        assert_eq!(drawn, reference, "{limits:?}");
        assert!(usage.most_pages <= limits.cache_bytes / page && usage.widest <= limits.sequences);
    }
}

#[test]
fn a_prompt_is_computed_once_for_all_of_its_samples() {
    let decoder = model("qwen2", 2);
    let eight = Prompt { samples: 8, ..prompt(50, 4) };
    let (drawn, usage) = all(&decoder, std::slice::from_ref(&eight), Limits::default());
    assert_eq!((drawn.len(), usage.prefilled), (8, 50));
    let distinct: std::collections::BTreeSet<&[u32]> = drawn.iter().map(ids).collect();
    assert!(distinct.len() > 6, "samples differ");
    let first = Prompt { samples: 3, ..eight.clone() };
    let (three, _) = all(&decoder, &[first], Limits::default());
    assert_eq!(three, drawn[..3]);
    // Later ones alone are the same too.
    let later = [
        Prompt { first_sample: 6, samples: 2, ..eight.clone() },
        Prompt { first_sample: 3, samples: 1, ..eight },
    ];
    let (rest, _) = all(&decoder, &later, Limits::default());
    let among = |number: usize| SampledCompletion { prompt: 0, ..drawn[number].clone() };
    let alone = |at: usize| SampledCompletion { prompt: 0, ..rest[at].clone() };
    assert_eq!([alone(0), alone(1), alone(2)], [among(6), among(7), among(3)]);
}

#[test]
fn seeds_and_prompts_decide_what_is_sampled() {
    let decoder = model("llama", 1);
    let (drawn, _) = all(&decoder, &[prompt(9, 1), prompt(9, 1), prompt(9, 2)], Limits::default());
    assert_eq!(ids(&drawn[0]), ids(&drawn[1]));
    assert_ne!(ids(&drawn[0]), ids(&drawn[2]));
}

#[test]
fn the_end_token_ends_a_completion_and_is_its_last() {
    let decoder = model("llama", 1);
    let prompts: Vec<Prompt> = (0..20).map(|seed| prompt(6, seed)).collect();
    let (drawn, _) = all(&decoder, &prompts, Limits::default());
    let (ended, cut): (Vec<&SampledCompletion>, Vec<&SampledCompletion>) =
        drawn.iter().partition(|one| one.completion.finish == Finish::Stop);
    assert!(!ended.is_empty() && !cut.is_empty(), "both kinds: {} {}", ended.len(), cut.len());
    for one in ended {
        let (last, before) = ids(one).split_last().unwrap();
        assert!(*last == END && !before.contains(&END));
        assert!(!one.completion.text.contains("<2>"));
    }
    assert!(cut.iter().all(|one| ids(one).len() == 40 && !ids(one).contains(&END)));
}

#[test]
fn a_stop_text_ends_a_completion_and_is_left_out() {
    let decoder = model("llama", 1);
    let free = all(&decoder, &[prompt(9, 1)], Limits::default()).0;
    let third = ids(&free[0])[2];
    let stop = vec![format!("{third}><"), format!("<{third}>")];
    let (drawn, _) = all(&decoder, &[Prompt { stop, ..prompt(9, 1) }], Limits::default());
    assert_eq!(ids(&drawn[0]), &ids(&free[0])[..3]);
    assert_eq!(drawn[0].completion.finish, Finish::Stop);
    let [first, second, ..] = ids(&free[0]) else { panic!("at least two tokens") };
    assert_eq!(drawn[0].completion.text, format!("<{first}><{second}>"));
}

#[test]
fn the_models_context_ends_a_completion() {
    let decoder = model("llama", 1);
    let rule = Rule { temperature: 0.0, ..Rule::default() };
    let long = Prompt { max_tokens: 1000, rule, ..prompt(125, 1) };
    let (drawn, _) = all(&decoder, &[long], Limits::default());
    assert_eq!(ids(&drawn[0]).len(), 3);
    assert_eq!(drawn[0].completion.finish, Finish::Length);
}

#[test]
fn a_listener_who_has_enough_ends_the_work() {
    let decoder = model("llama", 1);
    let tokenizer = tokenizer();
    let mut count = 0;
    let mut one = |_| {
        count += 1;
        ControlFlow::Break(())
    };
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    local.generate(&many(), &mut one).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn what_cannot_be_completed_is_refused_before_anything_is_computed() {
    let decoder = model("llama", 1);
    let tokenizer = tokenizer();
    let refused = |prompt: Prompt, cache_bytes: usize| {
        let limits = Limits { cache_bytes, ..Limits::default() };
        let mut never = |_| -> ControlFlow<()> { panic!("nothing was asked that can be answered") };
        let good = self::prompt(3, 0);
        Local::new(&decoder, &tokenizer, limits).generate(&[good, prompt], &mut never).unwrap_err()
    };
    let all = usize::MAX;
    assert!(matches!(refused(prompt(0, 1), all), GenerateError::Empty { prompt: 1 }));
    assert!(matches!(refused(prompt(128, 1), all), GenerateError::TooLong { length: 128, .. }));
    let bad = Prompt { tokens: vec![64], ..prompt(1, 1) };
    assert!(matches!(refused(bad, all), GenerateError::Token { token: 64, .. }));
    let none = Prompt { samples: 0, ..prompt(1, 1) };
    assert!(matches!(refused(none, all), GenerateError::Nothing { .. }));
    let rule = Rule { top_p: f32::NAN, ..Rule::default() };
    assert!(matches!(refused(Prompt { rule, ..prompt(1, 1) }, all), GenerateError::Rule { .. }));
    let rule = Rule { presence_penalty: -101.0, ..Rule::default() };
    assert!(matches!(refused(Prompt { rule, ..prompt(1, 1) }, all), GenerateError::Rule { .. }));
    let small = refused(prompt(100, 1), 8 * decoder.page_bytes());
    assert!(matches!(small, GenerateError::TooLarge { prompt: 1, .. }), "{small}");
}

#[test]
fn a_generator_that_was_used_before_takes_more_memory_when_more_is_asked() {
    let decoder = model("llama", 1);
    let tokenizer = tokenizer();
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    for prompts in [&[prompt(3, 0)][..], &many(), &[prompt(3, 0)]] {
        let again = local.generate(prompts, &mut |_| ControlFlow::Continue(())).unwrap();
        let (_, new) = all(&decoder, prompts, Limits::default());
        assert_eq!((again.widest, again.most_pages), (new.widest, new.most_pages));
    }
}

#[test]
fn one_sequence_at_a_time_is_the_least() {
    let decoder = model("llama", 1);
    let none = Limits { sequences: 0, ..Limits::default() };
    let (drawn, usage) = all(&decoder, &[prompt(5, 1), prompt(9, 2)], none);
    assert_eq!((drawn.len(), usage.widest), (2, 1));
}

#[test]
fn a_model_that_gives_no_numbers_is_an_error_with_the_place() {
    let mut decoder = model("llama", 1);
    let norm = decoder
        .parameters()
        .ids()
        .find(|&id| decoder.parameters().get(id).name == "model.norm.weight");
    let device = decoder.device().clone();
    device.fill(&mut decoder.parameters_mut().values_mut(norm.unwrap()), f32::NAN);
    let tokenizer = tokenizer();
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let refused = local.generate(&[prompt(5, 1)], &mut |_| ControlFlow::Continue(()));
    let refused = refused.unwrap_err();
    let place = GenerateError::NotFinite { prompt: 0, sample: 0, position: 0, logp: f32::NAN };
    assert_eq!(refused.to_string(), place.to_string());
}
