//! Traces that are there already: left alone, completed, replaced, or refused.

use std::fs;

use crate::common::Fake;
use crate::school::{Lesson, School, StandIn, task};
use serde_json::json;
use whetstone_record::journal::Journal;
use whetstone_rollout::teach::{Earlier, TeachError};

fn school(folder: &std::path::Path) -> School {
    let tasks: String = (0..4).map(|n| task(&format!("t/{n}"), "")).collect();
    School::new(folder, &tasks)
}

/// A school with three samples of four tasks in `out.jsonl`, and no journal.
fn finished(folder: &std::path::Path) -> School {
    let school = school(folder);
    school
        .teach("out.jsonl", &Lesson::of(&StandIn::default(), &Fake::default()))
        .expect("it works");
    school
}

#[test]
fn finished_traces_are_left_alone_unless_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let school = finished(dir.path());
    let before = school.read("out.jsonl");
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let err = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(matches!(err, TeachError::OutputExists { .. }) && err.is_usage(), "{err}");
    assert!(err.hint().unwrap().contains("--only-missing"));
    assert!(teacher.asked().is_empty() && !school.path("out.jsonl.journal").exists());
    let fresh = Lesson { earlier: Earlier::Forget, ..Lesson::of(&teacher, &judge) };
    let report = school.teach("out.jsonl", &fresh).unwrap();
    assert_eq!((report.requests, report.resumed), (12, 0));
    assert_eq!(school.read("out.jsonl"), before);
}

#[test]
fn what_is_missing_is_asked_for_and_the_rest_stays_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let school = finished(dir.path());
    let whole = school.read("out.jsonl");
    // Two traces are gone, one lost its verdict, one has a field of somebody else's.
    let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    let judged = lines.iter().position(|line| line.contains("\"verdict\":\"pass\"")).unwrap();
    lines[judged] = lines[judged].replace("\"verdict\":\"pass\"", "\"verdict\":null");
    let own = |line: &str| format!("{},\"mine\":1.50}}", &line[..line.len() - 1]);
    let kept = usize::from(judged == 0);
    lines[kept] = own(&lines[kept]);
    let rest: Vec<_> = (0..12).filter(|at| ![5, 9].contains(at) || *at == judged).collect();
    let left: String = rest.iter().map(|&at| lines[at].clone() + "\n").collect();
    fs::write(school.path("out.jsonl"), left).unwrap();

    let (teacher, judge) = (StandIn::default(), Fake::default());
    let complete = Lesson { earlier: Earlier::Complete, ..Lesson::of(&teacher, &judge) };
    let report = school.teach("out.jsonl", &complete).unwrap();
    assert_eq!(report.requests, 12 - rest.len() as u64);
    assert_eq!(report.resumed, rest.len() as u64);
    let expected: Vec<_> = whole.lines().map(str::to_owned).collect();
    let written: Vec<_> = school.read("out.jsonl").lines().map(str::to_owned).collect();
    for (at, (written, expected)) in written.iter().zip(&expected).enumerate() {
        let expected = if at == kept { own(expected) } else { expected.clone() };
        assert_eq!(*written, expected);
    }
    assert_eq!(written.len(), 12);
}

#[test]
fn more_samples_and_more_tasks_add_to_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let school = school(dir.path());
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let lesson = |samples, max_tasks| Lesson {
        samples,
        max_tasks,
        earlier: Earlier::Complete,
        ..Lesson::of(&teacher, &judge)
    };
    for (samples, max_tasks, asked, there) in [
        (2, Some(1), 2, 2),
        (1, None, 3, 5),
        (3, Some(2), 3, 8),
        (3, None, 4, 12),
        (1, None, 0, 12),
    ] {
        let report = school.teach("out.jsonl", &lesson(samples, max_tasks)).unwrap();
        assert_eq!((report.requests, report.responses), (asked, there));
    }
    let other = tempfile::tempdir().unwrap();
    assert_eq!(school.read("out.jsonl"), finished(other.path()).read("out.jsonl"));
}

#[test]
fn traces_of_something_else_are_refused_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let school = finished(dir.path());
    let whole = school.read("out.jsonl");
    let first = whole.lines().next().unwrap();
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let complete = Lesson { earlier: Earlier::Complete, ..Lesson::of(&teacher, &judge) };
    for (bad, reason) in [
        (first.replace("\"t/0\"", "\"u/0\""), "`u/0` is no task of"),
        (first.replace("Solve t/0.", "Solve it."), "the prompt of task `t/0` is another one now"),
        (first.replace("\"sample\":0", "\"sample\":4000000000"), "is not below 10000"),
        (first.to_owned(), "this sample stands already above"),
    ] {
        fs::write(school.path("out.jsonl"), format!("{whole}{bad}\n")).unwrap();
        let err = school.teach("out.jsonl", &complete).unwrap_err();
        assert!(err.is_usage() && err.to_string().contains(reason), "{err}");
        assert!(err.to_string().contains("out.jsonl:13: "), "{err}");
        assert!(!school.path("out.jsonl.journal").exists());
    }
    fs::write(school.path("out.jsonl"), format!("{whole}{{\"v\":1}}\n")).unwrap();
    let err = school.teach("out.jsonl", &complete).unwrap_err();
    assert!(err.to_string().contains("out.jsonl:13: not a trace"), "{err}");
    assert!(teacher.asked().is_empty());
}

#[test]
fn a_run_that_was_killed_while_it_took_traces_over_takes_them_over_again() {
    let dir = tempfile::tempdir().unwrap();
    let school = finished(dir.path());
    let whole = school.read("out.jsonl");
    let (mut journal, _) = Journal::open(&school.path("out.jsonl.journal")).unwrap();
    let settings = json!([["teacher.model_name", "stand-in"]]);
    let header = json!({"teaching": {"version": 1, "imports": true, "settings": settings}});
    journal.append(&header).unwrap();
    let first: serde_json::Value = serde_json::from_str(whole.lines().next().unwrap()).unwrap();
    journal.append(&json!({"trace": first})).unwrap();
    drop(journal);
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let report = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap();
    assert_eq!((report.requests, report.resumed), (0, 12));
    assert_eq!(school.read("out.jsonl"), whole);
}

#[test]
fn only_the_same_questions_go_on_with_a_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = school(dir.path());
    let gone = StandIn::moody(|number, _| (number >= 3).then(|| Err(crate::school::stopped())));
    let judge = Fake::default();
    school.teach("out.jsonl", &Lesson::of(&gone, &judge)).unwrap_err();
    let journal = school.read("out.jsonl.journal");

    school.settings[0].1.push_str("-2");
    let teacher = StandIn::default();
    let err = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(err.is_usage() && err.to_string().contains("teacher.model_name changed"), "{err}");
    school.settings[0].1 = "stand-in".to_owned();
    // With the same settings, but without the tasks that were answered.
    fs::write(school.path("tasks.jsonl"), task("other", "")).unwrap();
    let err = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(err.is_usage() && err.to_string().contains("is no task of"), "{err}");
    assert!(teacher.asked().is_empty());
    assert_eq!(school.read("out.jsonl.journal"), journal);
    fs::write(school.path("out.jsonl.journal"), "notes of mine\n").unwrap();
    let err = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(matches!(err, TeachError::Batch(_)) && err.is_usage(), "{err}");
    assert_eq!(school.read("out.jsonl.journal"), "notes of mine\n");
}
