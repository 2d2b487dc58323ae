//! `process_model.json`: what a process reward model is, beside its adapter.
//!
//! As of a reward model, its scores mean something on one base model and with one tokenizer only. The file
//! also has the longest text it was trained on, the labels it was trained on beside the ends of their
//! episodes, and what was measured on held-out transitions.

#![expect(missing_docs, reason = "fields are the keys of `process_model.json`")]

use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_algo::binary::{Bin, Figures};

use super::episodes::LabelCounts;
use crate::reward_model::facts::read_facts;
use crate::reward_model::{Base, Estimate, RewardModelError, ScorerKind};

const VERSION: u64 = 1;

/// What is known of a process reward model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessFacts {
    pub v: u64,
    pub base: Base,
    /// Tokens of a transition, at most.
    pub max_length: usize,
    /// The labels that were learnt from.
    pub labels: LabelCounts,
    /// The labels of held-out transitions.
    pub held_out_labels: LabelCounts,
    pub held_out: TransitionFigures,
}

/// What probabilities are worth on some transitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransitionFigures {
    pub transitions: u64,
    /// Different tasks among them.
    pub tasks: u64,
    /// The share of positive labels.
    pub positives: f64,
    /// None where all labels are equal.
    pub auc: Option<Estimate>,
    pub calibration_error: Estimate,
    pub brier: Estimate,
    pub reliability: Vec<ReliabilityBin>,
}

/// Transitions of about one probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReliabilityBin {
    pub transitions: f64,
    pub probability: f64,
    pub positives: f64,
}

/// The labels of a training and of its measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitLabels {
    /// Of transitions to learn from.
    pub train: LabelCounts,
    /// Of held-out transitions.
    pub held_out: LabelCounts,
}

impl ProcessFacts {
    /// Those of a trained process reward model, from all held-out transitions.
    pub(super) fn new(
        base: Base,
        max_length: usize,
        labels: SplitLabels,
        figures: &Figures,
    ) -> Self {
        let SplitLabels { train, held_out } = labels;
        Self {
            v: VERSION,
            base,
            max_length,
            labels: train,
            held_out_labels: held_out,
            held_out: figures.into(),
        }
    }

    /// Reads the file of a directory.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not one of this version.
    pub fn read(dir: &Path) -> Result<Self, RewardModelError> {
        let kind = ScorerKind::Process;
        let facts: Self = read_facts(dir, kind, VERSION)?;
        if facts.max_length == 0 {
            let problem = "its `max_length` is 0".to_owned();
            return Err(RewardModelError::Facts { kind, path: dir.join(kind.file()), problem });
        }
        Ok(facts)
    }

    /// Whether progress of held-out transitions is told apart clearly better than by chance.
    pub fn is_better_than_chance(&self) -> bool {
        self.held_out.auc.is_some_and(|auc| auc.is_above(0.5))
    }

    /// The file's text.
    pub(super) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        format!("{text}\n")
    }
}

impl From<&Figures> for TransitionFigures {
    fn from(figures: &Figures) -> Self {
        Self {
            transitions: figures.examples,
            tasks: figures.tasks,
            positives: figures.positives,
            auc: figures.auc.map(Into::into),
            calibration_error: figures.calibration_error.into(),
            brier: figures.brier.into(),
            reliability: figures.reliability.iter().copied().map(Into::into).collect(),
        }
    }
}

impl From<Bin> for ReliabilityBin {
    fn from(bin: Bin) -> Self {
        let Bin { examples, probability, positives } = bin;
        Self { transitions: examples, probability, positives }
    }
}
