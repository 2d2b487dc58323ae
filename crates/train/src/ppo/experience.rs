//! What a step learns from: every completion with its rewards, values, advantages and returns.

use serde::Serialize;
use whetstone_algo::gae::{Gae, GaeEstimate, Rewarded, RolloutEnd, first_of_responses};
use whetstone_algo::ppo::{token_rewards, whiten};
use whetstone_algo::{AlgoError, Mean};
use whetstone_core::config::{DiscountBy, PpoConfig};
use whetstone_rollout::collect::record::TokenEstimates;
use whetstone_rollout::collect::{Rollout, Turn};

use crate::error::TrainError;
use crate::example::Example;
use crate::pass::narrow;
use crate::rollouts::sequences::{RolloutIndex, SampledSequence, sampled_sequences};
use crate::rollouts::tasks::StepRollouts;

/// One completion, or one episode of several.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Experience {
    pub(super) example: Example,
    pub(super) mask: Vec<bool>,
    /// Tokens whose value is a baseline: the first of each response, or all where tokens are discounted. The
    /// critic is trained there and nowhere else.
    pub(super) baseline: Vec<bool>,
    /// The log-probabilities that it was sampled with.
    pub(super) sampled: Vec<f64>,
    /// Values when it was sampled.
    pub(super) values: Vec<f64>,
    /// As they are learnt from, whitened if the settings say so.
    pub(super) advantages: Vec<f64>,
    pub(super) returns: Vec<f64>,
    /// The rollout that it is of.
    rollout: RolloutIndex,
    reward: f64,
}

/// Completions as JSON.
#[derive(Serialize)]
pub(super) struct SavedExperiences {
    completions: Vec<SavedExperience>,
}

#[derive(Serialize)]
struct SavedExperience {
    tokens: Vec<u32>,
    first: usize,
    sampled: Vec<f64>,
    values: Vec<f64>,
    advantages: Vec<f64>,
    returns: Vec<f64>,
}

/// All of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Experiences {
    pub(super) all: Vec<Experience>,
    /// The mean advantage before whitening.
    pub(super) mean_advantage: Option<f64>,
    pub(super) mean_return: Option<f64>,
    /// KL of the policy from the reference, in nats a token.
    pub(super) reference_kl: Mean,
    /// The same, in nats a completion.
    pub(super) reference_kl_sum: Mean,
}

impl Experiences {
    /// The completions of a step; nothing is estimated yet.
    ///
    /// One that the length limit cut off is left out, if the settings mask it; else it is worth what it was
    /// paid. The reward of an episode of several sequences is that of its last one.
    pub(super) fn new(config: &PpoConfig, step_rollouts: &StepRollouts) -> Self {
        let mut all = Vec::new();
        for (at, group) in step_rollouts.groups.iter().enumerate() {
            for (index, rollout) in group.rollouts.iter().enumerate() {
                let is_learnt =
                    |turn: &Turn| !config.mask_truncated_completions || !turn.is_cut_off();
                let turns = rollout.turns.iter().enumerate().filter(|(_, turn)| is_learnt(turn));
                let sequences = sampled_sequences(turns);
                let last = sequences.len().saturating_sub(1);
                for (part, sequence) in sequences.into_iter().enumerate() {
                    let reward = if part == last { paid(config, rollout) } else { 0.0 };
                    let rollout = RolloutIndex { group: at, rollout: index };
                    all.push(Experience::new(config.discount_by, sequence, rollout, reward));
                }
            }
        }
        Self { all, ..Self::default() }
    }

    pub(super) fn examples(&self) -> Vec<&Example> {
        self.all.iter().map(|experience| &experience.example).collect()
    }

    /// Estimates advantages and returns from the critic's values of each completion's tokens.
    pub(super) fn estimate(
        &mut self,
        config: &PpoConfig,
        kl_coef: f64,
        values: Vec<Vec<f64>>,
        reference: Option<&[Vec<f64>]>,
    ) -> Result<(), TrainError> {
        let gae = Gae { discount: config.gamma, lambda: config.gae_lambda };
        let (mut advantage, mut returns) = (Mean::default(), Mean::default());
        for (experience, values) in self.all.iter_mut().zip(values) {
            experience.values = values;
        }
        let ends: Vec<RolloutEnd> = (0..self.all.len()).map(|at| self.end(at)).collect();
        for (at, (experience, end)) in self.all.iter_mut().zip(ends).enumerate() {
            let reference = reference.map(|all| all[at].as_slice());
            let known = Known { end, reference, kl_coef };
            let found = experience.estimate(gae, config.discount_by, known)?;
            for token in (0..experience.mask.len()).filter(|&token| experience.mask[token]) {
                advantage.add(found.advantages[token]);
                returns.add(found.returns[token]);
            }
            if let Some(reference) = reference {
                let mut sum = 0.0;
                for token in (0..experience.mask.len()).filter(|&token| experience.mask[token]) {
                    let moved = experience.sampled[token] - reference[token];
                    self.reference_kl.add(moved);
                    sum += moved;
                }
                self.reference_kl_sum.add(sum);
            }
            (experience.advantages, experience.returns) = (found.advantages, found.returns);
        }
        (self.mean_advantage, self.mean_return) = (advantage.get(), returns.get());
        if config.whiten_advantages {
            let mut lists: Vec<Vec<f64>> =
                self.all.iter_mut().map(|one| std::mem::take(&mut one.advantages)).collect();
            let masks: Vec<Vec<bool>> = self.all.iter().map(|one| one.mask.clone()).collect();
            whiten(&mut lists, &masks);
            for (experience, advantages) in self.all.iter_mut().zip(lists) {
                experience.advantages = advantages;
            }
        }
        Ok(())
    }

