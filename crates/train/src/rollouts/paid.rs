//! Rewards of rollouts with what a reward model pays.
//!
//! ```text
//! total = min( (composite_weight · composite + model_weight · σ(score)) / sum of weights,  caps )
//! ```
//!
//! `σ` is the logistic function of the normalised score: a reward model's answer is bounded, as every other
//! term is, and a failed gate caps it too.

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::config::{Config, RewardConfig};
use whetstone_core::metric;
use whetstone_core::reward::{MODEL, Reward, Term};
use whetstone_model::decoder::Decoder;
use whetstone_rollout::collect::Rollout;

use super::companion::{ScoringAdapter, check_base_is_frozen, directory};
use super::tasks::StepRollouts;
use super::values::{Values, number};
use crate::error::TrainError;
use crate::reward_model::{RewardModel, ScorerKind, TokenReply};
use crate::student::Student;

/// A reward model as one more adapter on the student's base.
#[derive(Debug)]
pub(crate) struct RewardAdapter {
    adapter: ScoringAdapter,
    model: RewardModel,
}

impl RewardAdapter {
    /// Puts a reward model on the student's base: that of a checkpoint, or the given one. What was active
    /// is active afterwards.
    pub(crate) fn open(
        student: &mut Student,
        config: &Config,
        given: Option<&Path>,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Self>, TrainError> {
        let kind = ScorerKind::Reward;
        let Some(dir) = directory(kind, given, checkpoint) else { return Ok(None) };
        check_base_is_frozen(config, kind)?;
        let model = RewardModel::open(&dir, &student.model, &config.student.model_name)?;
        let adapter = ScoringAdapter::add(student, kind, &dir, |decoder| model.load(decoder))?;
        Ok(Some(Self { adapter, model }))
    }

    /// Adds what it pays to the rewards of a step.
    pub(crate) fn pay(
        &self,
        student: &mut Student,
        config: &Config,
        step_rollouts: &mut StepRollouts,
    ) -> Result<Paid, TrainError> {
        let micro_batch = config.training.per_device_train_batch_size as usize;
        self.adapter.with(student, |student| {
            let scorer = Scorer { model: &self.model, decoder: &student.decoder, micro_batch };
            pay(scorer, &config.reward, step_rollouts)
        })
    }
}

/// A reward model that is the active adapter of a decoder.
#[derive(Clone, Copy)]
struct Scorer<'a> {
    model: &'a RewardModel,
    decoder: &'a Decoder,
    micro_batch: usize,
}

/// What a reward model said of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Paid {
    /// The mean normalised score.
    mean: Option<f64>,
    /// The correlation of scores with the lengths of completions, where both vary.
    length_correlation: Option<f64>,
}

impl Paid {
    pub(crate) fn put(self, values: &mut Values) {
        values.put_some(metric::REWARD_MODEL_SCORE, self.mean);
        values.put_some(metric::REWARD_MODEL_LENGTH_CORRELATION, self.length_correlation);
    }
}

/// Pays every judged rollout of a step. One that said nothing is paid nothing by the model.
fn pay(
    scorer: Scorer<'_>,
    config: &RewardConfig,
    step_rollouts: &mut StepRollouts,
) -> Result<Paid, TrainError> {
    let mut all: Vec<&mut Rollout> =
        step_rollouts.groups.iter_mut().flat_map(|group| &mut group.rollouts).collect();
    let reply = |rollout: &Rollout| {
        let turn = rollout.turns.last()?;
        let ids = turn.completion.tokens.as_ref()?.ids().to_vec();
        (!ids.is_empty()).then(|| (turn.prompt.to_vec(), ids))
    };
    let replies: Vec<Option<(Vec<u32>, Vec<u32>)>> = all.iter().map(|one| reply(one)).collect();
    let tokens: Vec<TokenReply<'_>> = replies
        .iter()
        .flatten()
        .map(|(prompt, completion)| TokenReply { prompt, completion })
        .collect();
    let scores = scorer.model.scores(scorer.decoder, &tokens, scorer.micro_batch)?;
    let lengths: Vec<f64> = tokens.iter().map(|reply| number(reply.completion.len())).collect();
    let mut left = scores.iter().copied();
    for (rollout, reply) in all.iter_mut().zip(&replies) {
        let score = reply.as_ref().and_then(|_| left.next());
        let reward = &rollout.outcome.reward;
        rollout.outcome.reward = with_model(reward, score, config)?;
    }
    let mean = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / number(scores.len()));
    Ok(Paid { mean, length_correlation: correlation(&scores, &lengths) })
}

/// A reward with the model's term; the others weigh what is left.
fn with_model(
    reward: &Reward,
    score: Option<f64>,
    config: &RewardConfig,
) -> Result<Reward, TrainError> {
    let sum = config.composite_weight + config.model_weight;
    let share = |weight: f64| if sum > 0.0 { weight / sum } else { 0.0 };
    let mut terms: BTreeMap<String, Term> = reward.terms().clone();
    for term in terms.values_mut() {
        term.weight *= share(config.composite_weight);
    }
    let value = score.map_or(0.0, |score| 1.0 / (1.0 + (-score).exp()));
    terms.insert(MODEL.to_owned(), Term { value, weight: share(config.model_weight) });
    Reward::new(terms, reward.gates().clone())
        .map_err(|err| TrainError::NoNumber(format!("the reward model: {err}")))
}

/// Pearson's correlation; none where one of the two does not vary.
fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let count = number(x.len().min(y.len()));
    let mean = |list: &[f64]| list.iter().sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        xx += (x - mean_x).powi(2);
        yy += (y - mean_y).powi(2);
        xy += (x - mean_x) * (y - mean_y);
    }
    let found = xy / (xx * yy).sqrt();
    (xx > 1e-18 && yy > 1e-18 && found.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use whetstone_core::reward::Gate;

    use super::*;

    fn reward(passed: bool) -> Reward {
        let terms = [("tests".to_owned(), Term { value: 1.0, weight: 1.0 })];
        let gates = [("code".to_owned(), Gate { passed, cap: 0.0 })];
        Reward::new(terms.into(), gates.into()).unwrap()
    }

    #[test]
    fn weights_are_shares_and_the_models_answer_is_bounded() {
        let mut config =
            RewardConfig { composite_weight: 1.0, model_weight: 3.0, ..RewardConfig::default() };
        let total = |score, config: &RewardConfig| {
            with_model(&reward(true), Some(score), config).unwrap().total()
        };
        assert!((total(0.0, &config) - (0.25 + 0.75 * 0.5)).abs() < 1e-12);
        assert!((total(800.0, &config) - 1.0).abs() < 1e-12);
        assert!((total(-800.0, &config) - 0.25).abs() < 1e-12);
        config.composite_weight = 0.0;
        assert!((total(0.0, &config) - 0.5).abs() < 1e-12, "the model alone");
    }

    #[test]
    fn a_failed_gate_caps_what_the_model_pays_and_silence_is_paid_nothing() {
        let config = RewardConfig { composite_weight: 0.0, ..RewardConfig::default() };
        let found = with_model(&reward(false), Some(5.0), &config).unwrap();
        assert!(found.total() <= 0.0 && found.terms()[MODEL].value > 0.9);
        let silent = with_model(&reward(true), None, &config).unwrap();
        assert!(silent.total().abs() < 1e-12);
    }

    #[test]
    fn a_correlation_needs_two_lists_that_vary() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(correlation(&[], &[]), None);
    }
}
