//! What is asked, kept and written.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::Fake;
use crate::school::{Lesson, School, StandIn, answer, failed, stopped, task};
use whetstone_record::batch::BatchError;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{Embedded, TeachError, Tokens};

fn tasks(count: u32) -> String {
    (0..count).map(|n| task(&format!("t/{n}"), "")).collect()
}

/// What an undisturbed run writes.
fn undisturbed(school: &School, per_request: u32) -> String {
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let lesson = Lesson { per_request, ..Lesson::of(&teacher, &judge) };
    school.teach("whole.jsonl", &lesson).expect("it works");
    school.read("whole.jsonl")
}

#[test]
fn every_sample_of_every_task_is_asked_judged_and_written_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(5));
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let report = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap();
    let traces = school.traces("out.jsonl");
    let places: Vec<_> =
        traces.iter().map(|t| (t["task_id"].clone(), t["sample"].clone())).collect();
    let expected: Vec<_> =
        (0..5).flat_map(|n| (0..3).map(move |s| (format!("t/{n}").into(), s.into()))).collect();
    assert_eq!(places, expected);
    let seeds: HashSet<_> = teacher.asked().into_iter().map(|(_, seed)| seed).collect();
    assert_eq!((seeds.len(), report.requests), (15, 15), "each sample has its own seed");
    for trace in &traces {
        let code = trace["code"].as_str();
        let verdict = match code {
            None => "no_code",
            Some(code) if code.contains("PASS") => "pass",
            Some(code) if code.contains("RAISES") => "raised",
            Some(_) => "wrong",
        };
        assert_eq!(trace["verdict"], verdict, "{trace}");
        assert_eq!(trace["thinking"], "Let me see.");
        assert!(trace["prompt"].as_str().unwrap().contains("Solve t/"), "{trace}");
    }
    let count = |verdict: &str| traces.iter().filter(|t| t["verdict"] == verdict).count() as u64;
    assert_eq!((report.responses, report.with_thinking, report.passing), (15, 15, count("pass")));
    assert_eq!(report.parse_failures, count("no_code"));
    assert_eq!(report.with_code, 15 - count("no_code"));
    assert_eq!(report.valid_python, report.with_code);
    assert_eq!(report.tokens, Tokens { prompt: 150, completion: 105 });
    assert!(!school.path("out.jsonl.journal").exists(), "nothing is missing");
}

#[test]
fn what_fails_is_counted_with_its_reason_and_asked_again_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(6));
    let whole = undisturbed(&school, 1);
    let judge = Fake::default();
    let bad = StandIn::moody(|_, question| match question.seed % 3 {
        0 => Some(Err(failed("timeout"))),
        1 => Some(Err(failed("server_error"))),
        _ => None,
    });
    let report = school.teach("out.jsonl", &Lesson::of(&bad, &judge)).unwrap();
    let counted: u64 = report.failures.values().map(|failure| failure.samples).sum();
    assert!(report.failed > 0 && report.responses > 0, "{report:?}");
    assert_eq!((counted, report.failed + report.responses), (report.failed, 18));
    assert_eq!(report.failures["timeout"].example, "timeout, in detail");
    assert!(report.is_incomplete() && school.path("out.jsonl.journal").exists());

    let good = StandIn::default();
    let again = school.teach("out.jsonl", &Lesson::of(&good, &judge)).unwrap();
    assert_eq!((again.requests, again.resumed), (report.failed, report.responses));
    assert!(good.asked().iter().all(|(_, seed)| seed % 3 != 2), "what is stored is not asked");
    assert_eq!(school.read("out.jsonl"), whole);
    assert!(!school.path("out.jsonl.journal").exists());
}

#[test]
fn of_an_answer_with_fewer_completions_the_rest_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(2));
    let judge = Fake::default();
    let stingy = StandIn::moody(|_, question| Some(Ok(answer(question, question.samples.min(2)))));
    let lesson = Lesson { samples: 7, per_request: 4, ..Lesson::of(&stingy, &judge) };
    let report = school.teach("out.jsonl", &lesson).unwrap();
    // Of each task: 4 as 2 + 2, then 3 as 2 + 1.
    assert_eq!((report.responses, report.requests, report.failed), (14, 8, 0));
    let seeds: HashSet<_> = stingy.asked().into_iter().map(|(_, seed)| seed).collect();
    assert_eq!(seeds.len(), 8, "the rest is not asked with the same seed");
    let traces = school.traces("out.jsonl");
    let usage: u64 = traces.iter().map(|t| t["usage"]["completion_tokens"].as_u64().unwrap()).sum();
    assert_eq!(usage, 8 * 7, "what an answer cost is divided among its traces");

    let empty = StandIn::moody(|_, question| Some(Ok(answer(question, 0))));
    let report = school.teach("none.jsonl", &Lesson::of(&empty, &judge)).unwrap();
    assert_eq!((report.responses, report.failed, report.requests), (0, 6, 6));
}

