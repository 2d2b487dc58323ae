//! Each alarm in a training that is made to ring it, and none in one that goes well.

use super::*;
use crate::grpo;

/// A step of a training that goes well, with the noise of its tasks: numbers that jump by a tenth.
pub(super) fn healthy(step: u64) -> BTreeMap<String, f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few steps")]
    let (time, jump) = (step as f64 / 100.0, ((step * 7919) % 13) as f64 / 6.0 - 1.0);
    let mut values: BTreeMap<String, f64> = [
        ("grpo/mean_reward", 0.3 + 0.2 * time + 0.1 * jump),
        ("grpo/pass_rate", 0.3 + 0.2 * time + 0.1 * jump),
        ("grpo/entropy", 0.12 - 0.04 * time + 0.01 * jump),
        ("grpo/kl_divergence", 0.1 * time),
        ("grpo/sampler_gap", 2e-5),
        ("grpo/clamped_fraction", 0.5e-4),
        ("grpo/dead_groups", (7.0 + 3.0 * jump).round()),
        ("rollout/tasks", 16.0),
        ("code/timeouts", 0.02 + 0.02 * jump),
        ("code/no_code", 0.04 - 0.02 * time - 0.02 * jump),
        ("rollout/truncated", 0.02 + 0.02 * jump),
        ("reward/tests", 0.25 + 0.15 * time + 0.08 * jump),
        ("reward/quality", 0.05 + 0.05 * time + 0.01 * jump),
        // Failing programs pass a few more tests, too.
        ("reward_failing/tests", 0.05 + 0.02 * time + 0.01 * jump),
        ("reward_failing/quality", 0.02 + 0.01 * jump),
        ("grpo/grad_norm", 0.3 - 0.1 * time + 0.1 * jump),
        ("teacher_sft/grad_norm", 0.3 - 0.1 * time),
        ("self_sft/grad_norm", 0.1),
        ("train/grad_norm", 0.5 - 0.2 * time + 0.2 * jump),
        ("grpo/update_kl", 0.006 + 0.004 * jump),
        ("grpo/clip_fraction", 0.1 + 0.1 * jump),
        ("grpo/effective_sample_size", 0.9 - 0.4 * time + 0.1 * jump),
        ("rollout/tokens_passing", 80.0 + 20.0 * time + 8.0 * jump),
        ("rollout/tokens_failing", 110.0 + 40.0 * time - 20.0 * jump),
        ("rollout/repetition", 0.04 + 0.04 * jump),
        ("rollout/judged", 64.0),
        ("rollout/dropped", if step.is_multiple_of(9) { 1.0 } else { 0.0 }),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if step % 20 == 1 {
        values.insert("held_out/pass_rate".to_owned(), 0.3 + 0.2 * time + 0.03 * jump);
        values.insert("held_out/pass_at_n".to_owned(), 0.5 + 0.1 * time + 0.03 * jump);
        values.insert("held_out/no_code".to_owned(), 0.03);
        values.insert("held_out/tasks".to_owned(), 100.0);
    }
    values
}

pub(super) fn suspects(term: &str) -> Vec<Suspect> {
    vec![Suspect { prompt_id: format!("about/{term}"), group_id: 3 }]
}

/// Held-out tasks have one sample, so that tables of hundred tasks can be worked by hand.
pub(super) fn one_sample() -> Config {
    let mut config = Config::default();
    config.held_out.num_samples = 1;
    config
}

fn with_budget(kl_budget: f64) -> Alarms {
    let mut config = one_sample();
    config.dual_source.kl_budget = kl_budget;
    Alarms::new(&config, grpo::STAGE)
}

/// What rings in a hundred steps, each changed by `change`: (step, code).
fn ringing(change: impl Fn(u64, &mut BTreeMap<String, f64>)) -> Vec<Alarm> {
    ringing_in(with_budget(0.5), change)
}

pub(super) fn ringing_in(
    mut alarms: Alarms,
    change: impl Fn(u64, &mut BTreeMap<String, f64>),
) -> Vec<Alarm> {
    let step = |step| {
        let mut values = healthy(step);
        change(step, &mut values);
        alarms.see(step, &values, &suspects)
    };
    (1..=100).flat_map(step).collect()
}

