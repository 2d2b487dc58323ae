//! Metrics of a step, by the names under which they are recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use whetstone_algo::Mean;
use whetstone_algo::grpo::GrpoLoss;
use whetstone_algo::policy::Statistics;
use whetstone_core::config::DualSourceConfig;

use super::batch::Batch;
use super::rollout_metrics::of_rollouts;
use super::tasks::StepRollouts;
use super::values::{Values, number};

/// Measurements of one SFT source.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SftMeasured {
    /// The norm of its gradient, weight included.
    pub(super) norm: f64,
    /// Its angle to the gradient of the rollouts.
    pub(super) cosine: Option<f64>,
    /// The surprise of its tokens.
    pub(super) loss: Mean,
}

/// The measurement on held-out tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct HeldOut {
    /// The part of samples that passed, averaged over tasks.
    pub(super) pass_rate: Option<f64>,
    /// Tasks of which a sample could be judged.
    pub(super) tasks: usize,
    pub(super) took: Duration,
}

/// Measurements of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    pub(super) sampling: Duration,
    pub(super) reference: Duration,
    pub(super) learning: Duration,
    pub(super) lr: f64,
    /// The norm of the whole gradient, before it was clipped.
    pub(super) norm: f64,
    pub(super) grpo_norm: f64,
    pub(super) weights: DualSourceConfig,
    pub(super) teacher: Option<SftMeasured>,
    pub(super) self_sft: Option<SftMeasured>,
    /// How far the updates moved the policy that sampled; of recorded rollouts, how far the student is
    /// from that policy after them.
    pub(super) update_kl: Mean,
    /// Updates that were not made, since there was no gradient.
    pub(super) skipped_updates: usize,
    policy_loss: f64,
    kl_loss: f64,
    /// Ratios and estimates that were clamped.
    clamped: u64,
    statistics: Statistics,
    reference_kl: Mean,
    pub(super) held_out: Option<HeldOut>,
    /// Whether the rollouts are those of a file: nothing was sampled.
    pub(super) is_recorded: bool,
    /// The largest difference between a log-probability as sampled and as trained; none where nothing
    /// was compared.
    gap: Option<f64>,
}

impl Measured {
    /// The figures of rollouts are those of the last pass over them, but for the gap.
    pub(super) fn begin_rollouts(&mut self) {
        (self.policy_loss, self.kl_loss, self.clamped) = (0.0, 0.0, 0);
        (self.statistics, self.reference_kl) = (Statistics::default(), Mean::default());
    }

    /// Takes in what the loss of a micro-batch was.
    pub(super) fn policy(&mut self, found: &GrpoLoss) {
        self.policy_loss += found.policy_loss;
        self.kl_loss += found.kl_loss;
        self.clamped += found.clamped;
        self.statistics.merge(&found.statistics);
        self.reference_kl.merge(found.reference_kl);
    }

    /// Takes in how far from the reference dead groups are.
    pub(super) fn diverged(&mut self, divergence: Mean) {
        self.reference_kl = divergence;
    }

    /// Takes in how far the trainer's numbers are from the sampler's.
    pub(super) fn compare(&mut self, sampled: &[f64], trained: &[f64]) {
        let gaps = sampled.iter().zip(trained).map(|(sampled, trained)| (sampled - trained).abs());
        self.gap = Some(gaps.fold(self.gap.unwrap_or(0.0), f64::max));
    }

    /// The divergence from the reference, in nats a token.
    pub(super) fn reference_kl(&self) -> Option<f64> {
        self.reference_kl.get()
    }

    /// Everything by name.
    pub(super) fn values(
        &self,
        batch: &Batch,
        step_rollouts: &StepRollouts,
        took: Duration,
    ) -> BTreeMap<String, f64> {
        let mut values = Values::default();
        self.of_policy(&mut values);
        of_rollouts(step_rollouts, &mut values);
        values.put("grpo/dead_groups", number(batch.dead_groups));
        values.put("grpo/solved_groups", number(batch.solved_groups));
        values.put("grpo/unsolved_groups", number(batch.unsolved_groups));
        values.put("grpo/masked", number(batch.masked.len()));
        values.put_some("grpo/kl_charge", batch.charge);
        for (name, source) in [("teacher_sft", &self.teacher), ("self_sft", &self.self_sft)] {
            if let Some(source) = source {
                values.put_some(&format!("{name}/loss"), source.loss.get());
                values.put(&format!("{name}/grad_norm"), source.norm);
                values.put_some(&format!("{name}/cosine"), source.cosine);
            }
        }
        values.put("teacher_sft/weight", self.weights.teacher_sft_weight);
        values.put("self_sft/weight", self.weights.self_sft_weight);
        if let Some(HeldOut { pass_rate, tasks, took }) = self.held_out {
            values.put_some("held_out/pass_rate", pass_rate);
            values.put("held_out/tasks", number(tasks));
            values.put("time/held_out_s", took.as_secs_f64());
        }
        self.of_time(step_rollouts, took, &mut values);
        values.0
    }

