//! Rewards of episodes with what a process reward model pays for their transitions.
//!
//! ```text
//! total = min( what the environment pays + process_weight · mean probability of the transitions,  caps )
//! ```
//!
//! An episode that was not solved gets a gate with a cap of 0.19, or of what its environment pays if that is
//! more: a process lifts it to 0.19 at most, and lowers it never. An environment that pays a solved episode at
//! least 0.2, as that of the solver does, therefore never sees an unsolved one paid as much.

use std::path::Path;

use whetstone_algo::Mean;
use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::outcome::{Outcome, Transition};
use whetstone_core::reward::{Gate, PROCESS, Reward, RewardError, Term};
use whetstone_env::solver::SOLVED_FLOOR;
use whetstone_rollout::collect::Group;

use super::companion::{ScoringAdapter, check_base_is_frozen, directory};
use super::tasks::StepRollouts;
use super::values::{Values, number};
use crate::error::TrainError;
use crate::process_reward::{ProcessModel, ScoringBase};
use crate::reward_model::kind::ScorerKind;
use crate::student::Student;

/// The most that a process lifts an unsolved episode to: less than the solver pays a solved one at least.
pub(crate) const UNSOLVED_CAP: f64 = 0.19;
const _: () = assert!(UNSOLVED_CAP < SOLVED_FLOOR, "no process pays for a solution");

/// A process reward model as one more adapter on the student's base.
#[derive(Debug)]
pub(crate) struct ProcessAdapter {
    adapter: ScoringAdapter,
    model: ProcessModel,
}

/// What a process reward model said of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ProcessPaid {
    solved: Mean,
    unsolved: Mean,
    transitions: usize,
}

impl ProcessPaid {
    pub(crate) fn put(self, values: &mut Values) {
        values.put_some(metric::PROCESS_SOLVED, self.solved.get());
        values.put_some(metric::PROCESS_UNSOLVED, self.unsolved.get());
        values.put(metric::PROCESS_TRANSITIONS, number(self.transitions));
    }

    fn add(&mut self, probabilities: &[f64], is_solved: bool) {
        let mean = if is_solved { &mut self.solved } else { &mut self.unsolved };
        for &probability in probabilities {
            mean.add(probability);
        }
        self.transitions += probabilities.len();
    }
}