pub(super) fn put(values: &mut BTreeMap<String, f64>, name: &str, value: f64) {
    values.insert(name.to_owned(), value);
}

#[track_caller]
fn check(change: impl Fn(u64, &mut BTreeMap<String, f64>), expected: &[(u64, &str)], says: &str) {
    let found = ringing(change);
    let rung: Vec<(u64, &str)> = found.iter().map(|alarm| (alarm.step, alarm.code)).collect();
    assert_eq!(rung, expected, "{found:#?}");
    assert!(found[0].message.contains(says), "{}", found[0].message);
}

#[test]
fn a_training_that_goes_well_rings_nothing() {
    assert_eq!(ringing(|_, _| ()), []);
}

#[test]
fn an_empty_step_rings_nothing() {
    assert_eq!(ringing(|_, values| values.clear()), []);
}

#[test]
fn rewards_that_rise_while_held_out_tasks_fall() {
    let falls = |step, values: &mut BTreeMap<String, f64>| {
        if step == 61 || step == 81 {
            put(values, "held_out/pass_rate", 0.2);
        }
    };
    let says = "at step 41 and 20.0 % now";
    check(falls, &[(61, "held_out_falls")], says);
    let reward_falls_too = |step, values: &mut BTreeMap<String, f64>| {
        falls(step, values);
        if step > 45 {
            put(values, "grpo/mean_reward", 0.1);
        }
    };
    assert_eq!(ringing(reward_falls_too), []);
}

#[test]
fn a_fall_of_a_few_tasks_is_chance() {
    // Around 0.4 of 100 tasks, two standard errors of a difference, of which one side was measured
    // twice, are a bit less than twelve tasks.
    let falls = |by: f64| {
        move |step: u64, values: &mut BTreeMap<String, f64>| {
            if values.contains_key("held_out/pass_rate") {
                put(values, "held_out/pass_rate", if step > 60 { 0.4 - by } else { 0.4 });
            }
        }
    };
    assert_eq!(ringing(falls(0.11)), []);
    check(falls(0.13), &[(61, "held_out_falls")], "40.0 % at step");
}

#[test]
fn one_lucky_measurement_is_no_level_to_fall_from() {
    let lucky = |step: u64, values: &mut BTreeMap<String, f64>| {
        if values.contains_key("held_out/pass_rate") {
            put(values, "held_out/pass_rate", if step == 41 { 0.55 } else { 0.4 });
        }
    };
    assert_eq!(ringing(lucky), []);
}

#[test]
fn clamped_ratios_are_told_where_they_are_more_than_single_tokens() {
    let far = |step, values: &mut BTreeMap<String, f64>| {
        if step == 7 {
            put(values, "grpo/clamped_fraction", 3e-4);
        }
    };
    check(far, &[(7, "ratios_clamped")], "0.03 % of the tokens");
}

#[test]
fn a_student_that_is_past_its_budget() {
    let far = |step, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/kl_divergence", if step > 30 { 0.6 } else { 0.1 });
    };
    // The mean of ten steps is past 0.5 with the ninth.
    check(far, &[(39, "kl_over_budget")], "0.550 nats a token");
    let mut free = with_budget(0.0);
    for step in 1..50 {
        let mut values = healthy(step);
        far(step, &mut values);
        assert_eq!(free.see(step, &values, &suspects), [], "there is no budget");
    }
}

#[test]
fn samples_that_are_all_alike() {
    let alike = |step, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/entropy", if step > 40 { 0.01 } else { 0.1 });
    };
    // Ten steps whose mean is below 0.02: nine of them at 0.01, one at 0.1, is 0.019.
    check(alike, &[(49, "entropy_collapse")], "from 0.100 to 0.0190");
}

#[test]
fn one_step_with_a_gap_is_enough() {
    let gap = |step, values: &mut BTreeMap<String, f64>| {
        if step == 5 || step == 9 || step == 60 {
            put(values, "grpo/sampler_gap", 0.02);
        }
    };
    // Of the ninth was told by the fifth; the sixtieth comes after fifty quiet steps.
    check(gap, &[(5, "sampler_gap"), (60, "sampler_gap")], "2.00e-2");
}

