//! Runs that stop and go on end with the bytes of one that never stopped.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use whetstone_core::config::{Curriculum, Trained};
use whetstone_core::judgement::Infrastructure;
use whetstone_record::event::{Event, Outcome};
use whetstone_train::grpo::STAGE;
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::watch::{Ended, StepReport, Watch};
use whetstone_train::{TrainError, sft};

use crate::school::{School, nobody, parity};

/// The rollouts of a run, as they are written.
fn rollouts(school: &School, run: &str) -> String {
    fs::read_to_string(school.path(run, "rollouts/rollouts.jsonl")).unwrap()
}

fn steps(school: &School, run: &str) -> Vec<u64> {
    school.metrics(run).into_iter().map(|(step, _)| step).collect()
}

/// What every step measured, without what clocks say.
fn plain(school: &School, run: &str) -> Vec<BTreeMap<String, f64>> {
    let timed = |name: &str| {
        name.starts_with("time/") || name.starts_with("speed/") || name.contains("while_sampling")
    };
    let plain = |(_, values): (u64, BTreeMap<String, f64>)| {
        values.into_iter().filter(|(name, _)| !timed(name)).collect()
    };
    school.metrics(run).into_iter().map(plain).collect()
}

/// The second run has what the first one has.
#[track_caller]
pub(crate) fn same(school: &School, one: &str, other: &str) {
    assert!(school.files(one, "outputs/final_model") == school.files(other, "outputs/final_model"));
    assert_eq!(plain(school, one), plain(school, other));
    assert!(rollouts(school, one) == rollouts(school, other));
}

