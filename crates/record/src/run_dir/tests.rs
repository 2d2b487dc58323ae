//! Runs that are created, killed half way, resumed, read and fought over.

use std::io::Write;

use super::*;
use crate::error::{JournalError, ReadError};
use crate::event::Outcome;

fn started() -> TimedEvent {
    let (command, version) = ("grpo".to_owned(), "0.1.0".to_owned());
    TimedEvent { time_ms: 1, event: Event::RunStarted { command, version, seed: 7 } }
}

fn finished() -> TimedEvent {
    let event = Event::RunFinished { outcome: Outcome::Completed, message: String::new() };
    TimedEvent { time_ms: 3, event }
}

fn events(view: &RunView) -> Vec<TimedEvent> {
    view.events().unwrap().map(|event| event.unwrap().1).collect()
}

/// What the creation of a run leaves on the disk, step by step, up to the config's last step.
const REMAINS: [fn(&Path); 7] = [
    |dir| fs::write(dir.join("run.lock"), "pid 4194305\n").unwrap(),
    |dir| fs::create_dir(dir.join("rollouts")).unwrap(),
    |dir| fs::create_dir(dir.join("outputs")).unwrap(),
    |dir| fs::create_dir(dir.join("logs")).unwrap(),
    |dir| fs::write(dir.join("events.jsonl"), "").unwrap(),
    |dir| Cursors::default().save(&dir.join("cursors.json")).unwrap(),
    |dir| fs::write(dir.join(".config.toml.4194305.0.whet-tmp"), "[torn").unwrap(),
];

/// Tries to create a run where `prepare` has been; returns the error.
#[track_caller]
fn refused(prepare: impl FnOnce(&Path)) -> RunError {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a");
    fs::create_dir(&dir).unwrap();
    prepare(&dir);
    RunDir::create(root.path(), "a", "", 0).unwrap_err()
}

#[test]
fn a_new_run_has_all_its_parts() {
    let root = tempfile::tempdir().unwrap();
    let run = RunDir::create(&root.path().join("deep/runs"), "a", "seed = 7\n", 0).unwrap();
    let view = run.view();
    assert_eq!(view.config_text().unwrap(), "seed = 7\n");
    assert_eq!(view.cursors().unwrap(), Cursors::default());
    assert!(view.rollouts_dir().is_dir() && view.outputs_dir().is_dir());
    assert!(view.logs_dir().is_dir());
    assert_eq!(events(view), []);
}

#[test]
fn a_run_is_resumed_where_it_stopped_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(root.path(), "a", "", 0).unwrap();
    run.append_event(&started()).unwrap();
    let torn = run.view().events_path();
    drop(run);
    fs::File::options().append(true).open(torn).unwrap().write_all(b"{\"seq\":1,").unwrap();

    let (mut run, recovery) = RunDir::resume(root.path(), "a", 2).unwrap();
    assert_eq!((recovery.last_seq, recovery.cut_bytes), (Some(0), 9));
    assert_eq!(run.append_event(&finished()).unwrap(), 2);
    let event = Event::RunResumed { cut_bytes: 9, last_seq: Some(0) };
    let resumed = TimedEvent { time_ms: 2, event };
    assert_eq!(events(run.view()), [started(), resumed, finished()]);
}

#[test]
fn a_run_can_be_read_while_it_is_written() {
    let root = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(root.path(), "a", "", 0).unwrap();
    let view = RunDir::open_read_only(root.path(), "a").unwrap();
    run.append_event(&started()).unwrap();
    assert_eq!(events(&view), [started()]);
    fs::File::options().append(true).open(view.events_path()).unwrap().write_all(b"{").unwrap();
    let seen: Vec<_> = view.events().unwrap().collect();
    assert!(matches!(&seen[..], [Ok(_), Err(ReadError::Torn { line: 2, bytes: 1, .. })]));
}

#[test]
fn cursors_are_saved_after_the_events_they_count() {
    let root = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(root.path(), "a", "", 0).unwrap();
    let mut cursors = Cursors::default();
    cursors.set("events", run.append_event(&started()).unwrap());
    run.save_cursors(&cursors).unwrap();
    drop(run);
    let (run, _) = RunDir::resume(root.path(), "a", 0).unwrap();
    assert_eq!(run.view().cursors().unwrap(), cursors);
}

#[test]
fn cursors_stay_behind_when_the_events_do_not_reach_the_disk() {
    let root = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(root.path(), "a", "", 0).unwrap();
    run.events = Journal::with_failing_sync(&run.view.events_path());
    let mut cursors = Cursors::default();
    cursors.set("events", run.append_event(&started()).unwrap());
    let err = run.save_cursors(&cursors).unwrap_err();
    assert!(matches!(err, RunError::Journal(JournalError::Sync { .. })), "{err}");
    assert!(run.view().cursors().unwrap().is_empty());
}

#[test]
fn an_existing_run_is_not_created_again() {
    let root = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(root.path(), "a", "first", 0).unwrap();
    run.append_event(&finished()).unwrap();
    drop(run);
    let err = RunDir::create(root.path(), "a", "second", 0).unwrap_err();
    assert!(matches!(err, RunError::Exists { .. }), "{err}");
    assert_eq!(err.hint(), Some("choose another name, or resume the run"));
    let view = RunDir::open_read_only(root.path(), "a").unwrap();
    assert_eq!(view.config_text().unwrap(), "first");
}

#[test]
fn a_kill_anywhere_in_creation_can_be_created_over() {
    for done in 0..=REMAINS.len() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a");
        fs::create_dir(&dir).unwrap();
        REMAINS[..done].iter().for_each(|leave| leave(&dir));

        let err = RunDir::resume(root.path(), "a", 0).unwrap_err();
        assert!(matches!(err, RunError::Incomplete { missing: "config.toml", .. }), "{err}");
        let mut run = RunDir::create(root.path(), "a", "whole", 0).unwrap();
        assert_eq!(run.append_event(&started()).unwrap(), 0);
        assert_eq!(run.view().config_text().unwrap(), "whole");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 7, "after {done} steps");
    }
}