#[test]
fn groups_that_teach_nothing() {
    let dead = |solved: f64, unsolved: f64| {
        move |step, values: &mut BTreeMap<String, f64>| {
            put(values, "grpo/dead_groups", if step > 50 { 16.0 } else { 12.0 });
            put(values, "grpo/solved_groups", solved);
            put(values, "grpo/unsolved_groups", unsolved);
        }
    };
    // After four of ten steps at 1: 0.85, less twice its error of 0.041; after five: 0.875, less twice
    // 0.042, which is 0.792; after six: 0.9, less twice 0.041.
    // Half of ten steps have no group that is alive one step earlier.
    let too_hard = "in 6.2 % every rollout passes, in 93.8 % none does: the tasks are too hard";
    let check = |solved, unsolved, says: &str| {
        let found = ringing(dead(solved, unsolved));
        let rung: Vec<(u64, &str)> = found.iter().map(|alarm| (alarm.step, alarm.code)).collect();
        assert_eq!(rung, [(55, "no_policy_gradient"), (56, "dead_groups")], "{found:#?}");
        assert!(found[1].message.contains(says), "{found:#?}");
    };
    check(1.0, 15.0, too_hard);
    check(12.0, 4.0, "each task is too hard or too easy");
    check(15.0, 1.0, "the tasks are learnt. Take harder ones");
}

#[test]
fn half_or_two_thirds_of_the_groups_may_be_dead_in_a_training_that_goes_well() {
    // 56.9 % is what a quickstart has, whose student gains 20 points.
    for part in [0.5, 0.569, 0.67, 0.75] {
        let dead = |_, values: &mut BTreeMap<String, f64>| {
            put(values, "grpo/dead_groups", part * 16.0);
        };
        assert_eq!(ringing(dead), [], "{part}");
    }
}

#[test]
fn programs_that_run_out_of_time() {
    let slow = |step, values: &mut BTreeMap<String, f64>| {
        put(values, "code/timeouts", if step > 60 { 0.3 } else { 0.02 });
    };
    let found = ringing(slow);
    assert_eq!((found.len(), found[0].code), (1, "timeouts"));
    assert!((65..=70).contains(&found[0].step), "{found:?}");
    assert!(found[0].message.contains("2.0 % did in the beginning"), "{found:?}");
}

/// The first steps decide, and the cause that most replies share says what to set.
#[test]
fn replies_without_code() {
    let without = |in_thinking: f64, cut: f64| {
        let change = move |step, values: &mut BTreeMap<String, f64>| {
            put(values, "code/no_code", if step < 20 { 0.84 } else { 0.02 });
            put(values, "code/in_thinking", if step < 20 { in_thinking } else { 0.0 });
            put(values, "rollout/truncated", cut);
        };
        let mut found = ringing(change);
        // That the gain is format is told later.
        found.retain(|alarm| alarm.code != "gain_is_format");
        assert_eq!((found.len(), found[0].code, found[0].step), (1, "no_code", 3), "{found:?}");
        found[0].message.clone()
    };
    let said = without(0.8, 0.02);
    assert!(
        said.starts_with(
            "80.0 % of the replies of the last steps have no code outside the thinking"
        )
    );
    assert!(said.contains("use `prompt.thinking = \"off\"`"), "{said}");
    assert!(without(0.1, 0.7).contains("raise `grpo.max_completion_length`"));
    assert!(without(0.1, 0.02).contains("another `prompt.template`"));
    let few = |_, values: &mut BTreeMap<String, f64>| put(values, "code/no_code", 0.45);
    assert_eq!(ringing(few), []);
}

#[test]
fn a_student_that_gets_worse() {
    // As in a training of rollouts alone whose learning rate was too high for it.
    let worse = |step, values: &mut BTreeMap<String, f64>| {
        if step > 20 {
            put(values, "grpo/pass_rate", 0.06);
            put(values, "grpo/mean_reward", 0.06);
            put(values, "rollout/truncated", 0.6);
        }
    };
    let found = ringing(worse);
    let codes: Vec<&str> = found.iter().map(|alarm| alarm.code).collect();
    assert_eq!(codes, ["cut_off", "passes_fall"], "{found:#?}");
    assert!(found.iter().all(|alarm| (22..=31).contains(&alarm.step)), "{found:#?}");
    assert!(found[0].message.contains("1.9 % were in the beginning"), "{found:#?}");
}

