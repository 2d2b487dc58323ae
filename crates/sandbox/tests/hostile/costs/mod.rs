//! Costs: what a program takes of the clock on the wall, of the scorer's own processor and of the
//! disk is bounded by its limits, however it goes about it.

pub(crate) mod holdings;
mod sleepers;

use std::time::{Duration, Instant};

use whetstone_core::judgement::Isolation;
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::Limits;

use crate::support::{Case, Form, Stage, Task, alone, call, hold, tell};

/// Its time on the wall is three times the first and 2 s.
const LIMITS: Limits = Limits { cpu: Duration::from_millis(200), memory: 128 << 20 };
const WALL: Duration = Duration::from_millis(2600);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_millis(2500);
/// CPU time of the supervisor itself, at most, for one program.
const OWN_CPU: Duration = Duration::from_millis(700);

/// Writes `head` and then `rest` to the channel, or to the output, a byte at a time.
fn drip(channel: u32, head: &str, pause: &str) -> String {
    format!(
        "import os, time\ndef gap(a, b):\n    os.write({channel}, {head})\n    while True:\n        \
         os.write({channel}, b'x')\n        {pause}\n"
    )
}

/// A program, judged: its verdict, the time on the wall, and the supervisor's own CPU time.
fn judged(stage: &Stage, source: &str, tests: &Tests) -> (Verdict, Duration, Duration) {
    let supervisor = stage.judge.supervisor();
    let (before, began) = (own_cpu(supervisor), Instant::now());
    let judged = stage.submit_tests(source, tests, LIMITS).wait().unwrap();
    (judged.verdict().clone(), began.elapsed(), own_cpu(supervisor).saturating_sub(before))
}

/// CPU time of a process without its children.
fn own_cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(") ").unwrap().1;
    let ticks: u64 =
        rest.split(' ').skip(11).take(2).map(|word| word.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn hold_drips(level: Isolation) {
    let _alone = alone();
    let tests = Task::Gap.tests(Form::Calls);
    let long = r"b'\x00\x00\x10\x00v'";
    let drips = [
        ("an answer, slowly", drip(3, long, "time.sleep(0.003)")),
        ("an answer, very slowly", drip(3, long, "time.sleep(0.05)")),
        ("an answer, as fast as bytes go", drip(3, long, "pass")),
        ("the length of an answer", drip(3, "b''", "time.sleep(0.7)")),
        ("output, slowly", drip(1, "b''", "time.sleep(0.001)")),
        ("output, as fast as bytes go", drip(1, "b''", "pass")),
        ("errors, slowly", drip(2, "b''", "time.sleep(0.001)")),
    ];
    // All at once: each waits most of its time.
    let Some(stage) = Stage::start_with(level, 7) else { return };
    let supervisor = stage.judge.supervisor();
    let before = own_cpu(supervisor);
    std::thread::scope(|scope| {
        for (name, source) in &drips {
            let (stage, tests) = (&stage, &tests);
            scope.spawn(move || {
                let (verdict, wall, _) = judged(stage, source, tests);
                let told = tell(&verdict);
                assert!(
                    matches!(told.as_str(), "timeout" | "raised garbled answer"),
                    "{name}: {told}"
                );
                assert!(wall < WALL + 4 * SLACK, "{name}: {wall:?} on the wall, {told}");
                println!("at {level:?}: {name}: {told} after {wall:?}");
            });
        }
    });
    let own = own_cpu(supervisor).saturating_sub(before);
    println!("at {level:?}: {own:?} of the supervisor for all");
    assert!(own < 2 * OWN_CPU, "{own:?} of the supervisor's own time");
    stage.end();
}

#[test]
fn an_answer_that_drips_is_no_answer_at_full() {
    hold_drips(Isolation::Full);
}

#[test]
fn an_answer_that_drips_is_no_answer_at_landlock() {
    hold_drips(Isolation::Landlock);
}

/// As many tests as said, each of which wants the sum of nothing.
fn many_runs(count: usize) -> Tests {
    let test = r#"{"input":"","output":"7\n"}"#;
    let text = format!(r#"{{"kind":"stdio","hidden":[{}]}}"#, vec![test; count].join(","));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn all_runs_of_a_program_have_one_budget() {
    let _alone = alone();
    let Some(stage) = Stage::start_with(Isolation::Full, 1) else { return };
    let programs = [
        ("sleeps in each", "import time\ntime.sleep(1.5)\nprint(7)\n", 2 * WALL),
        (
            "computes in each",
            "import time\nend = time.process_time() + 0.15\nwhile time.process_time() < end: pass\nprint(7)\n",
            2 * WALL,
        ),
    ];
    for (name, source, most) in programs {
        let (verdict, wall, _) = judged(&stage, source, &many_runs(40));
        assert_eq!(verdict, Verdict::Timeout, "{name}");
        assert!(wall < most + SLACK, "{name}: {wall:?}");
    }
    let (verdict, ..) = judged(&stage, "print(7)\n", &many_runs(40));
    assert_eq!(verdict, Verdict::Pass, "an honest program has time for many tests");
    stage.end();
}

/// Makes `n * n` folders and sleeps.
fn many_folders(n: u32) -> String {
    format!(
        "import os, time\nfor n in range({n}):\n    os.mkdir(str(n))\n    for m in range({n}): \
         os.mkdir(f'{{n}}/{{m}}')\ntime.sleep(12)\ndef gap(a, b): return abs(a - b)\n"
    )
}

/// Holds what looking at a program's files costs; the caller sees to it that nothing else runs.
pub(crate) fn hold_folders(level: Isolation) {
    let Some(stage) = Stage::start_with(level, 1) else { return };
    let tests = Task::Gap.tests(Form::Calls);
    for (n, may) in [(63, &["output", "timeout", "load_error OSError"][..]), (30, &["timeout"])] {
        let (verdict, wall, own) = judged(&stage, &many_folders(n), &tests);
        // How long a disk takes to clear up is its own affair.
        let (after, clearing, _) = judged(&stage, "def gap(a, b): return abs(a - b)\n", &tests);
        assert_eq!(after, Verdict::Pass);
        println!("at {level:?}: an honest program after it: {clearing:?}");
        let told = tell(&verdict);
        println!("at {level:?}: {n} times {n} folders: {told} after {wall:?}, {own:?} of ours");
        assert!(may.contains(&told.as_str()), "{n}: {told}");
        assert!(wall < WALL + SLACK, "{n}: {wall:?} on the wall, {told}");
        assert!(own < OWN_CPU, "{n}: {own:?} of the supervisor's own time, {told}");
    }
    stage.end();
}

#[test]
fn looking_at_many_folders_costs_little() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        hold_folders(level);
    }
}

