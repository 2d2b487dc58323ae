//! The updates of a step: mini-batches, each a gradient of policy and critic together.

use std::time::Instant;

use whetstone_algo::ppo::Ppo as Loss;
use whetstone_algo::value::Valued;
use whetstone_algo::{Advantages, AlgoError, Mean, Objective, Sequence, Totals};
use whetstone_core::config::{Config, TrainingConfig};
use whetstone_core::seed::Seed;
use whetstone_model::decoder::{Adapters, Forward, Gradients};

use super::Ppo;
use super::experience::{Experience, Experiences};
use super::metrics::LearnMeasured;
use super::models::Models;
use crate::error::TrainError;
use crate::example::Example;
use crate::memory_check::memory_check;
use crate::optimizer::Optimizer;
use crate::order::shuffled;
use crate::pass::{Pass, TokenScores};
use crate::plan::Plan;
use crate::student::Student;
use crate::update::{self, UpdateSettings};
use crate::update_kl::{ScoredBefore, update_kl};
use crate::watch::{Phase, Watch};

/// Completions on which it is measured how far a step's updates moved the policy.
const MEASURED_SEQUENCES: usize = 32;

/// The loss, the gradients and the optimizer of a training.
pub(super) struct Learner<'a> {
    config: &'a Config,
    /// The optimizer's settings, with PPO's bound of gradients.
    training: TrainingConfig,
    watch: Watch<'a>,
    loss: Loss,
    gradients: Gradients,
    optimizer: Optimizer,
    most_bytes: usize,
}

/// A step to learn from.
#[derive(Clone, Copy)]
pub(super) struct Work<'e> {
    pub(super) step: u64,
    pub(super) experiences: &'e Experiences,
}

/// The completions of one update, and their totals.
struct MiniBatch<'e> {
    step: u64,
    experiences: Vec<&'e Experience>,
    /// Of the policy's trained tokens.
    totals: Totals,
    /// Of the places where the critic is trained.
    baselines: Totals,
}

impl<'a> Learner<'a> {
    pub(super) fn new(
        student: &Student,
        ppo: &Ppo<'a>,
        models: &Models,
        mut optimizer: Optimizer,
    ) -> Result<Self, TrainError> {
        let config = ppo.config;
        optimizer.set_apart(models.critic_parameters(student), config.ppo.critic_rate_factor());
        let max_grad_norm = config.ppo.max_grad_norm;
        Ok(Self {
            config,
            training: TrainingConfig { max_grad_norm, ..config.training.clone() },
            watch: ppo.watch,
            loss: Loss::new(&config.ppo)?,
            gradients: Gradients::new(student.decoder.device(), student.decoder.parameters()),
            optimizer,
            most_bytes: usize::MAX,
        })
    }

    pub(super) fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// Sends the longest batch through once, to see whether it fits into memory.
    pub(super) fn check_memory(
        &mut self,
        student: &Student,
        longest: &[Example],
    ) -> Result<(), TrainError> {
        let pass = Pass { phase: Phase::MemoryCheck, ..self.pass(student, 0) };
        self.most_bytes = memory_check(pass, longest, &mut self.gradients)?;
        Ok(())
    }

    /// The critic's values of the tokens of all completions.
    pub(super) fn values(
        &self,
        student: &mut Student,
        models: &Models,
        Work { step, experiences }: Work<'_>,
    ) -> Result<Vec<Vec<f64>>, TrainError> {
        models.with(student, models.critic, |student| {
            self.pass(student, step).values(&experiences.examples())
        })
    }

    /// Log-probabilities under the reference, if the divergence from it costs something or has a budget.
    pub(super) fn reference(
        &self,
        student: &mut Student,
        models: &Models,
        Work { step, experiences }: Work<'_>,
    ) -> Result<Option<Vec<Vec<f64>>>, TrainError> {
        if self.config.ppo.kl_coef == 0.0 && self.config.dual_source.kl_budget == 0.0 {
            return Ok(None);
        }
        let adapters = if models.reference.is_some() { Adapters::On } else { Adapters::Off };
        models
            .with(student, models.reference, |student| {
                let pass = Pass { phase: Phase::Reference, ..self.pass(student, step) };
                pass.score(&experiences.examples(), adapters)
            })
            .map(Some)
    }

