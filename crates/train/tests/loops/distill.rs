//! On-policy distillation: what it moves, what it leaves out, and what it does not depend on.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use whetstone_core::config::{Config, DeadGroups, Trained};
use whetstone_model::decoder::{Forward, Sequence};
use whetstone_record::event::Event;
use whetstone_record::journal;
use whetstone_train::TrainError;
use whetstone_train::grpo::STAGE;
use whetstone_train::teacher::{AskedTokens, LocalTeacher, TeacherScores, TokenTeacher};
use whetstone_train::watch::Ended;

use crate::going_on::{same, stop_after};
use crate::school::School;

/// The teacher of a school.
#[derive(Clone, Copy, PartialEq)]
enum Teacher {
    /// The student's own model.
    Student,
    /// That model after it was taught to say capital letters.
    Taught,
}

/// The directory of a model that was taught to say capital letters.
fn taught(school: &School) -> PathBuf {
    let path = school.path("taught", "outputs/final_model");
    if !path.is_dir() {
        let mut other = School::new();
        other.config.training.train = Trained::Full;
        other.config.training.max_steps = 20;
        other.sft("taught").unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(other.path("taught", "outputs/final_model"), &path).unwrap();
    }
    path
}

/// A school that learns from a teacher alone. Nothing that it says is worth anything.
fn school(teacher: Teacher) -> School {
    let mut school = School::new();
    let path = match teacher {
        Teacher::Student => school.dir.path().join("model"),
        Teacher::Taught => taught(&school),
    };
    school.teacher = Some(Box::new(LocalTeacher::new("teacher", school.decoder(&path))));
    school.worth = Arc::new(|_, _| Ok(0.0));
    let weights = &mut school.config.dual_source;
    (weights.grpo_weight, weights.teacher_sft_weight) = (0.0, 0.0);
    (weights.self_sft_weight, weights.distill_weight) = (0.0, 1.0);
    "teacher".clone_into(&mut weights.distill_teacher);
    school.config.grpo.kl_coef = 0.0;
    school
}

fn values(school: &School, name: &str) -> Vec<f64> {
    let metrics = school.metrics("run");
    metrics.iter().map(|(_, values)| values.get(name).copied().unwrap_or(f64::NAN)).collect()
}

#[test]
fn a_student_that_is_its_teacher_is_not_changed() {
    let school = school(Teacher::Student);
    school.grpo("run").unwrap();
    assert_eq!(values(&school, "distill/kl"), [0.0; 3]);
    assert_eq!(values(&school, "train/skipped_updates"), [1.0; 3]);
    assert!(values(&school, "distill/tokens").iter().all(|&tokens| tokens > 0.0));
}

#[test]
fn a_student_comes_nearer_to_its_teacher_without_any_reward() {
    let mut school = school(Teacher::Taught);
    school.config.training.max_steps = 30;
    school.config.grpo.patience_steps = 2;
    school.config.grpo.dead_groups = DeadGroups::LeaveOut;
    assert_eq!(school.grpo("run").unwrap(), Ended::Done, "dead groups are no reason to stop");
    let kl = values(&school, "distill/kl");
    let mean = |of: &[f64]| of.iter().sum::<f64>() / 5.0;
    let (first, last) = (mean(&kl[..5]), mean(&kl[25..]));
    assert!(first > 0.05 && last < 0.6 * first, "{first} to {last}: {kl:?}");
    assert_eq!(values(&school, "grpo/grad_norm"), [0.0; 30]);
    // Without a teacher the same rollouts end the run.
    school.config.dual_source.distill_weight = 0.0;
    school.config.dual_source.grpo_weight = 1.0;
    let err = school.grpo("alone").unwrap_err();
    assert!(matches!(err, TrainError::AllEqual { .. }), "{err}");
}

/// The divergence of the first step against the teacher asked sequence by sequence, from the recorded tokens.
#[test]
fn the_divergence_is_that_of_the_recorded_tokens_under_both_models() {
    let mut school = school(Teacher::Taught);
    school.config.training.max_steps = 1;
    // The teacher's distribution does not follow the student's temperature.
    school.config.grpo.temperature = 0.7;
    school.grpo("run").unwrap();
    let teacher = school.decoder(&taught(&school));
    let lines = journal::read(&school.path("run", "rollouts/rollouts.jsonl")).unwrap();
    let (mut sum, mut count) = (0.0, 0_u32);
    for line in lines {
        let line: Value = serde_json::from_str(&line.unwrap().json).unwrap();
        let turn = &line["meta"]["turns"][0];
        let ids = |name: &str| -> Vec<u32> { serde_json::from_value(turn[name].clone()).unwrap() };
        let logps: Vec<f64> = serde_json::from_value(turn["logps"].clone()).unwrap();
        let (prompt, said) = (ids("prompt"), ids("ids"));
        let tokens = [prompt.as_slice(), &said].concat();
        let asked = prompt.len()..tokens.len();
        let batch = teacher.batch(&[Sequence { tokens: &tokens, asked }]).unwrap();
        let (scored, _) = teacher.forward(&batch, Forward::default());
        for (own, other) in logps.iter().zip(&scored.logp) {
            sum += own - f64::from(*other);
            count += 1;
        }
    }
    let (found, expected) = (values(&school, "distill/kl")[0], sum / f64::from(count));
    assert!(found > 0.1 && (found - expected).abs() < 1e-4, "{found} is not {expected}");
    assert_eq!(values(&school, "distill/tokens"), [f64::from(count)]);
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    let mut school = school(Teacher::Taught);
    school.config.dual_source.grpo_weight = 1.0;
    school.config.grpo.mini_batches = 2;
    school.config.training.max_steps = 4;
    school.grpo("whole").unwrap();
    drop(school.create("cut", STAGE));
    for step in 1..4 {
        assert_eq!(stop_after(&school, "cut", step).unwrap(), Ended::Stopped(step));
    }
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    same(&school, "whole", "cut");
}

