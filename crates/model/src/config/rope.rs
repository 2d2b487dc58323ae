//! The rotary embedding: how fast each pair of a head turns.
//!
//! Pair `i` of a head of `d` numbers turns by `p · f_i` at position `p`, with
//! `f_i = theta^(-2i/d)` (Su et al., 2021). The scalings stretch it to longer texts; each is as
//! transformers computes it (`modeling_rope_utils.py`), in `f64`, and rounded once at the end.
//!
//! Not here: `dynamic` and `longrope`, whose frequencies depend on the length of the text, so that
//! sampled and trained log-probabilities would differ.

use std::f64::consts::PI;

use super::bounds;
use super::keys::Keys;
use crate::shown;

/// The rotary embedding of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// The scaling of the frequencies.
    pub scaling: Scaling,
}

/// Scaling of frequencies for longer contexts.
#[derive(Debug, Clone, PartialEq)]
pub enum Scaling {
    /// No scaling.
    None,
    /// All by the same factor.
    Linear {
        /// Divides each frequency.
        factor: f64,
    },
    /// Low frequencies are divided by the factor, high ones are unchanged, with a ramp between:
    /// Llama 3.1.
    Llama3 {
        /// Divides the slow frequencies.
        factor: f64,
        /// Turns in the original length below which a frequency is slow.
        low: f64,
        /// Turns in the original length above which it is fast.
        high: f64,
        /// Positions that the model was first trained on.
        original: usize,
    },
    /// A similar ramp over the index, with scaled attention: Peng et al., 2023.
    Yarn {
        /// Divides the slow frequencies.
        factor: f64,
        /// Turns in the original length above which a frequency is fast.
        beta_fast: f64,
        /// Turns in the original length below which it is slow.
        beta_slow: f64,
        /// Positions that the model was first trained on.
        original: usize,
        /// Multiplies sines and cosines.
        attention_factor: f64,
        /// Whether the ramp begins and ends at integer indices.
        truncate: bool,
    },
    /// Each by a factor of its own, as some GGUF files list them.
    Factors(Vec<f32>),
}

/// The frequency of each pair, and the multiplier of sines and cosines.
#[derive(Debug, Clone, PartialEq)]
pub struct Frequencies {
    /// Radians for one position, `head_dim / 2` of them.
    pub inverse: Vec<f32>,
    /// 1 in all scalings but [`Scaling::Yarn`].
    pub attention_factor: f32,
}

impl Rope {
    /// The frequencies for heads of `head_dim` numbers.
    #[expect(clippy::cast_possible_truncation, reason = "angles are computed with in f32")]
    pub fn frequencies(&self, head_dim: usize) -> Frequencies {
        let one = |pair| self.scaling.stretch(self.theta, head_dim, pair) as f32;
        let attention_factor = match self.scaling {
            Scaling::Yarn { attention_factor, .. } => attention_factor as f32,
            _ => 1.0,
        };
        Frequencies { inverse: (0..head_dim / 2).map(one).collect(), attention_factor }
    }

    /// Contradictions between the settings.
    pub(super) fn problems(&self, head_dim: usize) -> Option<String> {
        match &self.scaling {
            Scaling::Factors(factors) if factors.len() != head_dim / 2 => {
                let (has, needs) = (factors.len(), head_dim / 2);
                Some(format!("{has} factors on the frequencies, {needs} pairs in a head"))
            }
            Scaling::Factors(factors) => factors
                .iter()
                .find(|factor| !bounds::FACTOR.contains(&f64::from(**factor)))
                .map(|factor| format!("a factor on the frequencies is {factor}")),
            _ => None,
        }
    }
}

