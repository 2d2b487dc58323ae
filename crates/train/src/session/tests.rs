//! Runs that are killed between two writes, batches that are kept, and steps that are told of once.

use std::fs;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::Serialize;
use tempfile::TempDir;
use whetstone_algo::AlgoError;
use whetstone_record::event_file::EventFile;

use super::*;
use crate::testing::{settings, student};
use crate::watchdog::Watchdog;

fn create(dir: &TempDir, config: &Config) -> Session {
    let place = RunLocation { root: dir.path(), name: "run" };
    Session::create(
        place,
        "grpo",
        RunStart { config, config_text: "seed = 1", command: "whet train grpo" },
    )
    .unwrap()
}

fn resume(dir: &TempDir, config: &Config) -> (Session, Option<PathBuf>) {
    Session::resume(RunLocation { root: dir.path(), name: "run" }, "grpo", config).unwrap()
}

fn events(session: &Session) -> Vec<Event> {
    let events = session.run.view().events().unwrap();
    events.map(|event| event.unwrap().1.event).collect()
}

fn report(step: u64) -> StepReport {
    let values = BTreeMap::from([("loss".to_owned(), 0.5)]);
    StepReport { step, steps: 9, took: Duration::ZERO, values, warnings: Vec::new(), again: false }
}

#[test]
fn a_checkpoint_whose_event_was_not_written_is_recorded_once() {
    let config = settings();
    let (dir, student) = student(&config);
    let optimizer = Optimizer::new(student.decoder.device(), student.decoder.parameters());
    let session = create(&dir, &config);
    let mut progress = Progress::new("grpo");
    progress.step = 3;
    // Killed right behind the rename.
    session.write("checkpoint-3", &student, &optimizer, &progress).unwrap();
    drop(session);
    for _ in 0..2 {
        let (session, checkpoint) = resume(&dir, &config);
        assert!(checkpoint.unwrap().ends_with("run/outputs/checkpoint-3"));
        let saved = events(&session).into_iter().filter(|event| *event == saved_event(3));
        assert_eq!(saved.count(), 1);
    }
}

#[test]
fn a_step_that_is_computed_again_is_told_of_and_not_recorded() {
    let config = settings();
    let dir = tempfile::tempdir().unwrap();
    let told = RefCell::new(Vec::new());
    let on_step = |report: &StepReport| told.borrow_mut().push((report.step, report.again));
    let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
    let (on_phase, on_alarm) = (&|_, _| (), &|_: &Alarm| ());
    let watch = Watch { on_phase, on_step: &on_step, on_alarm, stop: &stop, dog: &dog };
    let mut session = create(&dir, &config);
    session.step(report(1), &no_suspects, watch).unwrap();
    session.step(report(2), &no_suspects, watch).unwrap();
    drop(session);
    let (mut session, checkpoint) = resume(&dir, &config);
    assert_eq!(checkpoint, None);
    (1..=3).for_each(|step| session.step(report(step), &no_suspects, watch).unwrap());
    let recorded = events(&session).into_iter().filter_map(|event| match event {
        Event::Metrics { step, stage, values } => Some((step, stage, values)),
        _ => None,
    });
    let expected = |step| (step, "grpo".to_owned(), report(step).values);
    assert_eq!(recorded.collect::<Vec<_>>(), [1, 2, 3].map(expected));
    let again = [(1, false), (2, false), (1, true), (2, true), (3, false)];
    assert_eq!(told.into_inner(), again);
}

#[test]
fn checkpoints_are_due_between_the_first_step_and_the_last() {
    let mut config = settings();
    config.training.save_steps = 3;
    let dir = tempfile::tempdir().unwrap();
    let session = create(&dir, &config);
    let due: Vec<u64> = (1..=9).filter(|&step| session.is_due(step, 9)).collect();
    assert_eq!(due, [3, 6], "the last is the final model");
    drop(session);
    config.training.save_steps = 0;
    let (session, _) = resume(&dir, &config);
    assert!((1..=9).all(|step| !session.is_due(step, 9)));
}

#[test]
fn a_batch_with_numbers_that_are_none_is_kept_and_named() {
    #[derive(Serialize)]
    struct Batch {
        rows: Vec<u32>,
    }
    let dir = tempfile::tempdir().unwrap();
    let session = create(&dir, &settings());
    let algo = AlgoError::Token { what: "logp", sequence: 2, token: 5, value: f64::NAN };
    for err in [TrainError::Algo(algo), TrainError::NoNumber("the gradient".to_owned())] {
        let problem = err.to_string();
        let err = session.with_batch(err, 7, || Batch { rows: vec![1, 2] });
        let TrainError::NotFinite { step: 7, what, saved } = &err else { panic!("{err}") };
        assert_eq!(*what, problem);
        assert!(saved.ends_with("run/logs/batch-of-step-7.json"));
        let kept: serde_json::Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
        let expected = serde_json::json!({
            "v": 1, "stage": "grpo", "step": 7, "problem": problem, "rows": [1, 2],
        });
        assert_eq!(kept, expected);
    }
    let other = session.with_batch(TrainError::NoRows, 8, || Batch { rows: Vec::new() });
    assert!(matches!(other, TrainError::NoRows));
    assert!(!dir.path().join("run/logs/batch-of-step-8.json").exists());
}

