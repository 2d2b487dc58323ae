//! Groups in which nobody differs: what they count for, and what is not done because of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use whetstone_core::config::{DeadGroups, KlEstimator, KlIn};

use crate::school::{School, parity};

/// A school whose rollouts differ in the first step of sixteen replies and never again, and that learns
/// from nothing else.
fn school() -> School {
    let mut school = School::new();
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.dual_source.self_sft_weight = 0.0;
    school.config.grpo.kl_coef = 0.0;
    school.config.training.save_steps = 1;
    school.config.training.weight_decay = 0.1;
    let seen = AtomicUsize::new(0);
    school.worth = Arc::new(move |_, reply| {
        let is_first = seen.fetch_add(1, Ordering::Relaxed) < 16;
        Ok(if is_first { parity(reply) } else { 0.5 })
    });
    school
}

fn values(school: &School, name: &str) -> Vec<f64> {
    school.metrics("run").iter().map(|(_, values)| values[name]).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn without_a_gradient_there_is_no_update_and_it_is_counted() {
    let school = school();
    school.grpo("run").unwrap();
    assert_eq!(bits(&values(&school, "train/skipped_updates")), bits(&[0.0, 1.0, 1.0]));
    let weights = |dir: &str| school.files("run", dir)["adapter_model.safetensors"].clone();
    assert!(weights("outputs/checkpoint-1") == weights("outputs/final_model"), "nothing moved");
    let [.., (_, last)] = &school.metrics("run")[..] else { panic!("three steps") };
    for name in ["grpo/update_kl", "grpo/sampler_gap", "grpo/entropy"] {
        assert!(!last.contains_key(name), "nothing went through the student: {name}");
    }
}

#[test]
fn dead_groups_keep_their_divergence_unless_they_are_left_out() {
    let norms = |dead_groups| {
        let mut school = school();
        school.config.grpo.kl_coef = 0.5;
        school.config.grpo.dead_groups = dead_groups;
        school.grpo("run").unwrap();
        assert_eq!(bits(&values(&school, "grpo/dead_groups")[1..]), bits(&[4.0, 4.0]));
        values(&school, "train/grad_norm")
    };
    let kept = norms(DeadGroups::Keep);
    assert!(kept[1] > 0.0 && kept[2] > 0.0, "held near the reference: {kept:?}");
    assert_eq!(bits(&norms(DeadGroups::LeaveOut)[1..]), bits(&[0.0, 0.0]));
}

/// Of four groups some are dead. All four count in the mean over sequences, so the gradient of the same
/// rollouts is shorter by the part of rollouts that are in live groups.
#[test]
fn the_normaliser_counts_the_rollouts_of_dead_groups() {
    let first = |dead_groups| -> BTreeMap<String, f64> {
        let mut school = school();
        school.config.training.max_steps = 1;
        school.config.grpo.dead_groups = dead_groups;
        school.config.grpo.normaliser = whetstone_core::config::NormaliserBy::SequenceMean;
        // Replies to half of the tasks are all worth the same.
        school.worth = Arc::new(|task, reply| {
            let number: usize = task.trim_start_matches("t/").parse().unwrap_or(0);
            Ok(if number.is_multiple_of(2) { 0.5 } else { parity(reply) })
        });
        school.grpo("run").unwrap();
        school.metrics("run").remove(0).1
    };
    let (kept, left_out) = (first(DeadGroups::Keep), first(DeadGroups::LeaveOut));
    let dead = kept["grpo/dead_groups"];
    assert!(dead > 0.0 && dead < 4.0, "{dead}");
    assert_eq!(dead.to_bits(), left_out["grpo/dead_groups"].to_bits());
    let expected = left_out["grpo/grad_norm"] * (4.0 - dead) / 4.0;
    let found = kept["grpo/grad_norm"];
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} is not {expected}");
}

#[test]
fn a_divergence_that_is_charged_to_the_reward_is_no_term_of_the_loss() {
    let mut school = school();
    school.config.grpo.kl_coef = 0.5;
    school.config.grpo.kl_in = KlIn::Reward;
    school.config.grpo.kl_estimator = KlEstimator::K1;
    school.grpo("run").unwrap();
    assert_eq!(bits(&values(&school, "grpo/kl_loss")), bits(&[0.0; 3]));
    let charges = values(&school, "grpo/kl_charge");
    assert!(charges[0].abs() < 1e-4, "the student is its reference: {charges:?}");
    assert!(charges[1].abs() > 1e-4, "and has moved: {charges:?}");
    let norms = values(&school, "train/grad_norm");
    assert!(norms[1] > 0.0, "charges hold dead groups near the reference: {norms:?}");
    assert!(values(&school, "grpo/kl_divergence").iter().all(|kl| kl.is_finite()));
}

#[test]
fn importance_weights_are_those_of_sampler_and_trainer() {
    let mut school = school();
    school.config.grpo.importance_cap = 2.0;
    school.config.training.max_steps = 1;
    school.grpo("run").unwrap();
    let found = values(&school, "grpo/importance_mean")[0];
    assert!((found - 1.0).abs() < 1e-4, "one code samples and trains: {found}");
    assert_eq!(bits(&values(&school, "grpo/importance_truncated")), bits(&[0.0]));
}
