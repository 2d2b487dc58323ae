//! A model evaluated into a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tempfile::TempDir;
use whetstone_core::{Seed, Task};
use whetstone_eval::{
    About, Comparison, Decoding, Earlier, EvalError, Evaluating, RESULTS, ROLLOUTS, Results,
    Sampled, evaluate,
};

use crate::coin::{Coin, collecting, tasks};

const SAMPLES: usize = 4;

fn about() -> About {
    let settings = BTreeMap::from([("eval.temperature".to_owned(), "1".to_owned())]);
    About { model: "coin".to_owned(), k: vec![1, 4], settings, ..About::default() }
}

/// What an evaluation is called, and what becomes of an earlier one.
#[derive(Clone, Copy)]
struct How<'a> {
    about: &'a About,
    earlier: Earlier,
}

/// Who is evaluated on which tasks.
struct Subject<'a> {
    model: &'a mut Coin,
    tasks: &'a [Task],
}

/// When an evaluation ends, how many samples are collected together, and the further temperatures.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    most: usize,
    samples_at_a_time: usize,
    further: &'a [Decoding],
}

/// An evaluation of four samples a task and one beside them, which ends once `most` are judged; two tasks
/// at a time.
fn until(
    most: usize,
    dir: &Path,
    how: How<'_>,
    whom: Subject<'_>,
) -> Result<Option<Results>, EvalError> {
    evaluated(Bounds { most, samples_at_a_time: 8, further: &[] }, dir, how, whom)
}

/// The same with all tasks together.
fn all_at_once(
    most: usize,
    dir: &Path,
    how: How<'_>,
    whom: Subject<'_>,
) -> Result<Option<Results>, EvalError> {
    evaluated(Bounds { most, samples_at_a_time: 1000, further: &[] }, dir, how, whom)
}

fn evaluated(
    bounds: Bounds<'_>,
    dir: &Path,
    how: How<'_>,
    whom: Subject<'_>,
) -> Result<Option<Results>, EvalError> {
    let Bounds { most, samples_at_a_time, further } = bounds;
    let How { about, earlier } = how;
    let Subject { model, tasks } = whom;
    let stop = AtomicBool::new(false);
    let on_progress = |now: Sampled| stop.store(now.done >= most, Ordering::Relaxed);
    let evaluating = Evaluating {
        collecting: collecting(),
        about,
        tokenizer: None,
        keeps_tokens: false,
        samples: SAMPLES,
        with_greedy: true,
        further,
        samples_at_a_time,
        seed: Seed::new(7),
        directory: dir,
        earlier,
        on_progress: &on_progress,
        stop: &stop,
    };
    Ok(evaluate(&evaluating, model, tasks)?.map(|evaluated| evaluated.results))
}

fn whole(dir: &Path, tasks: &[Task]) -> Results {
    let how = How { about: &about(), earlier: Earlier::Resume };
    until(usize::MAX, dir, how, Subject { model: &mut Coin::default(), tasks }).unwrap().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn files(dir: &Path) -> [String; 2] {
    [ROLLOUTS, RESULTS].map(|name| fs::read_to_string(dir.join(name)).unwrap())
}

#[test]
fn every_sample_is_kept_and_counted_and_the_likeliest_apart() {
    let (dir, tasks) = (folder(), tasks(&["a", "long", "b"]));
    let results = whole(dir.path(), &tasks);
    let [rollouts, written] = files(dir.path());
    let lines: Vec<Value> =
        rollouts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3 * SAMPLES + 3);
    let greedy = lines.iter().filter(|line| line["meta"]["greedy"] == true);
    assert!(greedy.clone().all(|line| line["step"] == 1 && line["meta"]["temperature"] == 0.0));
    assert_eq!(greedy.count(), 3);
    assert!(lines.iter().all(|line| line["meta"].get("turns").is_none()), "no tokens are kept");
    let passed = |line: &&Value| line["step"] == 0 && line["validation"]["verdict"] == "pass";
    let passed = lines.iter().filter(passed).count() as u64;
    assert_eq!(results.verdicts["pass"], passed);
    assert_eq!(results.by_task.iter().map(|task| task.passed).sum::<u64>(), passed);
    assert_eq!((results.tasks, results.num_samples, results.cut_off), (3, 4, 4));
    assert_eq!(results.greedy.unwrap().tasks, 3);
    assert_eq!(results.by_source["none"].tasks, 3);
    assert_eq!(Results::read(dir.path()).unwrap(), results, "a directory stands for its results");
    assert_eq!(Results::read(&dir.path().join(RESULTS)).unwrap(), results);
    assert!(written.contains("\"v\": 1"), "{written}");
}

