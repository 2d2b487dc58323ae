//! Tasks of an environment that runs no programs, in every command that takes them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::{grpo, judged, records, school, trained};

fn write_tasks(dir: &Path, kind: &str) {
    let task = |at: u8| {
        let body = format!(r#"{{"kind":"{kind}","number":{at}}}"#);
        format!("{{\"id\":\"g/{at}\",\"statement\":\"Guess.\",\"body\":{body}}}\n")
    };
    fs::write(dir.join("guess.jsonl"), [task(3), task(7)].concat()).expect("a file");
}

fn flags(more: &[&'static str]) -> Vec<&'static str> {
    let all = [
        "--tasks=guess.jsonl",
        "--set=dual_source.teacher_sft_weight=0",
        "--set=training.max_steps=1",
    ];
    [&all[..], more].concat()
}

#[test]
fn tasks_without_programs_are_trained_on_measured_and_scored() {
    if !judged() {
        return;
    }
    let dir = school();
    write_tasks(dir.path(), "guess");
    let ran = trained(dir.path(), &grpo("guess", &flags(&[])));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines = records(&dir.path().join("runs/guess/rollouts/rollouts.jsonl"));
    let of_guess = |line: &Value| line["validation"]["kind"] == "guess";
    assert!(lines.len() == 4 && lines.iter().all(of_guess), "{lines:?}");
    assert!(lines.iter().any(|line| line["meta"]["turns"][1].is_object()), "{lines:?}");

    let eval = ["eval", "--model=student", "--tasks=guess.jsonl", "--out=measured", "--threads=1"];
    let few = ["--max-tokens=16", "--set=eval.num_samples=2", "--set=eval.k=[1]"];
    let ran = whet_in(dir.path(), &[&eval[..], &few[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("unsolved"), "{}", ran.out);
    assert!(ran.out.contains("solved within 2 turns"), "{}", ran.out);
    let samples = fs::read_to_string(dir.path().join("measured/rollouts.jsonl")).unwrap();
    let asked = |line: &str| serde_json::from_str::<Value>(line).unwrap()["meta"]["asked"].clone();
    assert!(samples.lines().any(|line| asked(line)[1][0]["role"] == "user"), "{samples}");

    let score = ["score", "runs/guess/rollouts/rollouts.jsonl", "--prompts=guess.jsonl"];
    let ran = whet_in(dir.path(), &[&score[..], &["--out=scored.jsonl"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let scored = fs::read_to_string(dir.path().join("scored.jsonl")).unwrap();
    for (line, scored) in lines.iter().zip(scored.lines()) {
        let scored: Value = serde_json::from_str(scored).unwrap();
        assert_eq!(
            (&scored["validation"], &scored["reward"]),
            (&line["validation"], &line["reward"])
        );
    }
    let measured = ["eval", "--samples=scored.jsonl", "--tasks=guess.jsonl", "--out=counted"];
    let ran = whet_in(dir.path(), &[&measured[..], &["--k=1"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn turns_are_bounded_by_the_settings() {
    if !judged() {
        return;
    }
    let dir = school();
    write_tasks(dir.path(), "guess");
    let ran = trained(dir.path(), &grpo("one", &flags(&["--set=env.max_turns=1"])));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines = records(&dir.path().join("runs/one/rollouts/rollouts.jsonl"));
    assert!(lines.iter().all(|line| line["meta"]["turns"][1].is_null()), "{lines:?}");
    assert!(lines.iter().any(|line| line["meta"]["end"] == "out_of_turns"), "{lines:?}");
}

#[test]
fn an_environment_that_there_is_not_is_refused_with_those_that_there_are() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), "chess");
    let ran = whet_in(dir.path(), &[&["train", "grpo", "--run=a"], &flags(&[])[..]].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("`chess` is no environment: task `g/3` names it"), "{}", ran.err);
    assert!(ran.err.contains("one of: program, guess"), "{}", ran.err);
    assert!(!dir.path().join("runs").exists(), "nothing was begun");
}

/// No interpreter is there: a judge cannot start.
const NO_JUDGE: &str = "--set=sandbox.python=/nowhere/python3";

#[test]
fn no_judge_is_started_where_no_program_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), "guess");
    let reply = |text: &str| format!("{{\"prompt_id\":\"g/7\",\"text\":\"{text}\"}}\n");
    fs::write(dir.path().join("replies.jsonl"), [reply("7"), reply("none")].concat()).unwrap();
    let score = ["score", "replies.jsonl", "--prompts=guess.jsonl", "--out=scored.jsonl", NO_JUDGE];
    let ran = whet_in(dir.path(), &score);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let scored = fs::read_to_string(dir.path().join("scored.jsonl")).unwrap();
    assert!(
        scored.contains(r#""solved":true"#) && scored.contains(r#""solved":false"#),
        "{scored}"
    );
    let eval = ["eval", "--samples=replies.jsonl", "--tasks=guess.jsonl", "--out=counted", "--k=1"];
    let ran = whet_in(dir.path(), &[&eval[..], &[NO_JUDGE]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    // A program needs one.
    let program =
        r#"{"id":"g/7","statement":"s","tests":{"kind":"asserts","hidden":["assert f()"]}}"#;
    fs::write(dir.path().join("programs.jsonl"), program).unwrap();
    let score = ["score", "replies.jsonl", "--prompts=programs.jsonl", "--out=p.jsonl", NO_JUDGE];
    let ran = whet_in(dir.path(), &score);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("--skip-runtime"), "{}", ran.err);
}

#[test]
fn a_teacher_is_led_through_an_episode_unless_the_settings_bound_it_to_one_reply() {
    let dir = tempfile::tempdir().unwrap();
    let task = |at: u8, trace: &str| {
        let body = format!(r#"{{"kind":"guess","number":{at}}}"#);
        format!(
            "{{\"id\":\"g/{at}\",\"statement\":\"Guess.\",\"body\":{body},\"trace\":\"{trace}\"}}\n"
        )
    };
    fs::write(dir.path().join("guess.jsonl"), [task(3, "It is 3."), task(7, "5")].concat())
        .unwrap();
    let teach = ["teach", "--teacher=embedded", "--tasks=guess.jsonl", "--out=t.jsonl", NO_JUDGE];
    let ran = whet_in(dir.path(), &teach);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let traces = || -> Vec<Value> {
        let text = fs::read_to_string(dir.path().join("t.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let of = |field: &str| traces().iter().map(|line| line[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("verdict"), ["solved", "solved"]);
    // Its trace is the first reply; the expert of the environment says the second.
    let turns = &traces()[1]["episode"]["turns"];
    assert_eq!((&turns[0]["text"], &turns[1]["text"]), (&"5".into(), &"7".into()));
    let one = ["--set=env.max_turns=1", "--fresh"];
    let ran = whet_in(dir.path(), &[&teach[..], &one].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(of("verdict"), ["solved", "unsolved"]);
    assert_eq!(of("episode"), [Value::Null, Value::Null]);
}
