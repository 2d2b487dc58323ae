//! What must be true of numbers before anything was learnt, exactly.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use whetstone_core::config::{LrScheduler, NormaliserBy, RatioOf, Trained};

use crate::school::School;

/// The measurements of one step of a student that has learnt nothing.
fn first(change: impl FnOnce(&mut School)) -> BTreeMap<String, f64> {
    let mut school = School::new();
    school.config.training.max_steps = 1;
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.dual_source.self_sft_weight = 0.0;
    change(&mut school);
    school.grpo("run").unwrap();
    let [(1, values)] = &school.metrics("run")[..] else { panic!("one step") };
    values.clone()
}

#[track_caller]
fn check(values: &BTreeMap<String, f64>) {
    let exactly = |name: &str| values[name].to_bits();
    assert_eq!(exactly("grpo/ratio_mean"), 1.0_f64.to_bits(), "{}", values["grpo/ratio_mean"]);
    assert_eq!(exactly("grpo/ratio_std"), 0.0_f64.to_bits(), "{}", values["grpo/ratio_std"]);
    assert_eq!(exactly("grpo/clip_fraction"), 0.0_f64.to_bits());
    assert!(values["grpo/update_kl"] > 0.0, "the update moved it: {}", values["grpo/update_kl"]);
    assert_eq!(exactly("grpo/clamped"), 0.0_f64.to_bits());
    assert_eq!(exactly("train/skipped_updates"), 0.0_f64.to_bits());
    assert_eq!(
        exactly("grpo/kl_divergence"),
        0.0_f64.to_bits(),
        "{}",
        values["grpo/kl_divergence"]
    );
    assert!(values["grpo/policy_loss"].abs() < 1e-12, "{}", values["grpo/policy_loss"]);
    assert!(values["grpo/grad_norm"] > 1e-6, "{}", values["grpo/grad_norm"]);
    assert!(values["grpo/sampler_gap"] < 1e-4, "{}", values["grpo/sampler_gap"]);
}

#[test]
fn the_policy_is_the_one_that_sampled_and_the_reference() {
    let values = first(|school| school.config.grpo.normaliser = NormaliserBy::SequenceMean);
    check(&values);
    assert!(values["grpo/dead_groups"] < 4.0, "of four: {values:?}");
    assert_eq!(values["train/grad_norm"].to_bits(), values["grpo/grad_norm"].to_bits());
}

#[test]
fn completions_of_one_length_have_no_loss_over_tokens_either() {
    let values = first(|school| {
        // One token each, paid for by what it is.
        school.config.grpo.max_completion_length = 1;
        school.worth =
            Arc::new(|_, reply| Ok(f64::from(reply.bytes().map(u32::from).sum::<u32>() % 3) / 2.0));
    });
    check(&values);
    assert_eq!(values["rollout/mean_tokens"].to_bits(), 1.0_f64.to_bits());
}

#[test]
fn every_weight_trained_has_the_same_reference() {
    let values = first(|school| {
        school.config.grpo.normaliser = NormaliserBy::SequenceMean;
        school.config.training.train = Trained::Full;
        school.config.training.learning_rate = 1e-3;
    });
    check(&values);
}

#[test]
fn one_ratio_for_a_sequence_is_1_too() {
    let values = first(|school| {
        school.config.grpo.normaliser = NormaliserBy::SequenceMean;
        school.config.grpo.ratio = RatioOf::Sequence;
    });
    check(&values);
}

#[test]
fn sampled_and_trained_log_probabilities_stay_together() {
    for temperature in [1.0, 0.7] {
        let mut school = School::new();
        school.config.training.max_steps = 5;
        school.config.grpo.temperature = temperature;
        school.grpo("run").unwrap();
        let metrics = school.metrics("run");
        assert_eq!(metrics.len(), 5);
        for (step, values) in &metrics {
            assert!(values["grpo/sampler_gap"] < 1e-4, "step {step}: {values:?}");
            assert_eq!(values["grpo/ratio_mean"].to_bits(), 1.0_f64.to_bits());
        }
        let last = &metrics[4].1;
        assert!(last["grpo/kl_divergence"] > 1e-6, "it has learnt something: {last:?}");
    }
}

#[test]
fn the_gap_is_that_of_the_policy_that_sampled_whatever_is_learnt_from_its_rollouts() {
    let mut school = School::new();
    school.config.training.max_steps = 2;
    school.config.grpo.num_iterations = 3;
    school.grpo("run").unwrap();
    for (_, values) in school.metrics("run") {
        assert!(values["grpo/ratio_std"] > 1e-6, "the last pass: {values:?}");
        assert!(values["grpo/sampler_gap"] < 1e-4, "the first pass: {values:?}");
    }
}