/// A teacher that fails to score some of what it is asked.
struct Failing {
    inner: Box<dyn TokenTeacher>,
    /// Whether it fails to score the sequence with this number.
    fails: fn(u64) -> bool,
    asked: AtomicU64,
}

impl TokenTeacher for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn device_bytes(&self, config: &Config) -> u64 {
        self.inner.device_bytes(config)
    }

    fn check_memory(&self, longest: AskedTokens<'_>) -> Result<(), TrainError> {
        self.inner.check_memory(longest)
    }

    fn score(&self, asked: AskedTokens<'_>) -> Result<TeacherScores, TrainError> {
        let mut scores = self.inner.score(asked)?;
        for logps in &mut scores.logps {
            if (self.fails)(self.asked.fetch_add(1, Ordering::Relaxed)) {
                *logps = None;
                scores.failure = Some("timeout".to_owned());
            }
        }
        Ok(scores)
    }
}

/// A school whose teacher fails.
fn failing(fails: fn(u64) -> bool) -> School {
    let mut school = school(Teacher::Taught);
    let inner = school.teacher.take().unwrap();
    school.teacher = Some(Box::new(Failing { inner, fails, asked: AtomicU64::new(0) }));
    school
}

#[test]
fn what_the_teacher_fails_to_score_is_left_out_and_counted() {
    let first = |fails| -> BTreeMap<String, f64> {
        let mut school = failing(fails);
        school.config.training.max_steps = 1;
        school.grpo("run").unwrap();
        let warned = school.events("run").into_iter().any(|event| {
            matches!(event, Event::Warning { code, message, .. }
                if code == "distill_failed" && message.contains("2 of 16") && message.contains("timeout"))
        });
        assert_eq!(warned, fails(3), "failures are told");
        school.metrics("run").remove(0).1
    };
    let (whole, part) = (first(|_| false), first(|at| at == 3 || at == 7));
    assert_eq!((whole["distill/failed"], part["distill/failed"]), (0.0, 2.0));
    assert!(part["distill/tokens"] < whole["distill/tokens"]);
    assert!(part["distill/kl"] > 0.1, "what is left out is no 0: {}", part["distill/kl"]);
    assert_ne!(part["distill/kl"].to_bits(), whole["distill/kl"].to_bits());
}

#[test]
fn a_teacher_that_scores_nothing_ends_the_run_which_goes_on_when_it_is_back() {
    // Two steps of sixteen sequences are scored, none of the third.
    let mut school = failing(|at| (32..48).contains(&at));
    school.config.training.save_steps = 1;
    let err = school.grpo("run").unwrap_err();
    assert_eq!(err.to_string(), "the teacher `failing` cannot score the rollouts of step 3");
    assert!(!err.is_usage() && err.hint().unwrap().contains("--resume"));
    assert_eq!(school.grpo_again("run").unwrap(), Ended::Done);
    assert_eq!(school.metrics("run").len(), 3);
}

#[test]
fn the_other_sources_are_measured_against_the_rollouts_and_the_weight_weighs() {
    let norm = |weight: f64| {
        let mut school = school(Teacher::Taught);
        school.worth = Arc::new(|_, reply| Ok(crate::school::parity(reply)));
        school.config.dual_source.grpo_weight = 1.0;
        school.config.dual_source.distill_weight = weight;
        school.config.training.max_steps = 1;
        school.grpo("run").unwrap();
        let cosine = values(&school, "distill/cosine")[0];
        assert!(cosine.abs() <= 1.0, "{cosine}");
        values(&school, "distill/grad_norm")[0]
    };
    let (one, three) = (norm(1.0), norm(3.0));
    assert!(one > 0.0 && (three / one - 3.0).abs() < 1e-3, "{one} and {three}");
}

#[test]
fn a_weight_without_a_teacher_is_refused_before_the_first_step() {
    let mut school = school(Teacher::Taught);
    school.teacher = None;
    let err = school.grpo("run").unwrap_err();
    assert!(matches!(err, TrainError::Settings(_)) && err.is_usage(), "{err}");
    assert!(school.metrics("run").is_empty());
}