#[test]
fn samples_that_become_noise() {
    // The first ten steps are at 0.1; the mean of ten is above 0.2 with the sixth at 0.28: 0.208.
    let noise = |step, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/entropy", if step > 40 { 0.28 } else { 0.1 });
    };
    check(
        noise,
        &[(46, "entropy_rises")],
        "lower `training.learning_rate`, or raise `grpo.kl_coef`",
    );
    let doubles = |step: u64, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/entropy", if step > 40 { 0.19 } else { 0.1 });
    };
    assert_eq!(ringing(doubles), [], "less than twice");
    let one = |step: u64, values: &mut BTreeMap<String, f64>| {
        put(values, "grpo/entropy", if step == 50 { 2.0 } else { 0.1 });
    };
    assert_eq!(ringing(one), [], "one step of ten is no level");
}

#[test]
fn passes_that_jump_around_their_level_are_no_fall() {
    let noisy = |step: u64, values: &mut BTreeMap<String, f64>| {
        let jump = if step.is_multiple_of(2) { 0.15 } else { -0.15 };
        put(values, "grpo/pass_rate", if step > 50 { 0.35 + jump } else { 0.4 + jump });
    };
    assert_eq!(ringing(noisy), []);
}

/// At the first step `first` of the replies have code, at the second half as many lack it, and so on; `given` of those
/// with code pass, with the noise of the tasks.
fn learns_to_write_code(first: f64, given: [f64; 2]) -> impl Fn(u64, &mut BTreeMap<String, f64>) {
    move |step, values| {
        let step_size = |step: u64| 0.5_f64.powi(i32::try_from(step - 1).unwrap());
        let code = 1.0 - (1.0 - first) * step_size(step);
        let pass = given[0] + (given[1] - given[0]) * (1.0 - step_size(step));
        let jump = [0.0, 0.01, -0.01][usize::try_from(step % 3).unwrap()];
        values.retain(|name, _| !name.starts_with("held_out/"));
        put(values, "code/no_code", 1.0 - code);
        put(values, "grpo/pass_rate", code * pass + jump);
    }
}

#[test]
fn a_gain_by_more_replies_with_code_is_called_format_within_a_few_steps() {
    let found = ringing(learns_to_write_code(0.2, [0.3, 0.3]));
    let rung: Vec<&str> = found.iter().map(|alarm| alarm.code).collect();
    assert_eq!(rung, ["gain_is_format"], "{found:#?}");
    assert!((4..=8).contains(&found[0].step), "{found:#?}");
    let message = &found[0].message;
    assert!(
        message.starts_with("most of this gain is format: of the programs, 7.0 % passed"),
        "{message}"
    );
    assert!(message.contains("from replies with code, 20.0 % then"), "{message}");
}

#[test]
fn a_gain_of_better_programs_is_no_format() {
    // (first code rate, passing of these at the start and at the end): (1 - c)·(p0 + p1)/2 of the gain is format.
    for (first, given) in [(0.95, [0.2, 0.6]), (0.85, [0.2, 0.5]), (0.2, [0.3, 0.03])] {
        assert_eq!(ringing(learns_to_write_code(first, given)), [], "{first} {given:?}");
    }
}

#[test]
fn held_out_tasks_tell_of_format_too() {
    let held_out = |code: [f64; 2], pass: [f64; 2]| {
        move |step: u64, values: &mut BTreeMap<String, f64>| {
            if values.contains_key("held_out/pass_rate") {
                let at = usize::from(step > 1);
                put(values, "held_out/no_code", 1.0 - code[at]);
                put(values, "held_out/pass_rate", pass[at]);
            }
        }
    };
    let says = "of the held-out samples, 10.2 % passed at the start and 29.2 % pass now, and 14.0 of these 19.0 points \
                come from replies with code, 45.2 % then and 99.0 % now, of which 22.6 % passed and 29.5 % pass";
    check(held_out([0.452, 0.99], [0.102, 0.292]), &[(21, "gain_is_format")], says);
    // As much more code, and less than half of the gain by it: 0.2·0.35 of 0.46.
    assert_eq!(ringing(held_out([0.8, 1.0], [0.1, 0.56])), []);
    // Chance: six points of a hundred tasks.
    assert_eq!(ringing(held_out([0.7, 0.99], [0.2, 0.26])), []);
}