/// The coin always passes at 0.25, so the better temperature is known.
#[test]
fn samples_of_further_temperatures_are_counted_apart_and_sampled_again_after_a_stop() {
    let (dir, tasks) = (folder(), tasks(&["a", "b", "c", "broken"]));
    let further = [Decoding::at(0.25).unwrap()];
    let of = |most, dir: &Path| {
        let how = How { about: &about(), earlier: Earlier::Resume };
        let bounds = Bounds { most, samples_at_a_time: 8, further: &further };
        evaluated(bounds, dir, how, Subject { model: &mut Coin::default(), tasks: &tasks }).unwrap()
    };
    let alone = whole(folder().path(), &tasks);
    for most in [16, 24] {
        assert_eq!(of(most, dir.path()), None, "stopped");
    }
    let results = of(usize::MAX, dir.path()).unwrap();
    assert_eq!((&results.pass_at_k, results.greedy), (&alone.pass_at_k, alone.greedy));
    assert_eq!((results.verdicts.clone(), results.cut_off), (alone.verdicts, alone.cut_off));
    let cold = &results.by_temperature[&further[0]];
    assert_eq!(
        (cold.pass_at_k[&1].value.to_bits(), cold.pass_at_k[&4].tasks),
        (1.0_f64.to_bits(), 3)
    );
    let count = &results.by_task[1].by_temperature[&further[0]];
    assert_eq!((count.samples, count.passed), (4, 4));
    assert!(results.by_task[3].by_temperature.is_empty(), "nothing of it could be judged");
    let [rollouts, _] = files(dir.path());
    let line = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let marked: Vec<Value> = rollouts
        .lines()
        .map(line)
        .filter(|line| line["meta"]["further_temperature"] == 0.25)
        .collect();
    assert_eq!(marked.len(), 3 * SAMPLES + SAMPLES);
    assert!(marked.iter().all(|line| line["step"] == 2 && line["meta"]["temperature"] == 0.25));
    let again = Results::read(dir.path()).unwrap();
    assert_eq!(again, results);
    let better = Comparison::new(&results, &again, &[]).unwrap().better_temperature.unwrap();
    assert_eq!((better.before, better.after), (further[0], further[0]));
}

#[test]
fn an_evaluation_that_was_stopped_asks_for_what_is_missing_and_ends_the_same() {
    let tasks = tasks(&["a", "b", "c", "d", "e"]);
    let calm = folder();
    let expected = whole(calm.path(), &tasks);
    let dir = folder();
    let mut asked = 0;
    for most in [8, 16, 20] {
        let mut model = Coin::default();
        let ended = until(
            most,
            dir.path(),
            How { about: &about(), earlier: Earlier::Resume },
            Subject { model: &mut model, tasks: &tasks },
        );
        assert_eq!(ended.unwrap(), None, "stopped after {most}");
        asked += model.calls.iter().sum::<usize>();
    }
    let mut model = Coin::default();
    let how = How { about: &about(), earlier: Earlier::Resume };
    let found = until(usize::MAX, dir.path(), how, Subject { model: &mut model, tasks: &tasks })
        .unwrap()
        .unwrap();
    asked += model.calls.iter().sum::<usize>();
    assert_eq!(found, expected);
    // Only what was under way when it was stopped, a piece of two tasks at most, is asked for again.
    assert!((25..=25 + 3 * 8).contains(&asked), "{asked}");
    assert_eq!(files(dir.path()), files(calm.path()));
}

