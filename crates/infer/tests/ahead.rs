//! Steps that are captured and run ahead, on a GPU that is made up: its kernels compute nothing, so every
//! token of a step is the first of the vocabulary, but every call is made.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::ops::ControlFlow;
use std::path::Path;

use crate::support::words;
use whetstone_core::Seed;
use whetstone_core::completion::Finish;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage};
use whetstone_kernels::{Cuda, Device};
use whetstone_model::Config;
use whetstone_model::decoder::Decoder;

fn prompt(max_tokens: usize, stop: &[&str], rule: Rule) -> Prompt {
    Prompt {
        tokens: vec![1; 20],
        messages: [].into(),
        samples: 3,
        first_sample: 0,
        rule,
        seed: Seed::new(1),
        max_tokens,
        stop: stop.iter().map(|&text| text.to_owned()).collect(),
    }
}

/// What was drawn, and the calls of the device meanwhile: launches of graphs and waits for copies.
fn run(prompt: Prompt) -> (Vec<SampledCompletion>, Usage, Vec<&'static str>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden/llama");
    let cuda = Cuda::fake(0).unwrap();
    let config = Config { eos: Vec::new(), ..Config::from_dir(&dir).unwrap() };
    let decoder = Decoder::new(&Device::Cuda(cuda.clone()), &config, 1, 128);
    let tokenizer = words(u32::try_from(config.vocab).unwrap());
    let (mut drawn, before) = (Vec::new(), cuda.fake_calls().len());
    let mut keep = |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let usage = local.generate(&[prompt], &mut keep).unwrap();
    let calls = cuda.fake_calls().split_off(before);
    let kept = |call: &&str| ["cuGraphLaunch", "cuEventSynchronize"].contains(call);
    (drawn, usage, calls.into_iter().filter(kept).collect())
}

fn lengths(drawn: &[SampledCompletion]) -> Vec<(usize, Finish)> {
    let length = |one: &SampledCompletion| one.completion.tokens.as_ref().unwrap().ids().len();
    drawn.iter().map(|one| (length(one), one.completion.finish)).collect()
}

#[test]
fn the_next_step_is_queued_before_the_tokens_of_the_last_are_read() {
    let (drawn, usage, calls) = run(prompt(20, &[], Rule::default()));
    assert_eq!(lengths(&drawn), [(20, Finish::Length); 3]);
    assert_eq!((usage.steps, usage.sampled), (19, 60), "no step more than tokens need");
    // The first tokens come from the prompt, and the first step is queued as it is: then a launch of the
    // next step comes before each wait for tokens and log-probabilities, but the last.
    let (launch, wait) = ("cuGraphLaunch", "cuEventSynchronize");
    let mut expected = vec![wait; 2];
    for _ in 0..18 {
        expected.extend([launch, wait, wait]);
    }
    expected.extend([wait; 2]);
    assert_eq!(calls, expected);
}

#[test]
fn what_a_sample_gets_after_its_end_is_dropped() {
    let (drawn, usage, _) = run(prompt(20, &["<0> <0> <0>"], Rule::default()));
    let (whole, long, _) = run(prompt(20, &[], Rule::default()));
    let first = whole[0].completion.text.split(' ').next().unwrap().to_owned();
    // A first token from the prompt's logits, which may be the same word, and then that word alone.
    let tokens = if first == "<0>" { 3 } else { 4 };
    assert_eq!(lengths(&drawn), [(tokens, Finish::Stop); 3]);
    assert_eq!(usage.sampled, 3 * tokens);
    assert_eq!(usage.steps, tokens, "one step more than tokens need");
    assert_eq!((long.steps, long.sampled), (19, 60));
    for one in &drawn {
        assert!(!one.completion.text.contains("<0> <0> <0>"), "{}", one.completion.text);
    }
}

#[test]
fn penalties_look_at_the_last_token_and_nothing_is_captured() {
    let rule = Rule { presence_penalty: 0.5, ..Rule::default() };
    let (drawn, usage, calls) = run(prompt(6, &[], rule));
    assert_eq!(lengths(&drawn), [(6, Finish::Length); 3]);
    assert_eq!((usage.steps, usage.sampled), (5, 18));
    assert_eq!(calls, ["cuEventSynchronize"; 12], "each step is waited for, and none is replayed");
}
