//! What samples of one prompt cost together, counted by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::ops::ControlFlow;

use whetstone_core::Seed;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, SampledCompletion, Usage};
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::{Decoder, PAGE};
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family};

use crate::support::words;

const VOCAB: u32 = 64;
const SAMPLES: usize = 8;

fn config() -> Config {
    Config {
        family: Family::Llama,
        vocab: VOCAB as usize,
        width: 32,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        ffn: 48,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: false,
        positions: 1024,
        bos: None,
        // Nothing ends a completion before its length does.
        eos: Vec::new(),
        pad: None,
        dtype: Dtype::F32,
    }
}

/// Eight samples of 40 tokens, of a prompt of `length`.
fn eight(length: u32, pages: usize) -> (Vec<SampledCompletion>, Usage) {
    eight_of(40, length, pages)
}

fn eight_of(max_tokens: usize, length: u32, pages: usize) -> (Vec<SampledCompletion>, Usage) {
    let decoder = Decoder::new(&Device::cpu(2).unwrap(), &config(), 5, 1024);
    let tokenizer = words(VOCAB);
    let prompt = Prompt {
        tokens: (0..length).map(|at| (at * 7 + 3) % VOCAB).collect(),
        messages: [].into(),
        samples: SAMPLES,
        first_sample: 0,
        rule: Rule::default(),
        seed: Seed::new(11),
        max_tokens,
        stop: Vec::new(),
    };
    let cache_bytes = pages * decoder.page_bytes();
    let limits = Limits { cache_bytes, ..Limits::default() };
    let mut drawn = Vec::new();
    let keep = &mut |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    let usage = Local::new(&decoder, &tokenizer, limits).generate(&[prompt], keep).unwrap();
    drawn.sort_by_key(|one| one.sample);
    (drawn, usage)
}

#[test]
fn eight_samples_of_a_prompt_of_512_tokens_compute_and_hold_it_once() {
    // The prompt fills 32 pages. Of 40 tokens the last needs no place: 39 more, on 3 pages.
    assert_eq!(PAGE, 16);
    let (drawn, usage) = eight(512, 1000);
    assert_eq!(drawn.len(), SAMPLES);
    assert_eq!(usage.prefilled, 512);
    assert_eq!(usage.most_pages, 32 + SAMPLES * 3);
    // The first token of each comes from the prompt's logits.
    assert_eq!((usage.sampled, usage.steps, usage.widest), (SAMPLES * 40, 39, SAMPLES));
}

#[test]
fn a_page_that_a_prompt_leaves_half_empty_is_copied_for_each_sample() {
    // 31 whole pages are shared; places 496 to 549 of each sample lie on 4 of its own.
    let (drawn, usage) = eight(511, 1000);
    assert_eq!((drawn.len(), usage.prefilled), (SAMPLES, 511));
    assert_eq!(usage.most_pages, 31 + SAMPLES * 4);
}

#[test]
fn samples_that_wait_for_pages_do_not_compute_the_prompt_again() {
    let (free, _) = eight(512, 1000);
    for (pages, at_a_time) in [(32 + SAMPLES * 3, 8), (32 + 3 * 3, 3), (32 + 3, 1)] {
        let (drawn, usage) = eight(512, pages);
        assert_eq!(drawn, free, "{pages} pages");
        assert_eq!((usage.prefilled, usage.widest, usage.most_pages), (512, at_a_time, pages));
    }
}

#[test]
fn the_last_token_of_a_completion_needs_no_page() {
    // 32 tokens behind the prompt fill two pages; the 33rd is never looked at.
    let (drawn, usage) = eight_of(33, 512, 32 + 2);
    assert_eq!((drawn.len(), usage.most_pages), (SAMPLES, 32 + 2));
}
