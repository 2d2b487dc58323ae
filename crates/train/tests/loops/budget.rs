//! The divergence that learning by heart may cost, whatever the rollouts are.

use std::sync::Arc;

use crate::school::School;

/// A few steps spend it.
const BUDGET: f64 = 1e-7;

/// The teacher's weight and the divergence in every step of a training with a budget.
fn weights(change: impl FnOnce(&mut School)) -> Vec<(f64, f64)> {
    let mut school = School::new();
    school.config.dual_source.kl_budget = BUDGET;
    change(&mut school);
    school.grpo("run").unwrap();
    let of = |name: &'static str| {
        school.metrics("run").into_iter().map(move |(_, values)| values[name]).collect::<Vec<_>>()
    };
    of("teacher_sft/weight").into_iter().zip(of("grpo/kl_divergence")).collect()
}

#[track_caller]
fn check(steps: &[(f64, f64)]) {
    assert_eq!(steps[0], (0.3, 0.0), "at first the student is the reference");
    for (weight, divergence) in &steps[1..] {
        assert!(*divergence > BUDGET, "{steps:?}");
        assert_eq!(weight.to_bits(), (0.3 * (BUDGET / divergence)).to_bits(), "{steps:?}");
    }
}

#[test]
fn beyond_the_budget_traces_count_for_less() {
    check(&weights(|_| ()));
}

#[test]
fn a_divergence_that_costs_nothing_is_measured_for_the_budget() {
    check(&weights(|school| school.config.grpo.kl_coef = 0.0));
}

#[test]
fn rollouts_that_do_not_count_are_measured_for_the_budget() {
    check(&weights(|school| school.config.dual_source.grpo_weight = 0.0));
}

#[test]
fn dead_groups_are_measured_for_the_budget() {
    check(&weights(|school| school.worth = Arc::new(|_, _| Ok(0.5))));
}

#[test]
fn without_a_budget_nothing_is_held_back_and_the_divergence_is_measured_after_the_updates() {
    let mut school = School::new();
    school.config.grpo.kl_coef = 0.0;
    school.grpo("run").unwrap();
    for (step, values) in school.metrics("run") {
        assert_eq!(values["teacher_sft/weight"].to_bits(), 0.3_f64.to_bits());
        assert!(values["grpo/kl_divergence"] > 1e-9, "of the first step too, {step}: {values:?}");
    }
    // On sixteen or fewer rollouts of a step, the mean over every second is near that over all.
    school.config.dual_source.kl_budget = 1e9;
    school.grpo("budget").unwrap();
    let last = |run: &str| school.metrics(run).pop().unwrap().1["grpo/kl_divergence"];
    assert!(
        (0.2..5.0).contains(&(last("run") / last("budget"))),
        "{} {}",
        last("run"),
        last("budget")
    );
}

#[test]
fn with_every_weight_trained_no_second_model_is_loaded_to_measure_by() {
    let mut school = School::new();
    school.config.grpo.kl_coef = 0.0;
    school.config.training.train = whetstone_core::config::Trained::Full;
    school.grpo("run").unwrap();
    assert!(!school.metrics("run")[1].1.contains_key("grpo/kl_divergence"));
}