#[test]
fn a_teacher_that_is_gone_ends_the_run_and_what_it_said_is_kept() {
    for per_request in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let school = School::new(dir.path(), &tasks(8));
        let whole = undisturbed(&school, per_request);
        let mut seen = HashSet::new();
        for last in [0, 1, 3, 2, 5] {
            let gone = StandIn::moody(move |number, _| (number >= last).then(|| Err(stopped())));
            let judge = Fake::default();
            let lesson = Lesson { per_request, ..Lesson::of(&gone, &judge) };
            let err = school.teach("out.jsonl", &lesson).unwrap_err();
            let TeachError::Stopped { message, stored, .. } = err else { panic!("{err}") };
            assert_eq!(message, "the server is gone");
            for question in gone.asked().into_iter().take(last) {
                assert!(seen.insert(question), "an answer that was stored is asked for again");
            }
            assert_eq!(stored, stored_in(&school));
            assert!(!school.path("out.jsonl").exists(), "an output before the end");
        }
        let (teacher, judge) = (StandIn::default(), Fake::default());
        let lesson = Lesson { per_request, ..Lesson::of(&teacher, &judge) };
        school.teach("out.jsonl", &lesson).unwrap();
        assert!(teacher.asked().iter().all(|question| !seen.contains(question)));
        assert_eq!(school.read("out.jsonl"), whole);
    }
}

/// Samples that stand in the journal.
fn stored_in(school: &School) -> u64 {
    let journal = school.read("out.jsonl.journal");
    let answers = journal.lines().filter(|line| line.contains("\"answer\":"));
    answers.map(|line| line.matches("\"finish\":").count() as u64).sum()
}

#[test]
fn a_verdict_that_is_missing_is_judged_again_and_not_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(3));
    let whole = undisturbed(&school, 1);
    let teacher = StandIn::default();
    let report = school.teach("out.jsonl", &Lesson::of(&teacher, &Broken)).unwrap();
    assert_eq!(report.errors["no zygote"], report.unjudged);
    assert_eq!(report.unjudged, report.with_code);
    assert!(school.traces("out.jsonl").iter().any(|trace| trace["verdict"].is_null()));

    let (nobody, judge) = (StandIn::moody(|_, _| Some(Err(stopped()))), Fake::default());
    let again = school.teach("out.jsonl", &Lesson::of(&nobody, &judge)).unwrap();
    assert_eq!((again.requests, u64::from(judge.calls())), (0, report.unjudged));
    assert_eq!(school.read("out.jsonl"), whole);
}

/// A judge whose machine breaks at every second program.
#[derive(Default, Clone)]
struct Shaky {
    whole: Fake,
    calls: Arc<AtomicU64>,
}

impl whetstone_sandbox::job::Judging for Shaky {
    fn judge(
        &self,
        job: whetstone_sandbox::job::Job<'_>,
    ) -> Result<whetstone_core::Judgement, whetstone_sandbox::job::Unjudged> {
        match self.calls.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => self.whole.judge(job),
            _ => Err(whetstone_core::Infrastructure("no zygote".to_owned()).into()),
        }
    }
}

#[test]
fn a_verdict_that_is_there_is_not_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(4));
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let first = school.teach("out.jsonl", &Lesson::of(&teacher, &Shaky::default())).unwrap();
    assert!(first.unjudged > 0 && first.unjudged < first.with_code, "{first:?}");
    school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap();
    assert_eq!(u64::from(judge.calls()), first.unjudged);
}

#[test]
fn completions_that_nobody_asked_for_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(2));
    let generous = StandIn::moody(|_, question| Some(Ok(answer(question, question.samples + 3))));
    let report = school.teach("out.jsonl", &Lesson::of(&generous, &Fake::default())).unwrap();
    assert_eq!((report.responses, report.requests, report.failed), (6, 6, 0));
}

/// A judge for which every task's tests are broken.
#[derive(Clone)]
struct BadTests;

impl whetstone_sandbox::job::Judging for BadTests {
    fn judge(
        &self,
        _: whetstone_sandbox::job::Job<'_>,
    ) -> Result<whetstone_core::Judgement, whetstone_sandbox::job::Unjudged> {
        Err(whetstone_sandbox::job::Unjudged::BrokenTests("no such name".to_owned()))
    }
}

