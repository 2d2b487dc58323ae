//! Alarms and held-out tasks of `whet train grpo`, as a person sees them.

use std::fs;

use crate::binary::whet_in;
use crate::tiny_school::{grpo, judged, records, school, trained, unsolvable};

#[test]
fn an_alarm_is_on_the_terminal_in_the_events_and_in_the_list_of_runs() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("hard.jsonl"), unsolvable(dir.path(), "hard/")).unwrap();
    fs::write(dir.path().join("val.jsonl"), unsolvable(dir.path(), "held\\u001b[31m/")).unwrap();
    let flags = [
        "--tasks=hard.jsonl",
        "--held-out=val.jsonl",
        "--set=training.max_steps=11",
        "--set=held_out.every_steps=5",
        "--set=grpo.patience_steps=0",
        "--set=dual_source.teacher_sft_weight=0",
    ];
    let ran = trained(dir.path(), &grpo("run", &flags));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "alarm at step 10: 100.0 % of the groups of the last steps have rollouts that do not differ";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
    assert!(
        ran.err.contains("`whet report` shows the completions of the alarms above"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);

    let events = records(&dir.path().join("runs/run/events.jsonl"));
    let alarms: Vec<_> = events.iter().filter(|event| event["type"] == "alarm").collect();
    assert_eq!(alarms.len(), 1);
    assert_eq!((&alarms[0]["step"], &alarms[0]["code"]), (&10.into(), &"dead_groups".into()));
    let held_out =
        events.iter().filter(|event| event["values"].get("held_out/pass_rate").is_some());
    let steps: Vec<_> = held_out.map(|event| event["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 6, 11]);

    let ran = whet_in(dir.path(), &["runs", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(listed["runs"][0]["alarms"], 1);
    let ran = whet_in(dir.path(), &["runs"]);
    assert!(ran.out.lines().next().unwrap().contains("alarms"), "{}", ran.out);
}

#[test]
fn a_task_that_is_learnt_from_is_not_held_out() {
    if !judged() {
        return;
    }
    let dir = school();
    let ran = trained(dir.path(), &grpo("run", &["--held-out=tasks.jsonl"]));
    assert_eq!(ran.code, 2, "{}", ran.err);
    for said in ["of `tasks.jsonl` is also a training task", "hint: name tasks with"] {
        assert!(ran.err.contains(said), "{said}\n{}", ran.err);
    }
    assert!(!dir.path().join("runs/run").exists());
}
