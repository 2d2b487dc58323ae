//! Alarms of a real training: told, recorded once, and the same after a kill.

use std::cell::RefCell;
use std::fs;
use std::sync::Arc;

use whetstone_record::event::{Event, Suspect};
use whetstone_train::alarms::Alarm;
use whetstone_train::grpo::STAGE;
use whetstone_train::watch::{Ended, Watch};

use crate::school::{School, nobody, parity};

/// Fourteen steps of which no group has anything to learn from.
fn school() -> School {
    let mut school = School::new();
    school.config.training.max_steps = 14;
    school.config.training.save_steps = 4;
    school.config.grpo.patience_steps = 0;
    school.worth = Arc::new(|_, _| Ok(0.5));
    school
}

/// Alarms and measurements in the order in which they are recorded.
fn recorded(school: &School, run: &str) -> Vec<(u64, String)> {
    let of = |event| match event {
        Event::Alarm { step, code, .. } => Some((step, code)),
        Event::Metrics { step, .. } => Some((step, "metrics".to_owned())),
        _ => None,
    };
    school.events(run).into_iter().filter_map(of).collect()
}

#[test]
fn groups_that_teach_nothing_are_told_of_and_recorded_before_their_step() {
    let school = school();
    let told = RefCell::new(Vec::new());
    let on_alarm = |alarm: &Alarm| told.borrow_mut().push(alarm.clone());
    let session = school.create("run", STAGE);
    school.grpo_on(session, None, Watch { on_alarm: &on_alarm, ..nobody() }).unwrap();
    let told = told.into_inner();
    assert_eq!(
        told.iter().map(|alarm| (alarm.step, alarm.code)).collect::<Vec<_>>(),
        [(10, "dead_groups")]
    );
    assert!(told[0].message.contains("teach nothing"), "{}", told[0].message);
    let found = recorded(&school, "run");
    assert_eq!(found.len(), 15);
    assert_eq!(found[9], (10, "dead_groups".to_owned()));
    assert_eq!(found[10], (10, "metrics".to_owned()));
}

#[test]
fn an_alarm_is_recorded_once_wherever_the_run_was_killed() {
    let school = school();
    school.grpo("whole").unwrap();
    let text = fs::read_to_string(school.path("whole", "events.jsonl")).unwrap();
    let line = text.lines().position(|line| line.contains("\"alarm\"")).unwrap();
    // Killed before the alarm, between it and its step, and behind both.
    for (run, kept) in [("before", line), ("between", line + 1), ("behind", line + 2)] {
        copy_run(&school, run);
        let lines: Vec<&str> = text.lines().take(kept).collect();
        fs::write(school.path(run, "events.jsonl"), lines.join("\n") + "\n").unwrap();
        assert_eq!(school.grpo_again(run).unwrap(), Ended::Done);
        assert_eq!(recorded(&school, run), recorded(&school, "whole"), "{run}");
    }
}

/// A copy of the whole run as it was after its eighth step.
fn copy_run(school: &School, run: &str) {
    for dir in ["outputs/checkpoint-8", "rollouts", "logs"] {
        fs::create_dir_all(school.path(run, dir)).unwrap();
        for (name, bytes) in school.files("whole", dir) {
            fs::write(school.path(run, dir).join(name), bytes).unwrap();
        }
    }
    for file in ["config.toml", "cursors.json"] {
        fs::copy(school.path("whole", file), school.path(run, file)).unwrap();
    }
}

#[test]
fn a_term_that_rises_alone_names_completions_of_its_step() {
    let mut school = School::new();
    school.config.training.max_steps = 24;
    let replies = std::sync::atomic::AtomicUsize::new(0);
    // Sixteen replies a step. Nothing passes; from the twelfth step on more is paid.
    school.worth = Arc::new(move |_, reply| {
        let seen = replies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(0.2 + 0.1 * parity(reply) + if seen >= 11 * 16 { 0.3 } else { 0.0 })
    });
    school.grpo("run").unwrap();
    let of = |event| match event {
        Event::Alarm { step, code, suspects, .. } if code == "term_rises_alone" => {
            Some((step, suspects))
        }
        _ => None,
    };
    let found: Vec<(u64, Vec<Suspect>)> = school.events("run").into_iter().filter_map(of).collect();
    let [(step, suspects)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(suspects.len(), 3);
    let rollouts = fs::read_to_string(school.path("run", "rollouts/rollouts.jsonl")).unwrap();
    for Suspect { prompt_id, group_id } in suspects {
        let head =
            format!("\"step\":{step},\"prompt_id\":\"{prompt_id}\",\"group_id\":{group_id},");
        assert_eq!(rollouts.lines().filter(|line| line.contains(&head)).count(), 1, "{head}");
    }
}
