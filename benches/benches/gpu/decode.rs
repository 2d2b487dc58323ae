//! Decoding with the log-probability of every token.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule, Usage};
use whetstone_kernels::Device;
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Forward, Sequence};

use crate::{Model, gib, ms, tokens};

const PROMPT: usize = 64;
const NEW: usize = 256;
/// Sequences whose log-probabilities are compared with those of training.
const COMPARED: usize = 16;

/// A token for each row of the embedding.
fn words(count: usize) -> Result<Tokenizer, Box<dyn Error>> {
    let words: Vec<String> = (0..count).map(|id| format!("\"w{id}\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"w0"}}}}"#,
        words.join(",")
    );
    Ok(Tokenizer::from_json(&json, "made here".as_ref())?)
}

/// Tokens a second at some counts of sequences, and whether they are those of training.
pub(crate) fn decode(
    device: &Device,
    model: &Model,
    counts: &[usize],
) -> Result<Value, Box<dyn Error>> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    device.on_note(move |note| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(note.to_owned());
    });
    let decoder = &model.decoder;
    let vocab = decoder.config().vocab;
    let tokenizer = words(vocab)?;
    let mut rows = Vec::new();
    for &count in counts {
        let prompts: Vec<Prompt> = (0..count)
            .map(|index| Prompt {
                tokens: tokens(PROMPT, vocab, index),
                samples: 1,
                rule: Rule::default(),
                seed: Seed::new(index as u64),
                max_tokens: NEW,
                stop: Vec::new(),
            })
            .collect();
        let limits = Limits { cache_bytes: 48 << 30, sequences: count };
        let mut local = Local::new(decoder, &tokenizer, limits);
        let mut drawn = Vec::new();
        let mut best: Option<Usage> = None;
        for _ in 0..2 {
            drawn.clear();
            let usage = local.generate(&prompts, &mut |one| {
                drawn.push(one);
                ControlFlow::Continue(())
            })?;
            let faster = best.is_none_or(|best| usage.decode_time < best.decode_time);
            best = if faster { Some(usage) } else { best };
        }
        let usage = best.ok_or("nothing was sampled")?;
        drop(local);
        let mut differ = 0;
        for one in drawn.iter().take(COMPARED) {
            let sampled = one.completion.tokens.as_ref().ok_or("no tokens")?;
            let whole = [&prompts[one.prompt].tokens, sampled.ids()].concat();
            let batch =
                decoder.batch(&[Sequence { tokens: &whole, asked: PROMPT..whole.len() }])?;
            let (scored, _) = decoder.forward(&batch, Forward::default());
            let both = scored.logp.iter().zip(sampled.logps());
            differ += both.filter(|(a, b)| a.min(0.0).to_bits() != b.to_bits()).count();
        }
        device.check()?;
        let seconds = usage.decode_time.as_secs_f64();
        let decoded = usage.sampled - count;
        rows.push(json!({
            "sequences": count,
            "steps": usage.steps,
            "tokens_per_s": (decoded as f64 / seconds).round(),
            "step_ms": ms(seconds / usage.steps as f64),
            "prefill_ms": ms(usage.prefill_time.as_secs_f64()),
            "other_bits_than_training": format!("{differ} of {}", COMPARED * NEW),
            "held_gib": gib(device.held_bytes()),
        }));
    }
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(json!({ "rows": rows, "notes": notes }))
}
