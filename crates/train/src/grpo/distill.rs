//! On-policy distillation in a step: the sequences that the teacher scores, and their gradient.
//!
//! Every judged rollout of a group that counts is scored, whatever it is worth: also those of dead groups, and those that
//! the length limit cut off, whose tokens are the student's as any others. The loss is `whetstone_algo::distill`, its
//! denominator the scored tokens of the mini-batch. In the first update of a step the student is the policy that sampled,
//! and both log-probabilities of an advantage are computed in the same way, so that they are equal to the
//! bit where the models are; later updates take those of sampling.
//!
//! A sequence that the teacher fails to score is left out and counted, and is never worth 0. Where it fails for all, the
//! training ends with an error.

use std::time::{Duration, Instant};

use whetstone_algo::distill::{self, Scored};
use whetstone_algo::policy::Clip;
use whetstone_algo::{Denominator, Mean, Normaliser, Totals};
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_model::decoder::Gradients;

use super::Grpo;
use crate::error::TrainError;
use crate::example::Example;
use crate::pass::Pass;
use crate::rollouts::sequences::sampled_sequences;
use crate::rollouts::tasks::StepRollouts;
use crate::rollouts::values::{Values, number};
use crate::teacher::{AskedTokens, TeacherScores, TokenTeacher};
use crate::watch::Warning;

/// A sampled sequence with its teacher's log-probabilities.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DistillSequence {
    pub(super) example: Example,
    /// The log-probabilities that it was sampled with.
    sampled: Vec<f64>,
    /// Those under the teacher.
    teacher: Vec<f64>,
    /// The index of its group in the step.
    pub(super) group: usize,
}

/// Measurements of the teacher's part of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct TeacherMeasured {
    took: Duration,
    /// Sequences that it failed to score.
    failed: usize,
    tokens: usize,
    /// What to say of failures.
    pub(super) warning: Option<Warning>,
}

/// The sequences of a step, scored.
#[derive(Debug, Default)]
pub(super) struct ScoredStep {
    pub(super) sequences: Vec<DistillSequence>,
    pub(super) measured: Option<TeacherMeasured>,
}

/// Whether the settings ask for distillation.
pub(super) fn is_on(config: &Config) -> bool {
    config.dual_source.distill_weight > 0.0
}

/// The teacher of a training, if distillation has a weight.
fn teacher<'a>(training: &Grpo<'a>) -> Result<Option<&'a dyn TokenTeacher>, TrainError> {
    if !is_on(training.config) {
        return Ok(None);
    }
    training.teacher.map(Some).ok_or_else(|| {
        let weight = training.config.dual_source.distill_weight;
        TrainError::Settings(format!(
            "`dual_source.distill_weight` is {weight}, and this command loads no teacher: set it to 0, or use \
             `whet train grpo`"
        ))
    })
}

/// Asks the teacher for the log-probabilities of the tokens of a step; `None` if it was told to stop meanwhile.
pub(super) fn score(
    training: &Grpo<'_>,
    step: u64,
    step_rollouts: &StepRollouts,
) -> Result<Option<ScoredStep>, TrainError> {
    let Some(teacher) = teacher(training)? else { return Ok(Some(ScoredStep::default())) };
    let began = Instant::now();
    let mut sequences = sequences(step_rollouts);
    let examples: Vec<&Example> = sequences.iter().map(|sequence| &sequence.example).collect();
    let Grpo { config, watch, .. } = *training;
    let scores = teacher.score(AskedTokens { examples: &examples, config, step, watch })?;
    let failed = scores.logps.iter().filter(|logps| logps.is_none()).count();
    if failed > 0 && watch.stopped() {
        return Ok(None);
    }
    let warning = warning(teacher.name(), step, &scores)?;
    let mut logps = scores.logps.into_iter();
    sequences.retain_mut(|sequence| {
        let own = logps.next().flatten();
        let is_scored = own.is_some();
        sequence.teacher = own.unwrap_or_default();
        is_scored
    });
    let tokens = sequences.iter().map(|sequence| sequence.example.trained_tokens()).sum();
    let measured = TeacherMeasured { took: began.elapsed(), failed, tokens, warning };
    Ok(Some(ScoredStep { sequences, measured: Some(measured) }))
}

