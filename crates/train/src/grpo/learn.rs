//! Four sources, their gradients, and one update of all.
//!
//! An update is of a mini-batch: a part of the step's groups, and of the other sources' rows
//! ([`mini_batches`](super::batch)). Each source has its own gradient, so that its length and its angle to that of the rollouts can be
//! shown: a source that pulls the other way is seen before it does harm.

use std::time::Instant;

use whetstone_algo::grpo::Grpo as Loss;
use whetstone_algo::{Mean, Sequence};
use whetstone_core::config::{Config, KlIn};
use whetstone_model::decoder::{Adapters, Decoder, Forward, Gradients};

use super::Grpo;
use super::auxiliary::{Auxiliary, RolloutGradient, SftRows, SftSource};
use super::batch::{Batch, MiniBatch, MiniBatchPass, Reference, TrainSequence};
use super::budget;
use super::distill::{self, LossSettings, OldPolicy};
use super::learn_metrics::{LearnMeasured, PolicyMeasured, UpdateMeasured};
use super::metrics::Measured;
use crate::error::TrainError;
use crate::example::Example;
use crate::memory_check::memory_check;
use crate::optimizer::Optimizer;
use crate::pass::Pass;
use crate::plan::Plan;
use crate::student::Student;
use crate::update::{self, UpdateSettings, Updated};
use crate::update_kl::{MovedPolicy, ScoredBefore};
use crate::watch::{Phase, Watch};

/// The loss, the gradients and the optimizer of a training.
pub(super) struct Learner<'a> {
    config: &'a Config,
    watch: Watch<'a>,
    loss: Loss,
    /// The reference model, where the student without its adapter is not it.
    reference_model: Option<Decoder>,
    gradients: Gradients,
    /// The other sources.
    auxiliary: Auxiliary,
    distill: LossSettings,
    optimizer: Optimizer,
    /// Bytes that the device held after the memory check.
    most_bytes: usize,
}

/// A step to learn from.
#[derive(Clone, Copy)]
pub(super) struct Work<'b> {
    pub(super) step: u64,
    pub(super) batch: &'b Batch,
    pub(super) reference: Option<&'b Reference>,
    /// Log-probabilities under the policy that sampled, where that is not the student as it is.
    pub(super) old: Option<&'b Logps>,
}

/// An update of a step.
#[derive(Clone, Copy)]
struct Update<'b> {
    work: Work<'b>,
    mini_batch: &'b MiniBatch,
    /// Its number in the training, from 0.
    number: u64,
    /// Nothing was changed since the rollouts were sampled.
    is_first: bool,
}

/// Rollouts of a step on which it is measured how far its updates moved the policy. A few are enough for
/// a mean over their tokens, and cost a fraction of what learning does.
const MEASURED_SEQUENCES: usize = 8;

/// Log-probabilities of every token of every rollout from its first trained one on.
pub(super) type Logps = Vec<Vec<f64>>;