impl ProcessAdapter {
    /// Puts a process reward model on the student's base: that of a checkpoint, or the given one. What was
    /// active is active afterwards.
    pub(crate) fn open(
        student: &mut Student,
        config: &Config,
        given: Option<&Path>,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Self>, TrainError> {
        let kind = ScorerKind::Process;
        let Some(dir) = directory(kind, given, checkpoint) else { return Ok(None) };
        check_base_is_frozen(config, kind)?;
        let model = ProcessModel::open(&dir, &student.model, &config.student.model_name)?;
        let adapter = ScoringAdapter::add(student, kind, &dir, |decoder| model.load(decoder))?;
        Ok(Some(Self { adapter, model }))
    }

    /// Adds what it pays to the rewards of a step, and keeps the probabilities with its rollouts.
    pub(crate) fn pay(
        &self,
        student: &mut Student,
        config: &Config,
        step_rollouts: &mut StepRollouts,
    ) -> Result<ProcessPaid, TrainError> {
        let transitions: Vec<&Transition> = step_rollouts
            .groups
            .iter()
            .flat_map(|group| &group.rollouts)
            .flat_map(|rollout| rollout.outcome.transitions())
            .collect();
        check_recorded(&transitions, &step_rollouts.groups)?;
        let micro_batch = config.training.per_device_train_batch_size as usize;
        let probabilities = self.adapter.with(student, |student| {
            let base =
                ScoringBase { model: &student.model, decoder: &student.decoder, micro_batch };
            self.model.probabilities(base, &transitions)
        })?;
        pay(step_rollouts, probabilities, config.reward.process_weight)
    }
}

/// Refuses a model that would never pay.
fn check_recorded(transitions: &[&Transition], groups: &[Group]) -> Result<(), TrainError> {
    let rollouts: usize = groups.iter().map(|group| group.rollouts.len()).sum();
    if rollouts == 0 || !transitions.is_empty() {
        return Ok(());
    }
    Err(TrainError::Settings(format!(
        "`reward.process` is set, and none of {rollouts} episodes has transitions: their environment \
         records none. Set `reward.process=`"
    )))
}

/// Pays every episode of a step by the probabilities of its transitions, which are in their order.
fn pay(
    step_rollouts: &mut StepRollouts,
    probabilities: Vec<f64>,
    weight: f64,
) -> Result<ProcessPaid, TrainError> {
    let (mut paid, mut left) = (ProcessPaid::default(), probabilities.into_iter());
    let mut process = Vec::with_capacity(step_rollouts.groups.len());
    for group in &mut step_rollouts.groups {
        let mut of_group = Vec::with_capacity(group.rollouts.len());
        for rollout in &mut group.rollouts {
            let count = rollout.outcome.transitions().len();
            let own: Vec<f64> = left.by_ref().take(count).collect();
            paid.add(&own, rollout.outcome.is_solved());
            rollout.outcome.reward = with_process(&rollout.outcome, &own, weight)
                .map_err(|err| TrainError::NoNumber(format!("the process reward model: {err}")))?;
            of_group.push(own);
        }
        process.push(of_group);
    }
    step_rollouts.process = process;
    Ok(paid)
}

/// A reward with the term of the process, and the gate of episodes that were not solved. One without
/// transitions is paid nothing.
fn with_process(
    outcome: &Outcome,
    probabilities: &[f64],
    weight: f64,
) -> Result<Reward, RewardError> {
    let reward = &outcome.reward;
    let (mut terms, mut gates) = (reward.terms().clone(), reward.gates().clone());
    let mut mean = Mean::default();
    for &probability in probabilities {
        mean.add(probability);
    }
    let value = mean.get().unwrap_or(0.0);
    terms.insert(PROCESS.to_owned(), Term { value, weight });
    let gate = Gate { passed: outcome.is_solved(), cap: cap(reward.total()) };
    gates.insert(PROCESS.to_owned(), gate);
    Reward::new(terms, gates)
}

/// The most that an unsolved episode is paid whose environment pays it this much.
pub(crate) fn cap(reward: f64) -> f64 {
    reward.max(UNSOLVED_CAP)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn outcome(is_solved: bool, value: f64) -> Outcome {
        let terms = BTreeMap::from([("solver".to_owned(), Term { value, weight: 1.0 })]);
        Outcome::observed("solver", is_solved, Reward::new(terms, BTreeMap::new()).unwrap())
    }

    fn total(outcome: &Outcome, probabilities: &[f64], weight: f64) -> f64 {
        with_process(outcome, probabilities, weight).unwrap().total()
    }

    #[test]
    fn the_mean_probability_is_added_and_an_unsolved_episode_stays_below_the_cap() {
        assert!((total(&outcome(true, 0.6), &[0.2, 0.8], 0.1) - 0.65).abs() < 1e-12);
        assert!((total(&outcome(false, 0.05), &[0.2, 0.8], 0.1) - 0.1).abs() < 1e-12);
        assert!((total(&outcome(false, 0.15), &[1.0], 0.2) - 0.19).abs() < 1e-12);
        // What an environment pays for a part of a solution is neither raised nor lowered.
        assert!((total(&outcome(false, 0.5), &[1.0], 0.2) - 0.5).abs() < 1e-12);
        assert!((total(&outcome(true, 0.6), &[], 0.1) - 0.6).abs() < 1e-12, "without transitions");
    }

    #[test]
    fn what_the_environment_paid_comes_back() {
        for is_solved in [true, false] {
            let outcome = outcome(is_solved, 0.15);
            let paid = with_process(&outcome, &[0.9], 0.2).unwrap();
            assert!((paid.total() - 0.15).abs() > 0.01, "{paid:?}");
            assert_eq!(paid.judged().to_bits(), 0.15_f64.to_bits());
        }
    }

    proptest! {
        /// Terms of any kind, gates of any kind: as long as a solved episode is paid 0.2 by its environment.
        #[test]
        fn an_unsolved_episode_is_never_paid_more_than_a_solved_one(
            (solved, unsolved) in (0.2..1.0_f64, -0.5..0.19_f64),
            (high, low) in (prop::collection::vec(0.0..=1.0_f64, 0..6), prop::collection::vec(0.0..=1.0_f64, 0..6)),
            weight in 0.0..=0.2_f64,
        ) {
            let (more, less) = (outcome(true, solved), outcome(false, unsolved));
            prop_assert!(total(&less, &high, weight) < total(&more, &low, weight));
        }

        /// With several terms and a failed gate of the environment's own.
        #[test]
        fn a_process_never_turns_the_order_of_a_solved_and_an_unsolved_episode(
            terms in prop::collection::vec((0.0..1.0_f64, 0.0..0.5_f64), 1..5),
            others in prop::collection::vec((0.0..1.0_f64, 0.0..0.5_f64), 1..5),
            (cap_of, other_cap) in (0.2..1.0_f64, 0.0..1.0_f64),
            (high, low, weight) in (0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=0.2_f64),
        ) {
            let of = |terms: &[(f64, f64)], cap: f64, is_solved: bool| {
                let terms = terms.iter().enumerate();
                let terms = terms.map(|(at, &(value, weight))| (format!("t{at}"), Term { value, weight }));
                let gates = BTreeMap::from([("form".to_owned(), Gate { passed: false, cap })]);
                Outcome::observed("any", is_solved, Reward::new(terms.collect(), gates).unwrap())
            };
            let (more, less) = (of(&terms, cap_of, true), of(&others, other_cap, false));
            prop_assume!(more.reward.total() >= 0.2 && less.reward.total() <= more.reward.total());
            prop_assert!(total(&less, &[high], weight) <= total(&more, &[low], weight));
            prop_assert!(total(&less, &[high], weight) >= less.reward.total());
        }
    }
}