/// Asks the teacher for the scores of the longest sequences once, to see whether they fit into memory.
pub(super) fn check_memory(training: &Grpo<'_>, longest: &[Example]) -> Result<(), TrainError> {
    let Some(teacher) = teacher(training)? else { return Ok(()) };
    let Grpo { config, watch, .. } = *training;
    let examples: Vec<&Example> = longest.iter().collect();
    teacher.check_memory(AskedTokens { examples: &examples, config, step: 0, watch })
}

/// All that was sampled in groups that count.
fn sequences(step_rollouts: &StepRollouts) -> Vec<DistillSequence> {
    let groups = step_rollouts.groups.iter().take(step_rollouts.counting()).enumerate();
    let rollouts = groups.flat_map(|(at, group)| group.rollouts.iter().map(move |one| (at, one)));
    let sequences = rollouts.flat_map(|(group, rollout)| {
        let sampled = sampled_sequences(rollout.turns.iter().enumerate());
        sampled.into_iter().map(move |one| DistillSequence {
            example: one.example,
            sampled: one.sampled,
            teacher: Vec::new(),
            group,
        })
    });
    sequences.collect()
}

/// What to say of sequences without scores; an error if there are no others.
fn warning(
    teacher: &str,
    step: u64,
    scores: &TeacherScores,
) -> Result<Option<Warning>, TrainError> {
    let all = scores.logps.len();
    let failed = scores.logps.iter().filter(|logps| logps.is_none()).count();
    if failed == 0 {
        return Ok(None);
    }
    let why = scores.failure.clone().unwrap_or_else(|| "it does not say why".to_owned());
    if failed == all {
        let teacher = teacher.to_owned();
        return Err(TrainError::Teacher { teacher, step, source: why.into() });
    }
    let message = format!(
        "the teacher `{teacher}` failed to score {failed} of {all} sequences of step {step}, which distillation \
         leaves out; the last failure: {why}"
    );
    Ok(Some(Warning { code: "distill_failed".to_owned(), message }))
}

impl TeacherMeasured {
    /// Its metrics, by name.
    pub(super) fn put(&self, values: &mut Values) {
        values.put(metric::DISTILL_TOKENS, number(self.tokens));
        values.put(metric::DISTILL_FAILED, number(self.failed));
        values.put(metric::TIME_TEACHER_S, self.took.as_secs_f64());
    }

    /// The time that scoring took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }
}

/// Settings of the distillation loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossSettings {
    weight: f64,
    /// The bounds of the ratio of each token: those of `grpo.clip_range`.
    clip: Clip,
    old: OldPolicy,
}

/// The policy that sampled, which ratios and advantages are taken against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OldPolicy {
    /// The student as it is: nothing was changed since.
    Student,
    /// The one whose log-probabilities were recorded when it sampled.
    Recorded,
}

impl LossSettings {
    pub(super) fn new(config: &Config) -> Result<Self, TrainError> {
        let clip = Clip::new(config.grpo.clip_range, config.grpo.upper_clip_range())?;
        let weight = config.dual_source.distill_weight;
        Ok(Self { weight, clip, old: OldPolicy::Recorded })
    }

    /// The same against another policy.
    pub(super) fn against(self, old: OldPolicy) -> Self {
        Self { old, ..self }
    }
}

/// Adds the gradient of the distillation loss on sequences; returns the reverse KL divergence of their tokens.
pub(super) fn gradient(
    pass: Pass<'_>,
    sequences: &[&DistillSequence],
    LossSettings { weight, clip, old }: LossSettings,
    gradients: &mut Gradients,
) -> Result<Mean, TrainError> {
    let examples: Vec<&Example> = sequences.iter().map(|one| &one.example).collect();
    let masks: Vec<Vec<bool>> = examples.iter().map(|example| example.mask()).collect();
    let step = Totals::count(masks.iter().map(Vec::as_slice));
    let denominator = Denominator { normaliser: Normaliser::TOKEN_MEAN, step };
    let mut reverse_kl = Mean::default();
    pass.learn(&examples, gradients, |place, scores| {
        let old_logp = match old {
            OldPolicy::Student => &scores.logp,
            OldPolicy::Recorded => &sequences[place].sampled,
        };
        let scored = Scored {
            trained: &masks[place],
            logp: &scores.logp,
            old_logp,
            teacher_logp: &sequences[place].teacher,
        };
        let found = distill::loss(&[scored], clip, denominator)?;
        reverse_kl.merge(found.reverse_kl);
        Ok(found.objective.scaled(weight).signals)
    })?;
    Ok(reverse_kl)
}