    #[expect(clippy::cast_precision_loss, reason = "tokens of a step")]
    fn of_policy(&self, values: &mut Values) {
        let seen = &self.statistics;
        values.put("grpo/policy_loss", self.policy_loss);
        values.put("grpo/kl_loss", self.kl_loss);
        values.put_some("grpo/kl_divergence", self.reference_kl());
        let moved = if self.is_recorded { "grpo/staleness_kl" } else { "grpo/update_kl" };
        values.put_some(moved, self.update_kl.get());
        values.put("grpo/clamped", self.clamped as f64);
        values.put("grpo/clamped_fraction", self.clamped as f64 / seen.tokens.max(1) as f64);
        values.put_some("grpo/importance_mean", seen.importance.get());
        let truncated = seen.importance.get().and_then(|_| seen.truncated_fraction());
        values.put_some("grpo/importance_truncated", truncated);
        values.put_some("grpo/entropy", seen.entropy.get());
        values.put_some("grpo/ratio_mean", seen.ratio_mean());
        values.put_some("grpo/ratio_std", seen.ratio_std());
        values.put_some("grpo/clip_fraction", seen.clip_fraction());
        values.put("grpo/grad_norm", self.grpo_norm);
        values.put("train/grad_norm", self.norm);
        values.put("train/lr", self.lr);
        values.put("train/skipped_updates", number(self.skipped_updates));
        values.put_some("grpo/sampler_gap", self.gap);
    }

