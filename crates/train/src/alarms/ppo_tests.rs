//! The alarms of PPO, each in a training that is made to ring it, and none in one that goes well.

use super::tests::{healthy, put, suspects};
use super::*;
use crate::ppo::STAGE as PPO;

/// A step of PPO that goes well.
fn healthy_ppo(step: u64) -> BTreeMap<String, f64> {
    let ppo_name = |name: String| match name.as_str() {
        "grpo/kl_divergence" => "ppo/reference_kl".to_owned(),
        "grpo/update_kl" => "ppo/kl_divergence".to_owned(),
        _ => name.replace("grpo/", "ppo/"),
    };
    let mut values: BTreeMap<String, f64> =
        healthy(step).into_iter().map(|(name, value)| (ppo_name(name), value)).collect();
    let jump = values["ppo/entropy"];
    // A new critic knows nothing, and is a little better than the mean in the end.
    put(&mut values, "ppo/explained_variance", if step < 10 { -0.5 } else { 0.1 + jump });
    put(&mut values, "ppo/updates", 24.0);
    put(&mut values, "ppo/skipped_mini_batches", 8.0);
    values
}

fn ringing_in_ppo(change: impl Fn(u64, &mut BTreeMap<String, f64>)) -> Vec<Alarm> {
    let mut config = Config::default();
    config.dual_source.kl_budget = 0.5;
    let mut alarms = Alarms::new(&config, PPO);
    let step = |step| {
        let mut values = healthy_ppo(step);
        change(step, &mut values);
        alarms.see(step, &values, &suspects)
    };
    (1..=100).flat_map(step).collect()
}

#[track_caller]
fn check_ppo(name: &str, planted: [f64; 2], at: u64, code: &str) -> String {
    let found = ringing_in_ppo(|step, values| {
        put(values, name, if step > 30 { planted[1] } else { planted[0] });
    });
    let rung: Vec<(u64, &str)> = found.iter().map(|alarm| (alarm.step, alarm.code)).collect();
    assert_eq!(rung, [(at, code)], "{found:#?}");
    found[0].message.clone()
}

#[test]
fn a_ppo_that_goes_well_rings_nothing() {
    assert_eq!(ringing_in_ppo(|_, _| ()), []);
}

#[test]
fn a_policy_of_ppo_that_is_past_the_budget() {
    // The mean of ten steps is past 0.5 with the ninth.
    let said = check_ppo("ppo/reference_kl", [0.1, 0.6], 39, "kl_over_budget");
    assert!(said.contains("Lower `ppo.learning_rate`, or raise `ppo.kl_coef`"), "{said}");
}

#[test]
fn a_critic_that_is_worse_than_the_mean() {
    // Of ten steps at 0.2 so many are at -0.2: with seven the mean is -0.08, and twice its error 0.122; with
    // eight -0.12 and 0.107.
    let said = check_ppo("ppo/explained_variance", [0.2, -0.2], 38, "critic_explains_nothing");
    assert!(said.starts_with("the critic explains -0.12 of the variance"), "{said}");
    // From the beginning, it rings once the critic has had twenty steps.
    check_ppo("ppo/explained_variance", [-0.2, -0.2], 20, "critic_explains_nothing");
}

#[test]
fn a_ppo_that_leaves_most_mini_batches_out() {
    // 40 of 64 are left out: with ten steps at 8 of 32 before, the mean is above a half after seven at 40.
    let said = check_ppo("ppo/skipped_mini_batches", [8.0, 40.0], 37, "mini_batches_skipped");
    assert!(said.starts_with("51.2 % of the mini-batches"), "{said}");
}

#[test]
fn samples_of_ppo_that_become_noise() {
    let said = check_ppo("ppo/entropy", [0.1, 0.28], 36, "entropy_rises");
    assert!(said.contains("from 0.100 to 0.208"), "{said}");
    assert!(said.contains("lower `ppo.learning_rate` or `ppo.entropy_coef`"), "{said}");
}
