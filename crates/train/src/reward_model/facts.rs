//! `reward_model.json`: what a reward model is, beside its adapter.
//!
//! A score means something on one base model and with one tokenizer only; the file names both, by
//! shapes and digests, so that another one is refused. It also has the mean and the standard deviation
//! that scores are normalised by, and what was measured on held-out pairs.

#![expect(missing_docs, reason = "fields are the keys of `reward_model.json`")]

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whetstone_algo::pairwise::{Bin, Figures, Half, Interval, LengthBias};
use whetstone_model::{Pretrained, Weights};
use whetstone_record::plain_file::read_plain;

use super::error::RewardModelError;
use super::kind::ScorerKind;

const VERSION: u64 = 1;
/// Bytes of the file, at most.
pub(crate) const LIMIT_BYTES: u64 = 1 << 20;

/// What is known of a reward model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub v: u64,
    pub base: Base,
    /// Pairs that were learnt from.
    pub pairs: u64,
    /// The mean of the scores of all held-out replies.
    pub mean: f64,
    /// Their standard deviation.
    pub std: f64,
    pub held_out: PairFigures,
}

/// What scores are worth on some pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairFigures {
    pub pairs: u64,
    /// Different tasks or prompts among them.
    pub prompts: u64,
    pub accuracy: Estimate,
    /// The lead of the chosen reply, as the score head gives it.
    pub margin: Estimate,
    pub calibration_error: Estimate,
    pub brier: Estimate,
    pub length: Length,
    pub reliability: Vec<Reliability>,
}

/// The base model of a reward model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Its name, or its path, at the time of training.
    pub name: String,
    pub layers: usize,
    pub width: usize,
    pub vocab: usize,
    /// The digest of its tokenizer.
    pub tokenizer: String,
    /// A digest of some of its weights.
    pub weights: String,
}

/// A figure with its 95 % interval; the ends are null where one task or prompt is all that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Estimate {
    /// The ends of its interval, if it has one.
    pub fn interval(&self) -> Option<[f64; 2]> {
        Some([self.low?, self.high?])
    }

    /// Whether its whole interval is above a level.
    pub fn is_above(&self, level: f64) -> bool {
        self.low.is_some_and(|low| low > level)
    }
}

/// How much scores follow length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    pub correlation: f64,
    /// The part of the variance of score differences that length differences explain.
    pub explained: f64,
    pub label_correlation: f64,
    pub chosen_longer: Part,
    pub chosen_shorter: Part,
}

/// Some of the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub pairs: u64,
    pub accuracy: f64,
}

/// Pairs of about one confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reliability {
    pub pairs: u64,
    pub confidence: f64,
    pub accuracy: f64,
}

impl Facts {
    /// Those of a trained reward model, from all held-out pairs.
    pub(super) fn new(base: Base, pairs: u64, figures: &Figures) -> Self {
        let (mean, std) = (figures.score_mean, figures.score_std);
        Self { v: VERSION, base, pairs, mean, std, held_out: figures.into() }
    }

    /// Reads the file of a directory.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not one of this version.
    pub fn read(dir: &Path) -> Result<Self, RewardModelError> {
        let kind = ScorerKind::Reward;
        let facts: Self = read_facts(dir, kind, VERSION)?;
        if !facts.mean.is_finite() || !facts.std.is_finite() {
            let problem = "its mean or its standard deviation is not finite".to_owned();
            return Err(RewardModelError::Facts { kind, path: dir.join(kind.file()), problem });
        }
        if facts.std <= 0.0 {
            return Err(RewardModelError::Constant(dir.to_owned()));
        }
        Ok(facts)
    }

    /// Whether the order of held-out pairs is clearly better than chance.
    pub fn is_better_than_chance(&self) -> bool {
        self.held_out.accuracy.is_above(0.5)
    }

    /// The file's text.
    pub(super) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        format!("{text}\n")
    }
}

/// Reads the file beside an adapter that says what it is.
///
/// # Errors
///
/// If there is none, or it is not one of this version.
pub(crate) fn read_facts<T: DeserializeOwned>(
    dir: &Path,
    kind: ScorerKind,
    known: u64,
) -> Result<T, RewardModelError> {
    let path = dir.join(kind.file());
    let refuse = |problem: String| RewardModelError::Facts { kind, path: path.clone(), problem };
    let bytes = match read_plain(&path, LIMIT_BYTES) {
        Ok(bytes) => bytes,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            return Err(RewardModelError::NotOne { kind, dir: dir.to_owned() });
        }
        Err(err) => return Err(refuse(err.to_string())),
    };
    let object: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|err| refuse(err.to_string()))?;
    // A newer file may have other fields: its version is what must be told.
    if let Some(version) = object["v"].as_u64().filter(|&version| version != known) {
        return Err(refuse(format!("it has version {version}, and this whet knows {known}")));
    }
    serde_json::from_value(object).map_err(|err| refuse(err.to_string()))
}

impl Base {
    /// That of an opened model.
    ///
    /// # Errors
    ///
    /// If its weights cannot be read.
    pub fn of(
        model: &Pretrained,
        name: &str,
    ) -> Result<Self, whetstone_model::weights::WeightsError> {
        let config = &model.config;
        Ok(Self {
            name: name.to_owned(),
            layers: config.layers,
            width: config.width,
            vocab: config.vocab,
            tokenizer: model.tokenizer.digest(),
            weights: digest(model)?,
        })
    }
}

/// A digest of the first and the last layer's queries and values, and of the last norm: what fine-tuning
/// changes first, and a fraction of the model.
fn digest(model: &Pretrained) -> Result<String, whetstone_model::weights::WeightsError> {
    let weights: &dyn Weights = model.weights.as_ref();
    let of = |layer: usize, part: &str| format!("model.layers.{layer}.self_attn.{part}.weight");
    let last = model.config.layers.saturating_sub(1);
    let names = [
        of(0, "q_proj"),
        of(0, "v_proj"),
        of(last, "q_proj"),
        of(last, "v_proj"),
        "model.norm.weight".to_owned(),
    ];
    let mut hasher = blake3::Hasher::new();
    for name in names {
        let mut values = vec![0.0_f32; weights.expect(&name)?.numbers()];
        weights.read(&name, &mut values)?;
        hasher.update(name.as_bytes());
        for value in values {
            hasher.update(&value.to_le_bytes());
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

impl From<&Figures> for PairFigures {
    fn from(figures: &Figures) -> Self {
        Self {
            pairs: figures.pairs,
            prompts: figures.prompts,
            accuracy: figures.accuracy.into(),
            margin: figures.margin.into(),
            calibration_error: figures.calibration_error.into(),
            brier: figures.brier.into(),
            length: figures.length.into(),
            reliability: figures.reliability.iter().copied().map(Into::into).collect(),
        }
    }
}

impl From<LengthBias> for Length {
    fn from(length: LengthBias) -> Self {
        Self {
            correlation: length.correlation,
            explained: length.explained,
            label_correlation: length.label_correlation,
            chosen_longer: length.longer.into(),
            chosen_shorter: length.shorter.into(),
        }
    }
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        Self { value: interval.value, low: end(interval.low), high: end(interval.high) }
    }
}

impl From<Half> for Part {
    fn from(half: Half) -> Self {
        Self { pairs: half.pairs, accuracy: half.accuracy }
    }
}

impl From<Bin> for Reliability {
    fn from(bin: Bin) -> Self {
        let Bin { pairs, confidence, accuracy } = bin;
        Self { pairs, confidence, accuracy }
    }
}
