//! Alarms of lengths, loops, gradients and updates, each in a training that is made to ring it; the one that goes well
//! is in [`tests`](super::tests). And: an alarm does not advise what is set.

use whetstone_core::config::{Critic, Curriculum, NormaliserBy, ThinkingMode};

use super::tests::{one_sample, put, ringing_in};
use super::*;
use crate::grpo;
use crate::ppo::STAGE as PPO;

/// A metric with one value up to step 30 and another after it.
#[derive(Clone, Copy)]
struct Levels {
    name: &'static str,
    values: [f64; 2],
}

fn levels(name: &'static str, values: [f64; 2]) -> Levels {
    Levels { name, values }
}

/// What rings in a training with these settings in which a metric has one value up to step 30 and another after it.
#[track_caller]
fn check_in(config: &Config, planted: Levels, at: u64, code: &str) -> String {
    let Levels { name, values } = planted;
    let found = ringing_in(Alarms::new(config, grpo::STAGE), |step, all| {
        put(all, name, values[usize::from(step > 30)]);
    });
    let rung: Vec<(u64, &str)> = found.iter().map(|alarm| (alarm.step, alarm.code)).collect();
    assert_eq!(rung, [(at, code)], "{found:#?}");
    found[0].message.clone()
}

#[track_caller]
fn check(planted: Levels, at: u64, code: &str) -> String {
    check_in(&one_sample(), planted, at, code)
}

fn silent(planted: Levels) {
    let Levels { name, values } = planted;
    let found = ringing_in(Alarms::new(&one_sample(), grpo::STAGE), |step, all| {
        put(all, name, values[usize::from(step > 30)]);
    });
    assert_eq!(found, [], "{name}");
}

#[test]
fn completions_that_fail_grow_apart_from_those_that_pass() {
    let grows = |of: fn(f64) -> f64| {
        let found = ringing_in(Alarms::new(&one_sample(), grpo::STAGE), |step, values| {
            let time = f64::from(u32::try_from(step).unwrap()) / 100.0;
            put(values, "rollout/tokens_passing", 80.0);
            put(values, "rollout/tokens_failing", 100.0 * of(time));
        });
        found.into_iter().map(|alarm| (alarm.code, alarm.message)).collect::<Vec<_>>()
    };
    let longer = grows(|time| 1.0 + time);
    assert_eq!((longer.len(), longer[0].0), (1, "lengths_diverge"), "{longer:?}");
    assert!(longer[0].1.contains("Read some that fail"), "{longer:?}");
    let shorter = grows(|time| 1.0 / (1.0 + 1.5 * time));
    assert_eq!((shorter.len(), shorter[0].0), (1, "lengths_diverge"), "{shorter:?}");
    assert!(shorter[0].1.contains("paid for writing more"), "{shorter:?}");
    // A gap that closes does not ring, and neither does one that grows by less than half.
    assert_eq!(grows(|time| 3.0 - 2.0 * time), []);
    assert_eq!(grows(|time| 1.0 + 0.4 * time), []);
    let by_length = |normaliser| {
        let mut config = one_sample();
        config.grpo.normaliser = normaliser;
        check_in(&config, levels("rollout/tokens_failing", [110.0, 300.0]), 36, "lengths_diverge")
    };
    assert!(
        by_length(NormaliserBy::SequenceMean).contains("take `grpo.normaliser = \"token_mean\"`")
    );
    assert!(!by_length(NormaliserBy::TokenMean).contains("grpo.normaliser"));
}

#[test]
fn completions_that_end_in_loops() {
    // Of ten steps around 0.04 so many are at 0.3.
    let said = check(levels("rollout/repetition", [0.04, 0.3]), 36, "repetition");
    assert!(said.contains("% of the completions of the last steps end in a loop"), "{said}");
    silent(levels("rollout/repetition", [0.09, 0.09]));
}

#[test]
fn a_gradient_that_is_far_longer_than_usual() {
    let spike = |config: &Config, norm: f64| {
        ringing_in(Alarms::new(config, grpo::STAGE), |step, values| {
            put(values, "train/grad_norm", if step == 40 { norm } else { 0.2 });
        })
    };
    let mut config = one_sample();
    let found = spike(&config, 1.02);
    assert_eq!((found.len(), found[0].code, found[0].step), (1, "gradient_spike", 40));
    assert!(
        found[0].message.starts_with("the gradient has a norm of 1.020, 5.1 times"),
        "{found:?}"
    );
    assert!(
        found[0].message.contains("it was clipped (`training.clip_to_median = 3`)"),
        "{found:?}"
    );
    config.training.clip_to_median = 0.0;
    assert!(spike(&config, 1.02)[0].message.contains("`training.clip_to_median = 3` clips such"));
    assert_eq!(spike(&config, 0.98), []);
    // Steps without a gradient are no measure, and ten with one are needed.
    let rarely = ringing_in(Alarms::new(&config, grpo::STAGE), |step, values| {
        put(values, "train/grad_norm", if step.is_multiple_of(3) { 0.2 } else { 0.0 });
    });
    assert_eq!(rarely, []);
    let early = ringing_in(Alarms::new(&config, grpo::STAGE), |step, values| {
        put(values, "train/grad_norm", if step == 10 { 9.0 } else { 0.2 });
    });
    assert_eq!(early, [], "nine norms are no median");
}

