//! Tasks that are measured and not learnt from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use whetstone_core::task::Task;
use whetstone_train::grpo::STAGE;
use whetstone_train::watch::{Ended, Part, Phase, Watch};

use crate::school::{PpoModels, School, nobody, parity, task};

const RATE: &str = "held_out/pass_rate";

/// Seven steps, measured before the first, the fourth and the seventh and after the last, by three tasks of five.
fn school() -> School {
    let mut school = School::new();
    school.held_out = (0..5).map(|at| task(&format!("held/{at}"))).collect::<Vec<Task>>();
    school.config.training.max_steps = 7;
    school.config.held_out.every_steps = 3;
    school.config.held_out.max_tasks = 3;
    school.config.held_out.num_samples = 2;
    school
}

/// What was measured, by step.
fn measured(school: &School, run: &str) -> Vec<(u64, f64, f64)> {
    let of = |(step, values): (u64, std::collections::BTreeMap<String, f64>)| {
        Some((step, *values.get(RATE)?, values["held_out/tasks"]))
    };
    school.metrics(run).into_iter().filter_map(of).collect()
}

#[test]
fn measuring_changes_nothing_that_is_learnt() {
    let mut school = school();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    school.worth = Arc::new(move |task, reply| {
        list.lock().unwrap().push(task.to_owned());
        Ok(parity(reply))
    });
    school.grpo("with").unwrap();
    let found = measured(&school, "with");
    assert_eq!(found.iter().map(|measured| measured.0).collect::<Vec<_>>(), [1, 4, 7]);
    assert!(found.iter().all(|measured| measured.2.to_bits() == 3.0_f64.to_bits()), "{found:?}");
    let mut held: Vec<String> =
        asked.lock().unwrap().iter().filter(|id| id.starts_with("held/")).cloned().collect();
    assert_eq!(held.len(), 4 * 3 * 2);
    held.sort();
    held.dedup();
    assert_eq!(held.len(), 3, "the same tasks each time: {held:?}");

    school.held_out = Vec::new();
    school.grpo("without").unwrap();
    assert_eq!(measured(&school, "without"), []);
    // The state says what was measured first.
    let model = |run: &str| {
        let mut files = school.files(run, "outputs/final_model");
        files.retain(|name, _| !name.ends_with("training_state.json"));
        files
    };
    assert!(model("with") == model("without"));
    let rollouts = |run: &str| school.files(run, "rollouts");
    assert!(rollouts("with") == rollouts("without"), "and no rollout is recorded");
}

#[test]
fn a_run_that_is_stopped_while_it_is_measured_goes_on_and_measures_the_same() {
    let school = school();
    school.grpo("whole").unwrap();
    let stop = AtomicBool::new(false);
    let seen = AtomicBool::new(false);
    let on_phase = |phase, Part { done, .. }: Part| {
        if phase == Phase::HeldOut && done > 0 && seen.swap(true, Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let session = school.create("cut", STAGE);
    let watch = Watch { on_phase: &on_phase, stop: &stop, ..nobody() };
    assert_eq!(school.grpo_on(session, None, watch).unwrap(), Ended::Stopped(0));
    assert_eq!(measured(&school, "cut"), []);
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    assert_eq!(measured(&school, "cut"), measured(&school, "whole"));
    assert_eq!(gains(&school, "cut"), gains(&school, "whole"));
}

/// The steps with a gain, each with its gain and the pass rate that is compared: the last one has that after it.
fn gains(school: &School, run: &str) -> Vec<(u64, f64, f64)> {
    let of = |(step, values): (u64, std::collections::BTreeMap<String, f64>)| {
        let rate = values.get("held_out/final_pass_rate").or_else(|| values.get(RATE))?;
        Some((step, *values.get("held_out/gain")?, *rate))
    };
    school.metrics(run).into_iter().filter_map(of).collect()
}

#[test]
fn the_gain_is_that_of_the_first_measurement_also_where_a_run_was_resumed() {
    let school = school();
    school.grpo("whole").unwrap();
    let found = gains(&school, "whole");
    assert_eq!(found.iter().map(|gain| gain.0).collect::<Vec<_>>(), [4, 7]);
    let first = measured(&school, "whole")[0].1;
    for (step, gain, rate) in &found {
        assert!((rate - first - gain).abs() < 1e-12, "step {step}: {first} + {gain} is not {rate}");
    }
    drop(school.create("cut", STAGE));
    for step in 1..7 {
        crate::going_on::stop_after(&school, "cut", step).unwrap();
    }
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    assert_eq!(gains(&school, "cut"), found);
}

#[test]
fn ppo_is_measured_after_its_last_step_too() {
    let mut school = school();
    school.config.training.max_steps = 2;
    school.ppo("run", PpoModels::default()).unwrap();
    let last = school.metrics("run").pop().unwrap();
    assert!(last.1.contains_key("held_out/final_pass_rate"), "{last:?}");
    assert!(!last.1.contains_key(RATE), "{last:?}");
}

#[test]
fn a_student_that_does_not_change_says_the_same_each_time() {
    let mut school = school();
    school.config.training.learning_rate = 1e-30;
    let replies = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&replies);
    school.worth = Arc::new(move |task, reply| {
        if task.starts_with("held/") {
            list.lock().unwrap().push((task.to_owned(), reply.to_owned()));
        }
        Ok(parity(reply))
    });
    school.grpo("run").unwrap();
    let replies = replies.lock().unwrap();
    let mut each: Vec<Vec<_>> = replies.chunks(6).map(<[_]>::to_vec).collect();
    for measured in &mut each {
        measured.sort();
    }
    assert_eq!(each.len(), 4);
    assert!(each.iter().all(|other| *other == each[0]), "{each:?}");
    assert_ne!(each[0][0].1, each[0][1].1, "two samples of a task");
}

#[test]
fn with_a_distance_of_nought_it_is_never_measured() {
    let mut school = school();
    school.config.held_out.every_steps = 0;
    school.grpo("run").unwrap();
    assert_eq!(measured(&school, "run"), []);
}
