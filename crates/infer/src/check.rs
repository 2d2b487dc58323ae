//! Whether a prompt can be completed, whatever the memory.

use whetstone_kernels::sample::Rule;
use whetstone_model::decoder::Decoder;

use crate::generator::{GenerateError, Prompt};

/// Refuses a prompt that asks for nothing, does not belong to the model, or has a rule that chooses nothing.
pub(crate) fn check_prompt(
    decoder: &Decoder,
    index: usize,
    prompt: &Prompt,
) -> Result<(), GenerateError> {
    let (length, positions) = (prompt.tokens.len(), decoder.positions());
    let vocab = decoder.config().vocab;
    if length == 0 {
        return Err(GenerateError::Empty { prompt: index });
    }
    if prompt.samples == 0 || prompt.max_tokens == 0 {
        let what = if prompt.samples == 0 { "no samples" } else { "no tokens" };
        return Err(GenerateError::Nothing { prompt: index, what });
    }
    if length >= positions {
        return Err(GenerateError::TooLong { prompt: index, length, positions });
    }
    if let Some(&token) = prompt.tokens.iter().find(|&&token| token as usize >= vocab) {
        return Err(GenerateError::Token { prompt: index, token, vocab });
    }
    match rule_problem(&prompt.rule) {
        Some(problem) => Err(GenerateError::Rule { prompt: index, problem }),
        None => Ok(()),
    }
}

fn rule_problem(rule: &Rule) -> Option<String> {
    let Rule { temperature, top_p, min_p, presence_penalty, repetition_penalty, .. } = *rule;
    let checks = [
        ("temperature", temperature, (0.0..=100.0).contains(&temperature)),
        ("top_p", top_p, top_p > 0.0 && top_p <= 1.0),
        ("min_p", min_p, (0.0..=1.0).contains(&min_p)),
        ("presence_penalty", presence_penalty, presence_penalty.abs() <= 100.0),
        (
            "repetition_penalty",
            repetition_penalty,
            repetition_penalty > 0.0 && repetition_penalty <= 100.0,
        ),
    ];
    let bad = checks.into_iter().find(|(_, _, good)| !good)?;
    Some(format!("{} is {}", bad.0, bad.1))
}