/// Tells the training to stop when so many steps are done.
pub(crate) fn stop_after(school: &School, run: &str, step: u64) -> Result<Ended, TrainError> {
    let (session, checkpoint) = school.resume(run, STAGE)?;
    let stop = AtomicBool::new(false);
    let on_step = |report: &StepReport| {
        if report.step == step {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch { on_step: &on_step, stop: &stop, ..nobody() };
    school.grpo_on(session, checkpoint.as_deref(), watch)
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    for train in [Trained::Lora, Trained::Full] {
        let mut school = School::new();
        school.config.training.max_steps = 4;
        school.config.training.train = train;
        school.config.grpo.curriculum = Curriculum::PassRate;
        school.config.dual_source.kl_budget = 1e-7;
        school.grpo("whole").unwrap();
        drop(school.create("cut", STAGE));
        for step in 1..4 {
            assert_eq!(stop_after(&school, "cut", step).unwrap(), Ended::Stopped(step));
        }
        assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
        assert_eq!(steps(&school, "cut"), [1, 2, 3, 4]);
        same(&school, "whole", "cut");
    }
}

/// Of eight tasks four are always solved, two half of the time and two never. After two visits of each, an epoch is
/// the two and one of the others.
#[test]
fn a_run_that_leaves_tasks_out_goes_on_with_the_same_ones() {
    let mut school = School::new();
    school.config.training.max_steps = 8;
    school.config.grpo.curriculum = Curriculum::PassRate;
    school.worth = Arc::new(|task, reply| {
        Ok(match task {
            "t/4" | "t/5" => parity(reply),
            "t/6" | "t/7" => 0.0,
            _ => 1.0,
        })
    });
    school.grpo("whole").unwrap();
    drop(school.create("cut", STAGE));
    for step in 1..8 {
        assert_eq!(stop_after(&school, "cut", step).unwrap(), Ended::Stopped(step));
    }
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    same(&school, "whole", "cut");
    let lines = rollouts(&school, "whole");
    let taken = |tasks: [&str; 2], step: usize| {
        let is_of = |line: &&str| {
            line.contains(&format!("\"step\":{step},"))
                && tasks.iter().any(|task| line.contains(&format!("\"prompt_id\":\"{task}\"")))
        };
        lines.lines().filter(is_of).count()
    };
    let late: usize = (5..=8).map(|step| taken(["t/4", "t/5"], step)).sum();
    assert!(late >= 36, "{late} of 64 rollouts, where 16 would be their share");
}

/// A rule that breaks the machine from some reply on, until it is mended.
fn breaks_after(replies: usize) -> Arc<crate::school::Worth> {
    let seen = AtomicUsize::new(0);
    Arc::new(move |_, reply| {
        if seen.fetch_add(1, Ordering::Relaxed) >= replies {
            return Err(Infrastructure("no zygote".to_owned()));
        }
        Ok(parity(reply))
    })
}

#[test]
fn a_run_that_breaks_goes_on_from_its_checkpoint_and_records_no_step_twice() {
    let mut school = School::new();
    school.config.training.max_steps = 5;
    school.config.training.save_steps = 2;
    school.grpo("whole").unwrap();
    let whole = Arc::clone(&school.worth);
    // Sixteen replies a step.
    school.worth = breaks_after(3 * 16);
    let err = school.grpo("cut").unwrap_err();
    assert!(matches!(err, TrainError::Collect(_)), "{err}");
    assert!(err.hint().unwrap().contains("whet doctor"));
    assert_eq!(steps(&school, "cut"), [1, 2, 3]);
    let told = school.events("cut").into_iter().next_back();
    let Some(Event::RunFinished { outcome: Outcome::Failed, message }) = told else {
        panic!("{told:?}")
    };
    assert!(message.starts_with("cannot collect rollouts: "), "{message}");
    assert!(message.ends_with("no zygote"), "with its causes: {message}");

    school.worth = whole;
    assert_eq!(school.grpo_again("cut").unwrap(), Ended::Done);
    assert_eq!(steps(&school, "cut"), [1, 2, 3, 4, 5]);
    same(&school, "whole", "cut");
}

#[test]
fn a_run_that_is_done_stays_done() {
    let school = School::new();
    school.grpo("run").unwrap();
    let before = (school.files("run", "outputs/final_model"), school.metrics("run"));
    assert_eq!(school.grpo_again("run").unwrap(), Ended::Done);
    assert!(before == (school.files("run", "outputs/final_model"), school.metrics("run")));
    let ends = school.events("run");
    let done = Event::RunFinished { outcome: Outcome::Completed, message: String::new() };
    assert_eq!(ends.iter().filter(|event| **event == done).count(), 2, "it was asked twice");
}

#[test]
fn whoever_stops_before_the_next_step_keeps_the_checkpoint_that_is_there() {
    let school = School::new();
    drop(school.create("run", STAGE));
    stop_after(&school, "run", 1).unwrap();
    let file = school.path("run", "outputs/checkpoint-1/training_state.json");
    let written = fs::metadata(&file).unwrap().modified().unwrap();
    let stop = AtomicBool::new(true);
    let (session, checkpoint) = school.resume("run", STAGE).unwrap();
    let watch = Watch { stop: &stop, ..nobody() };
    let ended = school.grpo_on(session, checkpoint.as_deref(), watch).unwrap();
    assert_eq!(ended, Ended::Stopped(1));
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
    let saved = |event: &Event| matches!(event, Event::CheckpointSaved { .. });
    assert_eq!(school.events("run").iter().filter(|event| saved(event)).count(), 1);
}

#[test]
fn checkpoints_are_written_when_they_are_due_and_the_oldest_go() {
    let mut school = School::new();
    school.config.training.max_steps = 7;
    school.config.training.save_steps = 2;
    school.config.training.save_total_limit = 2;
    school.sft("run").unwrap();
    let names: Vec<String> = fs::read_dir(school.path("run", "outputs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["checkpoint-4", "checkpoint-6", "final_model"]);
    let saved = |event| match event {
        Event::CheckpointSaved { step, path } => Some((step, path)),
        _ => None,
    };
    let saved: Vec<_> = school.events("run").into_iter().filter_map(saved).collect();
    let named = |step| (step, format!("outputs/checkpoint-{step}"));
    assert_eq!(saved, [2, 4, 6].map(named));
}

#[test]
fn learning_by_heart_goes_on_from_a_checkpoint_to_the_same_bytes() {
    let mut school = School::new();
    school.config.training.max_steps = 6;
    school.config.training.save_steps = 2;
    school.sft("whole").unwrap();
    // As it is after a kill behind step 5: two checkpoints, and no final model.
    fs::create_dir(school.path("cut", "")).unwrap();
    copy(&school.path("whole", ""), &school.path("cut", ""));
    fs::remove_dir_all(school.path("cut", "outputs/final_model")).unwrap();
    let (session, checkpoint) = school.resume("cut", sft::STAGE).unwrap();
    assert!(checkpoint.as_ref().unwrap().ends_with("checkpoint-4"));
    assert_eq!(school.sft_on(session, checkpoint.as_deref()).unwrap(), Ended::Done);
    assert!(
        school.files("whole", "outputs/final_model") == school.files("cut", "outputs/final_model")
    );
    assert_eq!(steps(&school, "cut"), [1, 2, 3, 4, 5, 6]);
}

/// Nearly all gradients are longer than half the median of those before them, so norms that are not restored show.
#[test]
fn the_norms_that_clip_are_those_of_the_run_that_was_killed() {
    let mut school = School::new();
    school.config.training.max_steps = 20;
    school.config.training.save_steps = 12;
    school.config.training.max_grad_norm = 0.0;
    school.config.training.clip_to_median = 0.5;
    school.sft("whole").unwrap();
    let clipped = school.metrics("whole").into_iter().map(|(step, values)| {
        (step, values["train/clipped_updates"].to_bits() == 1.0_f64.to_bits())
    });
    let clipped: Vec<u64> =
        clipped.filter(|(_, is_clipped)| *is_clipped).map(|(step, _)| step).collect();
    assert!(clipped.iter().all(|&step| step > 10), "ten norms are needed: {clipped:?}");
    assert!(clipped.iter().any(|&step| step > 12), "{clipped:?}");
    fs::create_dir(school.path("cut", "")).unwrap();
    copy(&school.path("whole", ""), &school.path("cut", ""));
    fs::remove_dir_all(school.path("cut", "outputs/final_model")).unwrap();
    let (session, checkpoint) = school.resume("cut", sft::STAGE).unwrap();
    assert!(checkpoint.as_ref().unwrap().ends_with("checkpoint-12"));
    assert_eq!(school.sft_on(session, checkpoint.as_deref()).unwrap(), Ended::Done);
    let model = |run: &str| school.files(run, "outputs/final_model");
    assert!(model("whole") == model("cut"));
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_new_run_begins_where_a_checkpoint_of_another_is() {
    let mut school = School::new();
    school.config.training.max_steps = 4;
    school.config.training.save_steps = 2;
    school.grpo("first").unwrap();
    let from = school.path("first", "outputs/checkpoint-2");
    let place = RunLocation { root: school.dir.path(), name: "second" };
    let start = RunStart { config: &school.config, config_text: "", command: "whet train" };
    drop(Session::create_from(place, STAGE, start, &from).unwrap());
    // Killed at once: the checkpoint is its own by now.
    fs::remove_dir_all(school.path("first", "outputs/checkpoint-2")).unwrap();
    assert_eq!(school.grpo_again("second").unwrap(), Ended::Done);
    assert_eq!(steps(&school, "second"), [3, 4]);
    assert!(
        school.files("first", "outputs/final_model")
            == school.files("second", "outputs/final_model")
    );
    assert_eq!(plain(&school, "first")[2..], plain(&school, "second"));
}
