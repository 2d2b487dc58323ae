//! Decoding: how fast, and whether the thousandth token costs what the first did.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, Usage};
use whetstone_kernels::Device;
use whetstone_model::config::Config;
use whetstone_model::{Decoder, Tokenizer};

use crate::shapes::{median, rounded, shape_a, tokens};
use crate::{STEPS, WARM};

/// Samples of the prompt whose completions grow.
const SAMPLES: usize = 8;
/// Tokens of that prompt.
const PROMPT: usize = 512;

/// A token for each row of the embedding.
fn words(config: &Config) -> Result<Tokenizer, Box<dyn Error>> {
    let words: Vec<String> = (0..config.vocab).map(|id| format!("\"w{id}\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"w0"}}}}"#,
        words.join(",")
    );
    Ok(Tokenizer::from_json(&json, "made here".as_ref())?)
}

/// Prompts of `length` tokens that are completed with the most probable ones.
pub(crate) fn prompts(
    config: &Config,
    count: usize,
    length: usize,
    max_tokens: usize,
) -> Vec<Prompt> {
    let rule = Rule { temperature: 0.0, ..Rule::default() };
    (0..count)
        .map(|index| Prompt {
            tokens: tokens(length, config.vocab, index),
            messages: [].into(),
            samples: 1,
            first_sample: 0,
            rule,
            seed: Seed::new(index as u64),
            max_tokens,
            stop: Vec::new(),
        })
        .collect()
}

/// Configuration A: 32 sequences, prompts of 16 tokens, 128 new ones.
pub(crate) fn decode(device: &Device) -> Result<Value, Box<dyn Error>> {
    let config = shape_a();
    let decoder = Decoder::new(device, &config, 0, 256);
    let tokenizer = words(&config)?;
    let prompts = prompts(&config, 32, 16, 128);
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let mut times = Vec::new();
    for _ in 0..WARM + STEPS {
        let start = Instant::now();
        local.generate(&prompts, &mut |_| ControlFlow::Continue(()))?;
        times.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(&mut times[WARM..]);
    Ok(json!({
        "ms_per_step": rounded(seconds / 128.0 * 1e3),
        "tokens_per_s": (32.0 * 128.0 / seconds).round(),
    }))
}

/// Configuration A: eight samples of one prompt, with more and more new tokens. Of several runs the
/// fastest counts.
pub(crate) fn linear(device: &Device) -> Result<Value, Box<dyn Error>> {
    let config = shape_a();
    let decoder = Decoder::new(device, &config, 0, 1024);
    let tokenizer = words(&config)?;
    let mut local = Local::new(&decoder, &tokenizer, Limits::default());
    let mut rows = Vec::new();
    for new in [64, 128, 256, 512] {
        let mut prompts = prompts(&config, 1, PROMPT, new);
        prompts[0].samples = SAMPLES;
        let mut fastest: Option<Usage> = None;
        for _ in 0..WARM + STEPS {
            let usage = local.generate(&prompts, &mut |_| ControlFlow::Continue(()))?;
            fastest = fastest.into_iter().chain([usage]).min_by_key(|usage| usage.decode_time);
        }
        let usage = fastest.ok_or("no run")?;
        let seconds = usage.decode_time.as_secs_f64();
        rows.push(json!({
            "new_tokens": new,
            "sampled": usage.sampled,
            "prefilled": usage.prefilled,
            "pages": usage.most_pages,
            "prefill_ms": rounded(usage.prefill_time.as_secs_f64() * 1e3),
            "decode_s": rounded(seconds * 1e3) / 1e3,
            "us_per_token": rounded(seconds / usage.sampled as f64 * 1e6),
        }));
    }
    Ok(json!({"samples": SAMPLES, "prompt": PROMPT, "runs": rows}))
}