impl Scaling {
    /// The frequency of one pair.
    #[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
    fn stretch(&self, theta: f64, head_dim: usize, pair: usize) -> f64 {
        let plain = theta.powf(-2.0 * pair as f64 / head_dim as f64);
        match self {
            Self::None => plain,
            Self::Linear { factor } => plain / factor,
            Self::Factors(factors) => {
                plain / factors.get(pair).map_or(1.0, |factor| f64::from(*factor))
            }
            Self::Llama3 { factor, low, high, original } => {
                let turns = *original as f64 * plain / (2.0 * PI);
                // 0 where a frequency is slow, 1 where it is fast.
                let fast = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                plain / factor * (1.0 - fast) + plain * fast
            }
            Self::Yarn { factor, beta_fast, beta_slow, original, truncate, .. } => {
                // The index of the pair that makes `turns` turns in the original length.
                let index = |turns: f64| {
                    let length = *original as f64 / (turns * 2.0 * PI);
                    head_dim as f64 * length.ln() / (2.0 * theta.ln())
                };
                let (mut first, mut last) = (index(*beta_fast), index(*beta_slow));
                if *truncate {
                    (first, last) = (first.floor(), last.ceil());
                }
                (first, last) = (first.max(0.0), last.min(head_dim as f64 - 1.0));
                if (last - first).abs() < f64::EPSILON {
                    last += 0.001;
                }
                let slow = ((pair as f64 - first) / (last - first)).clamp(0.0, 1.0);
                plain / factor * slow + plain * (1.0 - slow)
            }
        }
    }
}

/// Reads `rope_theta`, `rope_type` and what belongs to it.
pub(super) fn read(keys: &mut Keys<'_>, positions: usize) -> Rope {
    let theta = keys.number_if("rope_theta", bounds::THETA).unwrap_or(10_000.0);
    if keys.get("partial_rotary_factor").is_some_and(|factor| factor.as_f64() != Some(1.0)) {
        keys.problem("`partial_rotary_factor` other than 1 is not supported".to_owned());
    }
    let scaling = match keys.text_if("rope_type").as_deref() {
        None | Some("default") => Scaling::None,
        Some("linear") => Scaling::Linear { factor: factor(keys) },
        Some("llama3") => llama3(keys, positions),
        Some("yarn") => yarn(keys, positions),
        Some(other) => {
            let other = shown::beginning(other);
            let known = "default, linear, llama3 and yarn are";
            keys.problem(format!("`rope_type` `{other}` is not supported; {known}"));
            Scaling::None
        }
    };
    Rope { theta, scaling }
}

fn factor(keys: &mut Keys<'_>) -> f64 {
    if keys.get("factor").is_none() {
        keys.problem("`factor` of the rope's scaling is missing".to_owned());
    }
    keys.number_if("factor", bounds::FACTOR).unwrap_or(1.0)
}

fn original(keys: &mut Keys<'_>, positions: usize) -> usize {
    let key = "original_max_position_embeddings";
    keys.size_if(key, bounds::POSITIONS).unwrap_or(positions)
}

fn llama3(keys: &mut Keys<'_>, positions: usize) -> Scaling {
    let low = keys.number_if("low_freq_factor", 1e-3..=1e6).unwrap_or(1.0);
    let high = keys.number_if("high_freq_factor", 1e-3..=1e6).unwrap_or(4.0);
    if low >= high {
        keys.problem(format!("`low_freq_factor` {low} is not below `high_freq_factor` {high}"));
    }
    Scaling::Llama3 { factor: factor(keys), low, high, original: original(keys, positions) }
}

fn yarn(keys: &mut Keys<'_>, positions: usize) -> Scaling {
    let factor = factor(keys);
    let mscale = keys.number_if("mscale", 0.0..=1e3).filter(|value| *value > 0.0);
    let all = keys.number_if("mscale_all_dim", 0.0..=1e3).filter(|value| *value > 0.0);
    let inferred = match (mscale, all) {
        (Some(mscale), Some(all)) => yarn_attention(factor, mscale) / yarn_attention(factor, all),
        _ => yarn_attention(factor, 1.0),
    };
    let attention_factor = keys.number_if("attention_factor", 1e-3..=1e3).unwrap_or(inferred);
    let beta_fast = keys.number_if("beta_fast", 1e-3..=1e6).unwrap_or(32.0);
    let beta_slow = keys.number_if("beta_slow", 1e-3..=1e6).unwrap_or(1.0);
    if beta_slow >= beta_fast {
        keys.problem(format!("`beta_slow` {beta_slow} is not below `beta_fast` {beta_fast}"));
    }
    Scaling::Yarn {
        factor,
        beta_fast,
        beta_slow,
        original: original(keys, positions),
        attention_factor,
        truncate: keys.flag_if("truncate").unwrap_or(true),
    }
}

/// The factor on attention logits for a context extended by `factor`.
pub(crate) fn yarn_attention(factor: f64, mscale: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * mscale * factor.ln() + 1.0 }
}