/// A program that the machine has killed is tried again: a guess that was wrong would be a second draw.
#[test]
fn no_program_can_kill_itself_as_the_machine_would() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start_with(level, 1) else { continue };
        for (source, told) in [
            ("import os\nos.kill(os.getpid(), 9)\n", "load_error PermissionError"),
            ("import os, signal\nsignal.raise_signal(9)\n", "load_error PermissionError"),
            (
                "import signal, threading\nsignal.pthread_kill(threading.get_ident(), 9)\n",
                "load_error PermissionError",
            ),
        ] {
            let (verdict, ..) = judged(&stage, source, &Task::Gap.tests(Form::Calls));
            assert_eq!(tell(&verdict), told, "{source} at {level:?}");
        }
        stage.end();
    }
}

/// More than may be written, in places where it is hard to see; they wait to be looked at.
pub(crate) const CASES: &[Case] = &[
    call(
        "bytes in the last of many folders",
        &["output", "load_error OSError"],
        r"
import os, time
for n in range(200): os.mkdir(f'd{n}')
last = os.listdir('.')[-1]
for n in range(6):
    with open(f'{last}/{n}', 'wb') as file:
        for _ in range(15): file.write(b'x' * (1 << 20))
time.sleep(2)
def gap(a, b): return -1
",
    )
    .ample(),
    call(
        "bytes in the first of many folders",
        &["output", "load_error OSError"],
        r"
import os, time
for n in range(200): os.mkdir(f'd{n}')
first = os.listdir('.')[0]
for n in range(6):
    with open(f'{first}/{n}', 'wb') as file:
        for _ in range(15): file.write(b'x' * (1 << 20))
time.sleep(2)
def gap(a, b): return -1
",
    )
    .ample(),
    call(
        "bytes spread over many folders",
        &["output", "load_error OSError"],
        r"
import os, time
for n in range(300):
    os.makedirs(f'd{n}/e')
    with open(f'd{n}/e/f', 'wb') as file: file.write(b'x' * (300 << 10))
time.sleep(2)
def gap(a, b): return -1
",
    )
    .ample(),
    call(
        "bytes in a folder that cannot be listed",
        &["output", "load_error OSError"],
        r"
import os, time
os.mkdir('d', 0o300)
os.mkdir('d/e', 0o300)
for n in range(6):
    with open(f'd/e/{n}', 'wb') as file:
        for _ in range(15): file.write(b'x' * (1 << 20))
time.sleep(2)
def gap(a, b): return -1
",
    )
    .ample(),
];

#[test]
fn what_is_written_is_bounded_in_any_folder_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn what_is_written_is_bounded_in_any_folder_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