#[test]
fn an_sft_has_spikes_too() {
    let mut alarms = Alarms::new(&Config::default(), "sft");
    let mut see = |step, norm| {
        let values = BTreeMap::from([("sft/grad_norm".to_owned(), norm)]);
        alarms.see(step, &values, &no_suspects).iter().map(|alarm| alarm.code).collect::<Vec<_>>()
    };
    for step in 1..=10 {
        assert_eq!(see(step, 1.0), [""; 0]);
    }
    assert_eq!(see(11, 5.1), ["gradient_spike"]);
}

#[test]
fn updates_that_move_the_policy_too_far() {
    // Of ten steps around 0.006, with seven at 0.026 the mean is 0.02.
    let said = check(levels("grpo/update_kl", [0.006, 0.0261]), 37, "update_kl_high");
    assert!(said.ends_with("Lower `training.learning_rate`"), "{said}");
    let mut config = one_sample();
    (config.grpo.num_iterations, config.grpo.mini_batches) = (2, 4);
    let said = check_in(&config, levels("grpo/update_kl", [0.006, 0.0261]), 37, "update_kl_high");
    let all = "`training.learning_rate`, `grpo.num_iterations` or `grpo.mini_batches`";
    assert!(said.contains(all), "{said}");
}

#[test]
fn ratios_that_are_mostly_clipped() {
    let mut config = one_sample();
    config.grpo.mini_batches = 4;
    let planted = levels("grpo/clip_fraction", [0.1, 0.5]);
    // Five of ten at 0.5 are 0.3, six are more.
    let said = check_in(&config, planted, 36, "clip_fraction_high");
    assert!(said.starts_with("34.0 % of the tokens"), "{said}");
    assert!(said.contains("past the clip range"), "{said}");
    let recorded = check(planted, 36, "clip_fraction_high");
    assert!(recorded.contains("the policy that sampled the rollouts is another one"), "{recorded}");
}

#[test]
fn steps_without_a_policy_gradient() {
    let dead = |every: u64| {
        move |step: u64, values: &mut BTreeMap<String, f64>| {
            put(values, "rollout/tasks", 4.0);
            put(values, "grpo/dead_groups", if step.is_multiple_of(every) { 4.0 } else { 2.0 });
        }
    };
    let alarms = || Alarms::new(&one_sample(), grpo::STAGE);
    let found = ringing_in(alarms(), dead(2));
    assert_eq!((found.len(), found[0].code, found[0].step), (1, "no_policy_gradient", 10));
    assert!(found[0].message.starts_with("50.0 % of the last steps"), "{found:?}");
    assert!(found[0].message.contains("set `grpo.dynamic_sampling_rounds`"), "{found:?}");
    assert_eq!(ringing_in(alarms(), dead(3)), []);
}

#[test]
fn a_training_whose_cross_entropies_lead() {
    let short = |step: u64, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/grad_norm", if step > 30 { 0.04 } else { 0.3 });
    };
    let mut config = one_sample();
    let found = ringing_in(Alarms::new(&config, grpo::STAGE), short);
    assert_eq!((found.len(), found[0].code, found[0].step), (1, "sft_dominates", 40), "{found:#?}");
    assert!(found[0].message.starts_with("this is an SFT run"), "{found:?}");
    assert!(
        found[0].message.contains("`dual_source.teacher_sft_weight` (now 0.3) or"),
        "{found:?}"
    );
    let idle = |step: u64, values: &mut BTreeMap<String, f64>| {
        short(step, values);
        put(values, "rollout/tasks", 4.0);
        put(
            values,
            "grpo/dead_groups",
            if step > 30 && !step.is_multiple_of(3) { 4.0 } else { 2.0 },
        );
    };
    let found = ringing_in(Alarms::new(&config, grpo::STAGE), idle);
    let rung: Vec<(u64, &str)> = found.iter().map(|alarm| (alarm.step, alarm.code)).collect();
    // Of the steps 28 to 37 five have none. Every third from 33 on has one: the tenth is 60.
    assert_eq!(rung, [(37, "no_policy_gradient"), (60, "sft_dominates")], "{found:#?}");
    config.dual_source.self_sft_weight = 0.0;
    let found = ringing_in(Alarms::new(&config, grpo::STAGE), short);
    assert!(!found[0].message.contains("self_sft_weight"), "{found:?}");
    config.dual_source.grpo_weight = 0.0;
    assert_eq!(ringing_in(Alarms::new(&config, grpo::STAGE), short), [], "it is meant to be");
}

#[test]
fn recorded_rollouts_that_weigh_nothing() {
    // With nine of ten at 0.2 the mean is 0.26 and twice its error 0.12; with all it is 0.2 and 0.
    let planted = levels("grpo/effective_sample_size", [0.8, 0.2]);
    let said = check(planted, 40, "effective_sample_small");
    assert!(said.contains("count for 20.0 % of their tokens"), "{said}");
    silent(levels("grpo/effective_sample_size", [0.8, 0.35]));
}

