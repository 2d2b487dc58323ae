//! Episodes of several turns: two turns of guessing a number.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use whetstone_core::completion::{Completion, Finish};
use whetstone_core::message::Role;
use whetstone_core::trace::Usage;
use whetstone_core::wire::Object;
use whetstone_rollout::teach::{
    Earlier, Embedded, NamedTeacher, Question, Refusal, TeacherAnswer, TeacherCounts,
};

use crate::common::Fake;
use crate::other_environments::guess;
use crate::school::{Lesson, School, StandIn, failed, stopped, task};

/// Numbers from 0 to 9, a task each.
fn numbers(count: u32) -> String {
    (0..count).map(guess).collect()
}

fn said(text: String, reasoning: Option<&str>) -> TeacherAnswer {
    let reasoning = reasoning.map(str::to_owned);
    let completion = Completion { text, reasoning, finish: Finish::Stop, tokens: None };
    let usage = Usage { prompt_tokens: 10, completion_tokens: 2, rest: Object::new() };
    TeacherAnswer {
        model: "guesser-2".to_owned(),
        completions: vec![completion],
        usage: Some(usage),
    }
}

/// The number of replies in a question's conversation.
fn turn(question: &Question<'_>) -> usize {
    question.messages.iter().filter(|message| message.role == Role::Assistant).count()
}

/// Says 5 first, and then a number that follows from the answer: 6 above it and 3 below.
fn answer(question: &Question<'_>) -> TeacherAnswer {
    let last = question.messages.last().expect("a message").content.as_str();
    match last {
        "Higher." => said("6".to_owned(), Some("It is above 5.")),
        "Lower." => said("<think>\nbelow\n</think>\n\n3".to_owned(), None),
        _ => said("5".to_owned(), None),
    }
}

fn guesser() -> StandIn {
    StandIn::moody(|_, question| Some(Ok(answer(question))))
}

fn lesson<'a>(teacher: &'a StandIn, judge: &'a Fake) -> Lesson<'a> {
    Lesson { judge: None, samples: 2, ..Lesson::of(teacher, judge) }
}

#[test]
fn a_teacher_is_led_through_an_episode_with_the_whole_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &[guess(6), guess(5), guess(9)].concat());
    school.rows = Some("rows.jsonl");
    let teacher = StandIn::moody(|_, question| {
        if turn(question) == 1 {
            let texts: Vec<&str> =
                question.messages.iter().map(|message| message.content.as_str()).collect();
            assert_eq!(texts[1..], ["5", "Higher."]);
        }
        Some(Ok(answer(question)))
    });
    let judge = Fake::default();
    let report =
        school.teach("out.jsonl", &Lesson { samples: 1, ..lesson(&teacher, &judge) }).unwrap();
    let lines = school.traces("out.jsonl");
    let expected = json!({
        "v": 1, "task_id": "g/6", "sample": 0, "prompt": "Guess 6?", "thinking": "It is above 5.",
        "code": null, "text": "6", "verdict": "solved",
        "usage": {"prompt_tokens": 20, "completion_tokens": 4}, "model": "guesser-2",
        "episode": {
            "v": 1, "solved": true, "turn_count": 2,
            "turns": [
                {"prompt": "Guess 6?", "text": "5"},
                {"prompt": "Higher.", "text": "6", "reasoning": "It is above 5."},
            ],
            "validation": {"kind": "guess", "solved": true, "facts": {"guesses": 2}},
        },
    });
    assert_eq!(lines[0], expected);
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["solved", "solved", "unsolved"]);
    assert_eq!((report.requests, report.episodes, report.turns, report.rows), (5, 3, 5, 2));
    let rows = school.read("rows.jsonl");
    let expected = concat!(
        r#"{"instruction":"Higher.","input":"","output":"<think>\nIt is above 5.\n</think>\n\n6","#,
        r#""history":[["Guess 6?","5"]]}"#,
        "\n",
        r#"{"instruction":"Guess 5?","input":"","output":"5"}"#,
        "\n"
    );
    assert_eq!(rows, expected);
    assert!(!school.path("out.jsonl.journal").exists(), "nothing is missing");
}

