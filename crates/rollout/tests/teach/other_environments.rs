//! Tasks of an environment that runs no programs.

use crate::common::Fake;
use crate::school::{Lesson, School, StandIn, task};
use whetstone_core::completion::{Completion, Finish};
use whetstone_rollout::teach::TeacherAnswer;

/// A task to guess a number.
pub(crate) fn guess(number: u32) -> String {
    let body = format!(r#"{{"kind":"guess","number":{number}}}"#);
    format!("{{\"id\":\"g/{number}\",\"statement\":\"Guess {number}?\",\"body\":{body}}}\n")
}

/// A teacher that always says 7.
fn sevens() -> StandIn {
    StandIn::moody(|_, question| {
        let text = "7".to_owned();
        let completion = Completion { text, reasoning: None, finish: Finish::Stop, tokens: None };
        let completions = vec![completion; question.samples as usize];
        Some(Ok(TeacherAnswer { model: "sevens".to_owned(), completions, usage: None }))
    })
}

#[test]
fn one_reply_is_judged_by_the_environment_of_its_task_and_no_judge_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &[guess(3), guess(7)].concat());
    school.config.env.max_turns = 1;
    let (teacher, judge) = (sevens(), Fake::default());
    // Starting a judge would be an error there.
    let lesson = Lesson { judge: None, ..Lesson::of(&teacher, &judge) };
    let report = school.teach("out.jsonl", &lesson).unwrap();
    let verdicts: Vec<_> =
        school.traces("out.jsonl").iter().map(|trace| trace["verdict"].clone()).collect();
    assert_eq!(verdicts, ["unsolved", "unsolved", "unsolved", "solved", "solved", "solved"]);
    let trace = &school.traces("out.jsonl")[0];
    assert_eq!((&trace["prompt"], &trace["code"]), (&"Guess 3?".into(), &serde_json::Value::Null));
    assert_eq!(teacher.asked()[0].0, "Guess 3?");
    assert_eq!((report.passing, report.solved_tasks, report.parse_failures), (3, 1, 0));
    assert!(!school.path("out.jsonl.journal").exists(), "nothing is missing");
}

#[test]
fn an_interrupted_run_with_programs_and_other_tasks_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &[guess(7), task("p/1", "")].concat());
    school.config.env.max_turns = 1;
    let (teacher, judge) = (sevens(), Fake::default());
    school.teach("whole.jsonl", &Lesson::of(&teacher, &judge)).unwrap();
    let gone = StandIn::moody(|number, question| match number {
        0..=3 => (sevens().mood.expect("it has one"))(number, question),
        _ => Some(Err(crate::school::stopped())),
    });
    let one_by_one = Lesson { in_flight: 1, ..Lesson::of(&gone, &judge) };
    school.teach("out.jsonl", &one_by_one).unwrap_err();
    let rest = sevens();
    let report = school.teach("out.jsonl", &Lesson::of(&rest, &judge)).unwrap();
    assert_eq!((report.resumed, report.requests), (4, 2));
    assert_eq!(school.read("out.jsonl"), school.read("whole.jsonl"));
}
