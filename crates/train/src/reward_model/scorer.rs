//! A trained reward model as something that scores replies.
//!
//! It is checked against the base it is to be used on before anything is loaded: a directory that is
//! not a reward model, that of another base or another tokenizer, and weights that are not finite are
//! refused. Scores are normalised: those of held-out replies have mean 0 and standard deviation 1.

use std::path::{Path, PathBuf};

use whetstone_model::Pretrained;
use whetstone_model::adapter::{SETTINGS_FILE, WEIGHTS_FILE};
use whetstone_model::decoder::Decoder;
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::{Weights, WeightsError};

use super::error::{RewardModelError, ScoreError};
use super::facts::{Base, Facts};
use super::pass::scores;

/// The score head's weights, under PEFT's name.
const SCORE_WEIGHT: &str = "base_model.model.score.weight";

/// A reward model whose directory was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardModel {
    dir: PathBuf,
    facts: Facts,
}

/// A reply to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenReply<'a> {
    /// The prompt's tokens.
    pub prompt: &'a [u32],
    /// The reply's tokens, with the one that ended it if it ended.
    pub completion: &'a [u32],
}

impl RewardModel {
    /// Checks a directory against the base that it is to score on. `name` is the base's, for messages.
    ///
    /// # Errors
    ///
    /// If it is not a reward model, not one of this base and tokenizer, or its weights are not finite.
    pub fn open(dir: &Path, base: &Pretrained, name: &str) -> Result<Self, RewardModelError> {
        let facts = Facts::read(dir)?;
        let found = Base::of(base, name).map_err(|err| unread(dir, err))?;
        if let Some(problem) = difference(&facts.base, &found) {
            return Err(RewardModelError::OtherBase {
                dir: dir.to_owned(),
                expected: facts.base.name,
                found: name.to_owned(),
                problem,
            });
        }
        check_weights(dir)?;
        Ok(Self { dir: dir.to_owned(), facts })
    }

    /// Loads its adapter and its score head as the decoder's active adapter, which has neither yet.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn load(&self, decoder: &mut Decoder) -> Result<(), RewardModelError> {
        let loaded = decoder.load_adapter(&self.dir);
        loaded.map_err(|source| RewardModelError::Adapter {
            dir: self.dir.clone(),
            source: Box::new(source),
        })?;
        if decoder.has_score_head() {
            return Ok(());
        }
        Err(self.failed(ScoreError::NoHead))
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The normalised score of each reply, `micro_batch` replies at a time. The decoder's active adapter
    /// is this reward model.
    ///
    /// # Errors
    ///
    /// If a reply is longer than the model takes, a score is not finite, or the device fails.
    pub fn scores(
        &self,
        decoder: &Decoder,
        replies: &[TokenReply<'_>],
        micro_batch: usize,
    ) -> Result<Vec<f64>, RewardModelError> {
        let sequences: Vec<Vec<u32>> =
            replies.iter().map(|reply| [reply.prompt, reply.completion].concat()).collect();
        let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
        let raw =
            scores(decoder, &sequences, micro_batch, |_| ()).map_err(|err| self.failed(err))?;
        if let Some(at) = raw.iter().position(|score| !score.is_finite()) {
            return Err(self.failed(ScoreError::NotFinite { at, value: raw[at] }));
        }
        Ok(raw.into_iter().map(|score| self.normalised(score)).collect())
    }

    /// A raw score in units of the held-out replies' scores.
    pub fn normalised(&self, score: f64) -> f64 {
        (score - self.facts.mean) / self.facts.std
    }

    fn failed(&self, source: ScoreError) -> RewardModelError {
        RewardModelError::Score { dir: self.dir.clone(), source }
    }
}

/// How two bases differ; names may, since a model can move.
fn difference(expected: &Base, found: &Base) -> Option<String> {
    let sizes = [
        ("layers", expected.layers, found.layers),
        ("numbers in a hidden state", expected.width, found.width),
        ("rows in the embedding", expected.vocab, found.vocab),
    ];
    for (what, expected, found) in sizes {
        if expected != found {
            return Some(format!("that has {expected} {what}, this {found}"));
        }
    }
    if expected.tokenizer != found.tokenizer {
        return Some("the two have different tokenizers".to_owned());
    }
    (expected.weights != found.weights)
        .then(|| "the two have the same shapes, but different weights".to_owned())
}

fn unread(dir: &Path, source: WeightsError) -> RewardModelError {
    RewardModelError::Weights { dir: dir.to_owned(), source: Box::new(source) }
}

/// Reads all weights, which refuses those that are not finite, and looks for the score head.
fn check_weights(dir: &Path) -> Result<(), RewardModelError> {
    let unread = |source| unread(dir, source);
    let file = Safetensors::open_file(&dir.join(WEIGHTS_FILE)).map_err(unread)?;
    for name in file.names() {
        let mut values = vec![0.0_f32; file.expect(name).map_err(unread)?.numbers()];
        file.read(name, &mut values).map_err(unread)?;
    }
    if file.tensor(SCORE_WEIGHT).is_none() {
        return Err(RewardModelError::Facts {
            path: dir.join(SETTINGS_FILE),
            problem: "the adapter has no score head".to_owned(),
        });
    }
    Ok(())
}