#[test]
fn with_every_weight_trained_the_divergence_is_from_the_model_before() {
    let mut school = School::new();
    school.config.training.train = Trained::Full;
    school.config.training.max_steps = 2;
    school.grpo("run").unwrap();
    let second = &school.metrics("run")[1].1;
    assert!(second["grpo/kl_divergence"] > 1e-6, "{second:?}");
}

#[test]
fn the_learning_rate_follows_updates_and_not_steps() {
    let mut school = School::new();
    school.config.training.lr_scheduler_type = LrScheduler::Linear;
    school.config.training.warmup_ratio = 0.0;
    school.config.training.max_steps = 2;
    school.config.grpo.num_iterations = 2;
    school.grpo("run").unwrap();
    let rates: Vec<f64> =
        school.metrics("run").iter().map(|(_, values)| values["train/lr"]).collect();
    // Four updates, from the peak down to 0: the second and the last.
    let line = |update: f64| 1e-2 * (1.0 - update / 4.0);
    for (found, expected) in rates.iter().zip([line(1.0), line(3.0)]) {
        assert!((found - expected).abs() < 1e-15, "{rates:?}");
    }
}

/// The first step of a student that learns from traces alone.
fn by_heart(temperature: f64) -> BTreeMap<String, f64> {
    first(|school| {
        school.worth = Arc::new(|_, _| Ok(0.5));
        school.config.dual_source.teacher_sft_weight = 0.3;
        school.config.grpo.temperature = temperature;
    })
}

#[test]
fn where_rollouts_teach_nothing_the_update_is_that_of_the_traces() {
    let values = by_heart(1.0);
    assert_eq!(values["grpo/grad_norm"].to_bits(), 0.0_f64.to_bits());
    assert!(values["teacher_sft/grad_norm"] > 0.0);
    assert_eq!(values["train/grad_norm"].to_bits(), values["teacher_sft/grad_norm"].to_bits());
    assert!(!values.contains_key("teacher_sft/cosine"), "to nothing there is no angle");
}

#[test]
fn traces_are_learnt_at_a_temperature_of_1_whatever_rollouts_are_sampled_at() {
    let loss = |temperature| by_heart(temperature)["teacher_sft/loss"].to_bits();
    assert_eq!(loss(1.0), loss(0.5));
}

#[test]
fn what_is_paid_for_is_said_more_often() {
    let mut school = School::new();
    school.config.training.max_steps = 40;
    school.config.training.learning_rate = 0.1;
    school.config.training.lr_scheduler_type = LrScheduler::Constant;
    school.config.grpo.kl_coef = 0.0;
    school.config.training.train = Trained::Full;
    school.config.grpo.max_completion_length = 1;
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.dual_source.self_sft_weight = 0.0;
    let is_letter = |reply: &str| reply.chars().all(char::is_alphabetic) && !reply.is_empty();
    school.worth = Arc::new(move |_, reply| Ok(if is_letter(reply) { 1.0 } else { 0.0 }));
    school.grpo("run").unwrap();
    let rewards: Vec<f64> =
        school.metrics("run").iter().map(|(_, values)| values["grpo/mean_reward"]).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / 5.0;
    let (before, after) = (mean(&rewards[..5]), mean(&rewards[35..]));
    assert!(before < 0.4 && after > 0.8, "{before} {after}: {rewards:?}");
}

#[test]
fn a_template_that_opens_the_thinking_is_seen_once_and_told_to_whoever_reads_rollouts() {
    let mut school = School::new();
    school.config.training.max_steps = 1;
    assert!(!school.student(None).unwrap().thinking_opened);
    let template = school.dir.path().join("model/chat_template.jinja");
    let text = fs::read_to_string(&template).unwrap();
    let opening = "{%- if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}";
    fs::write(&template, format!("{text}{opening}")).unwrap();
    assert!(school.student(None).unwrap().thinking_opened);
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    school.replied = Arc::new(move |reply| {
        counted.fetch_add(usize::from(reply.opened), Ordering::Relaxed);
    });
    school.grpo("run").unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 16, "every reply begins inside the thinking");
    let lines = fs::read_to_string(school.path("run", "rollouts/rollouts.jsonl")).unwrap();
    assert_eq!(lines.matches(r#""thinking_opened":true"#).count(), 16);
}
