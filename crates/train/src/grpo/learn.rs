//! Three sources, their gradients, and one update of all.
//!
//! Each source has its own gradient, so that its length and its angle to that of the rollouts can be
//! shown: a source that pulls the other way is seen before it does harm.

use std::time::Instant;

use whetstone_algo::grpo::Grpo as Loss;
use whetstone_algo::{Advantages, Sequence, Totals};
use whetstone_core::config::{Config, DualSourceConfig};
use whetstone_model::decoder::{Adapters, Forward, Gradients};

use super::batch::Batch;
use super::metrics::{Measured, Source};
use crate::error::TrainError;
use crate::example::Example;
use crate::imitate::imitate;
use crate::optimizer::Optimizer;
use crate::pass::{Pass, split};
use crate::plan::Plan;
use crate::student::{Student, keep};
use crate::update;

/// What learns: the loss, the gradients and the optimizer.
#[derive(Debug)]
pub(super) struct Learner<'a> {
    config: &'a Config,
    loss: Loss,
    gradients: Gradients,
    /// Room for the other sources, where they count.
    teacher: Option<Gradients>,
    own: Option<Gradients>,
    optimizer: Optimizer,
}

/// Log-probabilities of every trained token of every rollout.
type Logps = Vec<Vec<f64>>;

impl<'a> Learner<'a> {
    pub(super) fn new(
        student: &Student,
        config: &'a Config,
        optimizer: Optimizer,
    ) -> Result<Self, TrainError> {
        let new = || Gradients::new(student.decoder.device(), student.decoder.parameters());
        let weights = config.dual_source;
        Ok(Self {
            config,
            loss: Loss::new(&config.grpo)?,
            gradients: new(),
            teacher: (weights.teacher_sft_weight > 0.0).then(new),
            own: (weights.self_sft_weight > 0.0).then(new),
            optimizer,
        })
    }

    pub(super) fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// Somewhere to rehearse.
    pub(super) fn scratch(&mut self) -> &mut Gradients {
        &mut self.gradients
    }

    /// Makes the updates of a step.
    pub(super) fn learn(
        &mut self,
        student: &mut Student,
        (step, plan): (u64, &Plan),
        batch: &Batch,
        measured: &mut Measured,
    ) -> Result<(), TrainError> {
        let reference = self.reference(student, step, batch, measured)?;
        let began = Instant::now();
        let mut old: Option<Logps> = None;
        for iteration in 0..plan.iterations {
            self.rollouts(student, (step, batch), (&mut old, reference.as_ref()), measured)?;
            let weights = held_back(self.config.dual_source, measured);
            measured.weights = weights;
            let rows = (step, batch.teacher.as_slice(), weights.teacher_sft_weight);
            measured.teacher = self.traces(student, rows, Which::Teacher)?;
            let rows = (step, batch.own.as_slice(), weights.self_sft_weight);
            measured.own = self.traces(student, rows, Which::Own)?;
            let lr = plan.schedule.rate((step - 1) * plan.iterations + iteration)?;
            measured.lr = lr;
            self.update(student, lr, measured)?;
        }
        measured.learning = began.elapsed();
        Ok(())
    }