    /// The state after the last token of a sequence: where its episode goes on in the next one, the critic's
    /// value of that one's first response.
    fn end(&self, at: usize) -> RolloutEnd {
        let next = self.all.get(at + 1).filter(|next| next.rollout == self.all[at].rollout);
        next.and_then(|next| next.values.first())
            .map_or(RolloutEnd::Over, |&value| RolloutEnd::Continues(value))
    }

    /// The mean advantage of each rollout, and what the critic made of its tokens, one list for each group.
    pub(super) fn by_rollout(
        &self,
        step_rollouts: &StepRollouts,
    ) -> (Vec<Vec<f64>>, Vec<Vec<TokenEstimates>>) {
        let counts = || step_rollouts.groups.iter().map(|group| group.rollouts.len());
        let mut means: Vec<Vec<Mean>> =
            counts().map(|count| vec![Mean::default(); count]).collect();
        let mut tokens: Vec<Vec<TokenEstimates>> =
            counts().map(|count| vec![TokenEstimates::default(); count]).collect();
        for experience in &self.all {
            let RolloutIndex { group, rollout } = experience.rollout;
            let of_trained = |list: &[f64]| experience.example.of_trained(list);
            for advantage in of_trained(&experience.advantages) {
                means[group][rollout].add(advantage);
            }
            let to = &mut tokens[group][rollout];
            to.values.extend(of_trained(&experience.values).into_iter().map(narrow));
            to.returns.extend(of_trained(&experience.returns).into_iter().map(narrow));
        }
        for (group, tokens) in step_rollouts.groups.iter().zip(&mut tokens) {
            for (rollout, tokens) in group.rollouts.iter().zip(tokens) {
                // Of an episode with a turn that is left out, nobody could tell whose values these are.
                if tokens.values.len() != rollout.sampled_tokens() {
                    *tokens = TokenEstimates::default();
                }
            }
        }
        let mean = |group: Vec<Mean>| group.into_iter().map(|mean| mean.get().unwrap_or(0.0));
        (means.into_iter().map(|group| mean(group).collect()).collect(), tokens)
    }

    /// As they are saved after an error, for a replay.
    pub(super) fn saved(&self) -> SavedExperiences {
        let one = |experience: &Experience| SavedExperience {
            tokens: experience.example.tokens.clone(),
            first: experience.example.first,
            sampled: experience.sampled.clone(),
            values: experience.values.clone(),
            advantages: experience.advantages.clone(),
            returns: experience.returns.clone(),
        };
        SavedExperiences { completions: self.all.iter().map(one).collect() }
    }

    /// Values and returns of all trained tokens.
    pub(super) fn predictions(&self) -> (Vec<f64>, Vec<f64>) {
        self.predictions_at(|experience| &experience.mask)
    }

    /// Values and returns where values are baselines.
    pub(super) fn baselines(&self) -> (Vec<f64>, Vec<f64>) {
        self.predictions_at(|experience| &experience.baseline)
    }

    fn predictions_at(&self, mask: fn(&Experience) -> &[bool]) -> (Vec<f64>, Vec<f64>) {
        let at = |list: fn(&Experience) -> &[f64]| -> Vec<f64> {
            let of = |one| list(one).iter().zip(mask(one)).filter(|(_, is)| **is);
            self.all.iter().flat_map(of).map(|(&number, _)| number).collect()
        };
        (at(|one| &one.values), at(|one| &one.returns))
    }
}

/// The reward of a rollout, less the penalty if the length limit cut its last completion off.
fn paid(config: &PpoConfig, rollout: &Rollout) -> f64 {
    let is_cut_off = rollout.turns.last().is_some_and(Turn::is_cut_off);
    let penalty = if is_cut_off { config.truncation_penalty } else { 0.0 };
    rollout.outcome.reward.total() - penalty
}

/// What an estimate needs beside the completion itself.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    /// The state after the last token.
    end: RolloutEnd,
    /// Log-probabilities under the reference, if the divergence from it costs something.
    reference: Option<&'a [f64]>,
    kl_coef: f64,
}

impl Experience {
    fn new(
        discount_by: DiscountBy,
        sequence: SampledSequence,
        rollout: RolloutIndex,
        reward: f64,
    ) -> Self {
        let SampledSequence { example, sampled, .. } = sequence;
        let mask = example.mask();
        let baseline = match discount_by {
            DiscountBy::Token => mask.clone(),
            DiscountBy::Response => first_of_responses(&mask),
        };
        let (values, advantages, returns) = (Vec::new(), Vec::new(), Vec::new());
        Self { example, mask, baseline, sampled, values, advantages, returns, rollout, reward }
    }

    fn estimate(
        &self,
        gae: Gae,
        discount_by: DiscountBy,
        known: Known<'_>,
    ) -> Result<GaeEstimate, AlgoError> {
        let Known { end, reference, kl_coef } = known;
        let logps = reference.map(|reference| [self.sampled.as_slice(), reference]);
        let rewards = token_rewards(&self.mask, self.reward, kl_coef, logps)?;
        let rewarded =
            Rewarded { trained: &self.mask, rewards: &rewards, values: &self.values, end };
        match discount_by {
            DiscountBy::Token => gae.estimate(rewarded),
            DiscountBy::Response => gae.estimate_by_response(rewarded),
        }
    }
}