    /// Makes the updates of a step.
    pub(super) fn learn(
        &mut self,
        student: &mut Student,
        models: &Models,
        plan: &Plan,
        Work { step, experiences }: Work<'_>,
    ) -> Result<LearnMeasured, TrainError> {
        let began = Instant::now();
        let mut measured = LearnMeasured::default();
        let ppo = &self.config.ppo;
        let (size, epochs, target) = (ppo.mini_batch_size as usize, ppo.ppo_epochs, ppo.target_kl);
        let seed = Seed::new(self.config.seed).derive("mini-batches", step);
        let mut update = (step - 1) * plan.iterations;
        let all = experiences.all.len().div_ceil(size.max(1)) * epochs as usize;
        'step: for epoch in 0..u64::from(epochs) {
            let order = shuffled(seed, epoch, experiences.all.len());
            for places in order.chunks(size.max(1)) {
                let chosen = places.iter().map(|&at| &experiences.all[at]);
                let mini_batch = MiniBatch::new(step, chosen);
                let moved = self.policy_gradient(student, models, &mini_batch, &mut measured)?;
                if target > 0.0 && moved.is_some_and(|moved| moved > target) {
                    break 'step;
                }
                if models.critic.is_some() {
                    self.critic_gradient(student, models, &mini_batch, &mut measured)?;
                }
                let lr = plan.schedule.rate(update.min(plan.schedule.total_steps - 1))?;
                update += 1;
                let settings = UpdateSettings { lr, training: &self.training };
                let (optimizer, gradients) = (&mut self.optimizer, &self.gradients);
                let updated = update::apply(&mut student.decoder, optimizer, gradients, settings)?;
                measured.updated(updated, lr);
            }
        }
        measured.skipped = all - measured.updates;
        let all = experiences.all.iter();
        let before: Vec<_> =
            all.map(|one| ScoredBefore { example: &one.example, logp: &one.sampled }).collect();
        measured.kl = update_kl(self.pass(student, step), &before, MEASURED_SEQUENCES)?.get();
        measured.took = began.elapsed();
        Ok(measured)
    }

    /// A pass at the temperature that completions were sampled with.
    fn pass<'s>(&self, student: &'s Student, step: u64) -> Pass<'s>
    where
        'a: 's,
    {
        #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
        let temperature = self.config.ppo.temperature as f32;
        let entropies = self.config.ppo.entropy_coef > 0.0;
        let pass = Pass::new(&student.decoder, self.config, self.watch, Phase::Learning);
        let forward = Forward { temperature, entropies, ..pass.forward };
        Pass { forward, most_bytes: self.most_bytes, step, ..pass }
    }

    /// Begins a gradient with that of the policy, and of the critic if it is a head on it. Returns how far
    /// the policy has moved from the one that sampled.
    fn policy_gradient(
        &mut self,
        student: &Student,
        models: &Models,
        mini_batch: &MiniBatch<'_>,
        measured: &mut LearnMeasured,
    ) -> Result<Option<f64>, TrainError> {
        self.gradients.clear(student.decoder.device());
        let pass = self.pass(student, mini_batch.step);
        let (loss, totals) = (self.loss, mini_batch.totals);
        let critic = Critic { loss, totals: mini_batch.baselines };
        let is_first = measured.updates == 0;
        let mut divergence = Mean::default();
        measured.mini_batches += 1;
        pass.learn(&mini_batch.examples(), &mut self.gradients, |place, scores| {
            let experience = mini_batch.experiences[place];
            if is_first {
                measured.compare(experience, &scores.logp);
            }
            let found = loss.policy(&[experience.sequence(scores)], totals)?;
            divergence.merge(found.divergence);
            measured.policy(&found);
            let mut objective = found.objective;
            if models.critic.is_none() {
                objective = objective.plus(&critic.part(experience, scores, measured)?)?;
            }
            Ok(objective.signals)
        })?;
        Ok(divergence.get())
    }

    /// Adds the gradient of a critic with its own adapter.
    fn critic_gradient(
        &mut self,
        student: &mut Student,
        models: &Models,
        mini_batch: &MiniBatch<'_>,
        measured: &mut LearnMeasured,
    ) -> Result<(), TrainError> {
        let critic = Critic { loss: self.loss, totals: mini_batch.baselines };
        models.with(student, models.critic, |student| {
            let pass = self.pass(student, mini_batch.step);
            let forward = Forward { values_only: true, ..pass.forward };
            let pass = Pass { forward, ..pass };
            pass.learn(&mini_batch.examples(), &mut self.gradients, |place, scores| {
                let experience = mini_batch.experiences[place];
                Ok(critic.part(experience, scores, measured)?.signals)
            })
        })
    }
}

