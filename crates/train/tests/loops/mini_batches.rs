//! Several updates of a step's rollouts: bounds have an effect, the learning rate and resuming follow.

use whetstone_core::config::LrScheduler;
use whetstone_train::grpo::STAGE;
use whetstone_train::watch::Ended;

use crate::going_on::{same, stop_after};
use crate::invariance::{check, three_sources};
use crate::school::School;

/// A school whose steps of four groups make so many updates, which are large.
fn school(mini_batches: u32) -> School {
    let mut school = School::new();
    school.config.grpo.mini_batches = mini_batches;
    school.config.training.learning_rate = 0.1;
    school.config.training.warmup_ratio = 0.0;
    school
}

fn values(school: &School, name: &str) -> Vec<f64> {
    school.metrics("run").iter().map(|(_, values)| values[name]).collect()
}

#[test]
fn a_bound_of_the_ratio_has_an_effect_with_mini_batches_and_none_without() {
    let one = school(1);
    one.grpo("run").unwrap();
    assert!(values(&one, "grpo/ratio_std").iter().all(|&std| std.to_bits() == 0), "always 1");
    assert!(values(&one, "grpo/clip_fraction").iter().all(|&part| part.to_bits() == 0));
    let four = school(4);
    four.grpo("run").unwrap();
    assert!(values(&four, "grpo/ratio_std").iter().any(|&std| std > 0.01));
    let clipped = values(&four, "grpo/clip_fraction");
    assert!(clipped.iter().any(|&part| part > 0.01), "{clipped:?}");
    assert!(clipped.iter().all(|&part| part < 1.0), "{clipped:?}");
    let gaps = values(&four, "grpo/sampler_gap");
    assert!(gaps.iter().all(|&gap| gap < 1e-4), "before the first update: {gaps:?}");
    assert!(values(&four, "grpo/update_kl").iter().all(|&moved| moved > 0.0));
}

/// A step of two groups has two updates, whatever is asked for: the rates are those of the second.
#[test]
fn the_learning_rate_follows_updates_of_mini_batches() {
    let rates = |mini_batches, micro_batches| {
        let mut school = school(mini_batches);
        school.config.training.lr_scheduler_type = LrScheduler::Linear;
        school.config.training.max_steps = 2;
        school.config.training.gradient_accumulation_steps = micro_batches;
        school.grpo("run").unwrap();
        values(&school, "train/lr")
    };
    let line = |update: f64, all: f64| 0.1 * (1.0 - update / all);
    let near = |found: &[f64], expected: [f64; 2]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    };
    near(&rates(4, 8), [line(3.0, 8.0), line(7.0, 8.0)]);
    near(&rates(8, 4), [line(1.0, 16.0), line(9.0, 16.0)]);
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run_with_mini_batches() {
    let mut school = school(3);
    school.config.grpo.num_iterations = 2;
    school.grpo("whole").unwrap();
    drop(school.create("cut", STAGE));
    for step in 1..3 {
        assert_eq!(stop_after(&school, "cut", step).unwrap(), Ended::Stopped(step));
    }
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    same(&school, "whole", "cut");
}

#[test]
fn mini_batches_learn_the_same_however_they_are_cut_into_micro_batches() {
    let change = |school: &mut School| {
        three_sources(school);
        school.config.grpo.mini_batches = 3;
    };
    let train = |school: &School, run: &str| assert_eq!(school.grpo(run).unwrap(), Ended::Done);
    let (_, metrics) = check(change, train);
    assert!(f64::from_bits(metrics[2]["teacher_sft/grad_norm"]) > 0.0);
}