#[test]
fn an_episode_is_resumed_in_its_middle_and_nothing_is_asked_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &numbers(10));
    school.rows = Some("whole_rows.jsonl");
    let judge = Fake::default();
    let whole = guesser();
    school.teach("whole.jsonl", &lesson(&whole, &judge)).unwrap();
    school.rows = Some("rows.jsonl");
    let mut asked: Vec<(String, u32)> = Vec::new();
    // The server goes away after 1, 2, 3 … further answers, in the middle of episodes.
    for answers in 1..8 {
        let gone = StandIn::moody(move |number, question| {
            let answered = || Ok(answer(question));
            Some(if number < answers { answered() } else { Err(stopped()) })
        });
        school.teach("out.jsonl", &Lesson { in_flight: 1, ..lesson(&gone, &judge) }).unwrap_err();
        let mut questions = gone.asked();
        questions.truncate(answers);
        asked.extend(questions);
    }
    let rest = guesser();
    let report = school.teach("out.jsonl", &lesson(&rest, &judge)).unwrap();
    asked.extend(rest.asked());
    let distinct: HashSet<_> = asked.iter().collect();
    assert_eq!(distinct.len(), asked.len(), "a question was asked twice");
    assert_eq!(asked.len(), whole.asked().len());
    assert!(report.resumed > 10, "{report:?}");
    assert_eq!(school.read("out.jsonl"), school.read("whole.jsonl"));
    assert_eq!(school.read("rows.jsonl"), school.read("whole_rows.jsonl"));
}

#[test]
fn a_turn_that_fails_is_counted_with_its_reason_and_asked_again_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &numbers(8));
    let (judge, whole) = (Fake::default(), guesser());
    school.teach("whole.jsonl", &lesson(&whole, &judge)).unwrap();
    let weak = StandIn::moody(|_, question| {
        Some(if turn(question) == 1 { Err(failed("timeout")) } else { Ok(answer(question)) })
    });
    let report = school.teach("out.jsonl", &lesson(&weak, &judge)).unwrap();
    // Only 5 is guessed in the first turn.
    assert_eq!((report.failed, report.failures["timeout"].samples), (14, 14));
    let counts = TeacherCounts { kept: 2, failed: 14, ..TeacherCounts::default() };
    assert_eq!(report.teachers["stand-in"], counts);
    assert_eq!(school.traces("out.jsonl").len(), 2, "half an episode is not written");
    assert!(report.is_incomplete());
    let rest = guesser();
    let report = school.teach("out.jsonl", &lesson(&rest, &judge)).unwrap();
    assert_eq!((report.resumed, report.requests), (2, 14), "first turns are stored");
    assert_eq!(school.read("out.jsonl"), school.read("whole.jsonl"));
}

#[test]
fn each_teacher_is_asked_for_each_task_and_counted_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &[guess(3), task("p/1", ""), guess(9)].concat());
    school.config.teacher.max_kept_turns = 1;
    school.rows = Some("rows.jsonl");
    let judge = Fake::default();
    let (good, weak) = (guesser(), StandIn::moody(|_, _| Some(Err(failed("refused")))));
    let of = |name, teacher, samples| NamedTeacher { name, teacher, samples };
    let teachers = [of("good", &good, 2), of("weak", &weak, 1), of("embedded", &Embedded, 1)];
    let lesson = Lesson::of(&good, &judge);
    let report = school.teach_by("out.jsonl", &lesson, &teachers).unwrap();
    let lines = school.traces("out.jsonl");
    let of_line: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |field: &str| line[field].as_str().unwrap().to_owned();
            (text("task_id"), text("teacher"), line["sample"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        ("g/3", "good", 0),
        ("g/3", "good", 1),
        ("g/3", "embedded", 0),
        ("p/1", "good", 0),
        ("p/1", "good", 1),
        ("g/9", "good", 0),
        ("g/9", "good", 1),
        ("g/9", "embedded", 0),
    ];
    assert_eq!(
        of_line,
        expected.map(|(task, who, sample)| (task.to_owned(), who.to_owned(), sample))
    );
    // The number 3 takes two turns, 9 is never found, and the reply to the program is none.
    let good = TeacherCounts { too_long: 2, unsolved: 4, ..TeacherCounts::default() };
    assert_eq!(report.teachers["good"], good);
    assert_eq!(report.teachers["weak"], TeacherCounts { failed: 3, ..TeacherCounts::default() });
    let embedded = TeacherCounts { kept: 2, ..TeacherCounts::default() };
    assert_eq!((report.teachers["embedded"], report.without_trace), (embedded, 1));
    assert_eq!((report.rows, school.traces("rows.jsonl").len()), (2, 2));

    // With rows of two turns and the weak one mended, only it is asked.
    school.config.teacher.max_kept_turns = 2;
    let (idle, mended) = (StandIn::moody(|_, _| panic!("asked again")), guesser());
    let teachers = [of("good", &idle, 2), of("weak", &mended, 1), of("embedded", &Embedded, 1)];
    let report = school.teach_by("out.jsonl", &lesson, &teachers).unwrap();
    assert_eq!(report.teachers["good"].kept, 2);
    assert_eq!(report.teachers["weak"].kept, 1);
    assert_eq!(school.traces("rows.jsonl").len(), 5);
}

