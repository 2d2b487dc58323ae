//! An adapter with a score head, checked against the base it is to be used on before anything is loaded.

use std::path::{Path, PathBuf};

use whetstone_model::Pretrained;
use whetstone_model::adapter::{SETTINGS_FILE, WEIGHTS_FILE};
use whetstone_model::decoder::Decoder;
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::{Weights, WeightsError};

use super::error::{RewardModelError, ScoreError};
use super::facts::Base;
use super::kind::ScorerKind;
use super::pass::scores;

/// The score head's weights, under PEFT's name.
const SCORE_WEIGHT: &str = "base_model.model.score.weight";

/// An adapter with a score head whose directory was checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoreAdapter {
    kind: ScorerKind,
    dir: PathBuf,
}

/// The base that an adapter is to score on.
#[derive(Clone, Copy)]
pub(crate) struct AskedBase<'a> {
    pub(crate) model: &'a Pretrained,
    /// Its name, for messages.
    pub(crate) name: &'a str,
}

impl ScoreAdapter {
    /// Checks a directory, whose facts say that it was trained on `trained_on`.
    pub(crate) fn open(
        kind: ScorerKind,
        dir: &Path,
        trained_on: &Base,
        asked: AskedBase<'_>,
    ) -> Result<Self, RewardModelError> {
        let adapter = Self { kind, dir: dir.to_owned() };
        let found = Base::of(asked.model, asked.name).map_err(|err| adapter.unread(err))?;
        if let Some(problem) = difference(trained_on, &found) {
            return Err(RewardModelError::OtherBase {
                kind,
                dir: dir.to_owned(),
                expected: trained_on.name.clone(),
                found: asked.name.to_owned(),
                problem,
            });
        }
        adapter.check_weights()?;
        Ok(adapter)
    }

    /// Loads it with its score head as the decoder's active adapter, which has neither yet.
    pub(crate) fn load(&self, decoder: &mut Decoder) -> Result<(), RewardModelError> {
        let loaded = decoder.load_adapter(&self.dir);
        loaded.map_err(|source| RewardModelError::Adapter {
            kind: self.kind,
            dir: self.dir.clone(),
            source: Box::new(source),
        })?;
        if decoder.has_score_head() {
            return Ok(());
        }
        Err(self.failed(ScoreError::NoHead))
    }

    /// The raw score behind the last token of each sequence, `micro_batch` at a time. The decoder's active
    /// adapter is this one.
    pub(crate) fn scores(
        &self,
        decoder: &Decoder,
        sequences: &[&[u32]],
        micro_batch: usize,
    ) -> Result<Vec<f64>, RewardModelError> {
        let raw =
            scores(decoder, sequences, micro_batch, |_| ()).map_err(|err| self.failed(err))?;
        match raw.iter().position(|score| !score.is_finite()) {
            Some(at) => Err(self.failed(ScoreError::NotFinite { at, value: raw[at] })),
            None => Ok(raw),
        }
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn failed(&self, source: ScoreError) -> RewardModelError {
        RewardModelError::Score { kind: self.kind, dir: self.dir.clone(), source }
    }

    fn unread(&self, source: WeightsError) -> RewardModelError {
        let (kind, dir) = (self.kind, self.dir.clone());
        RewardModelError::Weights { kind, dir, source: Box::new(source) }
    }

    /// Reads all weights, which refuses those that are not finite, and looks for the score head.
    fn check_weights(&self) -> Result<(), RewardModelError> {
        let unread = |source| self.unread(source);
        let file = Safetensors::open_file(&self.dir.join(WEIGHTS_FILE)).map_err(unread)?;
        for name in file.names() {
            let mut values = vec![0.0_f32; file.expect(name).map_err(unread)?.numbers()];
            file.read(name, &mut values).map_err(unread)?;
        }
        if file.tensor(SCORE_WEIGHT).is_none() {
            return Err(RewardModelError::Facts {
                kind: self.kind,
                path: self.dir.join(SETTINGS_FILE),
                problem: "the adapter has no score head".to_owned(),
            });
        }
        Ok(())
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