    fn of_time(&self, step_rollouts: &StepRollouts, took: Duration, values: &mut Values) {
        values.put("time/reference_s", self.reference.as_secs_f64());
        values.put("time/learning_s", self.learning.as_secs_f64());
        values.put("time/step_s", took.as_secs_f64());
        if self.is_recorded {
            return;
        }
        let waited = step_rollouts.timeline.judging_after_sampling();
        values.put("time/sampling_s", (self.sampling.saturating_sub(waited)).as_secs_f64());
        values.put("time/judging_after_sampling_s", waited.as_secs_f64());
        let sampling = self.sampling.as_secs_f64().max(1e-9);
        values.put("speed/sampled_tokens_per_s", number(step_rollouts.usage.sampled) / sampling);
        let programs: usize = step_rollouts.groups.iter().map(|group| group.rollouts.len()).sum();
        values.put("speed/programs_per_s", number(programs) / sampling);
        let early = step_rollouts.timeline.judged_while_sampling();
        values.put("rollout/judged_while_sampling", number(early) / number(programs.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::completion::Finish;
    use whetstone_core::reward::{Reward, Term};
    use whetstone_core::verdict::Verdict;

    use super::*;
    use crate::testing::{Said, dropped, group, rollout, rollout_as, settings};

    /// Five rollouts: two pass, one is no program, one was cut off, one could not be judged.
    fn step_rollouts() -> StepRollouts {
        let mut first = group("a", vec![rollout(0, &[7, 7, 7], 1.0), rollout(1, &[8], 0.0)]);
        first.dropped = vec![dropped(2)];
        let no_code = rollout_as(
            0,
            Said { ids: &[9, 9], finish: Finish::Stop, verdict: Verdict::NoCode, worth: 0.0 },
        );
        let cut = rollout_as(
            1,
            Said { ids: &[9, 9], finish: Finish::Length, verdict: Verdict::Pass, worth: 1.0 },
        );
        StepRollouts {
            groups: vec![first, group("b", vec![no_code, cut])],
            consumed: 2,
            ..StepRollouts::default()
        }
    }

    fn values(measured: &Measured, step_rollouts: &StepRollouts) -> BTreeMap<String, f64> {
        let batch = Batch::new(&settings(), step_rollouts).unwrap();
        measured.values(&batch, step_rollouts, Duration::from_secs(2))
    }

    #[test]
    fn rollouts_are_counted_by_hand() {
        let found = values(&Measured::default(), &step_rollouts());
        let expected = [
            ("grpo/mean_reward", 0.5),
            ("grpo/reward_std", 0.5),
            ("grpo/pass_rate", 0.5),
            ("code/syntax_success_rate", 0.75),
            ("code/avg_test_pass_rate", 0.5),
            ("code/timeouts", 0.0),
            ("reward/tests", 0.5),
            ("rollout/mean_tokens", 2.0),
            ("rollout/truncated", 0.25),
            ("rollout/dropped", 1.0),
            ("rollout/tasks", 2.0),
            ("grpo/dead_groups", 0.0),
            ("grpo/masked", 0.0),
            ("time/step_s", 2.0),
        ];
        for (name, value) in expected {
            assert_eq!(found[name].to_bits(), f64::to_bits(value), "{name}: {}", found[name]);
        }
    }

    #[test]
    fn a_term_is_what_it_adds_and_a_program_out_of_time_is_counted() {
        let mut step_rollouts = step_rollouts();
        let terms = [("style".to_owned(), Term { value: 0.5, weight: 0.8 })];
        step_rollouts.groups[0].rollouts[0].outcome.reward =
            Reward::new(terms.into(), [].into()).unwrap();
        step_rollouts.groups[1].rollouts[0] = rollout_as(
            0,
            Said { ids: &[9], finish: Finish::Stop, verdict: Verdict::Timeout, worth: 0.0 },
        );
        let found = values(&Measured::default(), &step_rollouts);
        // One of four has the term, which adds 0.4; one of them passes by its tests.
        for (name, value) in
            [("reward/style", 0.1), ("reward/tests", 0.25), ("code/timeouts", 0.25)]
        {
            assert_eq!(found[name].to_bits(), f64::to_bits(value), "{name}: {}", found[name]);
        }
    }

    #[test]
    fn held_out_tasks_are_told_of_where_they_were_measured() {
        assert!(!values(&Measured::default(), &step_rollouts()).contains_key("held_out/tasks"));
        let held_out = HeldOut { pass_rate: Some(0.75), tasks: 8, took: Duration::from_secs(3) };
        let found =
            values(&Measured { held_out: Some(held_out), ..Measured::default() }, &step_rollouts());
        let told =
            ["held_out/pass_rate", "held_out/tasks", "time/held_out_s"].map(|name| found[name]);
        assert_eq!(told.map(f64::to_bits), [0.75, 8.0, 3.0].map(f64::to_bits));
    }

    #[test]
    fn quality_is_that_of_programs_that_parse_whether_or_not_it_is_paid() {
        let mut step_rollouts = step_rollouts();
        assert!(!values(&Measured::default(), &step_rollouts).contains_key("code/quality_score"));
        let with = |value| {
            let terms = [("tests", 1.0), ("quality", 0.0)]
                .map(|(name, weight)| (name.to_owned(), Term { value, weight }));
            Reward::new(terms.into(), [].into()).unwrap()
        };
        step_rollouts.groups[0].rollouts[0].outcome.reward = with(0.75);
        step_rollouts.groups[0].rollouts[1].outcome.reward = with(0.25);
        // No code: what is recorded as 0 is no measurement.
        step_rollouts.groups[1].rollouts[0].outcome.reward = with(0.0);
        let found = values(&Measured::default(), &step_rollouts)["code/quality_score"];
        assert_eq!(found.to_bits(), 0.5_f64.to_bits());
    }

    #[test]
    fn what_was_not_measured_is_not_there() {
        let nothing =
            StepRollouts { groups: vec![group("a", Vec::new())], ..StepRollouts::default() };
        let found = values(&Measured::default(), &nothing);
        for name in ["grpo/mean_reward", "grpo/sampler_gap", "grpo/kl_divergence", "self_sft/loss"]
        {
            assert!(!found.contains_key(name), "{name}");
        }
        assert_eq!(found["grpo/dead_groups"].to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn the_gap_is_the_largest_of_all_tokens_either_way() {
        let mut measured = Measured::default();
        measured.compare(&[-1.0, -2.0], &[-1.25, -2.0]);
        measured.compare(&[-1.0], &[-0.5]);
        measured.compare(&[-1.0], &[-1.0]);
        measured.begin_rollouts();
        let found = values(&measured, &step_rollouts());
        assert_eq!(found["grpo/sampler_gap"].to_bits(), 0.5_f64.to_bits());
    }

    #[test]
    fn every_source_has_its_own_names() {
        let mut loss = Mean::default();
        loss.add(3.0);
        let teacher = Some(SftMeasured { norm: 2.0, cosine: Some(-0.5), loss });
        let weights = DualSourceConfig::default();
        let measured = Measured { weights, teacher, ..Measured::default() };
        let found = values(&measured, &step_rollouts());
        let of = |name: &str| found[name];
        assert_eq!(
            ["loss", "grad_norm", "cosine", "weight"]
                .map(|name| of(&format!("teacher_sft/{name}")).to_bits()),
            [3.0_f64, 2.0, -0.5, 0.3].map(f64::to_bits)
        );
        assert_eq!(of("self_sft/weight").to_bits(), 0.2_f64.to_bits());
        assert!(!found.contains_key("self_sft/grad_norm"));
    }
}
