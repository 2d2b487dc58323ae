//! Decoding with the log-probability of every token.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use whetstone_kernels::Device;
use whetstone_model::Tokenizer;
use whetstone_model::decoder::{Forward, Sequence};
use whetstone_train::measure::{self, Decoding};

use crate::{Model, gib, ms};

const PROMPT: usize = 64;
const NEW: usize = 256;
/// Sequences whose log-probabilities are compared with those of training.
const COMPARED: usize = 16;

/// A token for each row of the embedding.
pub(crate) fn words(count: usize) -> Result<Tokenizer, Box<dyn Error>> {
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
        let decoding =
            Decoding { sequences: count, prompt: PROMPT, new: NEW, cache_bytes: 48 << 30 };
        let decoded = measure::decode(decoder, &tokenizer, decoding)?;
        let mut differ = 0;
        for one in decoded.drawn.iter().take(COMPARED) {
            let sampled = one.completion.tokens.as_ref().ok_or("no tokens")?;
            let whole = [&decoded.prompts[one.prompt].tokens, sampled.ids()].concat();
            let batch =
                decoder.batch(&[Sequence { tokens: &whole, asked: PROMPT..whole.len() }])?;
            let (scored, _) = decoder.forward(&batch, Forward::default());
            let both = scored.logp.iter().zip(sampled.logps());
            differ += both.filter(|(a, b)| a.min(0.0).to_bits() != b.to_bits()).count();
        }
        device.check()?;
        rows.push(json!({
            "sequences": count,
            "steps": decoded.usage.steps,
            "tokens_per_s": decoded.tokens_per_second().round(),
            "step_ms": ms(decoded.step()),
            "prefill_ms": ms(decoded.usage.prefill_time.as_secs_f64()),
            "other_bits_than_training": format!("{differ} of {}", COMPARED * NEW),
            "held_gib": gib(device.held_bytes()),
        }));
    }
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(json!({ "rows": rows, "notes": notes }))
}