#[test]
fn an_episode_that_solved_its_task_badly_is_no_row_where_a_least_reward_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    // 5 is guessed at once for a reward of 1, 6 in the second turn for 0.9 / 2 + 0.1.
    let mut school = School::new(dir.path(), &[guess(5), guess(6)].concat());
    let judge = Fake::default();
    let mut kept = |least: f64, rows: &'static str| {
        school.rows = Some(rows);
        school.config.teacher.min_kept_reward = least;
        let whole = guesser();
        let lesson = Lesson { samples: 1, ..lesson(&whole, &judge) };
        let report = school.teach(&format!("{least}.jsonl"), &lesson);
        let counts = report.unwrap().teachers.into_values().next().unwrap();
        (counts.kept, counts.low_reward, school.traces(rows).len())
    };
    assert_eq!(kept(0.0, "all.rows.jsonl"), (2, 0, 2));
    assert_eq!(kept(0.54, "both.rows.jsonl"), (2, 0, 2));
    assert_eq!(kept(0.56, "good.rows.jsonl"), (1, 1, 1));
}

#[test]
fn a_reply_that_was_cut_off_is_told_to_the_environment_and_is_no_row() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &guess(6));
    school.rows = Some("rows.jsonl");
    let cut = StandIn::moody(|_, question| {
        let mut answer = answer(question);
        answer.completions[0].finish = Finish::Length;
        Some(Ok(answer))
    });
    let judge = Fake::default();
    let report = school.teach("out.jsonl", &Lesson { samples: 1, ..lesson(&cut, &judge) }).unwrap();
    let line = &school.traces("out.jsonl")[0];
    assert_eq!((&line["verdict"], &line["finish"]), (&json!("solved"), &json!("length")));
    assert_eq!(line["episode"]["turns"][0]["finish"], "length");
    let counts = TeacherCounts { cut_off: 1, ..TeacherCounts::default() };
    assert_eq!((report.teachers["stand-in"], report.rows), (counts, 0));
    assert_eq!(school.read("rows.jsonl"), "");
}

#[test]
fn an_expert_that_breaks_is_infrastructure_and_no_failure_of_the_teacher() {
    let dir = tempfile::tempdir().unwrap();
    let school = School::new(dir.path(), &guess(6));
    let broken = std::sync::Arc::new(AtomicU64::new(1));
    let own = std::sync::Arc::clone(&broken);
    let teacher = StandIn::moody(move |_, question| {
        let is_broken = turn(question) == 1 && own.swap(0, Ordering::SeqCst) == 1;
        let reason = || whetstone_core::judgement::Infrastructure("the solver died".to_owned());
        Some(if is_broken { Err(Refusal::Broken(reason())) } else { Ok(answer(question)) })
    });
    let judge = Fake::default();
    let one = Lesson { samples: 1, ..lesson(&teacher, &judge) };
    let report = school.teach("out.jsonl", &one).unwrap();
    assert_eq!((report.failed, report.unjudged, report.errors["the solver died"]), (0, 1, 1));
    assert_eq!(report.teachers["stand-in"], TeacherCounts::default());
    assert!(report.is_incomplete() && school.read("out.jsonl").is_empty());
    let report = school.teach("out.jsonl", &one).unwrap();
    assert_eq!((report.requests, report.passing), (1, 1), "the first turn was stored");
}

#[test]
fn finished_episodes_are_completed_and_made_into_rows_without_asking() {
    let dir = tempfile::tempdir().unwrap();
    let mut school = School::new(dir.path(), &numbers(4));
    let (judge, teacher) = (Fake::default(), guesser());
    let one = Lesson { samples: 1, ..lesson(&teacher, &judge) };
    school.teach("out.jsonl", &one).unwrap();
    let before = school.read("out.jsonl");
    let asked = teacher.asked().len();
    school.rows = Some("rows.jsonl");
    let complete = Lesson { earlier: Earlier::Complete, ..one };
    let report = school.teach("out.jsonl", &complete).unwrap();
    assert_eq!((teacher.asked().len(), report.resumed, report.rows), (asked, 4, 1));
    assert_eq!(school.read("out.jsonl"), before);
    // Rows of an earlier run are not replaced unasked, and other turns are another task.
    let err = school.teach("new.jsonl", &Lesson { earlier: Earlier::Resume, ..complete });
    assert!(err.unwrap_err().to_string().contains("rows.jsonl` exists already"));
    school.config.env.max_turns = 1;
    let err = school.teach("out.jsonl", &complete).unwrap_err().to_string();
    assert!(err.contains("out.jsonl:1: its task has one turn now"), "{err}");
}