impl<'a> Learner<'a> {
    pub(super) fn new(
        student: &Student,
        grpo: &Grpo<'a>,
        optimizer: Optimizer,
    ) -> Result<Self, TrainError> {
        let loss = budget::loss(grpo.config)?;
        let recorded = grpo.source.recorded();
        let is_asked = recorded.is_some_and(|recorded| recorded.asks_reference(grpo.config));
        let reference_model =
            if loss.penalty.is_some() || is_asked { student.reference_model()? } else { None };
        Ok(Self {
            config: grpo.config,
            watch: grpo.watch,
            loss,
            reference_model,
            gradients: Gradients::new(student.decoder.device(), student.decoder.parameters()),
            auxiliary: Auxiliary::new(student, &grpo.config.dual_source),
            distill: LossSettings::new(grpo.config)?,
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
        let pass = Pass::new(&student.decoder, self.config, self.watch, Phase::MemoryCheck);
        self.most_bytes = memory_check(pass, longest, &mut self.gradients)?;
        Ok(())
    }

    /// Log-probabilities of a batch under the reference model, if the KL divergence is used or measured.
    pub(super) fn reference(
        &self,
        student: &Student,
        step: u64,
        batch: &Batch,
        measured: &mut Measured,
    ) -> Result<Option<Reference>, TrainError> {
        let began = Instant::now();
        let Some(sequences) = self.reference_logps(student, step, &batch.sequences)? else {
            return Ok(None);
        };
        let is_charged = self.config.grpo.kl_in == KlIn::Reward;
        let masked = if is_charged { batch.masked.as_slice() } else { &[] };
        let masked = self.reference_logps(student, step, masked)?.unwrap_or_default();
        measured.reference = began.elapsed();
        Ok(Some(Reference { sequences, masked }))
    }

    /// Makes the updates of a step.
    pub(super) fn learn(
        &mut self,
        student: &mut Student,
        plan: &Plan,
        work: Work<'_>,
    ) -> Result<LearnMeasured, TrainError> {
        let began = Instant::now();
        let mut measured = LearnMeasured::default();
        let Work { step, batch, .. } = work;
        let grpo = &self.config.grpo;
        let (passes, mini_batches) = (u64::from(grpo.num_iterations), u64::from(grpo.mini_batches));
        let mut old = self.old_logps(work);
        for pass in 0..passes {
            let is_divergence_measured = self.loss.penalty.is_some();
            let split = MiniBatchPass { step, pass, is_divergence_measured };
            let first = (step - 1) * plan.iterations + pass * mini_batches;
            let mut updates = Vec::new();
            for (number, mini_batch) in (first..).zip(&batch.mini_batches(self.config, split)) {
                let is_first = number == (step - 1) * plan.iterations && work.old.is_none();
                let update = Update { work, mini_batch, number, is_first };
                updates.push(self.update(student, plan, update, &mut old)?);
            }
            measured.pass(&updates);
        }
        self.measure_moves(student, work, old.as_deref(), &mut measured)?;
        measured.took = began.elapsed();
        Ok(measured)
    }

    /// The log-probabilities that ratios are taken to, by the places of sequences, where they are known
    /// before the first update: those of the policy that sampled a file's rollouts; and those of sampling
    /// where the first update does not go over all rollouts. Elsewhere the first update computes them.
    fn old_logps(&self, work: Work<'_>) -> Option<Logps> {
        let sampled = || work.batch.sequences.iter().map(|one| one.sampled.clone()).collect();
        // Distillation alone has no policy gradient that would compute them.
        let is_alone = distill::is_on(self.config) && self.config.dual_source.grpo_weight == 0.0;
        let is_known = self.config.grpo.mini_batches > 1 || is_alone;
        work.old.cloned().or_else(|| is_known.then(sampled))
    }

    /// Makes the update of a mini-batch.
    fn update(
        &mut self,
        student: &mut Student,
        plan: &Plan,
        update: Update<'_>,
        old: &mut Option<Logps>,
    ) -> Result<UpdateMeasured, TrainError> {
        let Update { work, mini_batch, .. } = update;
        let Work { step, batch, .. } = work;
        let mut policy = self.policy_gradient(student, update, old)?;
        if let Some(divergence) = self.idle_kl(student, work)? {
            policy.reference_kl = divergence;
        }
        let divergence = policy.reference_kl.get();
        let weights = budget::scaled_weights(&self.config.dual_source, divergence);
        let pass = self.pass(student, step);
        let rollouts = RolloutGradient { gradients: &self.gradients, norm: policy.grad_norm };
        let (rows, weight) = (mini_batch.teacher(batch), weights.teacher_sft);
        let rows = SftRows { of: SftSource::Teacher, rows, weight };
        let teacher = self.auxiliary.sft(pass, rows, rollouts)?;
        let (rows, weight) = (mini_batch.self_sft(batch), weights.self_sft);
        let rows = SftRows { of: SftSource::SelfSft, rows, weight };
        let self_sft = self.auxiliary.sft(pass, rows, rollouts)?;
        let sequences = mini_batch.distill(batch);
        let old = if update.is_first { OldPolicy::Student } else { OldPolicy::Recorded };
        let settings = self.distill.against(old);
        let distill = self.auxiliary.distill(pass, &sequences, settings, rollouts)?;
        let lr = plan.schedule.rate(update.number)?;
        let updated = self.apply(student, lr)?;
        Ok(UpdateMeasured { policy, teacher, self_sft, distill, updated, weights, lr })
    }

    /// A pass over rollouts, at the temperature that they were sampled with.
    fn pass<'s>(&self, student: &'s Student, step: u64) -> Pass<'s>
    where
        'a: 's,
    {
        #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
        let temperature = self.config.grpo.temperature as f32;
        let pass = Pass::new(&student.decoder, self.config, self.watch, Phase::Learning);
        let forward = Forward { temperature, ..pass.forward };
        Pass { forward, most_bytes: self.most_bytes, step, ..pass }
    }

    /// Log-probabilities under the student before training, if the KL divergence is used or measured.
    fn reference_logps(
        &self,
        student: &Student,
        step: u64,
        sequences: &[TrainSequence],
    ) -> Result<Option<Logps>, TrainError> {
        if self.loss.penalty.is_none() {
            return Ok(None);
        }
        let examples: Vec<&Example> = sequences.iter().map(|sequence| &sequence.example).collect();
        self.initial_logps(student, step, &examples).map(Some)
    }

    /// The log-probabilities of examples, under the student before its first update.
    pub(super) fn initial_logps(
        &self,
        student: &Student,
        step: u64,
        examples: &[&Example],
    ) -> Result<Logps, TrainError> {
        let pass = self.pass(student, step);
        let decoder = self.reference_model.as_ref().unwrap_or(pass.decoder);
        let pass = Pass { decoder, phase: Phase::Reference, ..pass };
        pass.score(examples, Adapters::Off)
    }

    /// The policy that the ratios of recorded rollouts are taken to: the one that sampled; or, where
    /// importance weights correct for that one, the student before its first update.
    pub(super) fn sampling_policy(
        &self,
        student: &Student,
        step: u64,
        batch: &Batch,
        reference: Option<&Reference>,
    ) -> Result<Logps, TrainError> {
        if self.loss.surrogate.cap.is_none() {
            return Ok(batch.sequences.iter().map(|sequence| sequence.sampled.clone()).collect());
        }
        if let Some(reference) = reference {
            return Ok(reference.sequences.clone());
        }
        let examples: Vec<&Example> =
            batch.sequences.iter().map(|sequence| &sequence.example).collect();
        self.initial_logps(student, step, &examples)
    }

    /// The gradient of the policy loss. Before the first update the policy is the one that sampled.
    fn policy_gradient(
        &mut self,
        student: &Student,
        Update { work, mini_batch, is_first, .. }: Update<'_>,
        old: &mut Option<Logps>,
    ) -> Result<PolicyMeasured, TrainError> {
        let Work { step, batch, reference, .. } = work;
        let MiniBatch { places, totals, .. } = mini_batch;
        let mut measured = PolicyMeasured::default();
        self.gradients.clear(student.decoder.device());
        let weight = self.config.dual_source.grpo_weight;
        if weight == 0.0 && !budget::is_set(self.config) {
            return Ok(measured);
        }
        let pass = self.pass(student, step);
        let examples: Vec<&Example> =
            places.iter().map(|&at| &batch.sequences[at].example).collect();
        let masks: Vec<Vec<bool>> = examples.iter().map(|example| example.mask()).collect();
        let mut first: Logps = vec![Vec::new(); batch.sequences.len()];
        let loss = self.loss;
        pass.learn(&examples, &mut self.gradients, |place, scores| {
            let at = places[place];
            let train_sequence = &batch.sequences[at];
            if is_first {
                let of_trained = |values: &[f64]| train_sequence.example.of_trained(values);
                measured.compare(&of_trained(&train_sequence.sampled), &of_trained(&scores.logp));
                first[at].clone_from(&scores.logp);
            }
            let sequence = Sequence {
                trained: &masks[place],
                logp: &scores.logp,
                old_logp: old.as_ref().map_or(&scores.logp, |old| &old[at]),
                sampler_logp: loss.surrogate.cap.map(|_| train_sequence.sampled.as_slice()),
                reference_logp: reference.map(|of| of.sequences[at].as_slice()),
                entropy: Some(&scores.entropy),
                advantage: train_sequence.advantage.view(),
                episode_tokens: train_sequence.episode_tokens,
            };
            let found = loss.loss(&[sequence], *totals)?;
            measured.add(&found);
            Ok(found.objective.scaled(weight).signals)
        })?;
        old.get_or_insert(first);
        measured.grad_norm = update::norm(&student.decoder, &self.gradients);
        Ok(measured)
    }

    /// The divergence where nothing but dead groups could show it, if there is a budget of it: the
    /// other two sources are held back whether or not rollouts teach anything.
    fn idle_kl(
        &self,
        student: &Student,
        Work { step, batch, .. }: Work<'_>,
    ) -> Result<Option<Mean>, TrainError> {
        if !budget::is_set(self.config) || !batch.sequences.is_empty() {
            return Ok(None);
        }
        let examples: Vec<&Example> = batch.idle.iter().map(|sequence| &sequence.example).collect();
        let now = of_trained(&examples, &self.pass(student, step).score(&examples, Adapters::On)?);
        let reference = self.reference_logps(student, step, &batch.idle)?.unwrap_or_default();
        let reference = of_trained(&examples, &reference);
        Ok(Some(budget::divergence(self.loss, &now, &reference)))
    }

    fn apply(&mut self, student: &mut Student, lr: f64) -> Result<Updated, TrainError> {
        let device = student.decoder.device().clone();
        self.auxiliary.add_to(&device, &mut self.gradients);
        let settings = UpdateSettings { lr, training: &self.config.training };
        let (optimizer, gradients) = (&mut self.optimizer, &self.gradients);
        update::apply(&mut student.decoder, optimizer, gradients, settings)
    }

    /// Measures on a few rollouts of a step how far the policy is after it from the one before; and from
    /// the reference, where nothing else measures that and the reference is the student without its adapter.
    fn measure_moves(
        &self,
        student: &Student,
        Work { step, batch, .. }: Work<'_>,
        old: Option<&[Vec<f64>]>,
        measured: &mut LearnMeasured,
    ) -> Result<(), TrainError> {
        let old = old.unwrap_or_default();
        let places = batch.learnt(self.loss.penalty.is_some()).into_iter();
        let before: Vec<_> = places
            .filter_map(|at| old.get(at).map(|logp| (&batch.sequences[at], logp)))
            .map(|(sequence, logp)| ScoredBefore { example: &sequence.example, logp })
            .collect();
        let pass = self.pass(student, step);
        let moved = MovedPolicy::score(pass, &before, MEASURED_SEQUENCES)?;
        measured.update_kl = moved.update_kl();
        if self.loss.penalty.is_none() && student.has_adapter() {
            let estimator = self.config.grpo.kl_estimator;
            measured.reference_kl = moved.reference_kl(pass, estimator)?;
        }
        Ok(())
    }
}

/// The log-probabilities of trained tokens alone.
fn of_trained(examples: &[&Example], logps: &[Vec<f64>]) -> Logps {
    examples.iter().zip(logps).map(|(example, logps)| example.of_trained(logps)).collect()
}
