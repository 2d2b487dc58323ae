//! Programs that sleep hold no core: others are judged meanwhile.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use whetstone_core::judgement::Isolation;
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::Limits;

use crate::support::{Form, Stage, Task, alone};

const HONEST: &str = "def gap(a, b): return abs(a - b)\n";
const SLEEPERS: [&str; 4] = [
    "import time\ntime.sleep(10 ** 6)\n",
    "import time\ndef gap(a, b): time.sleep(10 ** 6)\n",
    "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n",
    "import os\nends = os.pipe()\nos.read(ends[0], 1)\n",
];

/// Time enough to start the zygotes of all slots on a busy machine: 6.5 s on the wall.
const LIMITS: Limits = Limits { cpu: Duration::from_millis(1500), memory: 128 << 20 };

/// With one core, four programs sleep until their time is over; an honest one that comes after them is
/// done before the first of them.
fn hold_sleepers(level: Isolation) {
    let _alone = alone();
    let Some(stage) = Stage::start_with(level, 1) else { return };
    let tests = Task::Gap.tests(Form::Calls);
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let wait = |name: &'static str, source: &str| {
            let ticket = stage.submit_tests(source, &tests, LIMITS);
            let tell = tell.clone();
            scope.spawn(move || tell.send((name, ticket.wait().unwrap().verdict().clone())));
        };
        for source in SLEEPERS {
            wait("sleeps", source);
        }
        wait("honest", HONEST);
    });
    drop(tell);
    let told: Vec<_> = told.into_iter().collect();
    assert_eq!(told[0], ("honest", Verdict::Pass), "at {level:?}: {told:?}");
    assert_eq!(told.len(), 5, "at {level:?}");
    for (name, verdict) in &told[1..] {
        assert_eq!(*verdict, Verdict::Timeout, "at {level:?}: {name}");
    }
    stage.end();
}

/// Answers that are late by a little each are late together: 1,500 of them would take 30 seconds.
fn hold_short_sleeps(level: Isolation) {
    let _alone = alone();
    let Some(stage) = Stage::start_with(level, 1) else { return };
    let source = "import time\ndef gap(a, b):\n    time.sleep(0.02)\n    return abs(a - b)\n";
    let asserts: Vec<String> = (0..1500).map(|n| format!("assert gap({n}, 0) == {n}")).collect();
    let tests = json!({ "kind": "asserts", "hidden": asserts });
    let tests: Tests = serde_json::from_value(tests).unwrap();
    let limits = Limits { cpu: Duration::from_millis(500), ..LIMITS };
    let verdict = stage.submit_tests(source, &tests, limits).wait().unwrap().verdict().clone();
    assert_eq!(verdict, Verdict::Timeout, "at {level:?}");
    stage.end();
}

#[test]
fn many_answers_that_are_late_by_a_little_at_full() {
    hold_short_sleeps(Isolation::Full);
}

#[test]
fn many_answers_that_are_late_by_a_little_at_landlock() {
    hold_short_sleeps(Isolation::Landlock);
}

#[test]
fn an_honest_program_does_not_wait_for_those_that_sleep_at_full() {
    hold_sleepers(Isolation::Full);
}

#[test]
fn an_honest_program_does_not_wait_for_those_that_sleep_at_landlock() {
    hold_sleepers(Isolation::Landlock);
}