#[test]
fn a_task_is_kept_as_soon_as_all_of_it_is_judged() {
    let tasks = tasks(&["a", "b", "c", "d", "e"]);
    let (calm, dir) = (folder(), folder());
    whole(calm.path(), &tasks);
    let how = How { about: &about(), earlier: Earlier::Resume };
    // All twenty samples are asked for at once. Two judges take them in order: when nine are judged, one at
    // most of the first ten is not.
    let stopped =
        all_at_once(9, dir.path(), how, Subject { model: &mut Coin::default(), tasks: &tasks });
    assert_eq!(stopped.unwrap(), None);
    let mut model = Coin::default();
    all_at_once(usize::MAX, dir.path(), how, Subject { model: &mut model, tasks: &tasks })
        .unwrap()
        .unwrap();
    assert!(model.calls[0] <= 20 - SAMPLES, "{:?}", model.calls);
    assert_eq!(files(dir.path()), files(calm.path()), "in the order of the tasks");
}

#[test]
fn a_journal_of_other_settings_and_finished_results_are_left_alone() {
    let (dir, tasks) = (folder(), tasks(&["a", "b", "c"]));
    let how = How { about: &about(), earlier: Earlier::Resume };
    until(8, dir.path(), how, Subject { model: &mut Coin::default(), tasks: &tasks }).unwrap();
    let mut other = about();
    other.settings.insert("eval.temperature".to_owned(), "0.5".to_owned());
    let changed = until(
        99,
        dir.path(),
        How { about: &other, earlier: Earlier::Resume },
        Subject { model: &mut Coin::default(), tasks: &tasks },
    );
    let said = changed.unwrap_err().to_string();
    assert!(said.ends_with("other inputs: `eval.temperature` changed"), "{said}");
    whole(dir.path(), &tasks);
    let before = files(dir.path());
    let again = until(99, dir.path(), how, Subject { model: &mut Coin::default(), tasks: &tasks })
        .unwrap_err();
    assert!(matches!(again, EvalError::Exists { .. }) && again.is_usage(), "{again}");
    assert_eq!(files(dir.path()), before);
    let fresh = How { about: &other, earlier: Earlier::Forget };
    until(99, dir.path(), fresh, Subject { model: &mut Coin::default(), tasks: &tasks })
        .unwrap()
        .unwrap();
    assert_ne!(files(dir.path())[1], before[1]);
}

#[test]
fn what_the_machine_breaks_counts_nowhere_and_is_asked_for_again() {
    let (dir, tasks) = (folder(), tasks(&["a", "broken", "b"]));
    let results = whole(dir.path(), &tasks);
    assert_eq!(
        (results.errors, &results.errors_by_reason),
        (5, &BTreeMap::from([("no zygote".to_owned(), 5)]))
    );
    let one = results.pass_at_k[&1];
    assert_eq!((one.tasks, one.left_out), (2, 1));
    assert!(files(dir.path())[0].contains(r#""validation":{"error":"no zygote"}"#));
    let mut model = Coin::default();
    let how = How { about: &about(), earlier: Earlier::Resume };
    until(usize::MAX, dir.path(), how, Subject { model: &mut model, tasks: &tasks })
        .unwrap()
        .unwrap();
    assert_eq!(model.calls, [4, 1], "of the broken task only");
    let alone = &tasks[1..2];
    let err =
        until(99, folder().path(), how, Subject { model: &mut Coin::default(), tasks: alone })
            .unwrap_err();
    assert_eq!(err.to_string(), "cannot measure");
    assert!(!err.is_usage());
}

#[test]
fn what_is_no_file_of_results_is_refused_in_words() {
    let dir = folder();
    let said = |text: &str| {
        fs::write(dir.path().join(RESULTS), text).unwrap();
        Results::read(dir.path()).unwrap_err().to_string()
    };
    assert!(said("").contains("EOF"), "{}", said(""));
    assert!(said("{}").ends_with("field `v` is missing"));
    assert!(said(r#"{"v":1}"#).ends_with("it counts no task"));
    assert!(said(r#"{"v":2}"#).ends_with("version 2 is newer than this whet reads (1)"));
    assert!(said(r#"{"v":1,"by_task":[{"id":"a","samples":-1}]}"#).contains("-1"));
}