#[test]
fn broken_tests_are_named_and_are_no_reason_to_try_again() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(2));
    let teacher = StandIn::default();
    let report = school.teach("out.jsonl", &Lesson::of(&teacher, &BadTests)).unwrap();
    // A reply without code needs no test.
    let judged: u64 = report.verdicts.values().sum();
    assert_eq!((report.broken_tests + judged, report.unjudged, report.responses), (6, 0, 6));
    assert_eq!(report.broken_tasks["t/1"], "no such name");
    assert!(!report.is_incomplete() && !school.path("out.jsonl.journal").exists());
}

/// A judge whose machine is broken.
#[derive(Clone)]
struct Broken;

impl whetstone_sandbox::job::Judging for Broken {
    fn judge(
        &self,
        _: whetstone_sandbox::job::Job<'_>,
    ) -> Result<whetstone_core::Judgement, whetstone_sandbox::job::Unjudged> {
        Err(whetstone_core::Infrastructure("no zygote".to_owned()).into())
    }
}

#[test]
fn without_a_judge_only_syntax_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &tasks(4));
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let lesson = Lesson { judge: None, ..Lesson::of(&teacher, &judge) };
    let report = school.teach("out.jsonl", &lesson).unwrap();
    assert_eq!((report.not_run, report.unjudged), (report.with_code, 0));
    assert_eq!(report.verdicts.keys().collect::<Vec<_>>(), ["no_code"]);
    assert!(!school.path("out.jsonl.journal").exists(), "nobody asked for more");
}

#[test]
fn a_second_run_on_the_same_output_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let school = Arc::new(School::new(dir.path(), &tasks(1)));
    let refused = Arc::new(AtomicU64::new(0));
    let (same, count) = (Arc::clone(&school), Arc::clone(&refused));
    let teacher = StandIn::moody(move |_, _| {
        let (other, judge) = (StandIn::default(), Fake::default());
        let err = same.teach("out.jsonl", &Lesson::of(&other, &judge)).unwrap_err();
        assert!(err.hint().unwrap().starts_with("wait for the other process to end"), "{err}");
        assert!(other.asked().is_empty());
        count.fetch_add(1, Ordering::Relaxed);
        None
    });
    school.teach("out.jsonl", &Lesson::of(&teacher, &Fake::default())).unwrap();
    assert_eq!(refused.load(Ordering::Relaxed), 3);
}

#[test]
fn embedded_traces_need_no_server_and_tasks_without_one_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let trace =
        "<think>\\nSame.\\n</think>\\n\\n```python\\ndef f(x):\\n    return x  # PASS\\n```\\n";
    let lines =
        [task("a", &format!(",\"trace\":\"{trace}\"")), task("b", ""), task("c", ",\"trace\":7")];
    let school = School::new(dir.path(), &lines.concat());
    let judge = Fake::default();
    let lesson = Lesson { samples: 1, ..Lesson::of(&Embedded, &judge) };
    let report = school.teach("out.jsonl", &lesson).unwrap();
    assert_eq!((report.responses, report.passing, report.without_trace), (1, 1, 2));
    assert!(!report.is_incomplete());
    let traces = school.traces("out.jsonl");
    assert_eq!(
        (&traces[0]["thinking"], &traces[0]["model"]),
        (&"Same.".into(), &"embedded".into())
    );
    assert!(traces[0].get("usage").is_none());
}

#[test]
fn bad_tasks_and_outputs_are_refused_or_counted() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &(tasks(1) + "nonsense\n" + &tasks(1)));
    let (teacher, judge) = (StandIn::default(), Fake::default());
    let strict = Lesson { bad_lines: BadLines::Refuse, ..Lesson::of(&teacher, &judge) };
    let err = school.teach("out.jsonl", &strict).unwrap_err();
    let TeachError::BadTasks { count: 2, first, .. } = &err else { panic!("{err}") };
    assert_eq!((first[0].line, first[1].line), (2, 3));
    assert!(err.is_usage() && teacher.asked().is_empty());
    let report = school.teach("out.jsonl", &Lesson::of(&teacher, &judge)).unwrap();
    assert_eq!((report.tasks, report.bad_tasks, report.responses), (1, 2, 3));
    let err = school.teach("no/out.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(matches!(err, TeachError::NoFolder { .. }) && err.is_usage(), "{err}");
    let err = school.teach("tasks.jsonl", &Lesson::of(&teacher, &judge)).unwrap_err();
    assert!(
        matches!(err, TeachError::Batch(BatchError::SameFile { .. })) && err.is_usage(),
        "{err}"
    );
}
