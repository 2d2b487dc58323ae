//! Metrics of a step, by the names under which they are recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use whetstone_core::metric;

use super::batch::Batch;
use super::distill::TeacherMeasured;
use super::learn_metrics::LearnMeasured;
use crate::rollouts::metrics::{Collected, RewardMetrics, of_rollouts};
use crate::rollouts::paid::Paid;
use crate::rollouts::process::ProcessPaid;
use crate::rollouts::tasks::StepRollouts;
use crate::rollouts::values::{Values, number};

/// Measurements of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    pub(super) collected: Collected,
    pub(super) reference: Duration,
    pub(super) learnt: LearnMeasured,
    /// What the reward model said, if there is one.
    pub(super) paid: Option<Paid>,
    /// What the process reward model said, if there is one.
    pub(super) process: Option<ProcessPaid>,
    /// The scoring of the teacher of distillation, if there is one.
    pub(super) teacher: Option<TeacherMeasured>,
    /// Replay, if it is on.
    pub(super) replay: Option<ReplayMeasured>,
}

/// Replayed successes of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayMeasured {
    /// Rows that join the step.
    pub(super) rows: usize,
    /// Tasks with a success that is kept.
    pub(super) tasks: usize,
}

const REWARDS: RewardMetrics = RewardMetrics {
    mean: metric::GRPO_MEAN_REWARD,
    std: metric::GRPO_REWARD_STD,
    pass_rate: metric::GRPO_PASS_RATE,
};

impl Measured {
    /// Everything by name.
    pub(super) fn values(
        &self,
        batch: &Batch,
        step_rollouts: &StepRollouts,
        took: Duration,
    ) -> BTreeMap<String, f64> {
        let mut values = Values::default();
        self.learnt.put(step_rollouts.is_recorded, &mut values);
        of_rollouts(step_rollouts, REWARDS, &mut values);
        if let Some(paid) = self.paid {
            paid.put(&mut values);
        }
        if let Some(process) = self.process {
            process.put(&mut values);
        }
        if let Some(teacher) = &self.teacher {
            teacher.put(&mut values);
        }
        if let Some(ReplayMeasured { rows, tasks }) = self.replay {
            values.put(metric::SELF_SFT_REPLAYED, number(rows));
            values.put(metric::SELF_SFT_REPLAY_TASKS, number(tasks));
        }
        values.put(metric::GRPO_DEAD_GROUPS, number(batch.dead_groups));
        values.put(metric::GRPO_SOLVED_GROUPS, number(batch.solved_groups));
        values.put(metric::GRPO_UNSOLVED_GROUPS, number(batch.unsolved_groups));
        values.put(metric::GRPO_MASKED, number(batch.masked.len()));
        values.put_some(metric::GRPO_KL_CHARGE, batch.charge);
        values.put(metric::TIME_REFERENCE_S, self.reference.as_secs_f64());
        values.put(metric::TIME_LEARNING_S, self.learnt.took.as_secs_f64());
        values.put(metric::TIME_STEP_S, took.as_secs_f64());
        self.collected.put(step_rollouts, &mut values);
        values.0
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::completion::Finish;
    use whetstone_core::reward::{Reward, Term};
    use whetstone_core::verdict::Verdict;

    use super::*;
    use crate::rollouts::metrics::HeldOut;
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
        let (pass_rate, no_code) = (Some(0.75), Some(0.125));
        let held_out = HeldOut { pass_rate, no_code, tasks: 8, took: Duration::from_secs(3) };
        let collected = Collected { held_out: Some(held_out) };
        let found = values(&Measured { collected, ..Measured::default() }, &step_rollouts());
        let told = ["held_out/pass_rate", "held_out/no_code", "held_out/tasks", "time/held_out_s"]
            .map(|name| found[name]);
        assert_eq!(told.map(f64::to_bits), [0.75, 0.125, 8.0, 3.0].map(f64::to_bits));
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
}