#[test]
fn a_run_of_which_only_the_start_is_recorded_is_created_over() {
    let root = tempfile::tempdir().unwrap();
    let view = |root: &Path| RunDir::open_read_only(root, "a").unwrap();
    let mut run = RunDir::create(root.path(), "a", "first", 0).unwrap();
    run.append_event(&started()).unwrap();
    assert!(view(root.path()).has_begun(), "somebody writes it");
    drop(run);
    drop(RunDir::resume(root.path(), "a", 1).unwrap());
    let dir = root.path().join("a");
    fs::File::options()
        .append(true)
        .open(dir.join("events.jsonl"))
        .unwrap()
        .write_all(b"{\"seq\":2")
        .unwrap();
    fs::create_dir(dir.join(".inputs.4194305.0.whet-tmp")).unwrap();
    assert!(!view(root.path()).has_begun());
    let mut run = RunDir::create(root.path(), "a", "second", 2).unwrap();
    assert_eq!(run.append_event(&started()).unwrap(), 0);
    assert_eq!(
        (events(run.view()), run.view().config_text().unwrap()),
        (vec![started()], "second".to_owned())
    );
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 7);
}

#[test]
fn a_run_in_which_anything_happened_or_that_has_a_file_is_never_created_over() {
    type Case = fn(&mut RunDir, &Path);
    let metrics = |run: &mut RunDir, _: &Path| {
        let values = std::iter::once(("loss".to_owned(), 1.0)).collect();
        let event = Event::Metrics { stage: "sft".to_owned(), step: 1, values };
        run.append_event(&TimedEvent { time_ms: 2, event }).unwrap();
    };
    let cases: [Case; 6] = [
        metrics,
        |_, dir| fs::create_dir(dir.join("outputs/checkpoint-1")).unwrap(),
        |_, dir| fs::write(dir.join("rollouts/rollouts.jsonl"), "").unwrap(),
        |_, dir| fs::create_dir(dir.join("inputs")).unwrap(),
        |_, dir| fs::write(dir.join("stages.json"), "{}").unwrap(),
        |_, dir| fs::write(dir.join("events.jsonl"), "no record\n").unwrap(),
    ];
    for (at, happen) in cases.into_iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "first", 0).unwrap();
        run.append_event(&started()).unwrap();
        happen(&mut run, &root.path().join("a"));
        drop(run);
        assert!(RunDir::open_read_only(root.path(), "a").unwrap().has_begun(), "case {at}");
        let err = RunDir::create(root.path(), "a", "second", 0).unwrap_err();
        assert!(matches!(err, RunError::Exists { .. }), "case {at}: {err}");
        let view = RunDir::open_read_only(root.path(), "a").unwrap();
        assert_eq!(view.config_text().unwrap(), "first", "case {at}");
    }
    // A config of somebody else is not that of a run.
    let err = refused(|dir| fs::write(dir.join("config.toml"), "mine").unwrap());
    assert!(matches!(err, RunError::Exists { .. }), "{err}");
}

#[test]
fn a_directory_with_anything_in_it_is_left_alone() {
    type Case = (fn(&Path), &'static str);
    let occupied: [Case; 5] = [
        (|dir| fs::write(dir.join("thesis.tex"), "").unwrap(), "thesis.tex"),
        (|dir| fs::write(dir.join("events.jsonl"), "{}\n").unwrap(), "events.jsonl"),
        (|dir| fs::write(dir.join("cursors.json"), "{}\n").unwrap(), "cursors.json"),
        (|dir| fs::create_dir_all(dir.join("outputs/checkpoint-40")).unwrap(), "outputs"),
        (|dir| fs::create_dir(dir.join("events.jsonl")).unwrap(), "events.jsonl"),
    ];
    for (prepare, expected) in occupied {
        let err = refused(prepare);
        assert!(matches!(&err, RunError::Occupied { entry, .. } if entry == expected), "{err}");
    }
}

#[test]
fn two_writers_never_share_a_run() {
    let root = tempfile::tempdir().unwrap();
    let first = RunDir::create(root.path(), "a", "", 0).unwrap();
    let err = RunDir::resume(root.path(), "a", 0).unwrap_err();
    assert!(matches!(err, RunError::Locked { pid, .. } if pid == Some(std::process::id())));
    drop(first);
    RunDir::resume(root.path(), "a", 0).unwrap();
}

#[test]
fn a_run_that_is_not_there_or_not_whole_is_not_resumed() {
    let root = tempfile::tempdir().unwrap();
    let err = RunDir::resume(root.path(), "a", 0).unwrap_err();
    assert!(matches!(err, RunError::NotFound { .. }), "{err}");
    let run = RunDir::create(root.path(), "a", "", 0).unwrap();
    fs::remove_file(run.view().events_path()).unwrap();
    drop(run);
    let err = RunDir::resume(root.path(), "a", 0).unwrap_err();
    assert!(matches!(err, RunError::Incomplete { missing: "events.jsonl", .. }), "{err}");
}

#[test]
fn a_bad_name_touches_nothing() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("runs");
    for name in ["../a", "", "a/b", ".a"] {
        let err = RunDir::create(&runs, name, "", 0).unwrap_err();
        assert!(matches!(err, RunError::Name { .. }), "{err}");
        let err = RunDir::resume(&runs, name, 0).unwrap_err();
        assert!(matches!(err, RunError::Name { .. }), "{err}");
    }
    assert!(!runs.exists());
}