#[test]
fn rollouts_that_the_judge_loses() {
    let lost = |count: f64| {
        let found = ringing_in(Alarms::new(&one_sample(), grpo::STAGE), |step, values| {
            put(values, "rollout/dropped", if step > 30 { count } else { 0.0 });
            put(values, "rollout/judged", 64.0 - if step > 30 { count } else { 0.0 });
        });
        found.into_iter().map(|alarm| (alarm.step, alarm.code)).collect::<Vec<_>>()
    };
    // 4 of 64: with six of ten steps the mean is 0.0375 and twice its error 0.0204, with seven 0.0438 and 0.0191.
    assert_eq!(lost(4.0), [(37, "judge_fails")]);
    assert_eq!(lost(1.0), []);
}

#[test]
fn a_student_that_is_surer_and_solves_fewer_tasks() {
    let measured = |at_n: [f64; 2], rate: [f64; 2]| {
        let mut config = one_sample();
        config.held_out.num_samples = 4;
        let found = ringing_in(Alarms::new(&config, grpo::STAGE), |step, values| {
            if values.contains_key("held_out/pass_rate") {
                put(values, "held_out/pass_at_n", at_n[usize::from(step > 40)]);
                put(values, "held_out/pass_rate", rate[usize::from(step > 40)]);
                put(values, "held_out/tasks", 200.0);
            }
        });
        found.into_iter().map(|alarm| (alarm.step, alarm.code)).collect::<Vec<_>>()
    };
    // Two errors of 0.6 of 200 tasks, of which one side was measured twice, are a bit less than nine points.
    assert_eq!(measured([0.6, 0.5], [0.3, 0.35]), [(41, "pass_at_n_falls")]);
    assert_eq!(measured([0.6, 0.53], [0.3, 0.35]), [], "chance");
    assert_eq!(measured([0.6, 0.5], [0.3, 0.29]), [], "not surer");
}

#[test]
fn a_budget_is_watched_without_a_coefficient_too() {
    let mut config = one_sample();
    (config.dual_source.kl_budget, config.grpo.kl_coef) = (0.5, 0.0);
    let said = check_in(&config, levels("grpo/kl_divergence", [0.1, 0.6]), 39, "kl_over_budget");
    assert!(said.contains("raise `grpo.kl_coef`"), "{said}");
}

/// What an alarm says of a metric at a value from the first step on.
fn advice(config: &Config, stage: &str, planted: &[(&str, f64)]) -> String {
    let found = ringing_in(Alarms::new(config, stage), |_, values| {
        for (name, value) in planted {
            put(values, name, *value);
        }
    });
    found.into_iter().map(|alarm| alarm.message).collect()
}

#[test]
fn an_alarm_does_not_advise_what_is_set() {
    let dead =
        [("grpo/dead_groups", 16.0), ("grpo/solved_groups", 8.0), ("grpo/unsolved_groups", 8.0)];
    let mut config = one_sample();
    let said = advice(&config, grpo::STAGE, &dead);
    for key in ["grpo.dynamic_sampling_rounds", "grpo.curriculum"] {
        assert!(said.contains(key), "{said}");
    }
    config.grpo.dynamic_sampling_rounds = 3;
    config.grpo.curriculum = Curriculum::Difficulty;
    let said = advice(&config, grpo::STAGE, &dead);
    for key in ["grpo.dynamic_sampling_rounds", "grpo.curriculum"] {
        assert!(!said.contains(key), "{said}");
    }
    assert!(said.contains("take tasks that the student sometimes solves"), "{said}");

    let thinks = [("code/no_code", 0.9), ("code/in_thinking", 0.9)];
    assert!(advice(&config, grpo::STAGE, &thinks).contains("`prompt.thinking = \"off\"`"));
    config.prompt.thinking = ThinkingMode::Off;
    let said = advice(&config, grpo::STAGE, &thinks);
    assert!(said.contains("no code") && !said.contains("prompt.thinking"), "{said}");

    let clamped = [("grpo/clamped_fraction", 0.01)];
    assert!(!advice(&config, grpo::STAGE, &clamped).contains("num_iterations"));
    config.grpo.num_iterations = 2;
    assert!(advice(&config, grpo::STAGE, &clamped).contains("`grpo.num_iterations`"));

    let worthless = [("ppo/explained_variance", -0.5)];
    config.ppo.critic = Critic::Head;
    assert!(advice(&config, PPO, &worthless).contains("`ppo.critic = \"adapter\"`"));
    config.ppo.critic = Critic::Adapter;
    let said = advice(&config, PPO, &worthless);
    assert!(said.contains("worse than their mean") && !said.contains("ppo.critic ="), "{said}");

    let skipped = [("ppo/updates", 1.0), ("ppo/skipped_mini_batches", 3.0)];
    config.ppo.ppo_epochs = 4;
    assert!(advice(&config, PPO, &skipped).contains("`ppo.ppo_epochs`"));
    config.ppo.ppo_epochs = 1;
    assert!(!advice(&config, PPO, &skipped).contains("`ppo.ppo_epochs`"));
}
