//! Tasks without tests, in every command that reads tasks.

use std::fs;

use crate::binary::whet_in;
use crate::tiny_rollouts::learn;
use crate::tiny_school::{judged, records, school};

#[test]
fn tasks_without_tests_are_said_once_with_their_number() {
    if !judged() {
        return;
    }
    let dir = school();
    let tasks = fs::read_to_string(dir.path().join("tasks.jsonl")).unwrap();
    let prompt = |at: u8| format!("{{\"id\":\"p/{at}\",\"statement\":\"Write f.\"}}\n");
    let untested = [prompt(0), prompt(1)].concat();
    fs::write(dir.path().join("mixed.jsonl"), format!("{tasks}{untested}")).unwrap();
    let flags = |more: &[&'static str]| {
        [
            &[
                "--tasks=mixed.jsonl",
                "--set=training.max_steps=1",
                "--set=grpo.num_samples_per_prompt=2",
                "--set=grpo.max_completion_length=32",
            ][..],
            more,
        ]
        .concat()
    };
    let ran = learn(dir.path(), "tests", &flags(&[]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "mixed.jsonl: left out: 2 tasks without tests: `reward.composite = \"tests\"` pays passed tests alone";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
    let ran = learn(dir.path(), "form", &flags(&["--set=reward.composite=weighted_sum"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err
            .contains("mixed.jsonl: 2 tasks without tests: their replies earn static terms only"),
        "{}",
        ran.err
    );

    fs::write(dir.path().join("prompts.jsonl"), &untested).unwrap();
    let ran = learn(
        dir.path(),
        "prompts",
        &[&flags(&["--set=reward.composite=weighted_sum"])[1..], &["--tasks=prompts.jsonl"]]
            .concat(),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let metrics = records(&dir.path().join("runs/prompts/events.jsonl"));
    let step = metrics.iter().find(|event| event["type"] == "metrics").unwrap();
    assert!(step["values"].get("grpo/pass_rate").is_none(), "nothing ran: {step}");
    assert!(step["values"]["reward/syntax"].is_number(), "{step}");

    let line = r#"{"step":0,"prompt_id":"p/0","text":"```python\nx = 1\n```"}"#;
    fs::write(dir.path().join("replies.jsonl"), format!("{line}\n{line}\n")).unwrap();
    let score = ["score", "replies.jsonl", "--prompts=mixed.jsonl"];
    let ran = whet_in(dir.path(), &score);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("no tests for 2 lines: nothing was run").count(), 1, "{}", ran.out);
    assert!(ran.err.contains("lines without tests have a reward of 0"), "{}", ran.err);

    let eval = [
        "eval",
        "--model=student",
        "--tasks=prompts.jsonl",
        "--out=out",
        "--num-samples=1",
        "--k=1",
    ];
    let ran = whet_in(dir.path(), &eval);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("prompts.jsonl: left out: 2 tasks without tests"), "{}", ran.err);
}
