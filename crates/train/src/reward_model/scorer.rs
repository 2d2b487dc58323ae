//! A trained reward model as something that scores replies.
//!
//! It is checked against the base it is to be used on before anything is loaded: a directory that is
//! not a reward model, that of another base or another tokenizer, and weights that are not finite are
//! refused. Scores are normalised: those of held-out replies have mean 0 and standard deviation 1.

use std::path::Path;

use whetstone_model::Pretrained;
use whetstone_model::decoder::Decoder;

use super::adapter::{AskedBase, ScoreAdapter};
use super::error::RewardModelError;
use super::facts::Facts;
use super::kind::ScorerKind;

/// A reward model whose directory was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardModel {
    adapter: ScoreAdapter,
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
        let adapter = ScoreAdapter::open(
            ScorerKind::Reward,
            dir,
            &facts.base,
            AskedBase { model: base, name },
        )?;
        Ok(Self { adapter, facts })
    }

    /// Loads its adapter and its score head as the decoder's active adapter, which has neither yet.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn load(&self, decoder: &mut Decoder) -> Result<(), RewardModelError> {
        self.adapter.load(decoder)
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.adapter.dir()
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
        let raw = self.adapter.scores(decoder, &sequences, micro_batch)?;
        Ok(raw.into_iter().map(|score| self.normalised(score)).collect())
    }

    /// A raw score in units of the held-out replies' scores.
    pub fn normalised(&self, score: f64) -> f64 {
        (score - self.facts.mean) / self.facts.std
    }
}