#[test]
fn nothing_is_written_where_a_run_was_removed() {
    let config = settings();
    let (dir, student) = student(&config);
    let optimizer = Optimizer::new(student.decoder.device(), student.decoder.parameters());
    let mut session = create(&dir, &config);
    fs::remove_dir_all(session.dir()).unwrap();
    let progress = Progress::new("grpo");
    let err = session.checkpoint(&student, &optimizer, &progress).unwrap_err();
    assert!(matches!(err, TrainError::Gone(_)), "{err}");
    let err = session.final_model(&student, &optimizer, &progress).unwrap_err();
    assert!(matches!(err, TrainError::Gone(_)), "{err}");
    let err = session.closed(Ok(Ended::Done)).unwrap_err();
    assert!(matches!(err, TrainError::Gone(_)), "a run without a record is not done: {err}");
    let err = session.closed(Err(TrainError::NoTasks)).unwrap_err();
    assert!(matches!(err, TrainError::NoTasks), "what broke first is told: {err}");
    assert!(!session.dir().exists());
}

#[test]
fn a_final_model_has_a_card_and_one_that_begins_with_it_has_not() {
    let mut config = settings();
    config.student.model_name = "student".to_owned();
    let (dir, student) = student(&config);
    let optimizer = Optimizer::new(student.decoder.device(), student.decoder.parameters());
    let session = create(&dir, &config);
    let mut progress = Progress::new("grpo");
    progress.step = 3;
    session.final_model(&student, &optimizer, &progress).unwrap();
    let first = dir.path().join("run/outputs/final_model");
    let card = fs::read_to_string(first.join(CARD)).unwrap();
    assert!(card.starts_with("---\nlibrary_name: peft\n"), "{card}");
    drop(session);
    let place = RunLocation { root: dir.path(), name: "next" };
    let start = RunStart { config: &config, config_text: "seed = 1", command: "whet train grpo" };
    Session::create_from(place, "grpo", start, &first).unwrap();
    let adopted = dir.path().join("next/outputs/checkpoint-3");
    assert!(adopted.join(STATE).is_file() && !adopted.join(CARD).exists());
}

#[test]
fn a_live_event_file_gets_every_recorded_step_once() {
    let mut config = settings();
    config.run.tensorboard = true;
    let dir = tempfile::tempdir().unwrap();
    let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
    let watch =
        Watch { on_phase: &|_, _| (), on_step: &|_| (), on_alarm: &|_| (), stop: &stop, dog: &dog };
    let mut session = create(&dir, &config);
    let file = || {
        fs::read_dir(dir.path().join("run/tensorboard")).unwrap().next().unwrap().unwrap().path()
    };
    let mut lengths = Vec::new();
    for step in 1..=2 {
        session.step(report(step), &no_suspects, watch).unwrap();
        lengths.push(fs::metadata(file()).unwrap().len());
    }
    assert!(lengths[0] < lengths[1], "{lengths:?}");
    drop(session);
    // Killed in the middle of the second record.
    File::options().write(true).open(file()).unwrap().set_len(lengths[1] - 5).unwrap();
    let (mut session, _) = resume(&dir, &config);
    for step in 1..=3 {
        session.step(report(step), &no_suspects, watch).unwrap();
        let least = if step == 3 { lengths[1] + 1 } else { lengths[1] };
        assert!(fs::metadata(file()).unwrap().len() >= least, "step {step}");
    }
    let mut whole = EventFile::new(session.run.view(), &dir.path().join("all")).unwrap();
    whole.follow(session.run.view()).unwrap();
    assert_eq!((whole.steps(), fs::read(whole.path()).unwrap()), (3, fs::read(file()).unwrap()));
}

#[test]
fn an_event_file_that_cannot_be_written_is_a_warning_once() {
    let mut config = settings();
    config.run.tensorboard = true;
    let dir = tempfile::tempdir().unwrap();
    let told = RefCell::new(0);
    let on_step = |report: &StepReport| *told.borrow_mut() += report.warnings.len();
    let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
    let watch = Watch {
        on_phase: &|_, _| (),
        on_step: &on_step,
        on_alarm: &|_| (),
        stop: &stop,
        dog: &dog,
    };
    let mut session = create(&dir, &config);
    fs::write(session.dir().join("tensorboard"), "a file in place of the folder").unwrap();
    (1..=3).for_each(|step| session.step(report(step), &no_suspects, watch).unwrap());
    let warnings = events(&session).into_iter().filter_map(|event| match event {
        Event::Warning { code, message } => Some((code, message)),
        _ => None,
    });
    let warnings: Vec<(String, String)> = warnings.collect();
    assert!(
        matches!(&warnings[..], [(code, message)] if code == "tensorboard" && message.contains("whet runs tensorboard")),
        "{warnings:?}"
    );
    assert_eq!(told.take(), 1);
    // A resumed run tells of it in a step that is recorded already; what that step warned of before is not told again.
    drop(session);
    let (mut session, _) = resume(&dir, &config);
    let warned = Warning { code: "odd".to_owned(), message: "as before".to_owned() };
    session.step(StepReport { warnings: vec![warned], ..report(1) }, &no_suspects, watch).unwrap();
    assert_eq!(told.take(), 1);
}