/// The critic's loss in a mini-batch: where its value is a baseline. What it makes of a program that it has read
/// is used nowhere.
#[derive(Clone, Copy)]
struct Critic {
    loss: Loss,
    totals: Totals,
}

impl Critic {
    /// The part of one completion.
    fn part(
        self,
        experience: &Experience,
        scores: &TokenScores,
        measured: &mut LearnMeasured,
    ) -> Result<Objective, AlgoError> {
        let value = scores.value.as_deref().unwrap_or_default();
        let valued = Valued {
            trained: &experience.baseline,
            value,
            old_value: &experience.values,
            returns: &experience.returns,
        };
        let found = self.loss.critic(&[valued], self.totals)?;
        measured.critic(&found);
        Ok(found.objective)
    }
}

impl<'e> MiniBatch<'e> {
    fn new(step: u64, experiences: impl Iterator<Item = &'e Experience>) -> Self {
        let experiences: Vec<&Experience> = experiences.collect();
        let totals = Totals::count(experiences.iter().map(|one| one.mask.as_slice()));
        let baselines = Totals::count(experiences.iter().map(|one| one.baseline.as_slice()));
        Self { step, experiences, totals, baselines }
    }

    fn examples(&self) -> Vec<&'e Example> {
        self.experiences.iter().map(|one| &one.example).collect()
    }
}

impl Experience {
    /// As the policy's loss takes it.
    fn sequence<'s>(&'s self, scores: &'s TokenScores) -> Sequence<'s> {
        Sequence {
            trained: &self.mask,
            logp: &scores.logp,
            old_logp: &self.sampled,
            sampler_logp: None,
            reference_logp: None,
            entropy: Some(&scores.entropy),
            advantage: Advantages::Tokens(&self.advantages),
            episode_tokens: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::{DiscountBy, PpoConfig};

    use super::*;
    use crate::rollouts::tasks::StepRollouts;
    use crate::testing::{group, rollout};

    /// The critic's signals of two completions, worth 1 and 0, in one mini-batch; it says 0.5 everywhere.
    fn signals(discount_by: DiscountBy) -> Vec<Vec<f64>> {
        let config = PpoConfig { discount_by, gamma: 1.0, gae_lambda: 1.0, ..PpoConfig::default() };
        let groups = vec![group("a", vec![rollout(0, &[7, 8, 9], 1.0), rollout(1, &[7], 0.0)])];
        let step = StepRollouts { groups, ..StepRollouts::default() };
        let mut experiences = Experiences::new(&config, &step);
        experiences.estimate(&config, 0.0, vec![vec![0.5; 3], vec![0.5]], None).unwrap();
        let mini_batch = MiniBatch::new(1, experiences.all.iter());
        let critic = Critic { loss: Loss::new(&config).unwrap(), totals: mini_batch.baselines };
        let of = |one: &&Experience| {
            let value = Some(one.values.clone());
            let scores = TokenScores { value, ..TokenScores::default() };
            let found = critic.part(one, &scores, &mut LearnMeasured::default()).unwrap();
            found.signals.dvalue.unwrap()
        };
        mini_batch.experiences.iter().map(of).collect()
    }

    /// Half the mean square has the slope `(V - R) / n`: of two responses, or of four tokens.
    #[test]
    fn the_critic_is_trained_where_its_value_is_used() {
        assert_eq!(signals(DiscountBy::Response), [vec![-0.25, 0.0, 0.0], vec![0.25]]);
        assert_eq!(signals(DiscountBy::Token), [vec![-0.125; 3], vec![0.125]]);
    }
}