    fn pass<'s>(&self, student: &'s Student, step: u64, temperature: f64) -> Pass<'s> {
        #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
        let temperature = temperature as f32;
        Pass {
            decoder: &student.decoder,
            micro_batch: self.config.training.per_device_train_batch_size as usize,
            forward: Forward { keep: Some(keep(self.config)), temperature, ..Forward::default() },
            step,
        }
    }

    /// What the student would have said without its adapter, if that is asked for.
    fn reference(
        &self,
        student: &Student,
        step: u64,
        batch: &Batch,
        measured: &mut Measured,
    ) -> Result<Option<Logps>, TrainError> {
        let budget = self.config.dual_source.kl_budget > 0.0;
        if self.loss.penalty.is_none() && !budget {
            return Ok(None);
        }
        let began = Instant::now();
        let examples: Vec<&Example> = batch.played.iter().map(|it| &it.example).collect();
        let pass = self.pass(student, step, self.config.grpo.temperature);
        let scores = pass.score(&examples, Adapters::Off)?;
        measured.reference = began.elapsed();
        Ok(Some(scores))
    }

    /// The gradient of the policy loss. In the first pass the policy is the one that sampled.
    fn rollouts(
        &mut self,
        student: &Student,
        (step, batch): (u64, &Batch),
        (old, reference): (&mut Option<Logps>, Option<&Logps>),
        measured: &mut Measured,
    ) -> Result<(), TrainError> {
        self.gradients.clear(student.decoder.device());
        let weight = self.config.dual_source.grpo_weight;
        measured.begin_rollouts();
        if batch.played.is_empty() || weight == 0.0 {
            return Ok(());
        }
        let examples: Vec<&Example> = batch.played.iter().map(|it| &it.example).collect();
        let masks: Vec<Vec<bool>> = examples.iter().map(|it| vec![true; it.trained()]).collect();
        let totals = Totals::count(masks.iter().map(Vec::as_slice));
        let pass = self.pass(student, step, self.config.grpo.temperature);
        let mut first: Logps = vec![Vec::new(); examples.len()];
        let loss = self.loss;
        pass.learn(&examples, &mut self.gradients, |places, seen| {
            let now = split(places, &masks, seen);
            for (&place, seen) in places.iter().zip(&now) {
                first[place] = seen.logp.to_vec();
                measured.compare(&batch.played[place].sampled, seen.logp);
            }
            let sequences: Vec<Sequence<'_>> = places
                .iter()
                .zip(&now)
                .map(|(&place, seen)| Sequence {
                    trained: &masks[place],
                    logp: seen.logp,
                    old_logp: old.as_ref().map_or(seen.logp, |old| &old[place]),
                    sampler_logp: None,
                    reference_logp: reference.map(|reference| reference[place].as_slice()),
                    entropy: Some(seen.entropy),
                    advantage: Advantages::Whole(batch.played[place].advantage),
                })
                .collect();
            let found = loss.loss(&sequences, totals)?;
            measured.policy(&found);
            Ok(found.objective.scaled(weight).dlogp)
        })?;
        old.get_or_insert(first);
        measured.grpo_norm = self.gradients.sum_of_squares(student.decoder.device()).sqrt();
        Ok(())
    }

    /// The gradient of the cross-entropy on rows, and how it stands to that of the rollouts.
    fn traces(
        &mut self,
        student: &Student,
        (step, rows, weight): (u64, &[Example], f64),
        which: Which,
    ) -> Result<Option<Source>, TrainError> {
        let pass = self.pass(student, step, 1.0);
        let gradients = match which {
            Which::Teacher => self.teacher.as_mut(),
            Which::Own => self.own.as_mut(),
        };
        let (Some(gradients), device) = (gradients, student.decoder.device()) else {
            return Ok(None);
        };
        gradients.clear(device);
        if rows.is_empty() || weight == 0.0 {
            return Ok(None);
        }
        let rows: Vec<&Example> = rows.iter().collect();
        let loss = imitate(pass, &rows, (weight, &mut *gradients))?;
        let [norm, against] =
            [&*gradients, &self.gradients].map(|it| it.sum_of_squares(device).sqrt());
        let dot = gradients.dot(device, &self.gradients);
        let cosine = (against > 0.0 && norm > 0.0).then(|| dot / against / norm);
        Ok(Some(Source { norm, cosine, loss }))
    }

    fn update(
        &mut self,
        student: &mut Student,
        lr: f64,
        measured: &mut Measured,
    ) -> Result<(), TrainError> {
        let device = student.decoder.device().clone();
        for other in [&self.teacher, &self.own].into_iter().flatten() {
            self.gradients.add_scaled(&device, 1.0, other);
        }
        let rule = (lr, &self.config.training);
        let updated =
            update::apply(&mut student.decoder, (&mut self.optimizer, &self.gradients), rule)?;
        measured.norm = updated.norm;
        Ok(())
    }
}

/// Whose rows.
#[derive(Debug, Clone, Copy)]
enum Which {
    Teacher,
    Own,
}

/// The weights of this step: those of the settings, unless the student is too far from the reference.
fn held_back(weights: DualSourceConfig, measured: &Measured) -> DualSourceConfig {
    let divergence = measured.reference_kl().unwrap_or(0.0);
    let (budget, mut held) = (weights.kl_budget, weights);
    if budget > 0.0 && divergence > budget {
        held.teacher_sft_weight *= budget / divergence;
        held.self_sft_weight *= budget / divergence;
    }
    held
}
