//! A trained process reward model as something that says how likely a transition is to be progress.

use std::path::Path;

use whetstone_algo::bradley_terry::sigmoid;
use whetstone_core::outcome::Transition;
use whetstone_model::Pretrained;
use whetstone_model::decoder::Decoder;

use super::facts::ProcessFacts;
use super::transition::Tokenizing;
use crate::error::TrainError;
use crate::reward_model::adapter::{AskedBase, ScoreAdapter};
use crate::reward_model::{RewardModelError, ScorerKind};

/// A process reward model whose directory was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessModel {
    adapter: ScoreAdapter,
    facts: ProcessFacts,
}

/// The model that a process reward model scores on: it is the active adapter of the decoder.
#[derive(Clone, Copy)]
pub struct ScoringBase<'a> {
    /// The model, for its tokenizer.
    pub model: &'a Pretrained,
    /// Its numbers.
    pub decoder: &'a Decoder,
    /// Transitions at a time.
    pub micro_batch: usize,
}

impl ProcessModel {
    /// Checks a directory against the base that it is to score on. `name` is the base's, for messages.
    ///
    /// # Errors
    ///
    /// If it is not a process reward model, not one of this base and tokenizer, or its weights are not finite.
    pub fn open(dir: &Path, base: &Pretrained, name: &str) -> Result<Self, RewardModelError> {
        let facts = ProcessFacts::read(dir)?;
        let asked = AskedBase { model: base, name };
        let adapter = ScoreAdapter::open(ScorerKind::Process, dir, &facts.base, asked)?;
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
    pub fn facts(&self) -> &ProcessFacts {
        &self.facts
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.adapter.dir()
    }

    /// The probability of each transition. A text that is longer than those it was trained on, or than the
    /// decoder takes, loses its middle.
    ///
    /// # Errors
    ///
    /// If a score is not finite, or the device fails.
    pub fn probabilities(
        &self,
        base: ScoringBase<'_>,
        transitions: &[&Transition],
    ) -> Result<Vec<f64>, TrainError> {
        let ScoringBase { model, decoder, micro_batch } = base;
        let limit = self.facts.max_length.min(decoder.positions());
        let tokenizing = Tokenizing::new(model, limit)?;
        let sequences: Vec<Vec<u32>> =
            transitions.iter().map(|transition| tokenizing.tokens(transition).0).collect();
        let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
        let logits = self.adapter.scores(decoder, &sequences, micro_batch)?;
        Ok(logits.into_iter().map(sigmoid).collect())
    }
}
