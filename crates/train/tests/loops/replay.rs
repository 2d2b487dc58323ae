//! Replay of past successes: in a run, and in one that is stopped after every step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use whetstone_train::grpo::STAGE;
use whetstone_train::watch::Ended;

use crate::going_on::{same, stop_after};
use crate::school::School;

/// Characters that a reply has which ends before the limit on tokens.
const SHORT: usize = 70;

/// A school of four tasks, all in every step. The first short reply to a task solves it, and no other one does.
fn school(replay: u32) -> School {
    let mut school = School::new();
    school.tasks.truncate(4);
    school.rows.truncate(4);
    school.config.training.max_steps = 6;
    school.config.training.max_length = 128;
    school.config.grpo.max_completion_length = 90;
    school.config.training.save_steps = 1;
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.dual_source.replay = replay;
    let kept = Arc::new(Mutex::new(BTreeMap::new()));
    // A text is worth what it was worth when it was first judged, so that a run that goes on gets the same.
    school.worth = Arc::new(move |task, reply| {
        if reply.chars().count() >= SHORT {
            return Ok(0.0);
        }
        let mut kept = kept.lock().unwrap();
        let first = kept.entry(task.to_owned()).or_insert_with(|| reply.to_owned());
        Ok(if first == reply { 1.0 } else { 0.0 })
    });
    school
}

fn values(school: &School, run: &str, name: &str) -> Vec<f64> {
    let metrics = school.metrics(run);
    metrics.iter().map(|(_, values)| values.get(name).copied().unwrap_or(f64::NAN)).collect()
}

#[test]
fn tasks_that_are_no_longer_solved_are_learnt_from_their_last_success() {
    let school_with = school(1);
    school_with.grpo("run").unwrap();
    let replayed = values(&school_with, "run", "self_sft/replayed");
    assert_eq!(replayed[0].to_bits(), 0, "nothing was solved before the first step");
    assert!(replayed[5] > 0.0 && replayed.iter().all(|&rows| rows <= 4.0), "{replayed:?}");
    let tasks = values(&school_with, "run", "self_sft/replay_tasks");
    assert!(tasks.is_sorted() && tasks[0] == 0.0 && tasks[5] >= replayed[5], "{tasks:?}");
    assert!(values(&school_with, "run", "self_sft/grad_norm")[5] > 0.0);
    let without = school(0);
    without.grpo("run").unwrap();
    assert!(values(&without, "run", "self_sft/replayed").iter().all(|rows| rows.is_nan()));
    assert!(
        !without.files("run", "outputs/final_model")["training_state.json"]
            .windows(9)
            .any(|text| text == b"successes")
    );
}

#[test]
fn a_run_that_is_stopped_after_every_step_replays_the_same_rows() {
    let school = school(2);
    school.grpo("whole").unwrap();
    assert!(values(&school, "whole", "self_sft/replayed").iter().any(|&rows| rows > 0.0));
    drop(school.create("cut", STAGE));
    for step in 1..6 {
        assert_eq!(stop_after(&school, "cut", step).unwrap(), Ended::Stopped(step));
    }
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    same(&school, "whole", "cut");
}
