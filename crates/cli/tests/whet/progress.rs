//! How far a command is, as a person sees it: the phase, the seconds of a step, the time that is left.

use std::process::Command;

use crate::tiny_school::{grpo, judged, school, trained};

#[test]
fn where_no_line_can_change_steps_say_their_seconds_and_the_time_left() {
    if !judged() {
        return;
    }
    let dir = school();
    let ran = trained(dir.path(), &grpo("run", &["--set=training.max_steps=3", "--json"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let line = |step: &str| ran.err.lines().find(|line| line.starts_with(step)).unwrap_or_default();
    let (first, last) = (line("step 1/3: "), line("step 3/3: "));
    assert!(first.contains(" s/step, ") && first.ends_with(" s left"), "{}", ran.err);
    assert!(last.ends_with(" s/step, 0 s left"), "{}", ran.err);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.out).is_ok(), "{}", ran.out);
    let quiet = trained(dir.path(), &grpo("quiet", &["--set=training.max_steps=1", "--quiet"]));
    assert!(quiet.code == 0 && !quiet.err.contains("s/step"), "{}", quiet.err);
}

#[test]
fn on_a_terminal_one_line_names_the_phase_and_knows_nothing_before_the_first_step() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = grpo("run", &["--set=training.max_steps=2", "--held-out=held.jsonl"]);
    let tasks = std::fs::read_to_string(dir.path().join("tasks.jsonl")).unwrap();
    std::fs::write(dir.path().join("held.jsonl"), tasks.replace("t/", "h/")).unwrap();
    let command = format!("{} {}", env!("CARGO_BIN_EXE_whet"), flags.join(" "));
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(dir.path())
        .env("TERM", "xterm")
        .output();
    let Ok(output) = script else {
        println!("SKIPPED: no `script` to make a terminal with");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("0/2 steps, \u{2014} s/step, \u{2014} left"), "{shown}");
    assert!(!shown.contains("step 1/2:"), "lines are for logs: {shown}");
}
