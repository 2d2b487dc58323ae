//! A real model: SmolLM2-135M-Instruct answers with the tokens of transformers, and what is sampled
//! from it is what is trained.
//!
//! `testdata/smollm2.json` is made by `xtask/goldens/smollm2.py`. The model is looked for in
//! `.cache/smollm2` of the repository.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, Forward, LoadOptions, PAGE, Sequence, WeightFormat};
use whetstone_model::template::Options;
use whetstone_model::{Pretrained, Tokenizer};

fn file() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/smollm2");
    let mut files = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|it| it.path());
    files.find(|path| path.extension().is_some_and(|it| it == "gguf"))
}

/// The model, if it is there, without the tokens that end a completion: the reference goes on after
/// an end of text, and so do samples, which are of the same length then.
fn model() -> Option<(Pretrained, Decoder)> {
    let mut model = whetstone_model::open(&file()?).unwrap();
    model.config.eos.clear();
    let device = Device::cpu(2).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 1024 };
    let decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options).unwrap();
    Some((model, decoder))
}

fn golden() -> Vec<Value> {
    let golden: Value = serde_json::from_str(include_str!("testdata/smollm2.json")).unwrap();
    golden["cases"].as_array().unwrap().clone()
}

fn ids(of: &Value) -> Vec<u32> {
    let ids = of.as_array().expect("a list").iter().map(|id| id.as_u64().expect("an id"));
    ids.map(|id| u32::try_from(id).expect("an id")).collect()
}

/// This many tokens out of the middle of the golden conversations.
fn text(begin: usize, length: usize) -> Vec<u32> {
    let all: Vec<u32> = golden().iter().flat_map(|case| ids(&case["ids"])).collect();
    all[begin..begin + length].to_vec()
}

fn prompt(tokens: Vec<u32>, seed: u64) -> Prompt {
    Prompt {
        tokens,
        messages: [].into(),
        samples: 1,
        first_sample: 0,
        rule: Rule::default(),
        seed: Seed::new(seed),
        max_tokens: 20,
        stop: Vec::new(),
    }
}

fn all(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    prompts: &[Prompt],
) -> (Vec<SampledCompletion>, Usage) {
    let mut drawn: Vec<SampledCompletion> = Vec::new();
    let keep = &mut |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    let usage = Local::new(decoder, tokenizer, Limits::default()).generate(prompts, keep).unwrap();
    drawn.sort_by_key(|one| (one.prompt, one.sample));
    (drawn, usage)
}

#[test]
fn smollm2_answers_twenty_prompts_with_the_tokens_of_transformers() {
    let Some((model, decoder)) = model() else {
        eprintln!("SKIPPED: there is no GGUF file in .cache/smollm2");
        return;
    };
    let cases = golden();
    let template = model.template.as_ref().unwrap();
    let prompts: Vec<Prompt> = cases
        .iter()
        .map(|case| {
            let message = json!({"role": "user", "content": case["prompt"]});
            let text = template.render(&[message], &Options::prompt()).unwrap();
            let tokens = model.tokenizer.encode(&text).unwrap();
            assert_eq!(tokens, ids(&case["ids"]), "{}", case["prompt"]);
            let rule = Rule { temperature: 0.0, ..Rule::default() };
            Prompt { rule, max_tokens: 64, ..prompt(tokens, 0) }
        })
        .collect();
    let (drawn, _) = all(&decoder, &model.tokenizer, &prompts);
    assert_eq!(drawn.len(), 20);
    for one in drawn {
        let tokens = one.completion.tokens.unwrap();
        let case = &cases[one.prompt];
        let theirs = ids(&case["answer"]);
        let first = tokens.ids().iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(first, None, "{} ({})", case["prompt"], one.completion.text);
        assert_eq!(tokens.ids().len(), 64);
    }
}

#[test]
fn smollm2_is_trained_on_the_log_probabilities_that_were_sampled() {
    let Some((model, decoder)) = model() else {
        eprintln!("SKIPPED: there is no GGUF file in .cache/smollm2");
        return;
    };
    // Below, at and above the ends of pages; all completions cross one more.
    let lengths = [1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 45, 255];
    let prompts: Vec<Prompt> = (0..)
        .zip(lengths)
        .map(|(at, length)| Prompt { samples: 2, ..prompt(text(at, length), at as u64) })
        .collect();
    let (drawn, _) = all(&decoder, &model.tokenizer, &prompts);
    let (mut worst, mut count) = (0.0f32, 0);
    for one in &drawn {
        let tokens = one.completion.tokens.as_ref().unwrap();
        let begin = prompts[one.prompt].tokens.len();
        let whole = [&prompts[one.prompt].tokens, tokens.ids()].concat();
        let sequence = Sequence { tokens: &whole, asked: begin..whole.len() };
        let batch = decoder.batch(&[sequence]).unwrap();
        let (scored, _) = decoder.forward(&batch, Forward::default());
        assert_eq!(scored.logp.len(), 20);
        let pairs = scored.logp.iter().zip(tokens.logps());
        worst = pairs.fold(worst, |worst, (a, b)| worst.max((a - b).abs()));
        count += scored.logp.len();
    }
    println!("{count} sampled tokens, log-probabilities at most {worst:.1e} apart");
    assert!(worst < 1e-4, "{worst:.1e}");
}

#[test]
fn smollm2_samples_the_same_alone_and_among_sixty_four() {
    let Some((model, decoder)) = model() else {
        eprintln!("SKIPPED: there is no GGUF file in .cache/smollm2");
        return;
    };
    let prompts: Vec<Prompt> = (0..64)
        .map(|at| Prompt { max_tokens: 8, ..prompt(text(at, 3 + at % 32), at as u64) })
        .collect();
    let (together, usage) = all(&decoder, &model.tokenizer, &prompts);
    assert_eq!(usage.widest, 64);
    let distinct: BTreeSet<&str> = together.iter().map(|it| it.completion.text.as_str()).collect();
    assert!(distinct.len() > 60, "samples differ");
    for at in [0, 12, 13, 29, 63] {
        let (alone, _) = all(&decoder, &model.tokenizer, &prompts[at..=at]);
        assert_eq!(alone[0].completion, together[at].completion, "prompt {at}");
    }
}
